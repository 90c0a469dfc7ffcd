// The conversation of one session: its rows, what is under way below them, and the way back to the end.

import { useMemo, useRef, useState } from "preact/hooks";
import { useApp, useWords, type Pending, type SessionView, type Shown } from "../../state/app";
import { loadOlder } from "../../state/sessions";
import type { Row } from "../../state/transcript";
import type { RunningCall } from "../../wire";
import { Icon, Memo, Skeleton } from "../parts";
import { VirtualList, type ListHandle, type ListItem } from "../VirtualList";
import { CallRow } from "./CallRow";
import { AnswerRow, CompactionRow, ErrorRow, LiveThought, NoticeRow, PendingRow, RetryRow, SettingRow, ShownRow, ThoughtRow, TurnRow, UserRow, WorkingRow } from "./rows";

type Item = ListItem &
  (
    | { is: "row"; row: Row; running: RunningCall | null; asked: boolean; since: number | null }
    | { is: "shown"; shown: Shown }
    | { is: "pending"; pending: Pending }
    | { is: "answer"; text: string }
    | { is: "thought"; text: string; since: number | null }
    | { is: "retry"; retry: { after_ms: number; attempt: number; reason: string } }
    | { is: "working"; since: number | null; text: string }
  );

const GUESS: Record<Row["kind"], number> = { user: 76, answer: 90, thought: 32, call: 34, notice: 36, error: 80, setting: 30, compaction: 34, turn: 34 };

function guess(row: Row): number {
  if (row.kind === "answer") return 40 + Math.ceil(row.text.length / 80) * 24;
  return GUESS[row.kind];
}

/** Items of rows at which nothing happens: they are the same as long as the row is. */
const QUIET = new WeakMap<Row, Item>();

function quiet(row: Row): Item {
  const known = QUIET.get(row);
  if (known) return known;
  const made: Item = { key: row.key, guess: guess(row), is: "row", row, running: null, asked: false, since: null };
  QUIET.set(row, made);
  return made;
}

function itemsOf(view: SessionView): Item[] {
  const { transcript, live } = view;
  const running = new Map(live.running.map((call) => [call.id, call]));
  const asks = live.asks.length > 0;
  // Each question is about the first call of its tool that has not begun.
  const tools = live.asks.filter((ask) => !ask.from && ask.tool).map((ask) => ask.tool!);
  const items: Item[] = [];
  const shown = [...view.shown];
  for (const row of transcript.rows) {
    while (shown[0] && shown[0].after < row.entry) items.push(shownItem(shown.shift()!));
    const call = row.kind === "call" && !row.result ? (running.get(row.call.id) ?? null) : null;
    const asked = row.kind === "call" && !row.result && !row.ended && call === null && takeOne(tools, row.call.name);
    const since = call ? (view.since.get(call.id) ?? null) : null;
    items.push(call || asked ? { key: row.key, guess: guess(row), is: "row", row, running: call, asked, since } : quiet(row));
  }
  items.push(...shown.map(shownItem));
  if (live.reasoning) items.push({ key: "live.thought", guess: 60, is: "thought", text: live.reasoning, since: view.since.get("thought") ?? null });
  if (live.answer) items.push({ key: "live.answer", guess: 60, is: "answer", text: live.answer });
  if (live.retry) items.push({ key: "live.retry", guess: 36, is: "retry", retry: live.retry });
  // What waits in the queue is seen there.
  const queued = live.queue.map((one) => one.text);
  for (const pending of view.pending) if (!(pending.sent && takeOne(queued, pending.text))) items.push({ key: pending.id, guess: 60, is: "pending", pending });
  const moves = live.answer !== "" || live.reasoning !== "" || live.running.length > 0 || live.retry !== null || asks;
  if (live.activity || (live.working && !moves)) items.push({ key: "live.working", guess: 32, is: "working", since: view.since.get("turn") ?? null, text: live.activity ?? "" });
  return items;
}

function takeOne(tools: string[], name: string): boolean {
  const at = tools.indexOf(name);
  if (at >= 0) tools.splice(at, 1);
  return at >= 0;
}

function shownItem(shown: Shown): Item {
  return { key: shown.key, guess: 60, is: "shown", shown };
}

export function Chat({ id }: { id: string }) {
  const words = useWords();
  const view = useApp((now) => now.sessions[id]);
  const handle = useRef<ListHandle>(null);
  const [end, setEnd] = useState({ at: true, unseen: 0 });
  const items = useMemo(() => (view ? itemsOf(view) : []), [view]);
  if (!view || (view.status === "loading" && items.length === 0)) return <div class="chat"><div class="vlist column"><Skeleton lines={7} /></div></div>;
  if (view.status === "failed" && items.length === 0) return <div class="chat"><div class="vlist"><p class="note bad column" role="alert">✗ {view.failure}</p></div></div>;
  return (
    <div class="chat">
      <VirtualList
        key={id}
        items={items}
        label={words.conversation}
        handle={handle}
        onTop={() => void loadOlder(id)}
        onEnd={(at, unseen) => setEnd({ at, unseen })}
        draw={(item) => <div class="column">{drawItem(item, id)}</div>}
        head={view.transcript.more ? <p class="older column faint">{view.loadingOlder ? words.loading : <button type="button" class="quiet small" onClick={() => void loadOlder(id)}>{words.olderEntries}</button>}</p> : null}
      />
      {end.at ? null : (
        <button type="button" class="to-end" onClick={() => handle.current?.toEnd()}>
          <Icon name="down" /> {end.unseen > 0 ? words.newBelow(end.unseen) : words.toEnd}
        </button>
      )}
    </div>
  );
}

function drawItem(item: Item, id: string) {
  switch (item.is) {
    case "row":
      return <Memo of={{ row: item.row, running: item.running, asked: item.asked, since: item.since, session: id }} draw={drawRow} />;
    case "shown":
      return <ShownRow shown={item.shown} session={id} />;
    case "pending":
      return <PendingRow pending={item.pending} />;
    case "answer":
      return <AnswerRow text={item.text} live />;
    case "thought":
      return <LiveThought text={item.text} since={item.since} />;
    case "retry":
      return <RetryOnce retry={item.retry} />;
    case "working":
      return <WorkingRow since={item.since} text={item.text} />;
  }
}

function RetryOnce({ retry }: { retry: { after_ms: number; attempt: number; reason: string } }) {
  const since = useMemo(() => Date.now(), [retry]);
  return <RetryRow retry={retry} since={since} />;
}

export function drawRow({ row, running, asked, since, session }: { row: Row; running: RunningCall | null; asked: boolean; since: number | null; session: string }) {
  switch (row.kind) {
    case "user":
      return <UserRow row={row} session={session} />;
    case "answer":
      return <AnswerRow text={row.text} />;
    case "thought":
      return <ThoughtRow row={row} />;
    case "call":
      return <CallRow row={row} running={running} asked={asked} since={since} session={session} />;
    case "notice":
      return <NoticeRow text={row.text} />;
    case "error":
      return <ErrorRow row={row} session={session} />;
    case "setting":
      return <SettingRow row={row} />;
    case "compaction":
      return <CompactionRow row={row} />;
    case "turn":
      return <TurnRow row={row} />;
  }
}
