// One session: its header with model, mode and approval, the conversation, open questions, the composer.

import { useEffect } from "preact/hooks";
import { oneLine } from "../lib/clean";
import { api } from "../net/api";
import { change, sessionTitle, useApp, useWords } from "../state/app";
import { answer, ask, command, interrupt, openOther, openSession, tryNow } from "../state/sessions";
import type { View } from "../wire";
import { AskCard } from "./ask/AskCard";
import { Chat } from "./chat/Chat";
import { Composer } from "./Composer";
import type { Words } from "../words";
import { modeName, postureName } from "./names";
import { Icon, Menu, type MenuItem } from "./parts";

export function SessionPage({ id }: { id: string }) {
  useEffect(() => void openSession(id), [id]);
  const asks = useApp((now) => now.sessions[id]?.live.asks);
  const first = asks?.[0];
  return (
    <main class="session" id="main">
      <SessionHead id={id} />
      <Notices id={id} />
      <Chat id={id} key={`chat${id}`} />
      <div class="dock column">
        {first ? <AskCard key={first.ask} ask={first} count={asks?.length ?? 1} answer={(choice, reason) => answer(id, first.ask, choice, reason)} interrupt={() => void interrupt(id)} /> : null}
        <Composer id={id} key={id} />
      </div>
    </main>
  );
}

function Notices({ id }: { id: string }) {
  const words = useWords();
  const link = useApp((now) => now.link);
  const wasOnline = useApp((now) => now.wasOnline);
  const closed = useApp((now) => now.sessions[id]?.closed ?? false);
  const deleted = useApp((now) => now.sessions[id]?.deleted ?? false);
  if (link === "offline" && wasOnline) {
    return <p class="banner" role="status">{words.offline} <button type="button" class="small" onClick={tryNow}>{words.retryNow}</button></p>;
  }
  return closed ? <p class="banner" role="status">{deleted ? words.deleted : words.gone}</p> : null;
}

/** The choices of a list view, as a menu. */
function fromView(view: View | null, id: string): MenuItem[] {
  if (!view || !("list" in view)) return [];
  return (view.list.items ?? []).flatMap((item) => {
    const first = item.actions?.[0]?.act;
    if (!first || !("command" in first)) return [];
    return [{ label: oneLine(item.label, 60), hint: oneLine(item.detail ?? "", 60), marked: item.marked, run: () => void command(id, first.command) }];
  });
}

async function listOf(id: string, line: string): Promise<MenuItem[]> {
  return fromView(await ask(id, line).catch(() => null), id);
}

/** The models, and how hard the one in use thinks. */
async function models(id: string, words: Words): Promise<MenuItem[]> {
  const [list, efforts] = await Promise.all([listOf(id, "model"), listOf(id, "effort")]);
  const head = efforts.length > 0 ? [{ label: words.effort, heading: true }] : [];
  return [...list, ...head, ...efforts];
}

function modelName(model: string): string {
  return model.split("/").at(-1) ?? model;
}

function SessionHead({ id }: { id: string }) {
  const words = useWords();
  const title = useApp((now) => sessionTitle(now, id));
  const model = useApp((now) => now.sessions[id]?.live.model ?? "");
  const place = useApp((now) => now.sessions[id]?.live.place ?? "");
  const mode = useApp((now) => now.sessions[id]?.live.mode);
  const working = useApp((now) => now.sessions[id]?.live.working ?? false);
  const posture = mode?.posture ?? "ask";
  const run = (line: string) => () => void command(id, line);
  const modes: MenuItem[] = [
    { label: words.modes.normal, hint: words.modes.normalHint, marked: mode?.mode === "normal", run: run("mode normal") },
    { label: words.modes.plan, hint: words.modes.planHint, marked: mode?.mode === "plan", run: run("mode plan") },
  ];
  const postures: MenuItem[] = [
    { label: words.postures.ask, hint: words.postures.askHint, marked: posture === "ask", run: run("approve ask") },
    { label: words.postures.edits, hint: words.postures.editsHint, marked: posture === "edits", run: run("approve edits") },
    { label: words.postures.ten, hint: words.postures.tenHint, marked: posture.startsWith("auto for"), run: run("approve 10m") },
    { label: words.postures.auto, hint: words.postures.autoHint, marked: posture === "auto", run: run("approve auto") },
    { label: words.postures.commands, hint: words.postures.commandsHint, marked: posture === "yolo for commands", bad: true, run: run("approve all") },
    { label: words.postures.yolo, hint: words.postures.yoloHint, marked: posture === "yolo", bad: true, run: run("approve yolo") },
    { label: words.postures.refuse, hint: words.postures.refuseHint, marked: posture === "refuse", run: run("approve none") },
  ];
  return (
    <header class="session-head">
      <button type="button" class="quiet square narrow-only" aria-label={words.menu} onClick={() => change({ sheet: "left" })}><Icon name="menu" /></button>
      <h1 title={title}>{oneLine(title, 120)}</h1>
      <div class="pills">
        {place ? <span class="pill place" title={words.placeIs(place)}>{oneLine(place, 40)}</span> : null}
        {model ? <Menu text label={words.model} class="pill" items={() => models(id, words)}>{modelName(model)} <Icon name="down" /></Menu> : null}
        <Menu text label={words.mode} class={`pill ${mode?.mode === "plan" ? "on" : ""}`} items={modes}>{modeName(mode?.mode ?? "normal", words)} <Icon name="down" /></Menu>
        <Menu text label={words.posture} class={`pill ${posture.startsWith("yolo") ? "on" : ""}`} items={postures}>{postureName(posture, words)} <Icon name="down" /></Menu>
      </div>
      <div class="head-tools">
        {working ? <button type="button" class="pill stop" aria-label={words.stop} onClick={() => void interrupt(id)}><Icon name="stop" /> <span class="wide-only">{words.stop}</span></button> : null}
        <MoreMenu id={id} />
        <button type="button" class="quiet square details-button" aria-label={words.details} title={words.details} onClick={() => change({ sheet: "right" })}><Icon name="side" /></button>
      </div>
    </header>
  );
}

function MoreMenu({ id }: { id: string }) {
  const words = useWords();
  const project = useApp((now) => now.sessions[id]?.project ?? "");
  const items: MenuItem[] = [
    { label: words.rename, run: () => change({ dialog: { at: "rename", session: id } }) },
    { label: words.effort, hint: "/effort", run: () => void command(id, "effort") },
    { label: words.rewind, hint: "/rewind", run: () => void command(id, "rewind") },
    { label: words.compact, hint: "/compact", run: () => void command(id, "compact") },
    { label: words.fork, run: () => void openOther(project, { fork: id }) },
    { label: words.exportAs("Markdown"), href: api.exportUrl(id, "md") },
    { label: words.exportAs("HTML"), href: api.exportUrl(id, "html") },
    { label: words.exportAs("JSONL"), href: api.exportUrl(id, "jsonl") },
    { label: words.remove, bad: true, run: () => change({ dialog: { at: "remove", session: id } }) },
  ];
  return <Menu label={words.more} class="quiet square" items={items} align="right"><Icon name="dots" /></Menu>;
}
