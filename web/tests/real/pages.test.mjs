// Every page of the real server in a real browser: login, panels, dialogs, phone, colours, languages, keys alone, axe.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test as run } from "node:test";
import { World, clean, dark, isFine, phone, ready, send, shows, until } from "./help.mjs";

const test = (name, act) => run(name, { timeout: 90_000 }, act);
let world;
let busy;
before(async () => {
  world = await World.start();
  busy = await world.spoken("hello to all panels");
  await world.spoken("another about parsers");
});
after(() => world.stop());

const PANELS = ["usage", "mcp", "memory", "permissions", "doctor", "trust", "agents", "skills", "cache", "checkpoints"];

test("a wrong token opens nothing, the form says so, the right one lets in", async () => {
  const page = await world.page("/?token=nothing-of-the-kind", { login: false });
  await page.waitForSelector("form input");
  await isFine(page, "login");
  assert.equal((await world.api("GET", "/api/sessions", undefined, { token: "nothing-of-the-kind" })).status, 401);
  await page.fill("form input", "nothing-of-the-kind");
  await page.press("form input", "Enter");
  await page.waitForSelector("form input");
  await isFine(page, "login refused");
  await page.fill("form input", "a-token-for-these-tests-only");
  await page.press("form input", "Enter");
  await page.waitForSelector(".home .primary");
  assert.ok(!page.url().includes("token"), page.url());
  assert.ok(!(await page.evaluate(() => document.cookie)), "no script reads the login");
});

for (const [look, options] of [["light", {}], ["dark", dark], ["phone", phone]]) {
  test(`panels, ${look}`, async () => {
    const project = await world.project();
    const page = await world.page("/", options);
    for (const panel of PANELS) {
      await page.goto(`/p/${project}/${panel}`);
      await page.waitForSelector(".panel-body :is(table, .report, .list, .faint, .md)");
      assert.equal(await page.locator(".panel-body > .note.bad").count(), 0, panel);
      await isFine(page, `${panel} ${look}`);
    }
  });
  test(`home, session, question, dialogs, ${look}`, async () => {
    const page = await world.page("/", options);
    await page.waitForSelector(".home .primary");
    await isFine(page, `home ${look}`);
    await page.goto(`/s/${busy}`);
    await shows(page, "You said: hello");
    await isFine(page, `session ${look}`);
    const open = async (name, act, what) => {
      await act();
      await page.waitForSelector(what);
      await isFine(page, `${name} ${look}`);
      await page.keyboard.press("Escape");
      await page.waitForSelector(what, { state: "detached" });
    };
    await open("models", () => page.click(".pill >> nth=0"), ".menu");
    await open("rewind", () => send(page, "/rewind"), ".modal .timeline");
    await open("context", () => send(page, "/context "), ".modal .window-part table");
    await open("settings", () => send(page, "/theme "), ".modal .settings");
    if (look === "phone") await open("sheet", () => page.click(".session-head .narrow-only"), ".modal .session-row");
    if (look === "phone") await open("drawer", () => page.click(".details-button"), ".modal .weight");
    if (look !== "phone") {
      await page.click(".session-head h1");
      await open("keys", () => page.keyboard.press("?"), ".modal .keys");
    }
    const asked = await world.session();
    await page.goto(`/s/${asked}`);
    await page.waitForSelector("#composer");
    await send(page, "edit");
    await ready(page);
    await isFine(page, `question ${look}`);
    if (look === "phone") {
      const boxes = await page.locator(".ask-choice").evaluateAll((all) => all.map((one) => one.getBoundingClientRect()));
      assert.ok(boxes.every((box) => box.height >= 48 && box.bottom <= innerHeightOf(page)), JSON.stringify(boxes));
      await page.locator("[data-choice=deny]").tap();
    } else {
      await page.keyboard.press("n");
    }
    await shows(page, "The discount is a share now.");
    clean(page);
  });
}
const innerHeightOf = (page) => page.viewportSize().height;

test("the page of the API is fine, too", async () => {
  const page = await world.page("/api/docs");
  await page.waitForSelector("h1");
  await isFine(page, "api");
});

test("keys alone: search finds titles and what was said, opens, and closes", async () => {
  const page = await world.page("/");
  await page.waitForSelector(".session-row");
  await page.keyboard.press("f");
  await page.keyboard.type("parsers");
  await page.waitForFunction(() => document.querySelectorAll(".frame .session-row").length === 1).catch(async () => assert.fail(await page.locator(".frame .left").innerText()));
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("another about parsers");
  await page.waitForFunction(() => document.querySelectorAll(".palette-list [role=option]").length === 1);
  await page.keyboard.press("Enter");
  await shows(page, "You said: another about parsers");
  await page.evaluate(() => document.activeElement?.blur());
  await page.keyboard.press("c");
  await page.waitForFunction(() => document.activeElement?.id === "composer");
  clean(page);
});

