// What the mock's model does, by a word in the prompt. The answers and results have the shapes of real sessions.
import { sleep } from "./session.mjs";

let count = 0;
const callOf = (name, input, title) => ({ id: `call_${++count}`, name, input, title });
export const bash = (command) => callOf("bash", { command }, { kind: "run", subject: command.split("\n")[0], body: "command", result: "command" });
export const readFile = (path) => callOf("read_file", { path }, { kind: "read", subject: path, result: "file" });
export const editFile = (path) => callOf("edit_file", { path, old: "a", new: "b" }, { kind: "edit", subject: path, result: "edit" });

const CART = `class Cart:
    """Items, a coupon, and what it all costs."""

    def __init__(self, items, coupon=None):
        self.items = items
        self.coupon = coupon

    def net(self):
        net = sum(item.price * item.count for item in self.items)
        if self.coupon:
            net -= self.coupon.percent
        return net
`;
export const EDIT = `@@ -8,11 +8,12 @@
     def net(self):
         net = sum(item.price * item.count for item in self.items)
         if self.coupon:
-            net -= self.coupon.percent
+            # A coupon is a share of the price, not an amount.
+            net -= net * self.coupon.percent // 100
         return net
 
     def gross(self):
-        return self.net() * 1.19
+        return round(self.net() * 1.19, 2)
 
     def __len__(self):
         return len(self.items)
`;
export const DIFF = `--- a/shop/cart.py
+++ b/shop/cart.py
${EDIT}--- a/CHANGELOG.md
+++ b/CHANGELOG.md
@@ -1,3 +1,5 @@
 # Changes
 
+- A coupon takes its share of the price.
+- Gross prices have two decimals.
 - The cart counts its items.
`;

const PERMISSION = [
  { id: "once", label: "allow once", key: "y", takes: "nothing", refuses: false, confirm: false },
  { id: "session", label: "allow for this session", detail: "this exact command", key: "s", takes: "nothing", refuses: false, confirm: false },
  { id: "always", label: "always allow", detail: "Bash(make) in ~/.ostler/projects/shop/permissions.toml", key: "a", takes: "nothing", refuses: false, confirm: true },
  { id: "always_project", label: "always allow, for everybody", detail: "Edit(./shop/cart.py) in ostler.toml", takes: "nothing", refuses: false, confirm: true },
  { id: "deny", label: "deny", key: "n", takes: "reason", hint: "why not", refuses: true, confirm: false },
];

const ANSWER = `The tests pass again.

| where | was | is |
|---|---:|---:|
| \`Cart.net\` | 88 | 90 |
| \`Cart.gross\` | 104.72 | 107.1 |

- **What was wrong:** a coupon of 10 % took *10 cents* instead of a tenth.
- **What changed:** two lines in \`shop/cart.py\`, and a line in the changelog.

\`\`\`python
def net(self):
    net = sum(item.price * item.count for item in self.items)
    if self.coupon:
        # A coupon is a share of the price, not an amount.
        net -= net * self.coupon.percent // 100
    return net
\`\`\`

See [the docs](https://example.com/coupons) for how coupons add up.`;

export async function work(s) {
  const list = callOf("ls", {}, { kind: "read", subject: ".", result: "entries" });
  const read = readFile("shop/cart.py");
  const todo = (...states) => ["reproduce the failure", "fix the discount", "run the tests"].map((text, at) => ({ text, state: states[at] }));
  await s.say("I'll look at the cart and its tests first.", { thought: "The test says 88 where 90 is expected. A coupon of ten percent on a hundred should leave ninety, so the discount is likely taken as an amount and not as a share. Let me read the code before changing anything.", calls: [list, read] });
  await s.call(list, { path: "/src/shop", entries: ["shop/", "tests/", "CHANGELOG.md", "pyproject.toml"] });
  await s.call(read, { path: "/src/shop/shop/cart.py", content: CART, lines: 12 });
  s.write("todo", { items: todo("in_progress", "pending", "pending") });
  const test = bash("python3 -m unittest -v");
  await s.say("", { calls: [test] });
  await s.call(test, { stdout: "test_len ... ok\ntest_net_with_coupon ... FAIL\n\nAssertionError: 88 != 90\n\nRan 2 tests in 0.004s\nFAILED (failures=1)\n", stderr: "", exit_code: 1 }, { chunks: ["test_len ... ok\n", "test_net_with_coupon ... FAIL\n", "AssertionError: 88 != 90\n"] });
  s.write("todo", { items: todo("done", "in_progress", "pending") });
  const edit = editFile("shop/cart.py");
  await s.say("The coupon is taken as an amount. I'll make it a share of the price.", { calls: [edit] });
  s.write("checkpoint", { id: 1, tree: "9b10d0350fb1", when: "before" });
  await s.call(edit, { path: "/src/shop/shop/cart.py", replacements: 1, diff: EDIT });
  s.diff = DIFF;
  const again = bash("python3 -m unittest");
  await s.say("", { calls: [again] });
  await s.call(again, { stdout: "..\nRan 2 tests in 0.004s\nOK\n", stderr: "", exit_code: 0 }, { chunks: ["..\n", "OK\n"] });
  s.write("todo", { items: todo("done", "done", "done") });
  await s.say(ANSWER);
  s.end();
}

