// A session in a real browser: what is streamed, reloaded, cut off, scrolled, typed.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { prompt, start } from "./help.mjs";

let world;
before(async () => {
  world = await start();
});
after(() => world.stop());

const text = (page, what) => page.locator(what).innerText();
const clean = (page) => assert.deepEqual(page.faults, []);

async function send(page, words, key = "Enter") {
  await page.fill("#composer", words);
  await page.press("#composer", key);
}

test("a prompt is streamed, with calls, a diff, a plan and changes", async () => {
  const page = await world.page("/s/empty");
  await page.waitForSelector("#composer");
  await send(page, "fix the coupon");
  await page.waitForSelector(".user");
  await page.waitForSelector(".call-running, .call-done");
  await page.waitForSelector(".md table");
  await page.waitForSelector(".turn-facts");
  const verbs = await page.locator(".call-verb").allInnerTexts();
  assert.ok(verbs.includes("Edited"), verbs.join());
  assert.match(await text(page, ".right"), /Plan 3\/3/);
  await page.waitForSelector(".changes .row-button");
  assert.equal(await page.locator(".changes .row-button").count(), 2);
  assert.ok(await page.locator(".hl-k").count() > 0, "code is highlighted");
  clean(page);
});

test("a reload in mid-stream loses nothing and repeats nothing", async () => {
  const s = world.mock.add("reload", "shop-1a2b3c4d", "reload");
  const page = await world.page("/s/reload");
  await page.waitForSelector("#composer");
  prompt(world.mock, "reload", "slow");
  await page.waitForFunction(() => document.querySelector(".live")?.textContent.includes("word30"));
  await page.reload();
  await page.waitForFunction(() => document.querySelector(".live")?.textContent.includes("word45"));
  await s.playing;
  await page.waitForSelector(".turn-facts");
  const answer = await text(page, ".answer");
  const found = answer.match(/word\d+/g);
  assert.equal(found.length, 160);
  assert.equal(new Set(found).size, 160);
  clean(page);
});

test("a link that is cut is said calmly, and the session goes on from where it was", async () => {
  const s = world.mock.add("cut", "shop-1a2b3c4d", "cut");
  const page = await world.page("/s/cut");
  await page.waitForSelector("#composer");
  await send(page, "first");
  await page.waitForSelector(".turn");
  world.mock.goOffline();
  await page.waitForSelector(".banner");
  await send(page, "sent while away");
  await page.waitForSelector(".pending .warn-text");
  s.write("notice", { text: "said meanwhile" });
  world.mock.offline = false;
  await page.click(".banner button");
  await page.waitForSelector(".banner", { state: "detached" });
  await page.waitForFunction(() => document.querySelector(".vlist").textContent.includes("said meanwhile"));
  await page.waitForFunction(() => document.querySelector(".vlist").textContent.includes("You said: sent while away"));
  assert.equal(await page.locator(".user", { hasText: "sent while away" }).count(), 1);
  clean(page);
});

test("what was sent while away outlives a reload, and arrives once", async () => {
  const s = world.mock.add("unsent", "shop-1a2b3c4d", "unsent");
  const page = await world.page("/s/unsent");
  await page.waitForSelector("#composer");
  await page.evaluate(async () => {
    await navigator.serviceWorker.ready;
    if (!navigator.serviceWorker.controller) await new Promise((done) => navigator.serviceWorker.addEventListener("controllerchange", done, { once: true }));
  });
  await page.reload();
  await page.waitForSelector("#composer");
  world.mock.goOffline();
  await page.waitForSelector(".banner");
  await send(page, "kept over a reload");
  await page.waitForSelector(".pending .warn-text");
  await page.reload();
  await page.waitForSelector(".brand");
  world.mock.offline = false;
  await page.waitForFunction(() => document.querySelector(".vlist")?.textContent.includes("You said: kept over a reload"), undefined, { timeout: 20_000 });
  assert.equal(s.log.filter((entry) => entry.type === "message" && entry.role === "user").length, 1);
  clean(page);
});

test("a session whose process ends says so, and goes on with what is written", async () => {
  const s = world.mock.add("closes", "shop-1a2b3c4d", "closes");
  const page = await world.page("/s/closes");
  await page.waitForSelector("#composer");
  await send(page, "hello");
  await page.waitForSelector(".turn");
  world.mock.op({ writeHead() {}, end() {} }, s, { op: "close" });
  await page.waitForSelector(".banner");
  await send(page, "again");
  await page.waitForFunction(() => document.querySelector(".vlist").textContent.includes("You said: again"));
  await page.waitForSelector(".banner", { state: "detached" });
  clean(page);
});

