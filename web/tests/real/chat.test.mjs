// A session in a real browser on the real server: streams, questions, cuts, stops, other tabs.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test as run } from "node:test";
import { CART, World, askOf, clean, noAsk, phone, ready, send, shows, until } from "./help.mjs";

const test = (name, act) => run(name, { timeout: 90_000 }, act);
let world;
before(async () => {
  world = await World.start();
});
after(() => world.stop());

const text = (page, what) => page.locator(what).innerText();
const cart = () => readFileSync(join(world.root, "shop/cart.py"), "utf8");

/** A new session, opened in a page. */
async function opened(options) {
  const id = await world.session();
  const page = await world.page(`/s/${id}`, options);
  await page.waitForSelector("#composer");
  return { id, page };
}

test("from the prompt to the review: a key and a press approve exactly what is shown", async () => {
  const page = await world.page("/");
  await page.waitForSelector("#composer");
  await send(page, "fix the coupon");
  await page.waitForURL(/\/s\//);
  await page.waitForSelector(".user");
  await ready(page);
  // The command, the rule that a lasting yes would make, and the answers with their keys.
  assert.match(await text(page, ".ask-subject"), /python3 -m unittest/);
  assert.match(await text(page, ".ask"), /Bash\(python3 -m unittest/);
  assert.deepEqual((await page.locator(".ask-choice kbd").allInnerTexts()).slice(0, 3), ["y", "s", "a"]);
  let first = await askOf(page);
  await page.keyboard.press("y");
  await page.waitForFunction((known) => document.querySelector(".ask") && document.querySelector(".ask").dataset.ask !== known, first);
  await ready(page);
  assert.match(await text(page, ".ask"), /cart\.py/);
  assert.ok((await page.locator(".ask .diff-table mark").count()) > 0, "changed words are marked");
  assert.equal(cart(), CART, "nothing has happened yet");
  first = await askOf(page);
  await page.click("[data-choice=once]");
  await page.waitForFunction((known) => document.querySelector(".ask") && document.querySelector(".ask").dataset.ask !== known, first);
  assert.match(cart(), /net \* self\.coupon\.percent/);
  await ready(page);
  await page.click("[data-choice=once]");
  await page.waitForSelector(".turn-facts");
  await page.waitForSelector(".md table");
  const verbs = await page.locator(".call-verb").allInnerTexts();
  for (const verb of ["Read", "Ran", "Edited"]) assert.ok(verbs.includes(verb), verbs.join());
  assert.match(await text(page, ".right"), /Plan 3\/3/);
  await page.waitForFunction(() => document.querySelectorAll(".changes .row-button").length === 2);
  assert.ok((await page.locator(".hl-k").count()) > 0, "code is highlighted");
  await page.locator(".thought-head").first().click();
  await shows(page, "88 where 90 is expected");
  // Everything that changed, in one place.
  await page.click(".right .changes + button");
  await page.waitForSelector(".modal .diff-table.split");
  assert.match(await text(page, ".modal"), /coupon takes its share/);
  await page.keyboard.press("Escape");
  clean(page);
  // The way back: its diff before it happens.
  await page.click(".weight button");
  await page.click(".timeline .pick >> nth=0");
  await page.waitForSelector(".rewind .diff-table");
  assert.match(cart(), /net \* self/);
  await page.click(".rewind .primary");
  await page.waitForFunction(() => document.querySelector("#composer").value === "fix the coupon");
  await until(() => cart() === CART, "the file as it was");
  await page.waitForFunction(() => document.querySelectorAll(".user").length === 0);
  clean(page);
});

test("a reload in mid-stream loses nothing and repeats nothing", async () => {
  const { page } = await opened();
  await send(page, "slow");
  await page.waitForFunction(() => document.querySelector(".live")?.textContent.includes("w30"));
  await page.reload();
  await page.waitForFunction(() => document.querySelector(".live")?.textContent.includes("w60"));
  await page.waitForSelector(".turn");
  const words = (await text(page, ".answer")).match(/w\d+/g);
  assert.deepEqual([words.length, new Set(words).size], [160, 160]);
  clean(page);
});

test("a link that is cut: said calmly, caught up with, and what was typed meanwhile arrives once", async () => {
  const { id, page } = await opened();
  await send(page, "first");
  await shows(page, "You said: first");
  world.link.cut();
  await page.waitForSelector(".banner");
  await send(page, "typed while away");
  await page.waitForSelector(".pending .warn-text");
  world.link.mend();
  await page.click(".banner button");
  await page.waitForSelector(".banner", { state: "detached" });
  await shows(page, "You said: typed while away");
  assert.equal((await world.entries(id)).filter((entry) => entry.role === "user").length, 2);
  clean(page);
});

test("a server that starts again: the page finds it, the session goes on, the login too", async () => {
  const { id, page } = await opened();
  await send(page, "before");
  await shows(page, "You said: before");
  await world.down();
  await page.waitForSelector(".banner");
  await world.serve();
  await page.waitForSelector(".banner", { state: "detached", timeout: 20_000 });
  await send(page, "after");
  await shows(page, "You said: after");
  assert.equal(await page.locator(".user").count(), 2);
  assert.equal((await world.entries(id)).filter((entry) => entry.role === "user").length, 2);
  clean(page);
});

test("a server that is killed in the middle of an answer: what was said stays, and the session goes on", async () => {
  const { page } = await opened();
  await send(page, "slow");
  await page.waitForFunction(() => document.querySelector(".live")?.textContent.includes("w20"));
  await world.down("SIGKILL");
  await page.waitForSelector(".banner");
  await world.serve();
  await page.waitForSelector(".banner", { state: "detached", timeout: 20_000 });
  await page.waitForFunction(() => !document.querySelector(".live"));
  await send(page, "again");
  await shows(page, "You said: again");
  assert.equal(await page.locator(".user", { hasText: "slow" }).count(), 1);
  clean(page);
});

test("escape stops, typing steers, tab queues", async () => {
  const { page } = await opened();
  await send(page, "slow");
  await page.waitForSelector(".live");
  await send(page, "steer left");
  await page.waitForFunction(() => document.querySelector(".queue")?.textContent.includes("Steering"));
  await send(page, "then right", "Tab");
  await page.waitForFunction(() => document.querySelector(".queue")?.textContent.includes("then right"));
  await shows(page, "You said: steer left");
  await shows(page, "You said: then right");
  await page.waitForFunction(() => !document.querySelector(".queue")?.textContent);
  await send(page, "slow");
  await page.waitForSelector(".live");
  await page.press("#composer", "Escape");
  await page.waitForFunction(() => [...document.querySelectorAll(".turn")].at(-1)?.textContent.includes("Stopped"));
  await page.waitForFunction(() => !document.querySelector(".stop"));
  clean(page);
});

test("output comes while a command runs, jobs are rows that end", async () => {
  const { page } = await opened();
  await send(page, "live");
  await shows(page, "row 2");
  assert.equal(await page.locator(".call-running").count(), 1, "it still runs");
  await shows(page, "All rows came.");
  await send(page, "job");
  await ready(page);
  await page.keyboard.press("y");
  await page.waitForSelector(".tasks li");
  await page.click(".tasks li button[aria-label]");
  await page.waitForSelector(".tasks li", { state: "detached" });
  clean(page);
});

test("two tabs, a second browser and a program see the same; one answer counts", async () => {
  const { id, page } = await opened();
  const tab = await page.context().newPage();
  await tab.goto(`/s/${id}`);
  const other = await world.page(`/s/${id}`, phone);
  await world.say(id, "write a note");
  for (const one of [page, tab, other]) await ready(one);
  await other.locator("[data-choice=deny]").tap();
  for (const one of [page, tab, other]) await noAsk(one);
  await shows(page, "It is written.");
  const ask = (await world.entries(id)).filter((entry) => entry.type === "approval");
  assert.deepEqual(ask.map((entry) => entry.decision), ["deny"]);
  const all = await Promise.all([page, tab, other].map((one) => one.locator(".answer").allInnerTexts()));
  assert.deepEqual(all[0], all[1]);
  assert.deepEqual(all[0], all[2]);
  assert.throws(() => readFileSync(join(world.root, "notes.txt")));
  // Both answer at the same moment: one of them, and neither page breaks.
  await world.say(id, "write another note");
  await Promise.all([ready(page), ready(other)]);
  await Promise.all([[page, "once"], [other, "deny"]].map(([one, choice]) => one.evaluate((id) => document.querySelector(`[data-choice=${id}]`).click(), choice)));
  for (const one of [page, tab, other]) await noAsk(one);
  await until(async () => (await world.entries(id)).filter((entry) => entry.type === "turn_end").length === 2);
  assert.equal((await world.entries(id)).filter((entry) => entry.type === "approval").length, 2);
  for (const one of [page, other]) clean(one);
});

test("twenty tabs at once, each with a session of its own, work over the few connections of a browser", async () => {
  const ids = [];
  for (let n = 0; n < 20; n++) ids.push(await world.session());
  const first = await world.page("/");
  const tabs = [];
  for (const id of ids) {
    const tab = await first.context().newPage();
    await tab.goto(`/s/${id}`);
    tabs.push(tab);
  }
  await Promise.all(tabs.map((tab) => tab.waitForSelector("#composer")));
  await Promise.all(ids.map((id, n) => world.say(id, `hello ${n}`)));
  await Promise.all(tabs.map((tab, n) => shows(tab, `You said: hello ${n}`)));
  await send(tabs.at(-1), "from the last one");
  await shows(tabs.at(-1), "You said: from the last one");
});

test("what the model says is letters: no tags, no scripts, no addresses that run, no pictures of others", async () => {
  const { page } = await opened();
  await send(page, "hostile");
  await page.waitForSelector(".turn");
  assert.equal(await page.locator(".md img, .md script, .md iframe, .md svg:not(.icon)").count(), 0);
  const links = await page.locator(".md a").evaluateAll((all) => all.map((one) => one.getAttribute("href")));
  assert.deepEqual(links.filter((link) => !link.startsWith("https://example.com/")), []);
  assert.equal(await page.evaluate(() => window.hit), undefined);
  assert.ok(page.asked.every((url) => url.startsWith(world.at)), page.asked.join());
  const shown = await text(page, ".answer");
  assert.match(shown, /<script>/);
  assert.ok(!/[\u001b\u202e]/.test(shown));
  const wide = await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth && document.querySelector(".vlist").scrollWidth <= document.querySelector(".vlist").clientWidth);
  assert.ok(wide, "a wide table scrolls within itself");
  await send(page, "list");
  await shows(page, "Those are the files.");
  const call = page.locator(".call", { hasText: "odd" }).last();
  await call.locator("button").first().click();
  await shows(page, "onerror=hit");
  assert.ok(!/[\u202e]/.test(await text(page, ".vlist")));
  clean(page);
});

test("questions, several choices, a plan that is read before it is approved", async () => {
  const { id, page } = await opened();
  await send(page, "question");
  await ready(page);
  await page.keyboard.press("2");
  await shows(page, "Then it is that one.");
  await send(page, "several");
  await ready(page);
  await page.locator("[data-choice=lint]").click();
  await page.locator("[data-choice=tests]").click();
  await page.locator(".ask-foot .primary").click();
  await shows(page, "They ran.");
  const results = JSON.stringify((await world.entries(id)).filter((entry) => entry.type === "tool_result"));
  assert.match(results, /PostgreSQL/);
  assert.match(results, /lint, tests/);
  await page.focus("#composer");
  await page.keyboard.press("Shift+Tab");
  await page.waitForFunction(() => [...document.querySelectorAll(".pill")].some((one) => one.textContent.includes("Plan first")));
  await send(page, "plan");
  await ready(page);
  await page.waitForFunction(() => document.querySelector(".ask-body strong")?.textContent === "cart");
  await page.locator("[data-choice=approve]").click();
  await shows(page, "The plan stands.");
  clean(page);
});

test("pictures go along, and a failure says what to do", async () => {
  const { id, page } = await opened();
  const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
  await page.setInputFiles(".composer input[type=file]", [{ name: "shot.png", mimeType: "image/png", buffer: png }]);
  await page.waitForSelector(".attached li");
  await send(page, "look");
  await page.waitForSelector(".user .shot");
  await shows(page, "You said: look");
  assert.equal((await world.entries(id)).find((entry) => entry.role === "user").images.length, 1);
  await send(page, "fail");
  await page.waitForSelector(".failure");
  await page.waitForSelector(`a[href="/s/${id}"] .sign-failed`);
  clean(page);
});

test("a session that is deleted while it is open is said to be gone", async () => {
  const id = await world.spoken("hello");
  const page = await world.page(`/s/${id}`);
  await shows(page, "You said: hello");
  assert.equal((await world.api("DELETE", `/api/sessions/${id}`)).status, 204);
  await page.waitForFunction(() => document.querySelector(".banner")?.textContent.includes("was deleted"));
  await page.waitForSelector(`.sessions a[href="/s/${id}"]`, { state: "detached" });
  clean(page);
});

test("a sub-agent opens while it works and when it has ended; a job's output is followed", async () => {
  const { page } = await opened();
  await send(page, "task");
  const agent = page.locator(".tasks button.task-text:not(:disabled)").first();
  // Some roles are asked about.
  await page.waitForFunction(() => document.querySelector(".ask[data-ready=true], .tasks button.task-text"));
  if (await page.locator(".ask").count()) await page.keyboard.press("y");
  await agent.click();
  await page.waitForFunction(() => /slow/.test(document.querySelector(".below")?.textContent ?? ""));
  await page.waitForFunction(() => document.querySelector(".below")?.textContent.includes("w159"), undefined, { timeout: 20_000 });
  await page.keyboard.press("Escape");
  await shows(page, "It was looked into.");
  await page.waitForSelector(".tasks .ended");
  await page.locator(".call-child button").click();
  await page.waitForFunction(() => document.querySelector(".below")?.textContent.includes("w159"));
  await page.keyboard.press("Escape");
  await send(page, "job");
  await ready(page);
  await page.keyboard.press("y");
  await page.locator(".tasks button", { hasText: "job" }).click();
  await page.waitForFunction(() => (document.querySelector(".job-log")?.textContent.match(/tick/g) ?? []).length >= 3);
  await page.locator(".below-head button").click();
  await page.waitForSelector(".below-head", { state: "detached" });
  clean(page);
});

test("the review: one file goes back, the other stays, and a note on a line is said with the next message", async () => {
  const { page } = await opened({ width: 1500, height: 900 });
  await page.waitForSelector("#composer");
  writeFileSync(join(world.root, "shop/cart.py"), CART);
  const log = () => readFileSync(join(world.root, "CHANGELOG.md"), "utf8");
  await send(page, "fix the coupon");
  for (const what of ["unittest", "cart.py", "CHANGELOG"]) {
    await page.waitForFunction((text) => document.querySelector(".ask[data-ready=true]")?.textContent.includes(text), what);
    await page.click("[data-choice=once]");
  }
  await page.waitForSelector(".turn-facts");
  await page.waitForFunction(() => document.querySelectorAll(".changes .row-button").length === 2);
  await page.click(".right .changes + button");
  await page.waitForSelector(".review-list");
  await page.locator(".diff-file[data-path='shop/cart.py'] .notable.add").first().click();
  await page.fill(".note-form textarea", "Say why.");
  await page.press(".note-form textarea", "Enter");
  const file = page.locator(".diff-file", { hasText: "CHANGELOG.md" });
  assert.match(log(), /takes its share/);
  await file.locator("button", { hasText: "Rewind this file" }).click();
  await file.locator("button", { hasText: "Again" }).click();
  await until(() => !/takes its share/.test(log()), "the file as it was");
  assert.match(cart(), /net \* self/);
  await page.waitForFunction(() => document.querySelectorAll(".review .diff-file").length === 1);
  assert.equal(await page.locator(".line-note").count(), 1, "what was noted stays");
  await page.click(".review-bar .primary");
  await send(page, "look");
  await shows(page, "Say why.");
  assert.match(await text(page, ".user >> nth=-1"), /look\s+shop\/cart\.py:\d+\s+> net -= net/);
  clean(page);
});