test("commands and files complete, modes and models switch, a title is given", async () => {
  const id = await world.session();
  const page = await world.page(`/s/${id}`);
  await page.click("#composer");
  await page.keyboard.type("/mod");
  await page.waitForSelector(".complete [role=option]");
  await page.keyboard.press("Escape");
  await page.fill("#composer", "");
  await page.keyboard.type("look at @cart");
  await page.waitForSelector(".complete [role=option]");
  await page.keyboard.press("Enter");
  assert.match(await page.inputValue("#composer"), /@shop\/cart\.py/);
  await send(page, "hello");
  await shows(page, "You said: hello");
  for (const [nth, label, shown] of [[1, "Plan first", "Plan first"], [2, "Auto for 10 minutes", "Auto for"]]) {
    await page.click(`.pill >> nth=${nth}`);
    await page.locator(".menu [role=menuitem]", { hasText: label }).last().click();
    await page.waitForFunction(([at, text]) => document.querySelectorAll(".pill")[at].textContent.includes(text), [nth, shown]);
  }
  await page.click(".pill >> nth=0");
  await page.locator(".menu [role=menuitem]", { hasText: "wise-2" }).first().click();
  await page.waitForFunction(() => document.querySelectorAll(".pill")[0].textContent.includes("wise-2"));
  await page.click(".head-tools [aria-haspopup]");
  await page.locator("[role=menuitem]", { hasText: "Rename" }).click();
  await page.fill(".form input", "another name");
  await page.press(".form input", "Enter");
  await page.waitForFunction(() => document.querySelector(".session-head h1").textContent === "another name");
  clean(page);
});

test("a project is added, asks whether it is trusted, and its root that goes away is said", async () => {
  const root = join(world.base, "api");
  mkdirSync(root);
  execFileSync("git", ["init", "-q"], { cwd: root });
  writeFileSync(join(root, "ostler.toml"), "[permissions]\nallow = ['Bash(make:*)']\n");
  const page = await world.page("/");
  await page.click(".brand [aria-haspopup]");
  await page.locator("[role=menuitem]", { hasText: "Add a project" }).click();
  await page.fill(".form input", join(world.base, "nowhere"));
  await page.press(".form input", "Enter");
  await page.waitForSelector(".form .bad");
  await page.fill(".form input", root);
  await page.press(".form input", "Enter");
  await page.locator('[aria-label="New session in api"]').click();
  await ready(page);
  await isFine(page, "trust");
  assert.match(await page.locator(".ask").innerText(), /Bash\(make:\*\)/);
  await page.keyboard.press("n");
  await page.waitForURL(/\/s\//);
  await send(page, "hello");
  await shows(page, "You said: hello");
  clean(page);
});

test("reduced motion moves nothing; another colour is kept; it can be installed", async () => {
  const page = await world.page(`/s/${busy}`, { reducedMotion: "reduce" });
  await shows(page, "You said: hello");
  assert.equal(await page.evaluate(() => document.getAnimations().length), 0);
  await page.click('[aria-label="Settings"]');
  await page.locator(".settings button", { hasText: "Dark" }).click();
  await page.reload();
  await shows(page, "You said: hello");
  assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
  const manifest = await page.evaluate(async () => (await fetch("/manifest.webmanifest")).json());
  assert.ok(manifest.icons.length >= 2 && manifest.start_url);
  assert.ok(page.asked.every((url) => url.startsWith(world.at) || url.startsWith("data:")), page.asked.join());
  clean(page);
});

test("what a project's files bring is asked about before a stored session is resumed", async () => {
  const root = join(world.base, "later");
  mkdirSync(root);
  execFileSync("git", ["init", "-q"], { cwd: root });
  const project = (await world.api("POST", "/api/projects", { root })).json.id;
  const id = (await world.api("POST", "/api/sessions", { project, open: "new" })).json.id;
  await world.say(id, "hello there");
  await until(async () => (await world.entries(id)).some((entry) => entry.type === "turn_end"));
  await world.api("POST", `/api/sessions/${id}/ops`, { op: "close" });
  await until(async () => (await world.api("GET", "/api/sessions")).json.sessions.find((row) => row.id === id).state === "closed");
  const page = await world.page("/");
  await page.waitForSelector(".session-row");
  // After the page has its list.
  writeFileSync(join(root, "ostler.toml"), "[permissions]\nallow = ['Bash(make:*)']\n");
  await page.locator(".session-row", { hasText: "hello there" }).last().click();
  await ready(page);
  assert.match(await page.locator(".ask").innerText(), /Bash\(make:\*\)/);
  await page.keyboard.press("n");
  await page.waitForURL(/\/s\//);
  await shows(page, "You said: hello there");
  await send(page, "again");
  await shows(page, "You said: again");
  clean(page);
});
