import { expect, test } from "vitest";
import { clean, cleanAsk, cleanOutput, lastLines, oneLine } from "../../src/lib/clean";

test.each([
  ["plain\ttext\nof lines", "plain\ttext\nof lines"],
  ["\u001b[31mred\u001b[0m", "red"],
  ["\u001b]0;title\u0007shown", "shown"],
  ["\u001b]8;;https://evil.example\u001b\\link\u001b]8;;\u001b\\", "link"],
  ["a\u001b]52;c;aGk=\u0007b", "ab"],
  ["\u009b31mred", "red"],
  ["10%\r50%\r100%\ndone", "100%\ndone"],
  ["a\r\nb", "a\nb"],
  ["nul\0 bell\u0007 back\b", "nul⟨0⟩ bell⟨7⟩ back⟨8⟩"],
  ["abc\u202Edcb", "abc⟨202E⟩dcb"],
  ["an open \u001b]0;title without end", "an open "],
  ["中文 😀", "中文 😀"],
])("of output, %j is shown as %j", (text, expected) => expect(cleanOutput(text)).toBe(expected));

test.each([
  ["plain\ttext\nof lines\r\nand more", "plain\ttext\nof lines\nand more"],
  ["echo hello \u001b]0;rm -rf x;: \u0007", "echo hello ⟨1B⟩]0;rm -rf x;: ⟨7⟩"],
  ["echo hi \u001bPx;touch y;: \u001b\\", "echo hi ⟨1B⟩Px;touch y;: ⟨1B⟩\\"],
  ["touch y #\recho all is well", "touch y #⟨D⟩echo all is well"],
  ["back\b\b\b", "back⟨8⟩⟨8⟩⟨8⟩"],
  ["zero\u200Bwidth \u202Eturned", "zero⟨200B⟩width ⟨202E⟩turned"],
  ["tag\u{e0041}", "tag⟨E0041⟩"],
])("what is decided about leaves nothing out: %j is shown as %j", (text, expected) => {
  expect(clean(text)).toBe(expected);
  expect(cleanAsk(text)).toBe(expected);
});

test("what stands behind blanks is next to what stands before", () => {
  expect(cleanAsk(`a${" ".repeat(3000)}b`)).toBe("a ·×3000 b");
  expect(cleanAsk(`a${" \u2800".repeat(1500)}b`)).toBe("a ·×3000 b");
  expect(cleanAsk(`a${" ".repeat(40)}b`)).toBe(`a${" ".repeat(40)}b`);
  expect(cleanAsk(`a${"\n".repeat(100)}b`)).toContain("\n".repeat(100));
});

test("lines and tails", () => {
  expect(oneLine("a\n  b\tc")).toBe("a b c");
  expect(oneLine("x".repeat(300), 10)).toBe("xxxxxxxxx…");
  expect(lastLines("1\n2\n3\n", 2)).toEqual({ hidden: 1, text: "2\n3" });
});
