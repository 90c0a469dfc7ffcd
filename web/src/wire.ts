// The JSON of crate `wire`, as the server sends it. Types only.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export interface Head {
  entry: number;
  parent: number | null;
  ts: string;
}

export interface Image {
  media_type: string;
  data: string;
}

export type Part =
  | { reasoning: { text: string } }
  | { text: { text: string } }
  | { call: { id: string } };

export type ToolKind = "read" | "edit" | "run" | "net" | "delegate" | "memory" | "talk" | "other";

export type ResultForm =
  | "text" | "nothing" | "command" | "file" | "edit" | "whole_file" | "cell" | "matches" | "paths"
  | "entries" | "web_results" | "page" | "answer" | "time" | "facts" | "fact" | "report";

export interface CallTitle {
  kind: ToolKind;
  verb?: string;
  subject?: string;
  body?: string;
  result?: ResultForm;
}

export interface ToolUse {
  id: string;
  name: string;
  input: Json;
  repair?: string;
  by?: "person" | "template";
  via?: string;
  title?: CallTitle;
}

export interface ToolResult {
  tool_use_id: string;
  output: Json;
  ok: boolean;
  duration_ms: number;
}

export interface Usage {
  provider: string;
  model: string;
  input: number;
  cached: number;
  cache_write: number;
  output: number;
  cost?: number;
  role?: string;
}

export interface Goal {
  objective: string;
  state: "active" | "done" | "blocked" | "stopped" | "limit" | "failed";
  turn: number;
  most: number;
  why?: string;
}

export interface Mode {
  mode: string;
  posture: string;
  goal?: Goal;
  sandbox?: string;
}

export interface Approval {
  tool_use_id: string;
  decision: string;
  rule?: string;
  reason?: string;
  saved?: string;
}

export type TodoState = "pending" | "in_progress" | "done";

export interface TodoItem {
  text: string;
  state: TodoState;
}

export type Outcome = "done" | "interrupted" | "error" | "max_steps" | "empty_response" | "refusal";

export interface Message {
  role: "user" | "assistant" | "system";
  text: string;
  typed?: string;
  images?: Image[];
  parts?: Part[];
  model?: { provider: string; model: string };
  stop?: string;
  op?: string;
}

/** A session below this one that has ended. */
export interface Child {
  id: string;
  session_id: string;
  role?: string;
  title: string;
  tool_use_id?: string;
  outcome: "done" | "failed" | "interrupted" | string;
  duration_ms: number;
  tokens: number;
  cost?: number;
}

export interface Compaction {
  through: number;
  digest: string;
  answers: number;
  calls: number;
  tokens_before: number;
  tokens_after: number;
}

export type Entry = Head &
  (
    | { type: "meta"; session_id: string; root: string; child_of?: { session: string; role: string } }
    | ({ type: "message" } & Message)
    | ({ type: "tool_use" } & ToolUse)
    | ({ type: "tool_result" } & ToolResult)
    | ({ type: "usage" } & Usage)
    | { type: "settings"; model?: string; effort?: string; title?: string; prefix?: string; host?: string; root?: string }
    | ({ type: "mode" } & Mode)
    | ({ type: "approval" } & Approval)
    | { type: "todo"; items: TodoItem[] }
    | { type: "notice"; text: string }
    | { type: "error"; kind: string; message: string; details?: Json }
    | { type: "interrupted"; role: string; text: string }
    | { type: "turn_end"; outcome: Outcome }
    | ({ type: "compaction" } & Compaction)
    | ({ type: "child" } & Child)
    | { type: "checkpoint"; id: number; tree: string; when: "before" | "also" | "after" }
    | { type: "rewind"; what: "code" | "conversation" | "both"; from?: number }
  );

export interface QueuedPrompt {
  text: string;
  delivery: Delivery;
}

export type Doing = "thinking" | { running: string } | "queueing" | "asking" | "ending";

export interface Task {
  id: string;
  /** The session that does it. */
  session?: string;
  prompt: string;
  doing: Doing;
  seconds: number;
}

export interface Clients {
  ids: number[];
  rank?: number;
  silent?: boolean;
}

export type Delta = { ts?: string } & (
  | { type: "assistant_delta"; text: string }
  | { type: "reasoning_delta"; text: string }
  | { type: "tool_started"; id: string; name: string }
  | { type: "tool_output"; id: string; name: string; chunk: string }
  | { type: "retry"; after_ms: number; attempt: number; reason: string }
  | { type: "progress"; id: string; name: string; text: string }
  | { type: "unrecorded"; message: string }
  | { type: "mode"; mode: Mode }
  | { type: "budget"; percent: number }
  | { type: "ask_closed"; ask: string; by?: number; answer?: string }
  | { type: "announcement"; view: View }
  | { type: "idle" }
  | { type: "op_arrived"; op: string }
  | { type: "op_done"; op: string }
  | ({ type: "clients" } & Clients)
  | { type: "queue"; prompts: QueuedPrompt[] }
  | { type: "tasks"; tasks: Task[] }
  | { type: "jobs"; running: string[] }
);

