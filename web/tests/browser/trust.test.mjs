// Whether a project's files are trusted, asked before a session of it opens and on the panel of trust.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { trustAsk } from "../../mock/scripts.mjs";
import { isFine, start } from "./help.mjs";

let world;
let count = 0;
before(async () => {
  world = await start();
});
after(() => world.stop());

const phone = { width: 360, height: 740, hasTouch: true, isMobile: true };
const ready = (page) => page.waitForSelector(".ask[data-ready=true]");
const gone = (page) => page.waitForSelector(".ask", { state: "detached" });
const trustOf = (id) => world.mock.projects.find((one) => one.id === id).trust;
const answersOf = (id) => world.mock.answers.filter((one) => one.project === id).map((one) => one.choice);
const sessionsOf = (id) => [...world.mock.sessions.values()].filter((one) => one.project === id).length;

/** A project that asks, or, without a question, one that has nothing to ask. */
function project(make = (language) => trustAsk("one", { language }), trust) {
  const name = `asks${++count}`;
  return { name, id: world.mock.addAsking(name, make, trust) };
}

/** The question, by the button of a new session. */
async function opening(at, options) {
  const page = await world.page("/", options);
  await page.waitForSelector(".home .primary");
  if (options?.isMobile) await page.locator(".home .narrow-only").tap();
  const button = page.locator(`[aria-label="New session in ${at.name}"]`).last();
  await (options?.isMobile ? button.tap() : button.click());
  return page;
}
const inSession = (page) => page.waitForURL(/\/s\//).then(() => page.waitForSelector("#composer"));

test("by key: nothing in the first half second, trust by a second press, then the session opens", async () => {
  const at = project();
  const page = await opening(at);
  await page.waitForSelector(".ask");
  await page.keyboard.press("t");
  await page.keyboard.press("n");
  await ready(page);
  assert.deepEqual([answersOf(at.id), sessionsOf(at.id)], [[], 0]);
  assert.equal(await page.locator(".ask h2").innerText(), "Trust this project's files?");
  const shown = await page.locator(".ask-rows > div").allInnerTexts();
  assert.ok(shown.some((row) => row.includes("make part-0:*")) && shown.some((row) => row.includes("${ACME_TOKEN}")), "the items are whole");
  // What is most powerful stands last and is in sight.
  assert.ok(await page.locator(".ask-body").evaluate((body) => body.scrollTop + body.clientHeight >= body.scrollHeight - 1));
  await page.waitForTimeout(600);
  await page.keyboard.press("t");
  await page.waitForSelector(".confirming");
  assert.deepEqual([answersOf(at.id), sessionsOf(at.id)], [[], 0]);
  await page.keyboard.press("Enter");
  await page.waitForTimeout(600);
  assert.deepEqual(answersOf(at.id), [], "enter confirms nothing");
  await page.keyboard.press("t");
  await inSession(page);
  assert.deepEqual([answersOf(at.id), sessionsOf(at.id), trustOf(at.id)], [["trust"], 1, "trusted"]);
  await page.waitForFunction((name) => !document.querySelector(`.group-sessions[aria-label="${name}"] .badge`), at.name);
  await page.goBack();
  await page.waitForSelector(".home");
  assert.deepEqual(page.faults, []);
});

test("not now opens the session, keeps the badge, and the next session asks again", async () => {
  const at = project();
  const page = await opening(at);
  await ready(page);
  await page.keyboard.press("n");
  await inSession(page);
  assert.deepEqual([answersOf(at.id), trustOf(at.id)], [["not_now"], "untrusted"]);
  assert.ok(await page.locator(`.group-sessions[aria-label="${at.name}"] .badge`).isVisible());
  await page.locator(`[aria-label="New session in ${at.name}"]`).click();
  await ready(page);
  await page.waitForTimeout(600);
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !document.querySelector(".ask"));
  await inSession(page);
  assert.deepEqual([answersOf(at.id), sessionsOf(at.id)], [["not_now", "not_now"], 2]);
});

