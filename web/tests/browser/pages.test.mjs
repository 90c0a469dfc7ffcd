// Every page in a real browser: panels, dialogs, both languages, both colours, a phone, keys alone, axe.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { isFine, prompt, start } from "./help.mjs";

let world;
before(async () => {
  world = await start();
});
after(() => world.stop());

const dark = { colorScheme: "dark" };
const phone = { width: 360, height: 740, hasTouch: true, isMobile: true };

const PANELS = ["usage", "mcp", "memory", "permissions", "doctor", "trust", "agents", "skills", "cache", "checkpoints"];

for (const [look, options] of [["light", {}], ["dark", dark], ["phone", phone]]) {
  test(`panels, ${look}`, async () => {
    const page = await world.page("/", options);
    for (const panel of PANELS) {
      await page.goto(`/p/shop-1a2b3c4d/${panel}`);
      await page.waitForSelector(".panel-body :is(table, .report, .list, .faint)");
      await isFine(page, `${panel} ${look}`);
    }
  });
  test(`sessions and home, ${look}`, async () => {
    const page = await world.page("/", options);
    await page.waitForSelector(".home .primary");
    await isFine(page, `home ${look}`);
    for (const id of ["fix", "demo", "empty", "long"]) {
      await page.goto(`/s/${id}`);
      await page.waitForSelector(id === "empty" ? "#composer" : ".vrow");
      await isFine(page, `${id} ${look}`);
    }
  });
  test(`questions, ${look}`, async () => {
    for (const words of ["approve", "question", "plan", "budget"]) {
      const id = `${words}-${look}`;
      world.mock.add(id, "shop-1a2b3c4d", id);
      const page = await world.page(`/s/${id}`, options);
      await page.waitForSelector("#composer");
      prompt(world.mock, id, words);
      await page.waitForSelector(".ask[data-ready=true]");
      await isFine(page, id);
      await page.context().close();
    }
  });
  test(`dialogs and menus, ${look}`, async () => {
    const page = await world.page("/s/fix", options);
    await page.waitForSelector(".diff-file");
    const open = async (name, act, what, shut = "Escape") => {
      await act();
      await page.waitForSelector(what);
      await isFine(page, `${name} ${look}`);
      await page.keyboard.press(shut);
      await page.waitForSelector(what, { state: "detached" });
    };
    await open("menu of models", () => page.click(".pill >> nth=0"), ".menu");
    await open("more", () => page.click(".head-tools [aria-haspopup]"), ".menu");
    const write = (line) => page.fill("#composer", line).then(() => page.press("#composer", "Enter"));
    await open("rewind", () => write("/rewind"), ".modal .timeline");
    await open("effort", () => write("/effort "), ".modal .list");
    await open("context", () => write("/context "), ".modal .window-part table");
    await open("settings", () => write("/theme "), ".modal .settings");
    if (look === "phone") await open("sheet", () => page.click(".session-head .narrow-only"), ".modal .session-row");
    if (look === "phone") await open("drawer", () => page.click(".details-button"), ".modal .weight");
    else {
      await open("review", () => page.click(".right .changes + button"), ".modal .diff-table");
      await page.click(".session-head h1");
      await open("keys", () => page.keyboard.press("?"), ".modal .keys");
    }
  });
}

test("a rewind shows its diff before it happens", async () => {
  const id = "rewound";
  world.mock.add(id, "shop-1a2b3c4d", id);
  const page = await world.page(`/s/${id}`);
  await page.waitForSelector("#composer");
  prompt(world.mock, id, "hello one");
  await page.waitForSelector(".turn");
  prompt(world.mock, id, "hello two");
  await page.waitForFunction(() => document.querySelectorAll(".turn").length === 2);
  await page.click(".weight button");
  await page.click(".timeline .pick >> nth=0");
  await page.waitForSelector(".rewind .diff-table");
  assert.equal(world.mock.sessions.get(id).log.filter((entry) => entry.type === "rewind").length, 0);
  await page.click(".rewind .primary");
  await page.waitForFunction(() => document.querySelectorAll(".user").length === 1);
  assert.equal(await page.inputValue("#composer"), "hello two");
  assert.deepEqual(page.faults, []);
});

