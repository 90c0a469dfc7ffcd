import { describe, expect, it, test } from "vitest";
import { age, cost, duration, tokens } from "../../src/lib/format";
import { completing, matchCommands, replaced } from "../../src/ui/complete";
import { withTexts } from "../../src/ui/attach";
import { daysBack, niceTop, rowsOfView, stacks, sumBy } from "../../src/ui/panels/usage-data";
import { parseRoute, pathOf } from "../../src/state/app";
import { withComments } from "../../src/state/comments";
import { matching, type Found } from "../../src/ui/Palette";
import { barOf, windowOf } from "../../src/ui/ViewPart";
import { wordsOf } from "../../src/words";

test("both languages have every text", () => {
  const keys = (of: object, at = ""): string[] => Object.entries(of).flatMap(([key, value]) => (typeof value === "object" ? keys(value, `${at}${key}.`) : [`${at}${key}`]));
  expect(keys(wordsOf("zh"))).toEqual(keys(wordsOf("en")));
  expect(wordsOf("en").lines(1)).toBe("1 line");
  expect(wordsOf("en").lines(2)).toBe("2 lines");
  expect(wordsOf("zh").lines(2)).toBe("2 行");
});

test.each([
  ["/mo", 3, "command", "mo"],
  ["/", 1, "command", ""],
  ["see @src/ma", 11, "file", "src/ma"],
  ["@", 1, "file", ""],
  ["a@b.c", 5, undefined, undefined],
  ["/mode plan", 10, undefined, undefined],
  ["text /mo", 8, undefined, undefined],
])("%j at %d completes a %s", (text, caret, kind, word) => {
  const found = completing(text, caret);
  expect([found?.kind, found?.word]).toEqual([kind, word]);
});

test("what is completed takes the place of what was typed", () => {
  expect(replaced("see @sr now", completing("see @sr now", 7)!, "@src/main.rs")).toEqual({ text: "see @src/main.rs now", caret: 16 });
  expect(replaced("@sr", completing("@sr", 3)!, "@src/")).toEqual({ text: "@src/", caret: 5 });
  expect(matchCommands([{ name: "model", help: "" }, { name: "mode", help: "" }, { name: "x", help: "the model" }], "mode").map((one) => one.name)).toEqual(["model", "mode", "x"]);
});

test("texts that go along are fenced", () => {
  expect(withTexts("look", [{ key: 1, name: "a.md", image: null, text: "```\nx\n```\n" }])).toBe("look\n\na.md:\n````\n```\nx\n```\n````");
});

test("numbers as people read them", () => {
  expect([duration(40), duration(1234), duration(65_000), duration(3_700_000)]).toEqual(["40 ms", "1.2 s", "1 min 5 s", "1 h 1 min"]);
  expect([tokens(999), tokens(1500), tokens(14_400), tokens(2_500_000)]).toEqual(["999", "1.5k", "14k", "2.5M"]);
  expect([cost(null), cost(0), cost(0.0041), cost(1.5)]).toEqual(["–", "$0", "$0.0041", "$1.50"]);
  expect(age("2026-11-18T10:00:00Z", Date.parse("2026-11-18T12:00:00Z"), "now")).toBe("2h");
});

test("paths are routes and back", () => {
  for (const path of ["/", "/s/a%20b", "/p/shop/usage"]) expect(pathOf(parseRoute(path))).toBe(path);
  expect(parseRoute("/elsewhere")).toEqual({ at: "home" });
  expect(parseRoute("/s/%E0%A4%A")).toEqual({ at: "session", id: "%E0%A4%A" });
});

test("usage by day and model", () => {
  const row = (day: string, model: string, cost: number) => ({ day, model, project: "p", requests: 1, input: 100, cached: 50, cache_write: 0, output: 10, cost });
  const rows = [row("2026-11-17", "a", 1), row("2026-11-17", "b", 2), row("2026-11-18", "c", 4)];
  const days = daysBack(3, new Date("2026-11-18T12:00:00Z"));
  expect(days).toEqual(["2026-11-16", "2026-11-17", "2026-11-18"]);
  expect(stacks(rows, days, ["a", "b"], "cost").map(({ parts, hit }) => [parts, hit])).toEqual([[[0, 0, 0], null], [[1, 2, 0], 50], [[0, 0, 4], 50]]);
  expect(sumBy(rows, (one) => one.day).map((sum) => sum.cost)).toEqual([3, 4]);
  expect([0, 0.3, 7, 11, 26].map(niceTop)).toEqual([1, 0.5, 10, 20, 50]);
});

test("a usage table is read by its keys", () => {
  const column = (key: string) => ({ name: key, key });
  const view = { table: { columns: [column("key"), column("requests"), column("cost")], rows: [["2026-11-18", { text: "4", value: 4 }, { text: "$1", value: 1 }]] } };
  expect(rowsOfView(view as never, "day")).toMatchObject([{ day: "2026-11-18", requests: 4, cost: 1 }]);
});

describe("what stands for a bar in a terminal", () => {
  it("is read as one", () => {
    expect(barOf("`██░░░░│░░`")).toEqual({ full: 2 / 9, mark: 6 / 9 });
    expect(barOf("████████")).toEqual({ full: 1, mark: null });
    for (const other of ["", "██", "| a | b |", "████ 12 %", "────────"]) expect(barOf(other)).toBeNull();
  });

  it("says with its table what fills the window", () => {
    const columns = ["part", "tokens", "kind"].map((key) => ({ name: key, key }));
    const table = (rows: [string, number, string][]) => [{ text: "`█░░░░░░│░░`\n│ compacts here" }, { table: { columns, rows: rows.map(([name, count, kind]) => [name, { text: String(count), value: count }, { text: "", value: kind }]) } }] as never;
    const rows: [string, number, string][] = [["system prompt", 600, "part"], ["answers", 400, "part"], ["total", 1000, "total"], ["free", 199_000, "free"], ["freed", 5, "compaction"]];
    expect(windowOf(table(rows))).toEqual({ parts: [{ name: "system prompt", tokens: 600 }, { name: "answers", tokens: 400 }], window: 200_000, mark: 0.7 });
    for (const bad of [[], rows.slice(2), rows.slice(0, 3)]) expect(windowOf(table(bad))).toBeNull();
  });
});

test("what is named in the palette: every word counts, what begins with it comes first", () => {
  const found = (label: string, hint = ""): Found => ({ key: label, group: "", label, hint, run: () => {} });
  const all = [found("fix the coupon", "shop"), found("/rewind", "take back files"), found("refund rules", "shop"), found("Usage", "shop")];
  const labels = (text: string) => matching(all, text).map((one) => one.label);
  expect(labels("")).toEqual(all.map((one) => one.label));
  expect(labels("re")).toEqual(["/rewind", "refund rules"]);
  expect(labels("/re")).toEqual(["/rewind"]);
  expect(labels("shop coup")).toEqual(["fix the coupon"]);
  expect(labels("shop")).toEqual(["fix the coupon", "refund rules", "Usage"]);
  expect(labels("nothing of it")).toEqual([]);
});

test("notes on lines stand below the message, each with its line", () => {
  const note = { key: 1, path: "a.py", line: 3, gone: false, code: "  x = 1", text: "Why one?" };
  expect(withComments("Look:", [note, { ...note, key: 2, gone: true, code: "" }])).toBe("Look:\n\na.py:3\n> x = 1\nWhy one?\n\na.py:3 (removed)\n> (empty line)\nWhy one?");
  expect(withComments("", [note])).toBe("a.py:3\n> x = 1\nWhy one?");
  expect(withComments("Only this.", [])).toBe("Only this.");
});
