// Sessions in this tab: opening, following, older entries, and what the person sends.

import { ApiError, api } from "../net/api";
import type { FromHub, Link, ToHub } from "../net/messages";
import type { Deed, Delivery, Entry, Event, Image, Op, Open, Opened, Reply, SessionRow, View } from "../wire";
import { app, change, go, say, sessionTitle, toast, words, type First, type Pending, type SessionView, setTheme } from "./app";
import { follow, isEntry, NOTHING } from "./live";
import { notify } from "./notify";
import { fetchQuestions, refreshProjects, tellQuestion } from "./questions";
import { keepDraft, keepUnsent, leaveForLogin, unsent } from "./prefs";
import { EMPTY, isGap, withEntries } from "./transcript";
import { clean, oneLine } from "../lib/clean";

/** Sessions that stay followed when others are looked at. */
const MAX_FOLLOWED = 8;
/** Older entries that are taken in at once: more would hold up the page. */
const OLDER = 500;
/** Answers to commands that stay in sight. */
const MAX_SHOWN = 20;

let send: (message: ToHub) => void = () => {};

export function setLink(to: (message: ToHub) => void): void {
  send = to;
}

export function tryNow(): void {
  send({ t: "now" });
}

export function view(id: string): SessionView | undefined {
  return app.get().sessions[id];
}

export function update(id: string, next: (now: SessionView) => SessionView): void {
  app.set((now) => {
    const known = now.sessions[id];
    if (!known) return now;
    const made = next(known);
    return made === known ? now : { ...now, sessions: { ...now.sessions, [id]: made } };
  });
}

function fresh(id: string): SessionView {
  return {
    id, project: "", transcript: EMPTY, live: NOTHING, head: null, status: "loading", failure: "", closed: false,
    loadingOlder: false, shown: [], pending: [], changes: "", since: new Map(),
  };
}

/** Shows a session: its newest entries at once, then everything as it comes. */
export async function openSession(id: string): Promise<void> {
  change({ lastSession: id });
  const known = view(id);
  if (known && known.status !== "failed" && !known.closed) {
    wantAll(id);
    return;
  }
  app.set((now) => ({ ...now, sessions: { ...now.sessions, [id]: known ? { ...known, status: known.closed ? "ready" : "loading", closed: false } : fresh(id) } }));
  try {
    const opening = resume(id);
    opening.catch(() => {});
    // The rows need not wait for the process.
    const page = await api.entries(id).catch((error: unknown) => (error instanceof ApiError && error.status === 404 ? null : Promise.reject(error)));
    if (page) update(id, (now) => ({ ...now, transcript: withEntries(now.transcript, page.entries, page.more) }));
    const opened = await opening;
    if (!opened) return;
    update(id, (now) => ({
      ...now, project: opened.project, status: "ready", head: opened.head,
      live: now.live === NOTHING ? opened.snapshot : now.live,
      transcript: now.transcript.entries.length === 0 && opened.head === null ? withEntries(now.transcript, [], false) : now.transcript,
    }));
    for (const note of opened.notes) toast(note);
    wantAll(id);
    sendUnsent(id);
    const first = firsts.get(id);
    if (first && firsts.delete(id)) {
      if (first.mode) await ask(id, `mode ${first.mode}`);
      sayText(id, first.text, "queue", first.images);
    }
    void refreshChanges(id);
  } catch (error) {
    const failure = error instanceof Error ? error.message : String(error);
    update(id, (now) => ({ ...now, status: "failed", failure }));
  }
}

/** Sessions that this page opened: what their project brings was asked about then. */
const begun = new Set<string>();

/**
 * Joins a session. One that the server has to resume reads the project's files anew, so that is asked about first; null where
 * the question is put in its place.
 */
async function resume(id: string): Promise<Opened | null> {
  await listedOnce;
  const row = app.get().rows.find((one) => one.id === id);
  if (row?.state === "closed" && !begun.has(id)) {
    // Where that cannot be said, it opens without what needs trust.
    const asks = await fetchQuestions(row.project).catch(() => []);
    const { route } = app.get();
    if (asks.length > 0 && route.at === "session" && route.id === id) {
      tellQuestion(asks[0]!);
      app.set((now) => ({ ...now, sessions: Object.fromEntries(Object.entries(now.sessions).filter(([known]) => known !== id)) }));
      go({ at: "start", project: row.project, open: { resume: id }, asks, round: ++wanted }, "replace");
      return null;
    }
  }
  return api.session(id);
}