test("the first page: a message opens a session in the chosen project and is said there", async () => {
  const page = await world.page("/");
  await page.waitForSelector(".home #composer");
  await page.click(".home-choices .pill >> nth=0");
  await page.locator(".home-choices [role=menuitem]", { hasText: "shop" }).click();
  await page.fill("#composer", "hello from the first page");
  await isFine(page, "first page");
  await page.press("#composer", "Enter");
  await page.waitForURL(/\/s\//);
  await page.waitForFunction(() => document.querySelector(".vlist")?.textContent.includes("You said: hello from the first page"));
  assert.equal(await page.locator(".user").count(), 1);
  await page.goto("/");
  await page.waitForSelector(".home-row");
  assert.equal(await page.inputValue("#composer"), "");
  assert.match(await page.locator(".home-rows").last().innerText(), /hello from the first page/);
  assert.deepEqual(page.faults, []);
});

test("the review: notes on lines go along with the next message, files are marked as viewed, one file is rewound", async () => {
  const id = "reviewed";
  const s = world.mock.add(id, "shop-1a2b3c4d", id);
  const page = await world.page(`/s/${id}`, { width: 1500, height: 900 });
  await page.waitForSelector("#composer");
  prompt(world.mock, id, "fix the test");
  await page.waitForSelector(".turn-facts");
  await page.waitForSelector(".changes .row-button");
  await page.evaluate(() => document.activeElement?.blur());
  await page.keyboard.press("r");
  await page.waitForSelector(".review-list");
  await page.locator(".review .notable.add", { hasText: "12" }).click();
  await page.fill(".note-form textarea", "Half up, please.");
  await page.press(".note-form textarea", "Enter");
  await page.waitForSelector(".line-note");
  await isFine(page, "review");
  // By keys: the button of the file, the number of the line.
  await page.locator(".diff-file .diff-tools button").first().press("Enter");
  await page.fill(".note-line input", "16");
  await page.press(".note-line input", "Tab");
  await page.fill(".note-form textarea", "Two places are enough?");
  await page.click(".note-form [type=submit]");
  await page.waitForFunction(() => document.querySelectorAll(".line-note").length === 2);
  await page.locator(".viewed input").first().check();
  assert.match(await page.locator(".review-bar").innerText(), /1 of 2 viewed/);
  await page.locator(".diff-tools button", { hasText: "Rewind this file" }).last().click();
  await page.locator(".diff-tools button", { hasText: "Again" }).click();
  await page.waitForTimeout(100);
  assert.deepEqual(s.commands.filter((line) => line.startsWith("rewind")), ["rewind 1 file CHANGELOG.md"]);
  await page.click(".review-bar .primary");
  await page.waitForFunction(() => document.activeElement?.id === "composer");
  await page.keyboard.type("Have a look:");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelectorAll(".user").length === 2);
  const said = await page.locator(".user-text").last().innerText();
  assert.match(said, /^Have a look:\n\nshop\/cart\.py:12\n> net -= .*\nHalf up, please\.\n\nshop\/cart\.py:16\n/);
  assert.equal(await page.locator(".attached li").count(), 0);
  assert.deepEqual(page.faults, []);
});

