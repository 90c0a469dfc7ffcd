// Drives the built client against a real `ostler serve`: node tests/browser/real.mjs http://127.0.0.1:8787/?token=… [folder of pictures]
// The files come from web/dist, so that the server need not be built anew; everything else goes to the server.
import { createServer, request as ask } from "node:http";
import { readFile } from "node:fs/promises";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { CSP } from "../../mock/server.mjs";

const target = new URL(process.argv[2]);
const folder = process.argv[3];
const dist = join(dirname(fileURLToPath(import.meta.url)), "../../dist");
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".png": "image/png", ".webmanifest": "application/manifest+json" };

const proxy = createServer(async (request, response) => {
  const { pathname, search } = new URL(request.url, "http://x");
  const own = !pathname.startsWith("/api") && !pathname.startsWith("/log") && !search.includes("token=");
  if (own) {
    const name = extname(pathname) ? pathname : "/index.html";
    try {
      const bytes = await readFile(join(dist, name));
      response.writeHead(200, { "content-type": TYPES[extname(name)], "content-security-policy": CSP });
      return response.end(bytes);
    } catch {
      return response.writeHead(404).end();
    }
  }
  const headers = { ...request.headers, host: target.host };
  if (headers.origin) headers.origin = target.origin;
  if (headers.referer) delete headers.referer;
  const passed = ask({ host: target.hostname, port: target.port, path: request.url, method: request.method, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  passed.on("error", () => response.destroy());
  response.on("close", () => passed.destroy());
  request.pipe(passed);
});
await new Promise((done) => proxy.listen(0, "127.0.0.1", done));
const at = `http://127.0.0.1:${proxy.address().port}`;
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1360, height: 860 } });
page.on("pageerror", (error) => console.log("PAGE ERROR", String(error)));
page.on("console", (message) => message.type() === "error" && console.log("CONSOLE", message.text()));
page.on("response", (answer) => answer.status() >= 400 && console.log("HTTP", answer.status(), answer.request().method(), answer.url().replace(at, "")));
const shot = (name) => folder && page.screenshot({ path: `${folder}/real-${name}.png` });
const step = async (name, act) => {
  try {
    await act();
    console.log("ok", name);
  } catch (error) {
    console.log("NOT OK", name, String(error).split("\n")[0]);
    console.log((await page.locator("body").innerText()).slice(-900));
  }
  await shot(name.replace(/\W+/g, "-"));
};
page.setDefaultTimeout(10_000);

await step("login", async () => {
  await page.goto(`${at}/${target.search}`);
  await page.waitForSelector(".home .primary");
});
await step("new session", async () => {
  await page.click(".home .primary");
  await page.waitForSelector("#composer");
  await page.waitForSelector(".pill");
});
await step("prompt with approvals", async () => {
  await page.fill("#composer", "The test fails. OSTLER-DEMO: calc");
  await page.press("#composer", "Enter");
  await page.waitForSelector(".ask[data-ready=true]", { timeout: 30_000 });
});
await step("answer by key", async () => {
  const first = await page.locator(".ask").getAttribute("data-ask");
  await page.keyboard.press("y");
  await page.waitForFunction((known) => document.querySelector(".ask") && document.querySelector(".ask").dataset.ask !== known, first);
  await page.waitForSelector(".ask[data-ready=true]");
});
await step("answer by press", async () => {
  await page.click("[data-choice=once]");
  await page.waitForSelector(".turn-facts", { timeout: 30_000 });
  await page.waitForSelector(".changes .row-button");
});
await step("reload", async () => {
  await page.reload();
  await page.waitForSelector(".turn-facts");
  await page.waitForSelector(".changes .row-button");
});
await step("commands", async () => {
  for (const line of ["/status ", "/mode ", "/context "]) {
    await page.fill("#composer", line);
    await page.press("#composer", "Enter");
    await page.waitForSelector(line === "/mode " ? ".shown" : ".modal table");
    if (line !== "/mode ") await page.keyboard.press("Escape");
    await page.waitForTimeout(200);
  }
});
await step("files", async () => {
  await page.fill("#composer", "");
  await page.click("#composer");
  await page.keyboard.type("@cal");
  await page.waitForSelector(".complete [role=option]");
  await page.keyboard.press("Enter");
});
await step("rewind", async () => {
  await page.fill("#composer", "");
  await page.click(".weight button");
  await page.click(".timeline .pick >> nth=0");
  await page.waitForSelector(".rewind .diff-table");
  await page.click(".rewind .primary");
  await page.waitForFunction(() => document.querySelector("#composer").value.includes("The test fails"));
});
await step("title and fork", async () => {
  await page.click(".head-tools [aria-haspopup]");
  await page.locator("[role=menuitem]", { hasText: "Rename" }).click();
  await page.fill(".form input", "renamed by the browser");
  await page.press(".form input", "Enter");
  await page.waitForFunction(() => document.querySelector(".session-head h1").textContent.includes("renamed"));
});
for (const panel of ["usage", "mcp", "memory", "permissions", "doctor", "trust", "agents", "skills", "cache", "checkpoints"]) {
  await step(`panel ${panel}`, async () => {
    await page.locator(".frame .panels a, .frame .panels button").first().waitFor();
    await page.evaluate((to) => {
      history.pushState(null, "", location.pathname.replace(/.*/, to));
      dispatchEvent(new PopStateEvent("popstate"));
    }, `/p/${encodeURIComponent(await page.evaluate(async () => (await (await fetch("/api/projects")).json()).projects[0].id))}/${panel}`);
    await page.waitForFunction(() => document.querySelector(".panel-body")?.textContent.length > 3);
    await page.waitForTimeout(300);
    if (await page.locator(".panel-body > .note.bad").count()) throw new Error(await page.locator(".panel-body").innerText());
  });
}
await browser.close();
proxy.close();
proxy.closeAllConnections();
