// What the browser tests share: a mock server, a browser, a page that fails on errors and on anything the policy forbids.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";
import { Mock } from "../../mock/server.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";

export async function start(options = {}) {
  const mock = new Mock(options);
  const at = await mock.listen();
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
  const contexts = [];
  return {
    mock, at, browser,
    async page(path = "/", { width = 1360, height = 860, ...more } = {}) {
      const context = await browser.newContext({ viewport: { width, height }, baseURL: at, ...more });
      contexts.push(context);
      const page = await context.newPage();
      page.faults = [];
      page.on("pageerror", (error) => page.faults.push(String(error)));
      page.on("console", (message) => {
        const text = message.text();
        if (message.type() === "error" && !/ERR_(CONNECTION|EMPTY|INTERNET|FAILED|SOCKET)|Failed to load resource/.test(text)) page.faults.push(text);
      });
      await page.goto(path);
      return page;
    },
    async stop() {
      for (const context of contexts) await context.close();
      await browser.close();
      await mock.close();
    },
  };
}

/** Has the model of a session do what a prompt says, without the page. */
export function prompt(mock, id, text) {
  mock.prompt(mock.sessions.get(id), { id: `t${Math.random()}`, text });
}

/** No violation of axe, no fault, nothing wider than the window. */
export async function isFine(page, name) {
  await page.waitForTimeout(250);
  // Past the policy, which allows no script of the test in the page.
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Runtime.evaluate", { expression: axe });
  const found = await page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });
    return violations.map((one) => `${one.id}: ${one.nodes.slice(0, 4).map((node) => `${node.html.slice(0, 150)} [${node.any.map((any) => any.message).join(" ").slice(0, 160)}]`).join(" | ")}`);
  });
  assert.deepEqual(found, [], name);
  assert.deepEqual(page.faults, [], name);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${name} is ${wide} px too wide`);
}
