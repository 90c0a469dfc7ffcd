// Entries as the rows of a conversation. Pure: the same entries give the same rows, whatever order their pages came in.

import type { Approval, Child, Compaction, Entry, Image, Outcome, TodoItem, ToolResult, ToolUse, Usage } from "../wire";

export type Row = { key: string; entry: number; ts: string } & (
  | { kind: "user"; text: string; images: Image[]; op?: string; own: boolean }
  | { kind: "answer"; text: string }
  | { kind: "thought"; text: string; took: number | null }
  | { kind: "call"; call: ToolUse; result: ToolResult | null; approval: Approval | null; ended: boolean; child?: Child }
  | { kind: "notice"; text: string; warn: boolean }
  | { kind: "error"; error: string; message: string; details: unknown }
  | { kind: "setting"; model?: string; effort?: string; title?: string; mode?: string; posture?: string; place?: string }
  | { kind: "compaction"; compaction: Compaction }
  | { kind: "turn"; outcome: Outcome; took: number | null; input: number; cached: number; output: number; cost: number | null }
);

export interface Transcript {
  /** In the order of their numbers, without gaps. */
  entries: Entry[];
  rows: Row[];
  todo: TodoItem[];
  title: string | null;
  /** Sessions below that have ended. */
  children: Child[];
  /** Of the newest request of the conversation. */
  context: number;
  sums: { input: number; cached: number; output: number; cost: number };
  /** There are older entries that are not here yet. */
  more: boolean;
  builder: Builder;
}

interface TurnSums {
  since: string;
  input: number;
  cached: number;
  output: number;
  cost: number | null;
}

/** What is carried from one entry to the next. */
interface Builder {
  calls: Map<string, number>;
  turn: TurnSums;
  lastTs: string;
  mode: string;
}

function builder(): Builder {
  return { calls: new Map(), turn: emptyTurn(""), lastTs: "", mode: "" };
}

function emptyTurn(since: string): TurnSums {
  return { since, input: 0, cached: 0, output: 0, cost: null };
}

export const EMPTY: Transcript = make([], true);

function make(entries: Entry[], more: boolean): Transcript {
  const made: Transcript = {
    entries, rows: [], todo: [], title: null, children: [], context: 0, sums: { input: 0, cached: 0, output: 0, cost: 0 }, more, builder: builder(),
  };
  for (const entry of chain(entries)) add(made, entry);
  return made;
}

/** Entries that the newest one follows. A branch that was rewound is left out. */
export function chain(entries: Entry[]): Entry[] {
  const straight = entries.every((entry, at) => at === 0 || entry.parent === null || entry.parent === entries[at - 1]!.entry);
  if (straight) return entries;
  const out: Entry[] = [];
  let next: number | null = entries.at(-1)?.entry ?? null;
  for (let at = entries.length - 1; at >= 0 && next !== null; at--) {
    const entry = entries[at]!;
    if (entry.entry > next) continue;
    out.push(entry);
    next = entry.parent;
  }
  return out.reverse();
}

/** The transcript with further entries, in any order, known ones among them. */
export function withEntries(now: Transcript, more: Entry[], older?: boolean): Transcript {
  const flag = older ?? now.more;
  const last = now.entries.at(-1);
  const fresh = more.filter((entry) => !last || entry.entry > last.entry).sort((a, b) => a.entry - b.entry);
  const before = more.filter((entry) => last && entry.entry < (now.entries[0]?.entry ?? 0)).sort((a, b) => a.entry - b.entry);
  if (fresh.length === 0 && before.length === 0) return flag === now.more ? now : { ...now, more: flag };
  if (before.length > 0 && fresh.length === 0) {
    const joined = withOlder(now, before, flag);
    if (joined) return joined;
  }
  const grows = last && before.length === 0 && follows(last, fresh);
  if (!grows) return make([...before, ...now.entries, ...fresh], flag);
  const next: Transcript = { ...now, entries: [...now.entries, ...fresh], rows: [...now.rows], sums: { ...now.sums }, more: flag };
  for (const entry of fresh) add(next, entry);
  return next;
}

/**
 * The transcript with older entries before it. Where a turn ends, nothing is carried on: only what lies before the first such
 * place is made anew, so that a long session is not made again for each of its pages. Null where that does not hold.
 */
function withOlder(now: Transcript, before: Entry[], more: boolean): Transcript | null {
  const at = now.entries.findIndex((entry) => entry.type === "turn_end");
  const all = [...before, ...now.entries];
  const isStraight = all.every((entry, n) => n === 0 || entry.parent === all[n - 1]!.entry);
  const rest = now.entries.slice(at + 1);
  // Whether a mode is told depends on the one before it.
  if (at < 0 || !isStraight || rest.some((entry) => entry.type === "mode")) return null;
  const head = make(all.slice(0, before.length + at + 1), more);
  const cut = now.entries[at]!.entry;
  const kept = now.rows.findIndex((row) => row.entry > cut);
  const rows = kept < 0 ? [] : now.rows.slice(kept);
  const moved = head.rows.length - (kept < 0 ? now.rows.length : kept);
  const older = make(before, more).sums;
  return {
    entries: all,
    rows: [...head.rows, ...rows],
    todo: now.entries.some((entry) => entry.type === "todo") ? now.todo : head.todo,
    title: now.title ?? head.title,
    children: [...head.children, ...rest.flatMap((entry) => (entry.type === "child" ? [entry] : []))],
    context: now.context || head.context,
    sums: { input: older.input + now.sums.input, cached: older.cached + now.sums.cached, output: older.output + now.sums.output, cost: older.cost + now.sums.cost },
    more,
    builder: rest.length === 0 ? head.builder : { ...now.builder, mode: now.builder.mode || head.builder.mode, calls: new Map([...now.builder.calls].map(([id, row]) => [id, row + moved])) },
  };
}

