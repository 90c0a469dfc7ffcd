// How a session stands, kept up with its events: the same rules as `Snapshot::follow` of crate `wire`. Pure.

import type { Ask, Delta, Entry, Event, Snapshot } from "../wire";

/** Characters of the output of a running call that are kept. */
const MAX_TAIL = 64 * 1024;
/** Characters of an answer under way. */
const MAX_ANSWER = 1_000_000;

export const NOTHING: Snapshot = {
  model: "",
  mode: { mode: "normal", posture: "ask" },
  window: 0,
  commands: [],
  tasks: [],
  jobs: [],
  budget: null,
  asks: [],
  answer: "",
  reasoning: "",
  running: [],
  retry: null,
  queue: [],
  working: false,
};

export function isEntry(event: Event): event is Entry {
  return typeof (event as Entry).entry === "number";
}

/** The snapshot after an event. What did not change stays the same object. */
export function follow(now: Snapshot, event: Event): Snapshot {
  if (isEntry(event)) return followEntry(now, event);
  if (event.type === "ask") {
    const { type: _, ts: __, ...ask } = event;
    return { ...now, asks: [...now.asks.filter((known) => known.ask !== ask.ask), ask as Ask] };
  }
  if (event.type === "view") return now;
  return followDelta(now, event);
}

function withoutPartial(now: Snapshot): Snapshot {
  if (!now.answer && !now.reasoning && !now.retry) return now;
  return { ...now, answer: "", reasoning: "", retry: null };
}

function followEntry(now: Snapshot, entry: Entry): Snapshot {
  switch (entry.type) {
    case "message":
      if (entry.role === "assistant") return withoutPartial(now);
      if (entry.role !== "user") return now;
      return { ...now, turn: now.working ? now.turn : entry.entry, working: true };
    case "tool_result":
      return { ...now, running: now.running.filter((call) => call.id !== entry.tool_use_id) };
    case "mode": {
      const { type: _, entry: __, parent: ___, ts: ____, ...mode } = entry;
      return { ...now, mode };
    }
    case "settings":
      if (entry.host) return { ...now, place: entry.host === "local" ? null : entry.host };
      return entry.model ? { ...now, model: entry.model } : now;
    case "turn_end":
      return { ...withoutPartial(now), running: [], working: false };
    case "interrupted":
    case "error":
      return withoutPartial(now);
    default:
      return now;
  }
}

function followDelta(now: Snapshot, delta: Delta): Snapshot {
  switch (delta.type) {
    case "assistant_delta":
      return now.answer.length > MAX_ANSWER ? now : { ...now, retry: null, answer: now.answer + delta.text };
    case "reasoning_delta":
      return now.reasoning.length > MAX_ANSWER ? now : { ...now, retry: null, reasoning: now.reasoning + delta.text };
    case "tool_started": {
      if (now.running.some((call) => call.id === delta.id)) return now;
      return { ...now, running: [...now.running, { id: delta.id, name: delta.name, tail: "" }] };
    }
    case "tool_output":
      return {
        ...now,
        running: now.running.map((call) => (call.id === delta.id ? { ...call, tail: (call.tail + delta.chunk).slice(-MAX_TAIL) } : call)),
      };
    case "progress":
      if (!delta.id) return { ...now, activity: delta.text };
      return { ...now, running: now.running.map((call) => (call.id === delta.id ? { ...call, progress: delta.text } : call)) };
    case "retry":
      return { ...now, retry: { after_ms: delta.after_ms, attempt: delta.attempt, reason: delta.reason } };
    case "unrecorded":
    case "idle":
      return { ...withoutPartial(now), running: [], working: false };
    case "mode":
      return { ...now, mode: delta.mode };
    case "budget":
      return { ...now, budget: delta.percent };
    case "ask_closed":
      return { ...now, asks: now.asks.filter((known) => known.ask !== delta.ask) };
    case "clients":
      return { ...now, clients: { ids: delta.ids, rank: delta.rank, silent: delta.silent } };
    case "queue":
      return { ...now, queue: delta.prompts };
    case "tasks":
      return { ...now, tasks: delta.tasks };
    case "jobs":
      return { ...now, jobs: delta.running };
    default:
      return now;
  }
}
