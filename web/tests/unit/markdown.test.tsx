import type { ComponentChild, VNode } from "preact";
import { expect, test } from "vitest";
import { plain, read, type Token } from "../../src/lib/markdown";
import { decodeEntities, safeHref } from "../../src/lib/text";

test.each([
  ["https://example.com/a?b=1", "https://example.com/a?b=1"],
  ["http://example.com", "http://example.com/"],
  ["mailto:a@example.com", "mailto:a@example.com"],
  ["javascript:alert(1)", null],
  ["JaVaScRiPt:alert(1)", null],
  [" javascript:alert(1)", null],
  ["java\nscript:alert(1)", null],
  ["\u0001javascript:alert(1)", null],
  ["&#106;avascript:alert(1)", null],
  ["javascript&colon;alert(1)", null],
  ["vbscript:x", null],
  ["data:text/html,<script>", null],
  ["data:image/svg+xml,<svg onload=alert(1)>", null],
  ["file:///etc/passwd", null],
  ["blob:https://x", null],
  ["//example.com/x", null],
  ["/api/logout", null],
  ["docs/readme.md", null],
  ["https://", null],
])("a link to %j leads to %j", (href, expected) => expect(safeHref(href)).toBe(expected));

test("entities are letters", () => {
  expect(decodeEntities("a &lt;b&gt; &amp;amp; &#65;&#x42; &nope; &#0;")).toBe("a <b> &amp; AB &nope; \ufffd");
});

const render = async (text: string): Promise<string[]> => {
  const { blocksForTest } = await import("../../src/ui/Markdown");
  const out: string[] = [];
  const walk = (child: ComponentChild): void => {
    if (Array.isArray(child)) return (child as ComponentChild[]).forEach(walk);
    if (child === null || child === undefined || typeof child === "boolean") return;
    if (typeof child !== "object") return void out.push(`'${child}'`);
    const node = child as VNode<{ children?: ComponentChild; href?: string; text?: string; dangerouslySetInnerHTML?: unknown }>;
    if (typeof node.type === "function" && node.type.name !== "Code") return walk((node.type as (props: unknown) => ComponentChild)(node.props));
    out.push(typeof node.type === "string" ? `<${node.type}${node.props.href ? ` ${node.props.href}` : ""}>` : `code '${node.props.text}'`);
    expect(node.props.dangerouslySetInnerHTML).toBeUndefined();
    walk(node.props.children);
  };
  walk(blocksForTest(read(text).tokens));
  return out;
};

test.each([
  ["<script>alert(1)</script>", ["<p>", "'<script>alert(1)</script>'"]],
  ["a <img src=x onerror=alert(1)> b", ["<p>", "'a '", "'<img src=x onerror=alert(1)>'", "' b'"]],
  ["<svg onload=alert(1)>", ["<p>", "'<svg onload=alert(1)>'"]],
  ["[x](javascript:alert(1))", ["<p>", "<span>", "'x'"]],
  ["[x](https://example.com)", ["<p>", "<a https://example.com/>", "'x'"]],
  ["![p](https://example.com/p.png)", ["<p>", "<a https://example.com/p.png>", "'🖼 p'"]],
  ["![p](data:image/svg+xml;base64,AA)", ["<p>", "<span>", "'🖼 p'"]],
  ["<javascript:alert(1)>", ["<p>", "<span>", "'javascript:alert(1)'"]],
  ["[x]: javascript:alert(1)\n\n[x]", ["<p>", "<span>", "'x'"]],
  ["\u001b[31mred\u001b[0m", ["<p>", "'⟨1B⟩[31mred⟨1B⟩[0m'"]],
  ["```html\n<script>\n```", ["code '<script>'"]],
  ["`<b>&amp;`", ["<p>", "<code>", "'<b>&amp;'"]],
  ["a &lt;b&gt;", ["<p>", "'a <b>'"]],
  ["# h", ["<h2>", "'h'"]],
])("%j becomes elements", async (text, expected) => expect(await render(text)).toEqual(expected));

test("hard texts take no time", () => {
  const begun = performance.now();
  for (const text of ["[".repeat(5000), "*".repeat(9000), "> ".repeat(4000), `${"a".repeat(30_000)}`, "![[".repeat(3000), "|".repeat(15_000), `${"- ".repeat(3000)}x`, `${"`".repeat(4000)} x`, `${"_a ".repeat(6000)}`]) read(text);
  // A hang would take minutes.
  expect(performance.now() - begun).toBeLessThan(5000);
});

test("a text that grows is read as if it came whole", () => {
  const whole = "# Title\n\nA paragraph with `code` and **bold**.\n\n- one\n- two\n\n```js\nlet a = 1;\n\nlet b;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nThe end.";
  let reading = read("");
  for (let at = 1; at <= whole.length; at++) reading = read(whole.slice(0, at), reading);
  const shape = (tokens: Token[]) => tokens.map((token) => `${token.type} ${token.raw}`);
  expect(shape(reading.tokens)).toEqual(shape(read(whole).tokens));
  expect(plain(reading.tokens)).toContain("A paragraph with code and bold.");
});

test("long rules, padded tables and starred comments are Markdown like any other", () => {
  const types = (text: string) => read(text).tokens.filter((token) => token.type !== "space").map((token) => token.type);
  expect(types(`a\n\n${"-".repeat(90)}\n\n| a | b |\n|${"-".repeat(80)}|${"-".repeat(70)}|\n| 1 | 2 |\n\n\`\`\`c\n/${"*".repeat(78)}/\n\`\`\``)).toEqual(["paragraph", "hr", "table", "code"]);
  expect(types("> ".repeat(400))).toEqual(["code"]);
  expect(types(`${"- ".repeat(400)}x`)).toEqual(["code"]);
});