function follows(last: Entry, fresh: Entry[]): boolean {
  return fresh.every((entry, at) => entry.parent === (at === 0 ? last.entry : fresh[at - 1]!.entry));
}

/** Whether an entry can be added without entries between it and the last. */
export function isGap(now: Transcript, entry: Entry): boolean {
  const last = now.entries.at(-1);
  return last !== undefined && entry.entry > last.entry + 1;
}

function add(to: Transcript, entry: Entry): void {
  const head = { key: `e${entry.entry}`, entry: entry.entry, ts: entry.ts };
  const state = to.builder;
  switch (entry.type) {
    case "message":
      addMessage(to, entry);
      break;
    case "tool_use": {
      const { type: _, entry: __, parent: ___, ts: ____, ...call } = entry;
      state.calls.set(call.id, to.rows.length);
      to.rows.push({ ...head, key: `c${call.id}`, kind: "call", call, result: null, approval: null, ended: false });
      break;
    }
    case "tool_result":
      change(to, entry.tool_use_id, { result: entry, ended: true });
      break;
    case "approval":
      change(to, entry.tool_use_id, { approval: entry });
      break;
    case "usage":
      addUsage(to, entry);
      break;
    case "todo":
      to.todo = entry.items;
      break;
    case "settings":
      if (entry.title) to.title = entry.title;
      // The first one says what the session began with.
      if ((entry.model || entry.effort || entry.title || entry.host) && entry.entry > 1) {
        const place = entry.host ? `${entry.host}: ${entry.root ?? ""}` : undefined;
        to.rows.push({ ...head, kind: "setting", model: entry.model, effort: entry.effort, title: entry.title, place });
      }
      break;
    case "mode": {
      const mode = `${entry.mode} ${entry.posture}`;
      if (state.mode !== "" || entry.entry > 2) {
        if (mode !== state.mode) to.rows.push({ ...head, kind: "setting", mode: entry.mode, posture: entry.posture });
      }
      state.mode = mode;
      break;
    }
    case "notice":
      to.rows.push({ ...head, kind: "notice", text: entry.text, warn: false });
      break;
    case "error":
      to.rows.push({ ...head, kind: "error", error: entry.kind, message: entry.message, details: entry.details });
      break;
    case "compaction":
      to.rows.push({ ...head, kind: "compaction", compaction: entry });
      break;
    case "turn_end":
      endTurn(to, entry.ts, entry.entry, entry.outcome);
      break;
    case "child":
      to.children = [...to.children, entry];
      if (entry.tool_use_id) change(to, entry.tool_use_id, { child: entry });
      break;
    case "meta":
    case "interrupted":
    case "checkpoint":
    case "rewind":
      break;
  }
  state.lastTs = entry.ts;
}

function addMessage(to: Transcript, entry: Extract<Entry, { type: "message" }>): void {
  const head = { entry: entry.entry, ts: entry.ts };
  const state = to.builder;
  if (entry.role === "user") {
    const text = entry.typed ?? entry.text;
    to.rows.push({ ...head, key: `e${entry.entry}`, kind: "user", text, images: entry.images ?? [], op: entry.op, own: false });
    if (!state.turn.since) state.turn = emptyTurn(entry.ts);
    return;
  }
  if (entry.role === "system") return;
  const parts = entry.parts?.length ? entry.parts : [{ text: { text: entry.text } }];
  parts.forEach((part, at) => {
    const key = `e${entry.entry}.${at}`;
    if ("reasoning" in part && part.reasoning.text.trim()) {
      const took = Date.parse(entry.ts) - Date.parse(state.lastTs);
      to.rows.push({ ...head, key, kind: "thought", text: part.reasoning.text, took: took > 0 ? took : null });
    } else if ("text" in part && part.text.text.trim()) {
      to.rows.push({ ...head, key, kind: "answer", text: part.text.text });
    }
  });
}

function addUsage(to: Transcript, usage: Usage): void {
  to.sums.input += usage.input;
  to.sums.cached += usage.cached;
  to.sums.output += usage.output;
  to.sums.cost += usage.cost ?? 0;
  if (!usage.role) to.context = usage.input + usage.output;
  const turn = to.builder.turn;
  turn.input += usage.input;
  turn.cached += usage.cached;
  turn.output += usage.output;
  if (usage.cost !== undefined) turn.cost = (turn.cost ?? 0) + usage.cost;
}

function endTurn(to: Transcript, ts: string, entry: number, outcome: Outcome): void {
  const turn = to.builder.turn;
  const took = turn.since ? Date.parse(ts) - Date.parse(turn.since) : NaN;
  for (const at of to.builder.calls.values()) {
    const row = to.rows[at];
    if (row?.kind === "call" && !row.ended) to.rows[at] = { ...row, ended: true };
  }
  to.builder.calls.clear();
  to.rows.push({
    key: `e${entry}`, entry, ts, kind: "turn", outcome, took: Number.isFinite(took) ? took : null,
    input: turn.input, cached: turn.cached, output: turn.output, cost: turn.cost,
  });
  to.builder.turn = emptyTurn("");
}

function change(to: Transcript, id: string, part: { result?: ToolResult; approval?: Approval; ended?: boolean; child?: Child }): void {
  const at = to.builder.calls.get(id);
  const row = at === undefined ? undefined : to.rows[at];
  if (at !== undefined && row?.kind === "call") to.rows[at] = { ...row, ...part };
}