export interface Choice {
  id: string;
  label: string;
  detail?: string;
  key?: string;
  takes?: "nothing" | "reason" | "edited_text";
  hint?: string;
  refuses?: boolean;
  /** A choice that does not say is confirmed. */
  confirm?: boolean;
}

export interface Ask {
  ask: string;
  kind: "permission" | "question" | "plan" | "trust" | "elicitation" | "budget" | "secret";
  title?: string;
  subject: string;
  tool?: string;
  options?: Choice[];
  multi?: boolean;
  free_text?: boolean;
  preview?: string;
  preview_format?: "text" | "diff" | "markdown";
  from?: string;
  silence?: { choice: string; reason?: string; escape?: "stop_turn" | "answer" };
}

export type Open = "new" | "last" | { resume: string } | { fork: string };

export type Deed =
  | { open: Open }
  | { copy: string }
  | { compose: string }
  | { theme: string }
  | "leave";

export type Act = { command: string } | { do: Deed };

export interface Action {
  label: string;
  act: Act;
}

export interface Item {
  label: string;
  detail?: string;
  marked?: boolean;
  actions?: Action[];
}

export interface List {
  title: string;
  items?: Item[];
  empty?: string;
  search?: string;
}

export type ColumnKind = "text" | "number" | "time" | "prose" | "data";
export type Column = string | { name: string; key: string; kind?: ColumnKind };
export type Cell = string | { text: string; value?: Json };
export type Row = Cell[] | { cells: Cell[]; marked?: boolean; actions?: Action[] };

export interface Table {
  title?: string;
  columns: Column[];
  rows: Row[];
  empty?: string;
  sums?: Row[];
  summary?: string;
  remarks?: string[];
  label?: string;
  search?: string;
  failed?: boolean;
}

export interface Report {
  text: string;
  remarks?: string[];
  failed?: boolean;
  /** The facts behind the text. */
  value?: Json;
}

export type View =
  | { text: string }
  | { table: Table }
  | { report: Report }
  | { group: View[] }
  | { list: List }
  | { diff: string }
  | { error: string }
  | { do: Deed };

export interface Reply {
  op?: string;
  command: string;
  view: View;
  more?: boolean;
}

export type AskEvent = { type: "ask"; ts?: string } & Ask;
export type ReplyEvent = { type: "view"; ts?: string } & Reply;
export type Event = Entry | Delta | AskEvent | ReplyEvent;

export interface CommandInfo {
  name: string;
  help: string;
  arguments?: string;
}

export interface RunningCall {
  id: string;
  name: string;
  tail: string;
  /** What it is at, in its own words. Only here. */
  progress?: string;
}

export interface Snapshot {
  model: string;
  mode: Mode;
  /** Where commands run, if that is not the machine of the session. */
  place?: string | null;
  window: number;
  commands: CommandInfo[];
  tasks: Task[];
  jobs: string[];
  budget: number | null;
  asks: Ask[];
  answer: string;
  reasoning: string;
  running: RunningCall[];
  retry: { after_ms: number; attempt: number; reason: string } | null;
  queue: QueuedPrompt[];
  working: boolean;
  turn?: number | null;
  clients?: Clients;
  /** Work that is no call's, such as a compaction. Only here. */
  activity?: string;
}

export type Delivery = "steer" | "queue";

export type Op =
  | { op: "say"; text: string; delivery: Delivery; images?: Image[] }
  | { op: "answer"; ask: string; choice: string; reason?: string }
  | { op: "interrupt" }
  | { op: "command"; line: string }
  | { op: "close" };

export type SessionState = "working" | "asks" | "idle" | "failed" | "closed" | "deleted";

export interface SessionRow {
  id: string;
  project: string;
  title: string;
  updated: string;
  turns: number;
  cost: number | null;
  bytes: number;
  state: SessionState;
}

export interface Project {
  id: string;
  root: string;
  name: string;
  trust: "not_needed" | "trusted" | "untrusted" | "changed" | "refused";
}

export interface Opened {
  id: string;
  project: string;
  head: number | null;
  snapshot: Snapshot;
  notes: string[];
}

export interface UsageRow {
  day: string;
  project: string;
  model: string;
  requests: number;
  input: number;
  cached: number;
  cache_write: number;
  output: number;
  cost: number | null;
}