test("two tabs share one stream, and both follow", async () => {
  const page = await world.page("/s/demo");
  await page.waitForSelector(".answer");
  const other = await page.context().newPage();
  await other.goto("/s/demo");
  await other.waitForSelector(".answer");
  assert.equal(world.mock.streams.size >= 1, true);
  const before = world.mock.streams.size;
  prompt(world.mock, "demo", "hello there");
  for (const tab of [page, other]) await tab.waitForFunction(() => document.querySelector(".vlist").textContent.includes("You said: hello there"));
  assert.equal(world.mock.streams.size, before);
  clean(page);
});

test("ten thousand entries open fast, with few nodes, and older ones stay where they are read", async () => {
  const page = await world.page("/");
  await page.waitForSelector(".session-row");
  const took = await page.evaluate(async () => {
    const begun = performance.now();
    document.querySelector('a[href="/s/long"]').click();
    while (!document.querySelector(".vlist .answer")) await new Promise(requestAnimationFrame);
    return performance.now() - begun;
  });
  console.log(`10,000 entries opened in ${Math.round(took)} ms`);
  const most = await page.evaluate(async () => {
    const list = document.querySelector(".vlist");
    let most = 0;
    for (let n = 0; n < 160; n++) {
      list.scrollTop -= 1500;
      await new Promise(requestAnimationFrame);
      most = Math.max(most, document.querySelectorAll("*").length);
      if (n % 20 === 0) await new Promise((done) => setTimeout(done, 120));
    }
    return most;
  });
  console.log(`at most ${most} nodes`);
  assert.ok(most < 3000, `${most} nodes`);
  // Older pages that arrive do not move what is read.
  const moved = await page.evaluate(async () => {
    const list = document.querySelector(".vlist");
    list.scrollTop = 600;
    await new Promise((done) => setTimeout(done, 60));
    const row = [...document.querySelectorAll(".vrow")].find((one) => one.getBoundingClientRect().top > 120);
    const [key, top] = [row.dataset.key, row.getBoundingClientRect().top];
    await new Promise((done) => setTimeout(done, 700));
    const now = document.querySelector(`[data-key="${key}"]`);
    return now ? Math.abs(now.getBoundingClientRect().top - top) : -1;
  });
  assert.ok(moved >= 0 && moved < 3, `moved by ${moved}`);
  clean(page);
});

test("new text does not move what is read, and a button leads to the end", async () => {
  const page = await world.page("/s/long");
  await page.waitForSelector(".answer");
  await page.locator(".vlist").hover();
  await page.mouse.wheel(0, -2500);
  await page.waitForSelector(".to-end");
  await page.waitForTimeout(400);
  const read = () => page.evaluate(() => {
    const row = [...document.querySelectorAll(".vrow")].find((one) => one.getBoundingClientRect().top > 100);
    return [row.dataset.key, Math.round(row.getBoundingClientRect().top)];
  });
  const before = await read();
  prompt(world.mock, "long", "hello");
  await page.waitForFunction(() => /new/.test(document.querySelector(".to-end").textContent));
  await page.waitForTimeout(300);
  assert.deepEqual(await read(), before);
  await page.click(".to-end");
  await page.waitForFunction(() => document.querySelector(".vlist").textContent.includes("You said: hello"));
  await page.waitForSelector(".to-end", { state: "detached" });
  clean(page);
});

test("typing steers, tab queues, escape stops", async () => {
  const s = world.mock.add("steer", "shop-1a2b3c4d", "steer");
  const page = await world.page("/s/steer");
  await page.waitForSelector("#composer");
  await send(page, "slow");
  await page.waitForSelector(".live");
  await send(page, "go left", "Enter");
  await page.waitForFunction(() => document.querySelector(".queue")?.textContent.includes("Steering"));
  await send(page, "then right", "Tab");
  await page.waitForFunction(() => document.querySelector(".queue")?.textContent.includes("Queued"));
  s.waiting = [];
  s.delta({ type: "queue", prompts: [] });
  await page.press("#composer", "Escape");
  await page.waitForFunction(() => document.querySelector(".turn")?.textContent.includes("Stopped"));
  clean(page);
});

