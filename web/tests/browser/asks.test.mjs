// Questions in a real browser: by key and by finger, and against every accidental yes.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { prompt, start } from "./help.mjs";

let world;
let count = 0;
before(async () => {
  world = await start();
});
after(() => world.stop());

const phone = { width: 360, height: 740, hasTouch: true, isMobile: true };

/** A session in which a question was just put. */
async function asked(words, options) {
  const id = `ask${++count}`;
  const s = world.mock.add(id, "shop-1a2b3c4d", id);
  const page = await world.page(`/s/${id}`, options);
  await page.waitForSelector("#composer");
  prompt(world.mock, id, words);
  await page.waitForSelector(".ask");
  return { page, s };
}
const ready = (page) => page.waitForSelector(".ask[data-ready=true]");
const askOf = (page) => page.locator(".ask").getAttribute("data-ask");

async function nextAsk(page, before) {
  await page.waitForFunction((known) => document.querySelector(".ask")?.dataset.ask !== known, before);
}

test("an approval shows the diff and the exact rule, and is answered by key", async () => {
  const { page, s } = await asked("approve");
  await ready(page);
  assert.match(await page.locator(".ask").innerText(), /Edit\(\.\/shop\/cart\.py\) in/);
  assert.ok((await page.locator(".ask .diff-table tr").count()) > 5);
  assert.match(await page.title(), /^! /);
  assert.equal(await page.locator("#icon").getAttribute("href"), "/icon-ask.svg");
  const first = await askOf(page);
  await page.keyboard.press("s");
  await nextAsk(page, first);
  assert.equal(s.lastAnswer.choice, "session");
  await ready(page);
  await page.keyboard.press("y");
  await page.waitForSelector(".ask", { state: "detached" });
  assert.equal(s.lastAnswer.choice, "once");
  assert.deepEqual(page.faults, []);
});

test("a key in the first half second does not answer, and is seen", async () => {
  const { page, s } = await asked("approve");
  await page.keyboard.press("y");
  await page.waitForTimeout(700);
  assert.equal(s.lastAnswer, undefined);
  assert.equal(await page.inputValue(".ask-text"), "y");
  assert.match(await page.locator(".ask .note").innerText(), /nothing was answered/);
  // Enter with a text is a no with a reason, never a yes.
  await page.press(".ask-text", "Enter");
  await page.waitForTimeout(100);
  assert.notEqual(s.lastAnswer?.choice, "once");
});

test("whoever is typing goes on typing, and a pause is needed before a key answers", async () => {
  const id = `ask${++count}`;
  const s = world.mock.add(id, "shop-1a2b3c4d", id);
  const page = await world.page(`/s/${id}`);
  await page.click("#composer");
  await page.keyboard.type("and yes, pleas");
  prompt(world.mock, id, "approve");
  await page.waitForSelector(".ask");
  await page.keyboard.type("e say");
  await ready(page);
  assert.equal(await page.inputValue("#composer"), "and yes, please say");
  assert.equal(s.lastAnswer, undefined);
  await page.keyboard.press("Enter");
  await page.waitForTimeout(200);
  assert.equal(s.lastAnswer, undefined, "enter sends the message and answers nothing");
  await page.click(".ask-head");
  await page.keyboard.press("x");
  await page.keyboard.press("y");
  await page.waitForTimeout(100);
  assert.equal(s.lastAnswer, undefined, "a key right after another is typing");
});

test("a typed yes is neither a yes nor a no", async () => {
  const { page, s } = await asked("approve");
  await ready(page);
  await page.click(".ask-foot button");
  await page.fill(".ask-text", "yes");
  await page.press(".ask-text", "Enter");
  await page.waitForSelector(".ask .note");
  await page.waitForTimeout(150);
  assert.equal(s.lastAnswer, undefined);
});

test("a reason goes with the no", async () => {
  const { page, s } = await asked("approve");
  await ready(page);
  await page.click(".ask-foot button");
  await page.waitForFunction(() => document.activeElement?.classList.contains("ask-text"));
  await page.fill(".ask-text", "too broad");
  await page.locator("[data-choice=once]").click();
  await page.waitForTimeout(150);
  assert.equal(s.lastAnswer, undefined, "a text that was meant for a no is no yes");
  assert.match(await page.locator(".ask-choice.meant").innerText(), /for this reason/, "the button says what is sent");
  const first = await askOf(page);
  await page.press(".ask-text", "Enter");
  await nextAsk(page, first);
  assert.deepEqual(s.lastAnswer, { choice: "deny", reason: "too broad" });
});