test("whoever leaves the question answers nothing and opens nothing; loaded anew it is asked on the panel", async () => {
  const at = project();
  const page = await opening(at);
  await ready(page);
  await page.goBack();
  await gone(page);
  await page.waitForSelector(".home");
  await page.locator(`[aria-label="New session in ${at.name}"]`).click();
  await ready(page);
  await page.reload();
  await ready(page);
  assert.match(page.url(), new RegExp(`/p/${at.id}/trust$`));
  assert.deepEqual([answersOf(at.id), sessionsOf(at.id)], [[], 0]);
});

test("by finger, on a phone: a second tap confirms, and the page is fine", async () => {
  const at = project();
  const page = await opening(at, phone);
  await ready(page);
  await isFine(page, "start on a phone");
  const inSight = await page.locator(".ask-choice").evaluateAll((all) => all.every((one) => one.getBoundingClientRect().bottom <= innerHeight && one.getBoundingClientRect().height >= 44));
  assert.ok(inSight, "every answer is in sight and large enough");
  await page.locator("[data-choice=trust]").tap();
  await page.waitForSelector(".confirming");
  assert.deepEqual(answersOf(at.id), []);
  await isFine(page, "confirming on a phone");
  await page.locator("[data-choice=trust]").tap();
  await inSession(page);
  assert.deepEqual([answersOf(at.id), trustOf(at.id)], [["trust"], "trusted"]);
});

for (const [look, options] of [["light", {}], ["dark", { colorScheme: "dark" }], ["phone", phone]]) {
  test(`the panel: the question stands above the table, ${look}`, async () => {
    const at = project(undefined, "changed");
    const page = await world.page(`/p/${at.id}/trust`, options);
    await ready(page);
    await page.waitForSelector(".panel-body table");
    await isFine(page, `trust ${look}`);
    const [card, table] = await Promise.all([".ask", ".panel-body table"].map((what) => page.locator(what).evaluate((one) => one.getBoundingClientRect().top)));
    assert.ok(card < table);
    await page.locator("[data-choice=never]").click();
    await gone(page);
    await page.waitForSelector(".panel-body table");
    assert.deepEqual([answersOf(at.id), sessionsOf(at.id), trustOf(at.id)], [["never"], 0, "refused"]);
    if (look !== "phone") await page.waitForFunction((name) => !document.querySelector(`.group-sessions[aria-label="${name}"] .badge`), at.name);
    await isFine(page, `trust answered ${look}`);
  });
}

test("content that changed meanwhile is not trusted: the sentence and the new question, with its own confirmation", async () => {
  const at = project();
  const page = await opening(at);
  await ready(page);
  await page.locator("[data-choice=trust]").click();
  await page.waitForSelector(".confirming");
  world.mock.questions.set(at.id, () => trustAsk("two", { rules: 3 }));
  await page.waitForTimeout(350);
  await page.locator("[data-choice=trust]").click();
  await page.waitForSelector(".ask[data-ask=trust-two][data-ready=true]");
  assert.match(await page.locator(".project-asks .note.bad").innerText(), /the content has changed/);
  assert.equal(await page.locator(".confirming").count(), 0);
  assert.deepEqual([answersOf(at.id), sessionsOf(at.id)], [[], 0]);
  await isFine(page, "changed");
  await page.locator("[data-choice=trust]").click();
  await page.waitForTimeout(350);
  assert.deepEqual(answersOf(at.id), []);
  await page.locator("[data-choice=trust]").click();
  await inSession(page);
  assert.deepEqual(world.mock.answers.at(-1), { project: at.id, ask: "trust-two", choice: "trust" });
});