/** Tells the hub which sessions this tab follows: this one, and those looked at before. */
function wantAll(first?: string): void {
  const followed = Object.values(app.get().sessions).filter((one) => one.status === "ready" && !one.closed);
  const sorted = followed.sort((a, b) => Number(b.id === first) - Number(a.id === first)).slice(0, MAX_FOLLOWED);
  send({ t: "want", sessions: sorted.map((one) => ({ session: one.id, after: one.transcript.entries.at(-1)?.entry ?? null })) });
  const kept = new Set(sorted.map((one) => one.id));
  const dropped = followed.filter((one) => !kept.has(one.id));
  if (dropped.length === 0) return;
  app.set((now) => ({ ...now, sessions: Object.fromEntries(Object.entries(now.sessions).filter(([id]) => !dropped.some((one) => one.id === id))) }));
}

export async function loadOlder(id: string): Promise<void> {
  const now = view(id);
  if (!now || now.loadingOlder || !now.transcript.more) return;
  update(id, (v) => ({ ...v, loadingOlder: true }));
  try {
    const page = await api.entries(id, now.transcript.entries[0]?.entry, OLDER);
    update(id, (v) => ({ ...v, loadingOlder: false, transcript: withEntries(v.transcript, page.entries, page.more) }));
  } catch {
    update(id, (v) => ({ ...v, loadingOlder: false }));
  }
}

// What the hub says. Events are gathered and taken in together, once per frame.

let waiting: FromHub[] = [];
let scheduled = false;

// A page that is hidden draws no frames, and still notifies.
if (typeof document !== "undefined") document.addEventListener("visibilitychange", () => scheduled && flush());

export function hear(message: FromHub): void {
  waiting.push(message);
  if (scheduled) return;
  scheduled = true;
  if (document.hidden) setTimeout(flush, 100);
  else requestAnimationFrame(flush);
}

function flush(): void {
  scheduled = false;
  const taken = waiting;
  waiting = [];
  const bySession = new Map<string, FromHub[]>();
  for (const message of taken) {
    if (message.t === "link") heardLink(message.link);
    else if (message.t === "sessions") heardRows(message.rows);
    else bySession.set(message.session, [...(bySession.get(message.session) ?? []), message]);
  }
  for (const [id, messages] of bySession) takeAll(id, messages);
}

function heardLink(link: Link): void {
  const before = app.get();
  change({ link, wasOnline: before.wasOnline || link === "online" });
  if (link === "login") leaveForLogin();
  if (link === "online" && before.link !== "online") {
    if (before.wasOnline) toast(words().online);
    if (before.listed) void loadSessions();
    for (const one of Object.values(app.get().sessions)) {
      if (one.status === "failed") void openSession(one.id);
      else resend(one);
    }
  }
}

/** Sessions that were deleted: what is said of them later is old. */
const deleted = new Set<string>();

function heardRows(changed: SessionRow[]): void {
  const before = app.get();
  const rows = new Map(before.rows.map((row) => [row.id, row]));
  for (const row of changed) {
    if (row.state === "deleted") {
      deleted.add(row.id);
      rows.delete(row.id);
      update(row.id, (now) => ({ ...now, closed: true, deleted: true }));
    }
    if (deleted.has(row.id)) continue;
    const known = rows.get(row.id);
    if (known) announceState(known, row);
    rows.set(row.id, { ...known, ...row });
  }
  change({ rows: sortRows([...rows.values()]) });
}

function sortRows(rows: SessionRow[]): SessionRow[] {
  // One that was just begun has no entry yet.
  const when = (row: SessionRow) => row.updated || "9999";
  return rows.sort((a, b) => (when(a) < when(b) ? 1 : when(a) > when(b) ? -1 : 0));
}

function announceState(before: SessionRow, after: SessionRow): void {
  if (before.state === after.state) return;
  const title = after.title || after.id.slice(0, 8);
  if (after.state === "asks") notify(after.id, words().noteAsks(title));
  else if (before.state === "working" && after.state === "idle") notify(after.id, words().noteEnded(title));
  else if (before.state === "working" && after.state === "failed") notify(after.id, words().noteFailed(title));
}

function takeAll(id: string, messages: FromHub[]): void {
  const before = view(id);
  if (!before) return;
  let now = before;
  let run: Event[] = [];
  const all: Event[] = [];
  const endRun = () => {
    now = takeEvents(now, run);
    all.push(...run);
    run = [];
  };
  // In their order: what came before a snapshot is in it.
  for (const message of messages) {
    if (message.t === "event") {
      run.push(message.event);
      continue;
    }
    endRun();
    if (message.t === "snapshot") now = { ...now, live: message.snapshot, head: message.head, closed: false };
    else if (message.t === "closed") now = { ...now, closed: true, live: { ...now.live, working: false, running: [], asks: [], tasks: [], jobs: [] } };
  }
  endRun();
  update(id, () => now);
  afterwards(before, now, all);
}