test("what outlives the session is confirmed by a second press", async () => {
  const { page, s } = await asked("approve");
  await ready(page);
  await page.keyboard.press("a");
  await page.waitForSelector(".confirming");
  await page.waitForTimeout(100);
  assert.equal(s.lastAnswer, undefined);
  const first = await askOf(page);
  await page.waitForTimeout(600);
  await page.keyboard.press("a");
  await nextAsk(page, first);
  assert.equal(s.lastAnswer.choice, "always");
});

test("on a phone: full width, large buttons, and a finger that was on its way does not answer", async () => {
  const { page, s } = await asked("approve", phone);
  const early = await page.locator("[data-choice=once]").boundingBox();
  await page.touchscreen.tap(early.x + 20, early.y + 20);
  await page.waitForTimeout(100);
  assert.equal(s.lastAnswer, undefined);
  await ready(page);
  const card = await page.locator(".ask").boundingBox();
  assert.ok(card.width >= 340, `card ${card.width}`);
  for (const box of await page.locator(".ask-choice").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().height))) assert.ok(box >= 48, `${box}`);
  const composer = await page.locator(".composer").boundingBox();
  assert.ok(composer.y + composer.height <= 740);
  const first = await askOf(page);
  await page.locator("[data-choice=always]").tap();
  await page.waitForSelector(".confirming");
  await page.waitForTimeout(350);
  await page.locator("[data-choice=always]").tap();
  await nextAsk(page, first);
  assert.equal(s.lastAnswer.choice, "always");
  await ready(page);
  await page.locator("[data-choice=deny]").tap();
  await page.waitForSelector(".ask", { state: "detached" });
  assert.equal(s.lastAnswer.choice, "deny");
  assert.deepEqual(page.faults, []);
});

test("questions: a choice by number, words of one's own, several at once", async () => {
  const { page, s } = await asked("question");
  await ready(page);
  let first = await askOf(page);
  await page.keyboard.press("2");
  await nextAsk(page, first);
  assert.equal(s.lastAnswer.choice, "PostgreSQL");
  await ready(page);
  await page.locator("[data-choice=lint]").click();
  await page.locator("[data-choice=tests]").click();
  await page.locator(".ask-foot .primary").click();
  await page.waitForSelector(".ask", { state: "detached" });
  assert.equal(s.lastAnswer.choice, "lint, tests");
  const two = await asked("question");
  await ready(two.page);
  first = await askOf(two.page);
  await two.page.fill(".ask-text", "DuckDB, please");
  await two.page.press(".ask-text", "Enter");
  await nextAsk(two.page, first);
  assert.equal(two.s.lastAnswer.choice, "DuckDB, please");
});

test("a plan can be edited, and is shown again before it is approved", async () => {
  const { page, s } = await asked("plan");
  await ready(page);
  await page.keyboard.press("e");
  await page.waitForSelector(".ask-editor");
  await page.fill(".ask-editor", "# Plan\n\n1. Only the **tests**\n");
  await page.click(".ask-edit .primary");
  await page.waitForFunction(() => document.querySelector(".ask-body strong")?.textContent === "tests");
  assert.equal(s.lastAnswer, undefined);
  await page.locator("[data-choice=approve]").click();
  await page.waitForSelector(".ask", { state: "detached" });
  assert.deepEqual(s.lastAnswer, { choice: "edit", reason: "# Plan\n\n1. Only the **tests**\n" });
});

test("a budget is asked about, and escape does what the ask says", async () => {
  const { page, s } = await asked("budget");
  await ready(page);
  await page.keyboard.press("Escape");
  await page.waitForSelector(".ask", { state: "detached" });
  assert.equal(s.lastAnswer.choice, "stop");
  const stops = await asked("approve");
  await ready(stops.page);
  await stops.page.keyboard.press("Escape");
  await stops.page.waitForFunction(() => document.querySelector(".turn")?.textContent.includes("Stopped"));
});

test("an answer from elsewhere closes the question and is said", async () => {
  const { page, s } = await asked("approve");
  await ready(page);
  s.answer(s.snap.asks[0].ask, "once");
  await page.waitForFunction(() => document.querySelector(".toasts").textContent.includes("allow once"));
});

test("a question survives a reload", async () => {
  const { page, s } = await asked("approve");
  await page.reload();
  await ready(page);
  const first = await askOf(page);
  await page.keyboard.press("n");
  await nextAsk(page, first);
  assert.equal(s.lastAnswer.choice, "deny");
});
