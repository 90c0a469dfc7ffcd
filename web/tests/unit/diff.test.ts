import { expect, test } from "vitest";
import { foldRuns, pairs, parseDiff, totals, wholeFile, wordSpans } from "../../src/lib/diff";

const TWO = `--- a/one.txt
+++ b/one.txt
@@ -1,3 +1,3 @@
 a
-b
+B
 c
@@ -20,2 +20,3 @@ fn heading()
 x
+y
 z
--- /dev/null
+++ b/new.txt
@@ -0,0 +1,2 @@
+--- not a header
++++ not one either
\\ No newline at end of file
`;

test("files, hunks and lines", () => {
  const files = parseDiff(TWO);
  expect(files.map(({ path, status, added, removed }) => [path, status, added, removed])).toEqual([["one.txt", "changed", 2, 1], ["new.txt", "new", 2, 0]]);
  expect(files[0]!.hunks[1]).toMatchObject({ oldStart: 20, newStart: 20, skipped: 16, heading: "fn heading()" });
  expect(files[0]!.hunks[0]!.lines.map(({ kind, old, new: next, text }) => [kind, old, next, text])).toEqual([["same", 1, 1, "a"], ["del", 2, null, "b"], ["add", null, 2, "B"], ["same", 3, 3, "c"]]);
  expect(files[1]!.hunks[0]!.lines.map((line) => line.text)).toEqual(["--- not a header", "+++ not one either"]);
  expect(totals(files)).toEqual({ added: 4, removed: 1 });
});

test("a hunk without a header belongs to the file that is named", () => {
  expect(parseDiff("@@ -1 +1 @@\n-a\n+b\n", "x.rs")).toMatchObject([{ path: "x.rs", added: 1, removed: 1 }]);
  expect(parseDiff("diff --git a/p.bin b/p.bin\nnew file mode 100644\nBinary files differ\n")).toMatchObject([{ path: "p.bin", status: "new", hunks: [] }]);
  expect(parseDiff("no diff at all")).toEqual([]);
  expect(wholeFile("n", "a\nb\n")).toMatchObject({ added: 2, status: "new" });
});

test("what was taken away stands beside what came instead", () => {
  const lines = parseDiff("@@ -1,3 +1,4 @@\n-let a = 1;\n-gone\n+let a = 2;\n+new\n+newer\n same\n", "x")[0]!.hunks[0]!.lines;
  expect(pairs(lines).map(({ left, right }) => [left?.text, right?.text])).toEqual([["let a = 1;", "let a = 2;"], ["gone", "new"], [undefined, "newer"], ["same", "same"]]);
  expect(pairs(lines)[0]!.leftSpans).toEqual([{ text: "let a = ", marked: false }, { text: "1", marked: true }, { text: ";", marked: false }]);
});

test.each([
  ["return self.net() * 1.19", "return round(self.net() * 1.19, 2)", ["round(", ", 2)"]],
  ["a b c", "a x c", ["x"]],
  ["价格 一", "价格 二", ["二"]],
])("%j to %j marks %j", (before, after, marked) => {
  expect(wordSpans(before, after)?.[1].filter((span) => span.marked).map((span) => span.text)).toEqual(marked);
});

test("lines that share nothing have no marks", () => {
  expect(wordSpans("alpha beta", "one two three")).toBeNull();
  expect(wordSpans("x ".repeat(500), "y ".repeat(500))).toBeNull();
});

test("long unchanged runs are folded, with lines around them", () => {
  const same = Array.from({ length: 30 }, (_, n) => ` line ${n}`).join("\n");
  const lines = parseDiff(`@@ -1,31 +1,31 @@\n-a\n+b\n${same}\n`, "x")[0]!.hunks[0]!.lines;
  const parts = foldRuns(pairs(lines));
  expect(parts.map((part) => ("folded" in part ? part.folded.length : 1))).toEqual([1, 1, 1, 1, 27]);
});