function takeEvents(before: SessionView, events: Event[]): SessionView {
  let now = before;
  const entries: Entry[] = [];
  for (const event of events) {
    if (isEntry(event)) {
      entries.push(event);
      if (now.head !== null && event.entry <= now.head) continue;
    }
    now = { ...now, live: follow(now.live, event), since: since(now, event) };
    if (!isEntry(event) && event.type === "announcement") now = withShown(now, "", event.view);
  }
  if (entries.length === 0) return now;
  const first = entries.find((entry) => isGap(now.transcript, entry));
  if (first && first === entries[0]) void fillGap(now.id);
  const ops = new Set(entries.flatMap((entry) => (entry.type === "message" && entry.op ? [entry.op] : [])));
  return { ...now, transcript: withEntries(now.transcript, entries), pending: now.pending.filter((one) => !ops.has(one.id)) };
}

function since(now: SessionView, event: Event): Map<string, number> {
  const key = isEntry(event) ? null : event.type === "tool_started" ? event.id : event.type === "reasoning_delta" ? "thought" : null;
  if (isEntry(event) && event.type === "message") {
    const next = new Map(now.since);
    next.delete("thought");
    if (event.role === "user" && !now.live.working) next.set("turn", Date.now());
    return next;
  }
  return key === null || now.since.has(key) ? now.since : new Map(now.since).set(key, Date.now());
}

/** Entries are missing between what is here and what came: the newest page has them. */
async function fillGap(id: string): Promise<void> {
  try {
    const page = await api.entries(id, undefined, 1000);
    update(id, (v) => ({ ...v, transcript: withEntries({ ...EMPTY, more: true }, page.entries, page.more) }));
  } catch {
    // The next reconnect tries again.
  }
}

function afterwards(before: SessionView, now: SessionView, events: Event[]): void {
  for (const event of events) {
    if (isEntry(event)) {
      if (event.type === "turn_end" || event.type === "rewind") void refreshChanges(now.id);
      else if (event.type === "tool_result") changesSoon(now.id);
    } else if (event.type === "view") {
      // A command that took longer than its request.
      if (event.op && ownOps.delete(event.op)) showReply(now.id, event);
    } else if (event.type === "ask_closed" && event.by !== undefined && !answeredHere.delete(event.ask)) {
      toast(words().answeredElsewhere(oneLine(event.answer ?? "", 80)));
    }
  }
  const title = () => sessionTitle(app.get(), now.id);
  const asked = now.live.asks.find((ask) => !before.live.asks.some((known) => known.ask === ask.ask));
  if (asked) {
    say(words().saidAsk(`${oneLine(asked.title ?? "", 100)} ${oneLine(asked.subject, 300)}`), "urgent");
    notify(now.id, words().noteAsks(title()));
  }
  if (before.live.working && !now.live.working && before.status === "ready") {
    const last = now.transcript.rows.findLast((row) => row.kind === "answer");
    say(words().saidDone(last?.kind === "answer" ? oneLine(last.text, 400) : ""));
    notify(now.id, words().noteEnded(title()));
  }
}

// What the person sends.

let opCount = 0;
const answeredHere = new Set<string>();
/** Commands of this tab whose replies have not come. */
const ownOps = new Set<string>();

function opId(): string {
  return `web-${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 8)}-${++opCount}`;
}

/** Sends what was typed. It is shown at once and sent again when the link comes back. */
export function sayText(id: string, text: string, delivery: Delivery, images: Image[]): void {
  const pending: Pending = { id: opId(), text, images, delivery, sent: false, failed: false };
  const isCommand = images.length === 0 && (/^\/[^\s/]+(\s|$)/.test(text) || (text.startsWith("!") && text.length > 1) || (text.startsWith("# ") && !text.includes("\n")) || /\S &$/.test(text));
  if (isCommand) {
    void command(id, text, { op: "say", text, delivery });
    return;
  }
  update(id, (now) => ({ ...now, pending: [...now.pending, pending] }));
  keepUnsent(id, view(id)?.pending.filter((one) => !one.sent) ?? []);
  void deliver(id, pending, false);
}

