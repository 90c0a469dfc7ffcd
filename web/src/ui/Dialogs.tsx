// The dialogs: answers of commands, the rewind timeline, review of changes, keys, settings, and small forms.

import { useEffect, useMemo, useState } from "preact/hooks";
import { clean, oneLine } from "../lib/clean";
import { parseDiff } from "../lib/diff";
import { api } from "../net/api";
import { app, change, go, sessionTitle, setLanguage, setTheme, toast, useApp, useWords, type Dialog, type Theme } from "../state/app";
import { allowNotify, canNotify } from "../state/notify";
import { ask, command, perform } from "../state/sessions";
import type { Act, Item, List, View } from "../wire";
import { DiffView, SPLIT_FROM } from "./DiffView";
import { Modal, useWidth } from "./parts";
import { ViewPart } from "./ViewPart";

const close = () => change({ dialog: null });

export function Dialogs() {
  const dialog = useApp((now) => now.dialog);
  if (!dialog) return null;
  switch (dialog.at) {
    case "view":
      return <ViewDialog key={dialog.command} dialog={dialog} />;
    case "rewind":
      return <Rewind session={dialog.session} list={dialog.list} />;
    case "keys":
      return <Keys />;
    case "settings":
      return <Settings />;
    case "project":
      return <AddProject />;
    case "changes":
      return <Changes session={dialog.session} file={dialog.file} />;
    case "rename":
      return <Rename session={dialog.session} />;
    case "remove":
      return <Remove session={dialog.session} />;
    case "leave":
      return <Leave session={dialog.session} />;
  }
}

function ViewDialog({ dialog }: { dialog: Extract<Dialog, { at: "view" }> }) {
  const words = useWords();
  const { view, session } = dialog;
  const title = "list" in view ? view.list.title : "table" in view && view.table.title ? view.table.title : words.result(oneLine(dialog.command, 60));
  const shown: View = "list" in view ? view : "table" in view ? { table: { ...view.table, title: "" } } : view;
  const act = (what: Act) => {
    if (!session) return;
    if ("command" in what) {
      close();
      void command(session, what.command);
    } else perform(session, what.do);
  };
  return (
    <Modal title={clean(title)} onClose={close} wide={"diff" in view || "table" in view || "group" in view}>
      <ViewPart view={shown} onAct={act} />
    </Modal>
  );
}

/** The command of an item that shows what it changed: it says `diff`. */
function diffOf(item: Item): string | null {
  for (const action of item.actions ?? []) {
    if ("command" in action.act && /^diff\b/.test(action.act.command)) return action.act.command;
  }
  return null;
}

function Rewind({ session, list }: { session: string; list: List }) {
  const words = useWords();
  const [chosen, setChosen] = useState<Item | null>(null);
  const [diff, setDiff] = useState<View | null>(null);
  const [kinds, setKinds] = useState<List | null>(null);
  const choose = (item: Item) => {
    setChosen(item);
    setDiff(null);
    setKinds(null);
    const [first] = item.actions ?? [];
    const line = diffOf(item);
    if (line) void ask(session, line).then(setDiff, () => {});
    // An item without a diff acts at once when it is pressed below; one with numbers first says what it can take back.
    if (line && first && "command" in first.act) void ask(session, first.act.command).then((view) => view && "list" in view && setKinds(view.list), () => {});
  };
  const act = (what: Act) => {
    close();
    if ("command" in what) void command(session, what.command);
    else perform(session, what.do);
  };
  const files = useMemo(() => (diff && "diff" in diff ? parseDiff(diff.diff) : []), [diff]);
  const others = (chosen?.actions ?? []).slice(1).filter((action) => !("command" in action.act && /^diff\b/.test(action.act.command)));
  return (
    <Modal title={clean(list.title)} onClose={close} wide>
      <div class="rewind">
        <ol class="timeline">
          {(list.items ?? []).map((item, at) => (
            <li key={at} class={item === chosen ? "current" : undefined}>
              <button type="button" class="pick" aria-current={item === chosen ? "step" : undefined} onClick={() => choose(item)}>
                <span class="pick-label">{clean(item.label)}</span>
                {item.detail ? <span class="faint">{clean(item.detail)}</span> : null}
              </button>
            </li>
          ))}
          {list.items?.length ? null : <li class="faint">{clean(list.empty ?? words.noMatch)}</li>}
        </ol>
        <div class="rewind-what" aria-live="polite">
          {!chosen ? <p class="faint">{words.rewindChoose}</p> : (
            <>
              <div class="buttons">
                {(kinds?.items ?? (diffOf(chosen) ? [] : [chosen])).map((item, at) => {
                  const first = item.actions?.[0];
                  if (!first || ("do" in first.act && kinds)) return null;
                  return <button type="button" key={at} class={at === 0 ? "primary" : ""} onClick={() => act(first.act)}>{words.rewind}: {clean(item.label)}</button>;
                })}
                {others.map((action) => <button type="button" key={action.label} class="quiet" onClick={() => act(action.act)}>{clean(action.label)}</button>)}
              </div>
              {diff ? files.length > 0 ? <DiffView files={files} /> : <p class="faint">{words.rewindNothing}</p> : null}
            </>
          )}
        </div>
      </div>
    </Modal>
  );
}

