// The dialogs: answers of commands, keys, settings, and small forms.

import { useState } from "preact/hooks";
import { clean, oneLine } from "../lib/clean";
import { api } from "../net/api";
import { app, change, go, sessionTitle, setLanguage, setTheme, toast, useApp, useWords, words, type Dialog, type Theme } from "../state/app";
import { allowNotify, canNotify } from "../state/notify";
import { command, perform } from "../state/sessions";
import type { Act, View } from "../wire";
import { AgentDialog, JobDialog } from "./Below";
import { Palette } from "./Palette";
import { Modal } from "./parts";
import { Review } from "./Review";
import { Rewind } from "./Rewind";
import { ViewPart } from "./ViewPart";

const close = () => change({ dialog: null });

export function Dialogs() {
  const dialog = useApp((now) => now.dialog);
  if (!dialog) return null;
  switch (dialog.at) {
    case "view":
      return <ViewDialog key={dialog.command} dialog={dialog} />;
    case "rewind":
      return <Rewind session={dialog.session} list={dialog.list} entry={dialog.entry} />;
    case "palette":
      return <Palette />;
    case "agent":
      return <AgentDialog key={dialog.child} session={dialog.session} child={dialog.child} name={dialog.name} title={dialog.title} />;
    case "job":
      return <JobDialog key={dialog.name} session={dialog.session} name={dialog.name} />;
    case "picture":
      return <Modal title={words().image} onClose={close} wide><img class="whole-picture" src={dialog.source} alt={words().image} /></Modal>;
    case "keys":
      return <Keys />;
    case "settings":
      return <Settings />;
    case "project":
      return <AddProject />;
    case "changes":
      return <Review session={dialog.session} file={dialog.file} />;
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

function Keys() {
  const words = useWords();
  const help = words.keyHelp;
  const rows: [string, string][] = [
    ["y s a n …", help.answer], ["esc", help.stop], ["enter", help.send], ["tab", help.queue], ["shift enter", help.line], ["shift tab", help.mode],
    ["/  @", help.menus], ["↑ ↓", help.history], ["c", help.compose], ["q", help.question], ["g", help.end], ["r", help.review], ["d", help.details], ["f", help.find],
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
      const { route } = app.get();
      if (route.at === "session" && route.id === session) go({ at: "home" });
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