export async function approve(s) {
  const edit = editFile("shop/cart.py");
  await s.say("I'd like to change the discount.", { calls: [edit], pace: 2 });
  const one = await s.ask({
    kind: "permission", title: "Edit this file?", subject: "edit_file: shop/cart.py", tool: "edit_file", preview: EDIT, preview_format: "diff",
    options: PERMISSION.map((choice) => (choice.id === "session" ? { ...choice, detail: "editing files" } : choice.id === "always" ? { ...choice, detail: "Edit(./shop/cart.py) in ~/.ostler/projects/shop/permissions.toml" } : choice)),
  });
  s.write("approval", { tool_use_id: edit.id, decision: one.choice, ...(one.reason ? { reason: one.reason } : {}) });
  if (s.stopped) return;
  if (one.choice === "deny") await s.call(edit, null, { ok: false, error: { code: "denied", message: one.reason ?? "denied" } });
  else await s.call(edit, { path: "shop/cart.py", diff: EDIT });
  s.diff = one.choice === "deny" ? "" : DIFF;
  const run = bash("rm -rf build && make");
  await s.say("Now a clean build.", { calls: [run], pace: 2 });
  const two = await s.ask({ kind: "permission", title: "Run this command?", subject: "rm -rf build && make\n# deletes ./build · sandboxed · no network", tool: "bash", options: PERMISSION });
  if (s.stopped) return;
  s.write("approval", { tool_use_id: run.id, decision: two.choice });
  if (two.choice === "deny") await s.call(run, null, { ok: false, error: { code: "denied", message: two.reason ?? "denied" } });
  else await s.call(run, { stdout: "cc -O2 main.c\nbuilt\n", stderr: "", exit_code: 0 }, { chunks: ["cc -O2 main.c\n", "built\n"] });
  await s.say("Done.", { pace: 2 });
  s.end();
}

const TRUST = {
  en: { subject: "Trust this project's files?", never: "never for this content", yes: "trust it", means: "everything listed takes effect, until it changes", not: "not now", long: "This project's files cannot be trusted here", head: (root) => `${root} is not trusted. With trust, this takes effect:`, most: "What can do most of it, the most powerful last (2 items):", less: (hash) => `That is too much to read in a question (612 rows), so it cannot be trusted here. Read it with \`ostler trust | less\`, then say yes to exactly that content:\n  ostler trust --read ${hash}` },
  zh: { subject: "信任此项目文件带来的内容吗？", never: "对此内容永不", yes: "信任", means: "所列内容全部生效，直到有更改", not: "暂不", long: "此项目文件带来的内容不能在此信任", head: (root) => `${root} 未受信任。信任后以下内容生效：`, most: "其中权限最大的项目，最危险的在最后（2 项）：", less: (hash) => `内容超出一次询问可读的长度（612 行），因此不能在此信任。请用 \`ostler trust | less\` 阅读，然后确认这些内容：\n  ostler trust --read ${hash}` },
};

/** What is asked before a session of a project opens; its name is that of the content. */
export function trustAsk(hash, { root = "/src/api", isTooLong = false, rules = 24, language = "en" } = {}) {
  const words = TRUST[language];
  const items = Array.from({ length: rules }, (_, n) => `rule      ostler.toml  allow Bash(make part-${n}:*)`);
  const powerful = ["hook      ostler.toml  after edit_file: ./scripts/format.sh --all --quiet --config ./scripts/format.toml --log /dev/null --then ./scripts/publish.sh", "server    .mcp.json    npx -y @acme/browser --port 9222, with ${ACME_TOKEN}"];
  const list = isTooLong ? [] : [words.head(root), "", ...items, ...powerful, ""];
  const choices = [
    { id: "trust", label: words.yes, detail: words.means, key: "t", takes: "nothing", confirm: true },
    { id: "not_now", label: words.not, key: "n", takes: "nothing", refuses: true, confirm: false },
    { id: "never", label: words.never, key: "v", takes: "nothing", refuses: true, confirm: false },
  ];
  return {
    ask: `trust-${hash}`, kind: "trust", subject: isTooLong ? words.long : words.subject, preview: [...list, words.most, ...powerful.map((one) => `  ${one}`), ...(isTooLong ? [words.less(hash)] : [])].join("\n"), preview_format: "text",
    options: choices.slice(isTooLong ? 1 : 0), silence: { choice: "not_now", reason: "nobody is there to answer", escape: "answer" },
  };
}