test("what the model says is letters: no tags, no scripts, no pictures of others", async () => {
  world.mock.add("nasty", "shop-1a2b3c4d", "nasty");
  const page = await world.page("/s/nasty");
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.waitForSelector("#composer");
  await send(page, "nasty");
  await page.waitForSelector(".turn");
  assert.equal(await page.locator(".md img, .md script, .md svg:not(.icon)").count(), 0);
  assert.deepEqual(await page.locator(".md a").evaluateAll((all) => all.map((one) => one.getAttribute("href"))), ["https://example.com/pixel.png", "https://example.com/"]);
  assert.ok(asked.every((url) => url.startsWith(world.at)), asked.join());
  const shown = await text(page, ".answer");
  assert.match(shown, /<script>/);
  assert.match(shown, /Esc: ⟨1B⟩\[31mred/);
  assert.match(shown, /⟨202E⟩/);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth && document.querySelector(".vlist").scrollWidth <= document.querySelector(".vlist").clientWidth);
  assert.ok(wide, "a wide table scrolls within itself");
  clean(page);
});

test("menus for commands and files, history, drafts", async () => {
  const page = await world.page("/s/fix");
  await page.waitForSelector(".diff-file");
  await page.click("#composer");
  await page.keyboard.type("/mod");
  await page.waitForSelector(".complete [role=option]");
  assert.match(await text(page, ".complete [aria-selected=true]"), /^\/mod/);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Tab");
  assert.match(await page.inputValue("#composer"), /^\/mod\w* $/);
  await page.fill("#composer", "");
  await page.keyboard.type("look at @cart");
  await page.waitForSelector(".complete [role=option]");
  await page.keyboard.press("Enter");
  assert.equal(await page.inputValue("#composer"), "look at @shop/cart.py ");
  await page.reload();
  await page.waitForSelector("#composer");
  assert.equal(await page.inputValue("#composer"), "look at @shop/cart.py ");
  await page.fill("#composer", "");
  await send(page, "hello");
  await page.waitForFunction(() => document.querySelector(".vlist").textContent.includes("You said: hello"));
  await page.press("#composer", "ArrowUp");
  assert.equal(await page.inputValue("#composer"), "hello");
  clean(page);
});

test("pictures and files go along", async () => {
  world.mock.add("files", "shop-1a2b3c4d", "files");
  const page = await world.page("/s/files");
  await page.waitForSelector("#composer");
  const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
  await page.setInputFiles(".composer input[type=file]", [{ name: "shot.png", mimeType: "image/png", buffer: png }, { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("a note") }, { name: "x.svg", mimeType: "image/svg+xml", buffer: Buffer.from("<svg/>") }]);
  await page.waitForFunction(() => document.querySelectorAll(".attached li").length === 3);
  await send(page, "look");
  await page.waitForSelector(".user .shot");
  const said = world.mock.sessions.get("files").log.find((entry) => entry.role === "user");
  assert.equal(said.images.length, 1);
  assert.match(said.text, /notes.txt:\n```\na note\n```/);
  clean(page);
});

test("a failure says what to do, and the sidebar has its sign", async () => {
  world.mock.add("fails", "shop-1a2b3c4d", "fails");
  const page = await world.page("/s/fails");
  await page.waitForSelector("#composer");
  await send(page, "error");
  await page.waitForFunction(() => document.querySelector(".vlist").textContent.includes("529 overloaded"));
  await page.waitForSelector(".failure");
  assert.match(await text(page, ".failure"), /key was refused[\s\S]*ostler login/);
  await page.waitForSelector('a[href="/s/fails"] .sign-failed');
  assert.ok((await page.locator(".failure code").count()) > 0, "a command is code");
  await page.locator(".failure button", { hasText: "Try again" }).click();
  await page.waitForFunction(() => document.querySelectorAll(".failure").length === 2);
  assert.deepEqual(await page.locator(".user-text").allInnerTexts(), ["error", "error"]);
  assert.equal(await page.locator("button", { hasText: "Try again" }).count(), 1, "only the last can be tried again");
  clean(page);
});

test("the system is told when a session asks and ends, where the person allowed it and looks elsewhere", async () => {
  world.mock.add("notes", "shop-1a2b3c4d", "notes");
  const context = await world.browser.newContext({ baseURL: world.at, serviceWorkers: "block" });
  const page = await context.newPage();
  await page.addInitScript(() => {
    window.told = [];
    window.Notification = class {
      static permission = "granted";
      constructor(text) {
        window.told.push(text);
      }
    };
    document.hasFocus = () => false;
    Object.defineProperty(document, "hidden", { get: () => true });
  });
  await page.goto("/s/notes");
  await page.waitForSelector(".pill");
  prompt(world.mock, "notes", "approve");
  await page.waitForFunction(() => window.told.some((text) => text.includes("waits for you")));
  await page.waitForSelector(".ask[data-ready=true]");
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => window.told.some((text) => text.includes("is done")));
  await context.close();
});
