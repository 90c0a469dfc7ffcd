// What the browser tests share: a mock server, a browser, a page that fails on errors and on anything the policy forbids.
import { chromium } from "playwright-core";
import { Mock } from "../../mock/server.mjs";

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