test("from a prompt to its place on the timeline; a picture as large as it fits", async () => {
  const id = "placed";
  const s = world.mock.add(id, "shop-1a2b3c4d", id);
  const page = await world.page(`/s/${id}`);
  await page.waitForSelector("#composer");
  for (const word of ["one", "two", "three"]) {
    prompt(world.mock, id, `hello ${word}`);
    await page.waitForFunction((text) => document.querySelector(".vlist")?.textContent.includes(`You said: hello ${text}`), word);
    await page.waitForFunction(() => !document.querySelector(".stop"));
  }
  await page.locator(".user", { hasText: "hello two" }).hover();
  await page.locator(".user", { hasText: "hello two" }).locator("[title='Rewind to before this']").click();
  await page.waitForSelector(".timeline .current");
  assert.match(await page.locator(".timeline .current").innerText(), /hello two/);
  assert.ok(s.commands.includes("diff 2.."), "what is taken back is shown, not only what it did");
  await page.keyboard.press("Escape");
  s.user("look", [{ media_type: "image/png", data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==" }]);
  await page.click("button.shot");
  await page.waitForSelector(".whole-picture");
  await isFine(page, "picture");
  assert.deepEqual(page.faults, []);
});

test("a sub-agent and a job open, and those that have ended", async () => {
  const id = "parent";
  const s = world.mock.add(id, "shop-1a2b3c4d", id);
  const child = world.mock.add("child-of-parent", "shop-1a2b3c4d", "child");
  child.user("explore the coupons");
  void child.say("They are in shop/cart.py.");
  world.mock.logs.set(`${id}/job-j1.log`, "tick\ntick\n");
  s.user("go");
  s.delta({ type: "tasks", tasks: [{ id: "t1", session: "child-of-parent", prompt: "explore the coupons", doing: "thinking", seconds: 3 }] });
  s.delta({ type: "jobs", running: ["j1"] });
  const page = await world.page(`/s/${id}`);
  await page.locator(".tasks button", { hasText: "explore" }).click();
  await page.waitForFunction(() => document.querySelector(".below")?.textContent.includes("They are in shop/cart.py."));
  await isFine(page, "agent");
  void child.say("And in the invoice.");
  await page.waitForFunction(() => document.querySelector(".below")?.textContent.includes("And in the invoice."));
  await page.keyboard.press("Escape");
  await page.locator(".tasks button", { hasText: "job" }).click();
  await page.waitForFunction(() => document.querySelector(".job-log")?.textContent.includes("tick"));
  await isFine(page, "job");
  await page.keyboard.press("Escape");
  s.delta({ type: "tasks", tasks: [] });
  s.write("child", { id: "t1", session_id: "child-of-parent", title: "explore the coupons", outcome: "done", duration_ms: 4000, tokens: 100 });
  await page.waitForSelector(".tasks .ended");
  await page.locator(".tasks .ended button").click();
  await page.waitForFunction(() => document.querySelector(".below")?.textContent.includes("And in the invoice."));
  assert.deepEqual(page.faults, []);
});

test("a session of the list is renamed and deleted there; the one that is open stays", async () => {
  const listed = world.mock.add("in-list", "shop-1a2b3c4d", "one of the list");
  listed.user("hello");
  listed.end();
  const page = await world.page("/s/fix");
  const item = page.locator(".frame .session-item", { hasText: "one of the list" });
  await item.hover();
  await item.locator(".menu-at > button").click();
  await isFine(page, "menu of the list");
  await page.locator("[role=menuitem]", { hasText: "Rename" }).click();
  await page.fill(".form input", "one with another name");
  await page.press(".form input", "Enter");
  const renamed = page.locator(".frame .session-item", { hasText: "one with another name" });
  await renamed.hover();
  await renamed.locator(".menu-at > button").click();
  await page.locator("[role=menuitem]", { hasText: "Delete" }).click();
  await page.click(".modal .danger");
  await renamed.waitFor({ state: "detached" });
  assert.match(page.url(), /\/s\/fix$/);
  assert.ok(!world.mock.sessions.has("in-list"));
  assert.deepEqual(page.faults, []);
});

test("side by side from 900 px, unified below", async () => {
  const page = await world.page("/s/fix", { width: 1440 });
  await page.waitForSelector(".changes .row-button");
  await page.click(".changes .row-button");
  await page.waitForSelector(".modal .diff-table.split");
  await page.setViewportSize({ width: 800, height: 800 });
  await page.waitForSelector(".modal .diff-table:not(.split)");
  assert.ok((await page.locator(".modal mark").count()) > 0, "words are marked");
});

test("columns: three from 1,100 px, a drawer below, a sheet on a phone", async () => {
  const page = await world.page("/s/fix", { width: 1100 });
  await page.waitForSelector(".diff-file");
  const seen = async (what) => page.locator(what).first().isVisible();
  assert.deepEqual([await seen(".frame > .left"), await seen(".frame > .right")], [true, true]);
  await page.setViewportSize({ width: 1099, height: 800 });
  assert.deepEqual([await seen(".frame > .left"), await seen(".frame > .right"), await seen(".details-button")], [true, false, true]);
  await page.setViewportSize({ width: 360, height: 740 });
  assert.deepEqual([await seen(".frame > .left"), await seen(".session-head .narrow-only")], [false, true]);
});

test("both languages, everywhere", async () => {
  world.mock.language = "zh";
  const page = await world.page("/s/fix", { locale: "zh-CN" });
  await page.waitForSelector(".diff-file");
  assert.equal(await page.locator("html").getAttribute("lang"), "zh-CN");
  assert.match(await page.locator("body").innerText(), /更改[\s\S]*计划/);
  await isFine(page, "Chinese");
  for (const panel of PANELS) {
    await page.goto(`/p/shop-1a2b3c4d/${panel}`);
    await page.waitForSelector(".panel-body :is(table, .report, .list, .faint)");
    await isFine(page, `${panel} in Chinese`);
  }
  await page.goto("/s/fix");
  await page.waitForSelector("#composer");
  await page.fill("#composer", "/theme ");
  await page.press("#composer", "Enter");
  await page.click(".settings [lang=en]");
  await page.waitForFunction(() => document.documentElement.lang === "en");
  world.mock.language = "en";
});

test("keys alone: search, open, answer, and the focus is seen", async () => {
  const page = await world.page("/");
  await page.waitForSelector(".session-row");
  await page.keyboard.press("f");
  await page.keyboard.type("calculator");
  await page.waitForFunction(() => document.querySelectorAll(".frame .session-row").length === 1);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".answer");
  assert.match(page.url(), /\/s\/demo$/);
  // The same from anywhere, and everything else by its name.
  await page.keyboard.press("Control+k");
  await page.waitForSelector(".palette-list [role=option]");
  await isFine(page, "palette");
  await page.keyboard.type("docs of");
  await page.waitForFunction(() => document.querySelectorAll(".palette-list [role=option]").length === 1);
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/s\/docs$/);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("dark");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.documentElement.dataset.theme === "dark");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("doctor");
  await page.waitForSelector(".palette-list [role=option]");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Escape");
  await page.waitForSelector(".palette", { state: "detached" });
  await page.goto("/s/demo");
  await page.waitForSelector(".answer");
  await page.evaluate(() => document.activeElement?.blur());
  await page.keyboard.press("c");
  await page.waitForFunction(() => document.activeElement?.id === "composer");
  await page.keyboard.press("Shift+Tab");
  await page.waitForFunction(() => [...document.querySelectorAll(".pill")].some((one) => one.textContent.includes("Plan first")));
});