function Changes({ session, file }: { session: string; file: string }) {
  const words = useWords();
  const diff = useApp((now) => now.sessions[session]?.changes ?? "");
  const files = useMemo(() => parseDiff(diff), [diff]);
  const [how, setHow] = useState<"auto" | "unified" | "split">("auto");
  const [ref, width] = useWidth<HTMLDivElement>();
  const isSplit = how === "auto" ? width >= SPLIT_FROM : how === "split";
  useEffect(() => {
    if (!file) return;
    const found = [...(ref.current?.querySelectorAll<HTMLElement>(".diff-file") ?? [])].find((one) => one.dataset.path === file);
    found?.scrollIntoView({ block: "start" });
    found?.querySelector<HTMLElement>(".diff-name")?.focus();
  }, [file]);
  return (
    <Modal title={`${words.changes} · ${words.files(files.length)}`} onClose={close} wide>
      <div class="switch" role="group" aria-label={words.diff}>
        <button type="button" aria-pressed={isSplit} onClick={() => setHow("split")}>{words.split}</button>
        <button type="button" aria-pressed={!isSplit} onClick={() => setHow("unified")}>{words.unified}</button>
      </div>
      <div ref={ref}>{files.length > 0 ? <DiffView files={files} how={how === "auto" ? undefined : how} /> : <p class="faint">{words.noChanges}</p>}</div>
    </Modal>
  );
}

function Keys() {
  const words = useWords();
  const help = words.keyHelp;
  const rows: [string, string][] = [
    ["y s a n …", help.answer], ["esc", help.stop], ["enter", help.send], ["tab", help.queue], ["shift enter", help.line], ["shift tab", help.mode],
    ["/  @", help.menus], ["↑ ↓", help.history], ["c", help.compose], ["q", help.question], ["g", help.end], ["d", help.details],
    ["ctrl k", help.palette], ["ctrl alt n", help.fresh], ["?", help.keys],
  ];
  return (
    <Modal title={words.keys} onClose={close}>
      <dl class="keys">
        {rows.map(([keys, text]) => <div key={keys}><dt>{keys.split(" ").filter(Boolean).map((key) => <kbd key={key}>{key}</kbd>)}</dt><dd>{text}</dd></div>)}
      </dl>
    </Modal>
  );
}