test("an answer that brings another question: the session waits for both", async () => {
  const at = project(() => ({ ...trustAsk("one"), then: () => trustAsk("next", { rules: 1 }) }));
  const page = await opening(at);
  await ready(page);
  await page.keyboard.press("v");
  await page.waitForSelector(".ask[data-ask=trust-next]");
  await page.keyboard.press("n");
  await ready(page);
  assert.deepEqual([answersOf(at.id), sessionsOf(at.id)], [["never"], 0], "a key on its way does not answer the next one");
  await page.waitForTimeout(600);
  await page.keyboard.press("n");
  await inSession(page);
  assert.deepEqual(answersOf(at.id), ["never", "not_now"]);
});

test("what is too long has no trust, by no key", async () => {
  const at = project(() => trustAsk("long", { isTooLong: true }));
  const page = await opening(at);
  await ready(page);
  assert.deepEqual(await page.locator(".ask-choice").evaluateAll((all) => all.map((one) => one.dataset.choice)), ["not_now", "never"]);
  await page.keyboard.press("t");
  await page.waitForTimeout(700);
  await page.keyboard.press("t");
  await page.waitForTimeout(200);
  assert.deepEqual([answersOf(at.id), sessionsOf(at.id)], [[], 0]);
  await isFine(page, "too long");
});

test("a project with nothing to ask opens at once", async () => {
  const at = project(null);
  const page = await opening(at);
  await inSession(page);
  assert.deepEqual([answersOf(at.id), sessionsOf(at.id)], [[], 1]);
  const trusted = await world.page("/p/shop-1a2b3c4d/trust");
  const asked = [];
  trusted.on("request", (request) => request.url().includes("/questions") && asked.push(request.url()));
  await trusted.reload();
  await trusted.waitForSelector(".panel-body table");
  await trusted.locator('[aria-label="New session in shop"]').click();
  await inSession(trusted);
  assert.ok(asked.length > 0, "what the list says may be old");
  assert.equal(await trusted.locator(".ask").count(), 0);
});

test("what changed since the list was loaded is asked about, too", async () => {
  const at = project(undefined, "trusted");
  const page = await opening(at);
  await ready(page);
  assert.deepEqual([answersOf(at.id), sessionsOf(at.id)], [[], 0]);
  await page.keyboard.press("n");
  await inSession(page);
  assert.deepEqual([answersOf(at.id), sessionsOf(at.id)], [["not_now"], 1]);
});

test("a session that has to be resumed asks first, whichever way one comes to it; one that runs does not", async () => {
  const at = project(undefined, "trusted");
  const [shut, runs] = ["shut", "runs"].map((name) => world.mock.add(`${name}-${at.name}`, at.id, name));
  shut.user("what was said");
  shut.closed = true;
  const page = await world.page(`/s/${shut.id}`);
  await ready(page);
  assert.equal(await page.locator("main h1").innerText(), "shut");
  assert.equal(shut.closed, true, "nothing was resumed yet");
  await page.keyboard.press("n");
  await page.waitForURL(new RegExp(`/s/${shut.id}$`));
  await page.waitForFunction(() => document.querySelector(".vlist")?.textContent.includes("what was said"));
  assert.deepEqual([answersOf(at.id), shut.closed], [["not_now"], false]);
  await page.locator(".session-row", { hasText: "runs" }).first().click();
  await page.waitForURL(new RegExp(`/s/${runs.id}$`));
  await page.waitForSelector("#composer");
  assert.deepEqual([answersOf(at.id), await page.locator(".ask").count()], [["not_now"], 0]);
  assert.deepEqual(page.faults, []);
});

test("in Chinese", async () => {
  world.mock.language = "zh";
  const at = project();
  const page = await world.page("/", { locale: "zh-CN" });
  await page.locator(`[aria-label="在 ${at.name} 中新建会话"]`).click();
  await ready(page);
  assert.match(await page.locator("main").innerText(), /在 asks\d+ 中新建会话[\s\S]*回答后即打开会话[\s\S]*信任此项目/);
  await isFine(page, "start in Chinese");
  await page.locator("[data-choice=trust]").click();
  await page.waitForFunction(() => document.querySelector(".confirming")?.textContent.includes("再次：信任"));
  world.mock.language = "en";
});