test("mode, approval and model are switched by their commands", async () => {
  const page = await world.page("/s/docs");
  await page.waitForSelector(".pill");
  for (const [nth, label, shown] of [[0, "claude-opus-5", "claude-opus-5"], [1, "Plan first", "Plan first"], [2, "Commands unasked", "Commands unasked"], [2, "Auto for 10 minutes", "Auto for 10m"], [2, "Edits unasked", "Edits unasked"]]) {
    await page.click(`.pill >> nth=${nth}`);
    await page.locator(".menu [role=menuitem]", { hasText: label }).last().click();
    await page.waitForFunction(([at, text]) => document.querySelectorAll(".pill")[at].textContent.includes(text), [nth, shown]);
  }
  assert.deepEqual(page.faults, []);
});

test("the panel of servers shows how each stands in a session, and acts there", async () => {
  const page = await world.page("/s/fix");
  await page.waitForSelector("#composer");
  await page.locator(".panels a", { hasText: "MCP" }).click();
  const body = (what) => page.waitForFunction((text) => document.querySelector(".panel-body").textContent.includes(text), what);
  await body("In “fix the coupon”");
  await body("nothing listens at");
  assert.ok((await page.locator("td.acts-below").first().boundingBox()).height < 60, "the actions have a line of their own");
  const wide = await page.locator("tr.with-acts .k-text").nth(1).boundingBox();
  assert.ok(wide.width > 200, "a state is read in a line");
  await page.locator("button", { hasText: "reconnect" }).first().click();
  await body("browser is connected anew.");
  // Once it stands it is shown without being asked for.
  await page.waitForFunction(() => document.querySelectorAll(".chip.good").length === 2);
  await page.locator("button", { hasText: /^tools$/ }).last().click();
  await body("Asks the database");
  await page.locator(".list .pick").click();
  await body("may be used while planning: query");
  await page.waitForSelector(".list .marked");
  assert.ok(world.mock.sessions.get("fix").trusted.has("query"));
  await isFine(page, "tools of a server");
  await page.click(".crumbs button");
  await page.locator(".switch button", { hasText: "As configured" }).click();
  await body("postgres-mcp --read-only");
  assert.deepEqual(page.faults, []);
});