async function deliver(id: string, pending: Pending, again: boolean): Promise<void> {
  try {
    if (view(id)?.closed) await reopen(id);
    const { text, delivery, images } = pending;
    const replies = await api.op(id, { op: "say", text, delivery, ...(images.length ? { images } : {}), id: pending.id, ...(again ? { again } : {}) });
    update(id, (now) => ({ ...now, pending: now.pending.map((one) => (one.id === pending.id ? { ...one, sent: true, failed: false } : one)) }));
    // The log, or the queue, has it by then.
    setTimeout(() => update(id, (now) => ({ ...now, pending: now.pending.filter((one) => one.id !== pending.id) })), 8000);
    replies.forEach((reply) => showReply(id, reply));
  } catch (error) {
    if (!(error instanceof ApiError) || !error.isLink) toast(error instanceof Error ? error.message : String(error), "bad");
    update(id, (now) => ({ ...now, pending: now.pending.map((one) => (one.id === pending.id ? { ...one, failed: true } : one)) }));
  } finally {
    keepUnsent(id, view(id)?.pending.filter((one) => !one.sent) ?? []);
  }
}

/** What did not arrive before the page was loaded anew. */
function sendUnsent(id: string): void {
  const log = view(id)?.transcript.entries ?? [];
  const known = new Set([...log.flatMap((entry) => (entry.type === "message" && entry.op ? [entry.op] : [])), ...(view(id)?.pending ?? []).map((one) => one.id)]);
  const left = unsent(id).filter((one) => !known.has(one.id));
  keepUnsent(id, left);
  for (const one of left) {
    const pending: Pending = { ...one, images: [], sent: false, failed: false };
    update(id, (now) => ({ ...now, pending: [...now.pending, pending] }));
    void deliver(id, pending, true);
  }
}

function resend(one: SessionView): void {
  for (const pending of one.pending) if (pending.failed) void deliver(one.id, pending, true);
}

export function resendNow(id: string): void {
  const now = view(id);
  if (now) resend(now);
}

async function reopen(id: string): Promise<void> {
  const opened = await api.session(id);
  update(id, (now) => ({ ...now, closed: false, live: opened.snapshot, head: opened.head }));
  wantAll(id);
}