function Settings() {
  const words = useWords();
  const theme = useApp((now) => now.theme);
  const language = useApp((now) => now.language);
  const me = useApp((now) => now.me);
  const [granted, setGranted] = useState(canNotify() && Notification.permission === "granted");
  const themes: [Theme, string][] = [["auto", words.themeAuto], ["light", words.themeLight], ["dark", words.themeDark]];
  return (
    <Modal title={words.settings} onClose={close}>
      <div class="settings">
        <h3>{words.theme}</h3>
        <div class="switch" role="group" aria-label={words.theme}>
          {themes.map(([name, label]) => <button type="button" key={name} aria-pressed={theme === name} onClick={() => setTheme(name)}>{label}</button>)}
        </div>
        <h3>{words.language}</h3>
        <div class="switch" role="group" aria-label={words.language}>
          <button type="button" lang="en" aria-pressed={language === "en"} onClick={() => setLanguage("en")}>English</button>
          <button type="button" lang="zh-CN" aria-pressed={language === "zh"} onClick={() => setLanguage("zh")}>中文</button>
        </div>
        {canNotify() ? (
          <label class="row">
            <input type="checkbox" checked={granted} disabled={granted || Notification.permission === "denied"} onChange={() => void allowNotify().then(setGranted)} />
            <span>{words.notify}{Notification.permission === "denied" ? <span class="faint"> — {words.notifyOff}</span> : null}</span>
          </label>
        ) : null}
        <p class="buttons">
          <button type="button" onClick={() => change({ dialog: { at: "keys" } })}>{words.keys}</button>
          {me && me.auth_mode !== "none" ? <button type="button" onClick={() => void api.logout().finally(() => location.assign("/login"))}>{words.logout}</button> : null}
        </p>
        <p class="faint">Ostler {me?.version}</p>
      </div>
    </Modal>
  );
}

function Form({ title, label, value, button, onSend }: { title: string; label: string; value: string; button: string; onSend: (text: string) => Promise<void> }) {
  const words = useWords();
  const [text, setText] = useState(value);
  const [failure, setFailure] = useState("");
  return (
    <Modal title={title} onClose={close}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim()) onSend(text.trim()).then(close, (error: unknown) => setFailure(error instanceof Error ? error.message : String(error)));
        }}
      >
        <label>{label}<input type="text" autofocus value={text} onInput={(event) => setText(event.currentTarget.value)} /></label>
        {failure ? <p class="note bad" role="alert">✗ {failure}</p> : null}
        <p class="buttons"><button type="submit" class="primary">{button}</button><button type="button" onClick={close}>{words.cancel}</button></p>
      </form>
    </Modal>
  );
}

function AddProject() {
  const words = useWords();
  const send = async (root: string) => {
    const project = await api.addProject(root);
    app.set((now) => ({ ...now, projects: [...now.projects.filter((one) => one.id !== project.id), project] }));
  };
  return <Form title={words.addProject} label={words.projectPath} value="" button={words.add} onSend={send} />;
}

function Rename({ session }: { session: string }) {
  const words = useWords();
  const title = useApp((now) => sessionTitle(now, session));
  const send = async (next: string) => {
    await api.rename(session, next);
    app.set((now) => ({ ...now, rows: now.rows.map((row) => (row.id === session ? { ...row, title: next } : row)) }));
  };
  return <Form title={words.rename} label={words.title} value={title} button={words.save} onSend={send} />;
}

function Remove({ session }: { session: string }) {
  const words = useWords();
  const title = useApp((now) => sessionTitle(now, session));
  const remove = async () => {
    try {
      await api.remove(session);
      app.set((now) => ({ ...now, rows: now.rows.filter((row) => row.id !== session), sessions: Object.fromEntries(Object.entries(now.sessions).filter(([id]) => id !== session)) }));
      go({ at: "home" });
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error), "bad");
    }
    close();
  };
  return (
    <Modal title={words.remove} onClose={close}>
      <p>{words.removeSure(title)}</p>
      <p class="buttons"><button type="button" class="danger" onClick={() => void remove()}>{words.remove}</button><button type="button" onClick={close}>{words.cancel}</button></p>
    </Modal>
  );
}

function Leave({ session }: { session: string }) {
  const words = useWords();
  const leave = () => {
    close();
    void api.op(session, { op: "close", id: `web-close-${Date.now()}` }).catch((error: unknown) => toast(String(error instanceof Error ? error.message : error), "bad"));
  };
  return (
    <Modal title={words.endIt} onClose={close}>
      <p>{words.leaveSure}</p>
      <p class="buttons"><button type="button" class="danger" onClick={leave}>{words.endIt}</button><button type="button" onClick={close}>{words.cancel}</button></p>
    </Modal>
  );
}

