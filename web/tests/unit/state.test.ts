import { expect, test } from "vitest";
import { follow, isEntry, NOTHING } from "../../src/state/live";
import { progressOf, readOutcome, stateOf, subject, verb } from "../../src/state/outcome";
import { chain, EMPTY, isGap, withEntries, type Row } from "../../src/state/transcript";
import type { Entry, Event } from "../../src/wire";
import { wordsOf } from "../../src/words";
import recordedText from "../../mock/recorded/demo.jsonl?raw";

const words = wordsOf("en");
const recorded = recordedText.trim().split("\n").map((line) => JSON.parse(line) as Event);
const entries = recorded.filter(isEntry);
const kinds = (rows: Row[]) => rows.map((row) => row.kind);

const entry = (n: number, parent: number | null, body: object): Entry => ({ entry: n, parent, ts: `2026-11-18T10:00:${String(n).padStart(2, "0")}.000Z`, ...body }) as Entry;
const said = (n: number, parent: number | null, text: string) => entry(n, parent, { type: "message", role: "user", text });
const answered = (n: number, parent: number | null, text: string) => entry(n, parent, { type: "message", role: "assistant", text });

test("a recorded session becomes rows", () => {
  const transcript = withEntries(EMPTY, entries, false);
  expect(kinds(transcript.rows)).toEqual(["user", "answer", "call", "answer", "call", "call", "answer", "call", "answer", "call", "answer", "turn"]);
  const calls = transcript.rows.flatMap((row) => (row.kind === "call" ? [row] : []));
  expect(calls.map(({ call, result }) => `${verb(call, words, false)} ${subject(call)} ${readOutcome(call, result!, words).facts.join()}`)).toEqual([
    "Listed . 3 items", "Read calc.sh 25 lines", "Read test.sh 21 lines", "Edited calc.sh +1 −1", "Ran sh test.sh ",
  ]);
  expect(transcript.rows.at(-1)).toMatchObject({ kind: "turn", input: 14353, output: 154, outcome: "done" });
});

test("pages in any order give the same rows", () => {
  const whole = withEntries(EMPTY, entries, false);
  const one = entries.reduce((now, each) => withEntries(now, [each]), withEntries(EMPTY, [], false));
  const newest = withEntries(EMPTY, entries.slice(15), true);
  const joined = withEntries(withEntries(newest, entries.slice(5, 18), true), entries.slice(0, 5), false);
  expect(one.rows).toEqual(whole.rows);
  expect(joined.rows).toEqual(whole.rows);
  expect(joined.more).toBe(false);
  expect(withEntries(whole, entries.slice(3, 9), false)).toBe(whole);
});

test("older pages before a long session give what the whole gives, and it goes on from there", () => {
  // Many turns, of which pages end anywhere: between a call and its result, within a turn, at its end.
  const turn = entries.slice(entries.findIndex((each) => each.type === "message" && each.role === "user"));
  const long: Entry[] = entries.slice(0, entries.length - turn.length);
  for (let n = 0; n < 12; n++) {
    for (const each of turn) {
      const at = long.length;
      const id = (of: string) => `${of}-${n}`;
      const copy = { ...each, entry: at, parent: at === 0 ? null : at - 1 } as Entry;
      if (copy.type === "tool_use") copy.id = id(copy.id);
      if (copy.type === "tool_result" || copy.type === "approval") copy.tool_use_id = id(copy.tool_use_id);
      long.push(copy);
    }
  }
  const bare = ({ entries, rows, todo, title, children, context, sums, more }: ReturnType<typeof withEntries>) => ({ entries: entries.length, rows, todo, title, children, context, sums: Object.values(sums).map((sum) => sum.toFixed(6)), more });
  const whole = withEntries(EMPTY, long, false);
  for (const size of [1, 2, 3, 5, 7, 11, 40, 100]) {
    for (const head of [1, 4, turn.length - 1, turn.length, 33]) {
      // The end of it comes after all that is older.
      let now = withEntries(EMPTY, long.slice(-head - 9, -9), true);
      while (now.entries[0]!.entry > 0) {
        const first = now.entries[0]!.entry;
        now = withEntries(now, long.slice(Math.max(0, first - size), first), first - size > 0);
      }
      now = withEntries(now, long.slice(-9), false);
      expect(bare(now), `pages of ${size} before ${head}`).toEqual(bare(whole));
    }
  }
});

test("gaps are noticed", () => {
  const now = withEntries(EMPTY, entries.slice(0, 5), false);
  expect(isGap(now, entries[5]!)).toBe(false);
  expect(isGap(now, entries[7]!)).toBe(true);
});