/** Runs a command and shows what it answers. */
export async function command(id: string, line: string, op?: Op): Promise<void> {
  try {
    if (view(id)?.closed) await reopen(id);
    const name = opId();
    ownOps.add(name);
    const replies = await api.op(id, { ...(op ?? { op: "command", line: line.replace(/^\//, "") }), id: name } as Op & { id: string });
    if (replies.some((reply) => !reply.more)) ownOps.delete(name);
    replies.forEach((reply) => showReply(id, reply));
  } catch (error) {
    toast(error instanceof Error ? error.message : String(error), "bad");
  }
}

/** Runs a command for its answer. */
export async function ask(id: string, line: string): Promise<View | null> {
  const replies = await api.op(id, { op: "command", line, id: opId() });
  return replies.at(-1)?.view ?? null;
}

/** Shows the timeline at what the person said with this entry. */
export async function rewindTo(id: string, entry: number): Promise<void> {
  try {
    const list = await ask(id, "rewind");
    if (list && "list" in list) change({ dialog: { at: "rewind", session: id, list: list.list, entry } });
    else if (list && "error" in list) toast(list.error, "bad");
  } catch (error) {
    toast(error instanceof Error ? error.message : String(error), "bad");
  }
}

/** Brings one file back to what it was before the person's n-th prompt. */
export async function rewindFile(id: string, prompt: number, path: string): Promise<void> {
  const line = `rewind ${prompt} file ${path}`;
  try {
    const shown = await ask(id, line);
    if (shown && "error" in shown) toast(shown.error, "bad");
    else if (shown && "text" in shown) toast(shown.text);
    // Somebody else changed it since: the person says what becomes of that.
    else if (shown && "list" in shown) change({ dialog: { at: "view", session: id, project: view(id)?.project ?? "", command: line, view: shown } });
    else toast(words().rewoundFile(oneLine(path, 80)));
  } catch (error) {
    toast(error instanceof Error ? error.message : String(error), "bad");
  }
  await refreshChanges(id);
}

export async function interrupt(id: string): Promise<void> {
  await api.op(id, { op: "interrupt", id: opId() }).catch((error: unknown) => toast(String(error instanceof Error ? error.message : error), "bad"));
}

export async function answer(id: string, askId: string, choice: string, reason?: string): Promise<boolean> {
  answeredHere.add(askId);
  try {
    await api.op(id, { op: "answer", ask: askId, choice, ...(reason === undefined ? {} : { reason }), id: opId() });
    return true;
  } catch (error) {
    answeredHere.delete(askId);
    toast(error instanceof Error ? error.message : String(error), "bad");
    return false;
  }
}

function withShown(now: SessionView, line: string, shown: View): SessionView {
  const after = now.transcript.entries.at(-1)?.entry ?? -1;
  return { ...now, shown: [...now.shown.slice(-MAX_SHOWN + 1), { key: `v${++opCount}`, after, command: line, view: shown }] };
}

function showReply(id: string, reply: Reply): void {
  const shown = reply.view;
  if ("do" in shown) {
    perform(id, shown.do);
    return;
  }
  if ("list" in shown && reply.command === "rewind") {
    change({ dialog: { at: "rewind", session: id, list: shown.list } });
    return;
  }
  if ("text" in shown || "report" in shown || "error" in shown) {
    update(id, (now) => withShown(now, reply.command, shown));
    return;
  }
  change({ dialog: { at: "view", session: id, project: view(id)?.project ?? "", command: reply.command, view: shown } });
}

/** Runs a command and gives its answer a place in what is open. */
export async function act(id: string, line: string): Promise<void> {
  await command(id, line);
}

export function perform(id: string, deed: Deed): void {
  if (deed === "leave") {
    change({ dialog: { at: "leave", session: id } });
  } else if ("copy" in deed) {
    void navigator.clipboard?.writeText(deed.copy).then(() => toast(words().copied), () => {});
  } else if ("compose" in deed) {
    change({ dialog: null });
    composeHook(id, deed.compose);
  } else if ("theme" in deed) {
    if (deed.theme === "light" || deed.theme === "dark") setTheme(deed.theme);
    else change({ dialog: { at: "settings" } });
  } else {
    void openOther(view(id)?.project ?? "", deed.open);
  }
}

let composeHook: (id: string, text: string) => void = () => {};

export function onCompose(hook: (id: string, text: string) => void): void {
  composeHook = hook;
}

/** What was written for a session that did not open is not lost. */
function putBack(first: First): void {
  keepDraft("first", first.text);
  composeHook("first", first.text);
}

let wanted = 0;
/** What is said in sessions that were just begun. */
const firsts = new Map<string, First>();

/** Opens a session. Before that the person is asked what the project's files, as they are now, may bring. */
export async function openOther(project: string, which: Open, first?: First): Promise<void> {
  const { route } = app.get();
  const mine = ++wanted;
  try {
    const asks = await fetchQuestions(project);
    // They went elsewhere, or pressed once more.
    if (mine !== wanted || app.get().route !== route) return;
    if (asks.length > 0) {
      tellQuestion(asks[0]!);
      void refreshProjects();
      return go({ at: "start", project, open: which, asks, round: mine, first });
    }
  } catch (error) {
    toast(error instanceof Error ? error.message : String(error), "bad");
    if (error instanceof ApiError && error.isLink) {
      if (first) putBack(first);
      return;
    }
  }
  await openNow(project, which, first);
}

export async function openNow(project: string, which: Open, first?: First): Promise<void> {
  try {
    const opened = await api.open(project, which);
    begun.add(opened.id);
    app.set((now) => ({
      ...now,
      rows: now.rows.some((row) => row.id === opened.id) ? now.rows : [
        { id: opened.id, project: opened.project, title: "", updated: new Date().toISOString(), turns: 0, cost: null, bytes: 0, state: "idle" as const },
        ...now.rows,
      ],
    }));
    if (first) firsts.set(opened.id, first);
    go({ at: "session", id: opened.id }, app.get().route.at === "start" ? "replace" : "push");
  } catch (error) {
    if (first) putBack(first);
    toast(error instanceof Error ? error.message : String(error), "bad");
  }
}

let nowListed: () => void = () => {};
const listedOnce = new Promise<void>((done) => {
  nowListed = done;
});

export async function loadSessions(): Promise<void> {
  try {
    const [projects, rows] = await Promise.all([api.projects(), api.sessions()]);
    // A list that was on its way when one of them was deleted still has it.
    change({ projects, rows: sortRows(rows.filter((row) => !deleted.has(row.id))), listed: true });
    nowListed();
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) leaveForLogin();
    else if (!(error instanceof ApiError && error.isLink)) toast(error instanceof Error ? error.message : String(error), "bad");
  }
}

const soon = new Map<string, ReturnType<typeof setTimeout>>();

function changesSoon(id: string): void {
  clearTimeout(soon.get(id));
  soon.set(id, setTimeout(() => void refreshChanges(id), 1200));
}

export async function refreshChanges(id: string): Promise<void> {
  clearTimeout(soon.get(id));
  try {
    const shown = await ask(id, "diff");
    const diff = shown && "diff" in shown ? clean(shown.diff) : "";
    update(id, (now) => (now.changes === diff ? now : { ...now, changes: diff }));
  } catch {
    // Shown as they were.
  }
}
