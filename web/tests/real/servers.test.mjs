// MCP servers in a real browser on the real server: what a server asks the person, and the panel.
import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { after, before, test as run } from "node:test";
import { fileURLToPath } from "node:url";
import { World, askOf, clean, isFine, phone, ready, send, shows } from "./help.mjs";

const test = (name, act) => run(name, { timeout: 60_000 }, act);
const script = join(dirname(fileURLToPath(import.meta.url)), "mcp-server.mjs");
let world;
before(async () => {
  world = await World.start({ more: `[[plugins]]\nname = "shop"\ncommand = ${JSON.stringify(process.execPath)}\nargs = [${JSON.stringify(script)}]\n[permissions]\nallow = ["mcp__shop__order"]\n` });
});
after(() => world.stop());

/** The next question, once it can be answered. */
async function nextAsk(page, before) {
  await page.waitForFunction((known) => document.querySelector(".ask") && document.querySelector(".ask").dataset.ask !== known, before);
  await ready(page);
}

test("a form of a server: words, a choice, a yes, one after the other, and what was said arrives", async () => {
  const page = await world.page(`/s/${await world.session()}`);
  await page.waitForSelector("#composer");
  await send(page, "order");
  await ready(page);
  assert.match(await page.locator(".ask").innerText(), /shop[\s\S]*Where shall it go\?[\s\S]*(Street|Size|Gift wrap)/);
  await isFine(page, "form");
  for (let n = 0; n < 3; n++) {
    const at = await askOf(page);
    const text = await page.locator(".ask-body").innerText();
    if (text.includes("Street")) {
      await page.fill(".ask-text", "Mill Lane 7");
      await page.press(".ask-text", "Enter");
    } else if (text.includes("Size")) {
      await page.locator("[data-choice=large]").click();
    } else {
      await page.locator("[data-choice=yes]").click();
    }
    if (n < 2) await nextAsk(page, at);
  }
  await shows(page, "It is ordered.");
  await page.locator(".call-head", { hasText: "order" }).click();
  await shows(page, "Mill Lane 7");
  const call = await page.locator(".call", { hasText: "order" }).innerText();
  assert.match(call, /"action":"accept"/);
  assert.match(call, /"size":"large"/);
  assert.match(call, /"gift":true/);
  clean(page);
});

test("a form is declined by finger, on a phone", async () => {
  const page = await world.page(`/s/${await world.session()}`, phone);
  await page.waitForSelector("#composer");
  await send(page, "order");
  await ready(page);
  await isFine(page, "form on a phone");
  await page.locator("[data-choice=decline]").tap();
  await shows(page, "It is ordered.");
  await page.locator(".call-head", { hasText: "order" }).tap();
  await shows(page, '"action":"decline"');
  clean(page);
});

test("the panel names the server, and so does the session's", async () => {
  const page = await world.page(`/p/${await world.project()}/mcp`);
  await page.waitForFunction(() => document.querySelector(".panel-body")?.textContent.includes("shop"));
  await isFine(page, "panel");
  // In a session that runs: how it stands, and what is trusted there.
  await page.locator("td.acts-below button", { hasText: /^reconnect$/ }).click();
  await page.waitForSelector(".said-view");
  await page.locator("td.acts-below button", { hasText: /^tools$/ }).click();
  await page.locator(".list .pick", { hasText: "order" }).click();
  await page.waitForSelector(".list .marked");
  await page.locator(".list .pick", { hasText: "order" }).click();
  await page.waitForFunction(() => !document.querySelector(".list .marked"));
  await isFine(page, "tools of a server");
  const id = await world.session();
  await page.goto(`/s/${id}`);
  await page.waitForSelector("#composer");
  await send(page, "/mcp ");
  await page.waitForFunction(() => document.querySelector(".modal, .shown")?.textContent.includes("shop"));
  clean(page);
});
