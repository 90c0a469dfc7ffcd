// Pictures of the page, to be looked at: node tests/browser/shots.mjs [folder] [words of names]
import { mkdirSync } from "node:fs";
import { approve, plan, question, work } from "../../mock/scripts.mjs";
import { start } from "./help.mjs";

const folder = process.argv[2] ?? "shots";
const only = process.argv[3];
mkdirSync(folder, { recursive: true });
const world = await start();
const { mock } = world;
const wait = (page, what, more) => page.waitForSelector(what, { timeout: 8000, ...more });

async function shot(name, path, options, act) {
  if (only && !new RegExp(only).test(name)) return;
  const page = await world.page(path, options);
  try {
    await act?.(page);
    await page.waitForTimeout(300);
    await page.screenshot({ path: `${folder}/${name}.png` });
    if (page.faults.length) console.log(name, page.faults);
  } catch (error) {
    console.log(name, String(error).split("\n")[0]);
    await page.screenshot({ path: `${folder}/${name}.png` });
  }
  await page.context().close();
}
const dark = { colorScheme: "dark" };
const phone = { width: 360, height: 740, hasTouch: true, isMobile: true, deviceScaleFactor: 2 };
const fresh = (script, text) => {
  const id = `shot-${Math.random().toString(16).slice(2)}`;
  const s = mock.add(id, "shop-1a2b3c4d", text);
  s.user(text);
  void script(s);
  return id;
};
const fix = mock.sessions.get("fix");
await shot("home", "/", {}, (page) => wait(page, ".session-row"));
await shot("session-light", "/s/fix", {}, (page) => wait(page, ".diff-file"));
await shot("session-dark", "/s/fix", dark, (page) => wait(page, ".diff-file"));
await shot("session-wide", "/s/fix", { width: 1800, height: 1000 }, (page) => wait(page, ".diff-file"));
await shot("session-tablet", "/s/fix", { width: 900, height: 1000 }, (page) => wait(page, ".diff-file"));
await shot("phone", "/s/fix", phone, (page) => wait(page, ".diff-file"));
await shot("phone-sheet", "/s/fix", phone, async (page) => {
  await wait(page, ".diff-file");
  await page.click(".session-head .narrow-only");
  await wait(page, ".modal .session-row");
});
mock.sessions.get("fix").delta({ type: "tasks", tasks: [{ id: "t1", prompt: "explore how coupons are stored", doing: { running: "grep" }, seconds: 12 }] });
mock.sessions.get("fix").delta({ type: "jobs", running: ["j1"] });
const asks = fresh(approve, "make the discount right");
await shot("approval-light", `/s/${asks}`, {}, (page) => wait(page, ".ask[data-ready=true]"));
await shot("approval-dark", `/s/${asks}`, dark, (page) => wait(page, ".ask[data-ready=true]"));
await shot("approval-phone", `/s/${asks}`, phone, (page) => wait(page, ".ask[data-ready=true]"));
await shot("approval-confirm", `/s/${asks}`, dark, async (page) => {
  await wait(page, ".ask[data-ready=true]");
  await page.click("[data-choice=always]");
});
await shot("trust", "/p/api-5e6f7a8b/trust", {}, (page) => wait(page, ".ask[data-ready=true]"));
await shot("trust-phone", "/p/api-5e6f7a8b/trust", phone, (page) => wait(page, ".ask[data-ready=true]"));
await shot("question", `/s/${fresh(question, "set up the question")}`, {}, (page) => wait(page, ".ask[data-ready=true]"));
await shot("plan", `/s/${fresh(plan, "plan it")}`, dark, (page) => wait(page, ".ask[data-ready=true]"));
const worked = fresh(work, "fix the coupon, please");
await shot("work-live", `/s/${worked}`, {}, (page) => page.waitForTimeout(800));
await mock.sessions.get(worked).playing;
await shot("work-done", `/s/${worked}`, dark, async (page) => {
  await wait(page, ".md table");
});
await shot("diff-review", `/s/fix`, { width: 1440, height: 900 }, async (page) => {
  await wait(page, ".changes .row-button");
  await page.click(".right .changes + button");
  await wait(page, ".modal .diff-table");
});
await shot("diff-review-dark", `/s/fix`, { ...dark, width: 1440, height: 900 }, async (page) => {
  await wait(page, ".changes .row-button");
  await page.click(".right .changes + button");
  await wait(page, ".modal .diff-table");
});
await shot("rewind", "/s/fix", {}, async (page) => {
  await wait(page, ".weight button");
  await page.click(".weight button");
  await wait(page, ".timeline .pick");
  await page.click(".timeline .pick");
  await wait(page, ".rewind .diff-table");
});
await shot("usage-light", "/p/shop-1a2b3c4d/usage", {}, (page) => wait(page, ".chart .series"));
await shot("usage-dark", "/p/shop-1a2b3c4d/usage", dark, (page) => wait(page, ".chart .series"));
await shot("usage-phone", "/p/shop-1a2b3c4d/usage", phone, (page) => wait(page, ".chart .series"));
for (const panel of ["mcp", "memory", "doctor", "trust", "permissions"]) await shot(`panel-${panel}`, `/p/shop-1a2b3c4d/${panel}`, panel === "memory" ? dark : {}, (page) => wait(page, ".panel-body table, .panel-body .list"));
await shot("menu-commands", "/s/fix", {}, async (page) => {
  await wait(page, "#composer");
  await page.click("#composer");
  await page.keyboard.type("/");
  await wait(page, ".complete");
});
await shot("home-phone", "/", phone, (page) => wait(page, ".home-row"));
await shot("home-dark", "/", dark, (page) => wait(page, ".home-row"));
await shot("palette", "/s/fix", {}, async (page) => {
  await wait(page, ".diff-file");
  await page.keyboard.press("Control+k");
  await wait(page, ".palette-list li");
});
await shot("palette-typed", "/s/fix", dark, async (page) => {
  await wait(page, ".diff-file");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("re");
  await wait(page, ".palette-list li");
});
await shot("review-note", "/s/fix", { width: 1500, height: 900 }, async (page) => {
  await wait(page, ".changes .row-button");
  await page.keyboard.press("r");
  await page.click(".review .notable >> nth=6");
  await page.fill(".note-form textarea", "Round half up here, as the invoice does.");
  await page.keyboard.press("Enter");
  await page.click(".review .notable >> nth=12");
  await wait(page, ".line-note");
});
await shot("approval-reason", `/s/${asks}`, {}, async (page) => {
  await wait(page, ".ask[data-ready=true]");
  await page.click(".ask-foot button");
});
await shot("menu-model", "/s/fix", dark, async (page) => {
  await wait(page, ".diff-file");
  await page.click(".pill >> nth=0");
  await wait(page, ".menu");
});
await shot("keys", "/s/fix", {}, async (page) => {
  await wait(page, ".diff-file");
  await page.keyboard.press("?");
  await wait(page, ".keys");
});
await shot("error", `/s/${(() => { const id = fresh(async (s) => { s.write("error", { kind: "auth", message: "Anthropic refused the key: invalid x-api-key." }); s.end("error"); }, "try it"); return id; })()}`, {}, (page) => wait(page, ".failure"));
mock.language = "zh";
await shot("zh-session", "/s/fix", { locale: "zh-CN" }, (page) => wait(page, ".diff-file"));
await shot("zh-approval-phone", `/s/${asks}`, { ...phone, locale: "zh-CN" }, (page) => wait(page, ".ask[data-ready=true]"));
void fix;
await world.stop();
