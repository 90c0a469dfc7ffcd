// The same server in Chinese: panels, a session, a question.
import assert from "node:assert/strict";
import { after, before, test as run } from "node:test";
import { World, clean, isFine, phone, ready, send, shows } from "./help.mjs";

const test = (name, act) => run(name, { timeout: 90_000 }, act);
let world;
before(async () => {
  world = await World.start({ language: "zh" });
});
after(() => world.stop());

test("a session, a question and every panel in Chinese", async () => {
  const id = await world.session();
  const page = await world.page(`/s/${id}`);
  await page.waitForSelector("#composer");
  assert.equal(await page.locator("html").getAttribute("lang"), "zh-CN");
  await send(page, "edit");
  await ready(page);
  assert.match(await page.locator(".ask").innerText(), /编辑/);
  await isFine(page, "question in Chinese");
  await page.keyboard.press("y");
  await shows(page, "The discount is a share now.");
  await page.waitForSelector(".changes .row-button");
  assert.match(await page.locator("body").innerText(), /更改/);
  await isFine(page, "session in Chinese");
  const project = await world.project();
  for (const panel of ["usage", "mcp", "memory", "permissions", "doctor", "trust", "agents", "skills", "cache", "checkpoints"]) {
    await page.goto(`/p/${project}/${panel}`);
    await page.waitForSelector(".panel-body :is(table, .report, .list, .faint, .md)");
    assert.match(await page.locator("body").innerText(), /\p{Script=Han}/u, panel);
    await isFine(page, `${panel} in Chinese`);
  }
  await page.goto(`/s/${id}`);
  await page.waitForSelector("#composer");
  await send(page, "/theme ");
  await page.click(".settings [lang=en]");
  await page.waitForFunction(() => document.documentElement.lang === "en");
  clean(page);
});

test("on a phone, the login too", async () => {
  const page = await world.page("/login", { login: false, ...phone });
  await page.waitForSelector("form input");
  assert.equal(await page.locator("html").getAttribute("lang"), "zh-CN");
  await isFine(page, "login in Chinese");
});