export async function question(s) {
  const silence = { choice: "", escape: "answer" };
  const call = callOf("ask", { question: "Which?" }, { kind: "talk", subject: "Which database?", result: "answer" });
  await s.say("One thing before I begin.", { calls: [call], pace: 2 });
  const one = await s.ask({ kind: "question", tool: "ask", subject: "Which **database** shall the shop use?", free_text: true, silence, options: [{ id: "SQLite", label: "SQLite", detail: "a file, no server", confirm: false }, { id: "PostgreSQL", label: "PostgreSQL", detail: "a server", confirm: false }] });
  if (s.stopped) return;
  await s.call(call, { answer: one.choice });
  const many = await s.ask({ kind: "question", subject: "Which checks shall run?", multi: true, silence, options: ["lint", "types", "tests"].map((id) => ({ id, label: id, confirm: false })) });
  if (s.stopped) return;
  await s.say(`Then it is ${one.choice}, with ${many.choice || "no checks"}.`, { pace: 2 });
  s.end();
}

export async function plan(s) {
  await s.say("Here is what I would do.", { pace: 2 });
  const text = "# Plan\n\n1. Read `shop/cart.py`\n2. Make the coupon a **share** of the price\n3. Run the tests\n";
  const made = await s.ask({
    kind: "plan", title: "Work by this plan?", subject: "Fix the coupon", preview: text, preview_format: "markdown", silence: { choice: "keep", escape: "answer" },
    options: [
      { id: "approve", label: "approve", key: "y", takes: "nothing", confirm: false }, { id: "edit", label: "edit the plan", key: "e", takes: "edited_text", confirm: false },
      { id: "keep", label: "keep planning", key: "n", takes: "reason", hint: "what is missing", refuses: true, confirm: false },
    ],
  });
  if (s.stopped) return;
  await s.say(made.choice === "keep" ? "I'll think again." : `I follow the plan${made.choice === "edit" ? ` as you changed it: ${made.reason.split("\n").length} lines` : ""}.`, { pace: 2 });
  s.end();
}

export async function budget(s) {
  await s.ask({ kind: "budget", title: "The budget is spent", subject: "$2.00 of $2.00 are spent. Go on with another $2.00?", options: [{ id: "more", label: "another $2.00", key: "y", confirm: true }, { id: "stop", label: "stop here", key: "n", refuses: true, confirm: false }], silence: { choice: "stop", escape: "answer" } });
  await s.say("Done.", { pace: 2 });
  s.end();
}

export async function fail(s) {
  s.delta({ type: "retry", after_ms: 900, attempt: 2, reason: "529 overloaded" });
  await sleep(900);
  s.write("error", { kind: "auth", message: "Anthropic refused the key: invalid x-api-key.\nSet ANTHROPIC_API_KEY, or run `ostler login`.", details: { status: 401, type: "authentication_error" } });
  s.failed = true;
  s.end("error");
}

export async function background(s) {
  s.delta({ type: "tasks", tasks: [{ id: "t1", prompt: "explore how coupons are stored", doing: { running: "grep" }, seconds: 12 }] });
  s.delta({ type: "jobs", running: ["j1"] });
  await s.say("A sub-agent looks into it.", { pace: 2 });
  s.end();
}

export async function nasty(s) {
  await s.say(
    'A tag: <img src=x onerror="document.title=1"><script>document.title=2</script>\n\n[bad](javascript:alert(1)) ![pixel](https://example.com/pixel.png) [ok](https://example.com)\n\nEsc: \u001b[31mred\u001b[0m \u202Egnol\u202C end\n\n<svg onload=alert(1)>\n\n' +
      `| ${Array.from({ length: 30 }, (_, n) => `column ${n}`).join(" | ")} |\n|${"---|".repeat(30)}\n${`| ${Array.from({ length: 30 }, (_, n) => n).join(" | ")} |\n`.repeat(5)}`,
    { pace: 0 },
  );
  s.end();
}

export async function slow(s) {
  const words = Array.from({ length: 160 }, (_, n) => `word${n}${n % 14 === 13 ? ".\n\n" : ""}`).join(" ");
  await s.say(words, { pace: 25 });
  if (!s.stopped) s.end();
}

export async function brief(s, text) {
  await s.say(`You said: ${text}`, { pace: 2 });
  s.end();
}

const SCRIPTS = [[/approve/i, approve], [/question/i, question], [/\bplan\b/i, plan], [/budget/i, budget], [/error/i, fail], [/background/i, background], [/nasty/i, nasty], [/slow/i, slow], [/test|coupon|fix/i, work]];

export function scriptOf(text) {
  return SCRIPTS.find(([word]) => word.test(text))?.[1] ?? brief;
}
