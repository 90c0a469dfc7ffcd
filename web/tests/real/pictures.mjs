// The pictures of the documents, of the real server with the scripted model: node tests/real/pictures.mjs FOLDER. Run by
// `cargo xtask web pictures`.
import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { World, dark, ready, until } from "./help.mjs";

const folder = process.argv[2];
const MAX_BYTES = 150 * 1024;
mkdirSync(folder, { recursive: true });
const world = await World.start();
const size = { width: 1240, height: 780 };

/** What was spent in the last weeks, so that the chart has something to show. */
function spend() {
  const rows = [];
  const models = [["anthropic", "claude-opus-5", 5, 0.5, 25], ["anthropic", "claude-sonnet-5", 3, 0.3, 15], ["local", "wise-2", 0.5, 0.05, 1.5]];
  for (let day = 27; day >= 0; day--) {
    const ts = new Date(Date.now() - day * 86_400_000).toISOString();
    if ([0, 6].includes(new Date(ts).getUTCDay())) continue;
    models.forEach(([provider, model, input, cached, output], at) => {
      const work = 900_000 + ((day * 7919 + at * 104_729) % 1_700_000);
      const tokens = { input: work, cached: Math.round(work * (0.72 + ((day * 31 + at) % 20) / 100)), cache_write: 0, output: Math.round(work / 40) };
      const cost = ((tokens.input - tokens.cached) * input + tokens.cached * cached + tokens.output * output) / 1e6;
      rows.push(JSON.stringify({ ts, session: `s${day}${at}`, project: at === 1 ? world.known : `api-${"0".repeat(8)}`, role: "", provider, model, ...tokens, cost }));
    });
  }
  writeFileSync(join(world.home, ".ostler", "ledger.jsonl"), `${rows.join("\n")}\n`, { flag: "a" });
}

async function shot(page, name) {
  await page.waitForTimeout(400);
  const path = join(folder, `workbench-${name}.png`);
  await page.mouse.move(0, 0);
  await page.screenshot({ path });
  const { size: bytes } = statSync(path);
  console.log(`${path} ${Math.round(bytes / 1024)} KB`);
  if (bytes > MAX_BYTES) throw new Error(`${name} has more than ${MAX_BYTES} bytes`);
}

async function rename(id, title) {
  await world.api("PATCH", `/api/sessions/${id}`, { title });
}

/** A session that comes to its first question about a file. */
async function working(title) {
  const id = await world.session();
  await world.say(id, "fix the failing test of the cart");
  await rename(id, title);
  return id;
}

await world.project();
spend();
for (const [prompt, title] of [["hello", "Release notes for 2.4"], ["list", "Odd names in the archive"]]) await rename(await world.spoken(prompt), title);
const asking = await working("Fix the coupon");
const page = await world.page(`/s/${asking}`, size);
await ready(page);
await page.keyboard.press("y");
const isEdit = () => [...document.querySelectorAll(".ask[data-ready=true] .diff-table")].length > 0;
await page.waitForFunction(isEdit);
await shot(page, "approval");
const phone = await world.page(`/s/${asking}`, { width: 390, height: 780, hasTouch: true, isMobile: true, deviceScaleFactor: 1.5 });
await phone.waitForFunction(isEdit);
await shot(phone, "phone");
await page.keyboard.press("y");
await page.waitForFunction(() => document.querySelector(".ask[data-ready=true]")?.textContent.includes("CHANGELOG"));
await page.keyboard.press("y");
await page.waitForSelector(".turn-facts");
await page.waitForFunction(() => document.querySelectorAll(".changes .row-button").length === 2);
await until(async () => (await world.api("GET", "/api/sessions")).json.sessions.every((row) => row.state !== "working"));
await shot(page, "light");
const night = await world.page(`/s/${asking}`, { ...size, ...dark });
await night.waitForSelector(".turn-facts");
await night.waitForFunction(() => document.querySelectorAll(".changes .row-button").length === 2);
await night.locator(".call", { hasText: "cart.py" }).last().scrollIntoViewIfNeeded();
await shot(night, "dark");
await night.click(".right .changes + button");
await night.waitForSelector(".modal .diff-table.split");
await shot(night, "diff");
const usage = await world.page(`/p/${await world.project()}/usage`, size);
await usage.waitForSelector(".chart .series");
await shot(usage, "usage");
await world.stop();
