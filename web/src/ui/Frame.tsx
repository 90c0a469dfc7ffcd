// The page: three columns, or fewer with a sheet and a drawer; keys that hold everywhere; title, icon and live regions.

import { useEffect } from "preact/hooks";
import { app, asksOf, change, parseRoute, sessionTitle, setLanguage, useApp, useWords, WordsContext } from "../state/app";
import { interrupt, openOther } from "../state/sessions";
import { wordsOf } from "../words";
import { isEditable } from "./ask/AskCard";
import { typed } from "./ask/guard";
import { StartPage } from "./ask/ProjectAsks";
import { Dialogs } from "./Dialogs";
import { Home } from "./Home";
import { PanelPage } from "./panels/Panel";
import { Modal } from "./parts";
import { RightPanel } from "./RightPanel";
import { SessionPage } from "./SessionPage";
import { focusSearch, Sidebar } from "./Sidebar";

export function Frame() {
  const language = useApp((now) => now.language);
  useEffect(() => setLanguage(language), [language]);
  return (
    <WordsContext.Provider value={wordsOf(language)}>
      <Page />
    </WordsContext.Provider>
  );
}

function Page() {
  const words = useWords();
  const route = useApp((now) => now.route);
  const sheet = useApp((now) => now.sheet);
  useTitle();
  usePageKeys();
  const closeSheet = () => change({ sheet: null });
  return (
    <>
      <a class="skip-link" href="#main">{words.skip}</a>
      <div class={`frame at-${route.at}`}>
        <Sidebar />
        {route.at === "session" ? <SessionPage id={route.id} key={route.id} /> : route.at === "panel" ? <PanelPage project={route.project} panel={route.panel} /> : route.at === "start" ? <StartPage route={route} key={`start${route.round}`} /> : <Home />}
        {route.at === "session" ? <RightPanel id={route.id} /> : null}
      </div>
      {sheet === "left" ? <Modal title={words.menu} side="left" onClose={closeSheet}><Sidebar /></Modal> : null}
      {sheet === "right" && route.at === "session" ? <Modal title={words.details} side="right" onClose={closeSheet}><RightPanel id={route.id} /></Modal> : null}
      <Dialogs />
      <Toasts />
      <Said />
    </>
  );
}

function Toasts() {
  const toasts = useApp((now) => now.toasts);
  return <div class="toasts" role="status">{toasts.map((one) => <p key={one.key} class={`toast ${one.tone}`}>{one.text}</p>)}</div>;
}

/** For screen readers: answers when they are ready, questions at once. */
function Said() {
  const polite = useApp((now) => now.polite);
  const urgent = useApp((now) => now.urgent);
  return (
    <>
      <div class="hidden" aria-live="polite">{polite}</div>
      <div class="hidden" aria-live="assertive" role="alert">{urgent}</div>
    </>
  );
}

/** The title and the icon say `!` when something waits for the person. */
function useTitle(): void {
  const words = useWords();
  const title = useApp((now) => {
    const { route } = now;
    if (route.at === "session") return sessionTitle(now, route.id);
    if (route.at === "start") return words.newSession;
    return route.at === "panel" ? (words.panels[route.panel as keyof typeof words.panels] ?? route.panel) : "";
  });
  const asks = useApp((now) => asksOf(now).length > 0 || now.rows.some((row) => row.state === "asks"));
  useEffect(() => {
    document.title = `${asks ? "! " : ""}${title ? `${title} · ` : ""}Ostler`;
    document.querySelector<HTMLLinkElement>("#icon")?.setAttribute("href", asks ? "/icon-ask.svg" : "/icon.svg");
  }, [title, asks]);
}

function usePageKeys(): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const editable = isEditable(event.target);
      const mod = event.ctrlKey || event.metaKey;
      if (mod && event.key.toLowerCase() === "k") {
        event.preventDefault();
        const open = app.get().dialog;
        change({ dialog: open?.at === "palette" ? null : { at: "palette" }, sheet: null });
      } else if (mod && event.altKey && event.code === "KeyN") {
        event.preventDefault();
        freshSession();
      } else if (!editable && !mod && !event.altKey && !event.defaultPrevented) {
        plainKey(event);
      }
      // After the others have looked: this key is typing for the next one.
      if (event.key.length === 1 && !mod) queueMicrotask(() => typed(performance.now()));
    };
    // Later than the question, which has the first word.
    window.addEventListener("keydown", onKey);
    const onPop = () => change({ route: parseRoute(location.pathname), dialog: null, sheet: null });
    window.addEventListener("popstate", onPop);
    return () => {
      window.removeEventListener("keydown", onKey);
      window.removeEventListener("popstate", onPop);
    };
  }, []);
}

function freshSession(): void {
  const now = app.get();
  const project = now.route.at === "session" ? now.sessions[now.route.id]?.project : now.route.at === "panel" || now.route.at === "start" ? now.route.project : now.projects[0]?.id;
  if (project) void openOther(project, "new");
}

function plainKey(event: KeyboardEvent): void {
  const now = app.get();
  if (now.dialog || now.sheet) return;
  const asks = document.querySelector<HTMLElement>(".ask");
  const composer = document.querySelector<HTMLTextAreaElement>("#composer");
  const working = now.route.at === "session" && now.sessions[now.route.id]?.live.working;
  const does: Record<string, () => unknown> = {
    "?": () => change({ dialog: { at: "keys" } }),
    "/": () => composer?.focus(),
    c: () => composer?.focus(),
    q: () => asks?.focus(),
    f: () => focusSearch(),
    r: () => now.route.at === "session" && now.sessions[now.route.id]?.changes && change({ dialog: { at: "changes", session: now.route.id, file: "" } }),
    g: () => document.querySelector<HTMLElement>(".to-end")?.click(),
    d: () => now.route.at === "session" && !matchMedia("(min-width: 1100px)").matches && change({ sheet: "right" }),
  };
  if (event.key === "Escape" && working && !asks && now.route.at === "session") {
    event.preventDefault();
    void interrupt(now.route.id);
    return;
  }
  // A question has these letters for itself.
  const run = asks && event.key !== "?" && event.key !== "q" ? undefined : does[event.key];
  if (!run) return;
  event.preventDefault();
  run();
}