test("the rules say what each decided, what would spare questions, and what a session touched", async () => {
  const page = await world.page("/p/shop-1a2b3c4d/permissions");
  await page.waitForSelector("table.data");
  assert.match(await page.locator("table.data").innerText(), /decided[\s\S]*python3 -m unittest[\s\S]*41/);
  for (const [nth, shown] of [[1, "Bash(git commit:*)"], [2, "read     shop/cart.py"]]) {
    await page.click(`.panel-tools button >> nth=${nth}`);
    await page.waitForFunction((text) => document.querySelector(".panel-body").textContent.includes(text), shown);
    await isFine(page, shown);
  }
});

test("what a panel wants written goes to the first page; a session can begin with a plan", async () => {
  const page = await world.page("/p/shop-1a2b3c4d/skills");
  await page.locator("td.acts button", { hasText: "use" }).first().click();
  await page.waitForFunction(() => document.querySelector(".home #composer")?.value === "/commit ");
  await page.click(".home-choices .pill >> nth=1");
  await page.locator("[role=menuitem]", { hasText: "Plan first" }).click();
  await page.fill("#composer", "hello, look first");
  await page.press("#composer", "Enter");
  await page.waitForFunction(() => document.querySelector(".vlist")?.textContent.includes("You said: hello, look first"));
  const id = new URL(page.url()).pathname.slice(3);
  assert.equal(world.mock.sessions.get(id).snap.mode.mode, "plan");
  assert.ok((await page.locator(".pill").allInnerTexts()).some((one) => one.includes("Plan first")));
  assert.deepEqual(page.faults, []);
});

test("a session is renamed, a project added, a session begun and deleted", async () => {
  const page = await world.page("/s/docs");
  await page.waitForSelector("#composer");
  await page.click(".head-tools [aria-haspopup]");
  await page.locator("[role=menuitem]", { hasText: "Rename" }).click();
  await page.fill(".form input", "another name");
  await page.press(".form input", "Enter");
  await page.waitForFunction(() => document.querySelector(".session-head h1").textContent === "another name");
  await page.click(".brand [aria-haspopup]");
  await page.locator("[role=menuitem]", { hasText: "Add a project" }).click();
  await page.fill(".form input", "/nowhere");
  await page.press(".form input", "Enter");
  await page.waitForSelector(".form .bad");
  await page.fill(".form input", "/src/web");
  await page.press(".form input", "Enter");
  await page.waitForFunction(() => document.querySelector(".sessions").textContent.includes("web"));
  await page.locator('[aria-label="New session in web"]').click();
  await page.waitForFunction(() => location.pathname.length > 20);
  await page.waitForSelector("#composer");
  await page.click(".head-tools [aria-haspopup]");
  await page.locator("[role=menuitem]", { hasText: "Delete" }).click();
  await page.click(".modal .danger");
  await page.waitForSelector(".home");
  assert.deepEqual(page.faults, []);
});

test("reduced motion moves nothing", async () => {
  const page = await world.page("/s/fix", { reducedMotion: "reduce" });
  await page.waitForSelector(".diff-file");
  assert.equal(await page.evaluate(() => document.getAnimations().length), 0);
});

test("it can be installed, and its shell opens without the server", async () => {
  const page = await world.page("/");
  await page.waitForSelector(".session-row");
  const manifest = await page.evaluate(async () => (await fetch("/manifest.webmanifest")).json());
  assert.deepEqual(manifest.icons.map((icon) => icon.sizes), ["192x192", "512x512", "any"]);
  await page.evaluate(async () => {
    await navigator.serviceWorker.ready;
    if (!navigator.serviceWorker.controller) await new Promise((done) => navigator.serviceWorker.addEventListener("controllerchange", done, { once: true }));
  });
  await page.reload();
  await page.waitForSelector(".session-row");
  const kept = await page.evaluate(async () => (await (await caches.open("ostler-shell-1")).keys()).map((request) => new URL(request.url).pathname));
  assert.ok(kept.every((path) => path === "/" || path.startsWith("/assets/") || path.startsWith("/icon") || path.startsWith("/manifest")), kept.join());
  world.mock.offline = true;
  await page.reload();
  await page.waitForSelector(".brand");
  world.mock.offline = false;
  await page.waitForSelector(".session-row");
});

test("another colour is chosen and kept", async () => {
  const page = await world.page("/s/fix");
  await page.click('[aria-label="Settings"]');
  await page.locator(".settings button", { hasText: "Dark" }).click();
  await page.reload();
  await page.waitForSelector(".diff-file");
  assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
  await isFine(page, "dark by choice");
});