test("a branch that was rewound is left out, and comes back with undo", () => {
  const log = [said(0, null, "one"), answered(1, 0, "1"), said(2, 1, "two"), answered(3, 2, "2")];
  const rewound = [...log, entry(4, 1, { type: "rewind", what: "conversation", from: 3 }), said(5, 4, "three")];
  expect(chain(rewound).map((each) => each.entry)).toEqual([0, 1, 4, 5]);
  const step = rewound.reduce((now, each) => withEntries(now, [each]), withEntries(EMPTY, [], false));
  expect(step.rows.flatMap((row) => (row.kind === "user" ? [row.text] : []))).toEqual(["one", "three"]);
  expect(chain([...log, entry(4, 1, { type: "rewind", what: "conversation", from: 3 }), entry(5, 3, { type: "rewind", what: "conversation", from: 4 })]).map((each) => each.entry)).toEqual([0, 1, 2, 3, 5]);
});

test("how a session stands follows its events", () => {
  let live = NOTHING;
  const seen: [boolean, number, number][] = [];
  for (const event of recorded) {
    live = follow(live, event);
    seen.push([live.working, live.running.length, live.answer.length]);
  }
  expect(live).toMatchObject({ working: false, running: [], answer: "", model: "demo/demo" });
  expect(seen.some(([working, running]) => working && running === 2)).toBe(true);
  expect(Math.max(...seen.map(([, , answer]) => answer))).toBeGreaterThan(400);
});

test("asks come and go", () => {
  const ask: Event = { type: "ask", ask: "a1", kind: "permission", subject: "x" };
  const asked = follow(follow(NOTHING, ask), ask);
  expect(asked.asks).toEqual([{ ask: "a1", kind: "permission", subject: "x" }]);
  expect(follow(asked, { type: "ask_closed", ask: "a1" }).asks).toEqual([]);
});

test("a mode is told as an entry and as a delta", () => {
  expect(follow(NOTHING, entry(1, 0, { type: "mode", mode: "plan", posture: "auto" })).mode).toEqual({ mode: "plan", posture: "auto" });
  expect(follow(NOTHING, { type: "mode", mode: { mode: "plan", posture: "ask" } }).mode.mode).toBe("plan");
});

test.each([
  [{ ok: true, output: { ok: true, data: {} } }, false, false, false, "done"],
  [{ ok: false, output: { error: { code: "denied", message: "no" } } }, false, false, false, "denied"],
  [{ ok: false, output: { error: { code: "interrupted" } } }, false, false, false, "stopped"],
  [{ ok: false, output: {} }, false, false, false, "failed"],
  [null, false, true, false, "asked"],
  [null, false, false, true, "running"],
  [null, true, false, false, "stopped"],
  [null, false, false, false, "queued"],
])("a call with %j", (result, ended, asked, running, expected) => {
  expect(stateOf(result && { tool_use_id: "x", duration_ms: 0, ...result } as never, ended, asked, running)).toBe(expected);
});

test("a list of things to do says how far it is", () => {
  const call = (items: object[]) => ({ id: "x", name: "todo", input: { items } }) as never;
  expect(progressOf(call([{ text: "a", state: "done" }, { text: "b", state: "in_progress" }, { text: "c", state: "pending" }]))).toBe("1/3");
  for (const other of [[], [{ text: "a" }], [{ state: "open" }]]) expect(progressOf(call(other))).toBe("");
});

test("results of tools that nobody knows are shown as they are", () => {
  const call = { id: "x", name: "mcp__db__query", input: { sql: "select 1" } };
  expect(verb(call, words, false)).toBe("db: query");
  expect(subject(call)).toBe("sql: select 1");
  const read = (data: unknown) => readOutcome(call, { tool_use_id: "x", ok: true, duration_ms: 1, output: { ok: true, data } as never }, words).body;
  expect(read({ content: [{ type: "text", text: "row" }] })).toEqual([{ as: "output", text: "row" }]);
  expect(read({ a: 1 })).toEqual([{ as: "output", text: '{\n  "a": 1\n}' }]);
  expect(read("text")).toEqual([{ as: "output", text: "text" }]);
  expect(read(null)).toEqual([]);
});

test("what a call or other work is at is shown until it ends", () => {
  const started = follow(NOTHING, { type: "tool_started", id: "c", name: "task" });
  expect(follow(started, { type: "progress", id: "c", name: "task", text: "reads 3 files" }).running[0]?.progress).toBe("reads 3 files");
  const compacts = follow(NOTHING, { type: "progress", id: "", name: "compaction", text: "folding" });
  expect([compacts.activity, follow(compacts, { type: "progress", id: "", name: "compaction", text: "" }).activity]).toEqual(["folding", ""]);
});
