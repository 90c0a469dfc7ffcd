// What the page takes on the real server: its first load, a session of 10,000 entries. Prints one line of JSON.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { World } from "./help.mjs";

const ENTRIES = 10_000;
const world = await World.start();
const id = await world.spoken("a long story");
await world.down();
const folder = join(world.home, ".ostler", "sessions");
const path = readdirSync(folder).map((name) => join(folder, name, `${id}.jsonl`)).find((file) => readFileSync(file, { flag: "a+" }).length > 0);
const lines = readFileSync(path, "utf8").trim().split("\n").map((line) => JSON.parse(line));
const begin = lines.findIndex((line) => line.role === "user");
const turn = lines.slice(begin);
let last = lines.at(-1).entry;
const more = [];
for (let n = 0; lines.length + more.length < ENTRIES; n++) {
  for (const line of turn) {
    const copy = { ...line, entry: last + 1, parent: last };
    if (line.role === "user") copy.text = `question ${n}: why is the sky blue in chapter ${n}?`;
    if (line.role === "assistant") {
      copy.text = `Answer ${n}.\n\n- one **reason**\n- another \`reason\`\n\n${"Words that fill a line or two of the page. ".repeat(1 + (n % 5))}`;
      copy.parts = [{ text: { text: copy.text } }];
    }
    more.push(JSON.stringify(copy));
    last += 1;
  }
}
writeFileSync(path, `${[...lines.map((line) => JSON.stringify(line)), ...more].join("\n")}\n`);
await world.serve();
const page = await world.page("/");
await page.waitForSelector(".session-row");
// Bytes as they come over the wire, without what was kept.
const fresh = await world.page("/");
const cdp = await fresh.context().newCDPSession(fresh);
await cdp.send("Network.enable");
await cdp.send("Network.setCacheDisabled", { cacheDisabled: true });
await cdp.send("Network.setBypassServiceWorker", { bypass: true });
let bytes = 0;
cdp.on("Network.loadingFinished", (event) => (bytes += event.encodedDataLength));
await fresh.goto("/");
await fresh.waitForSelector(".home .primary");
const interactive = await fresh.evaluate(() => performance.now());
await fresh.waitForTimeout(300);
// Opened before, as by somebody who comes back: the server has it.
await world.api("GET", `/api/sessions/${id}`);
const opened = await page.evaluate(async (at) => {
  const begun = performance.now();
  document.querySelector(`a[href="/s/${at}"]`).click();
  while (!document.querySelector(".vlist .answer")) await new Promise(requestAnimationFrame);
  return performance.now() - begun;
}, id);
await page.waitForTimeout(500);
const scrolled = await page.evaluate(async () => {
  let longest = 0;
  new PerformanceObserver((list) => list.getEntries().forEach((task) => (longest = Math.max(longest, task.duration)))).observe({ entryTypes: ["longtask"] });
  const list = document.querySelector(".vlist");
  let most = 0;
  for (let n = 0; n < 240; n++) {
    list.scrollTop -= 1200;
    await new Promise(requestAnimationFrame);
    most = Math.max(most, document.querySelectorAll("*").length);
  }
  return { longest, most };
});
await world.stop();
console.log(JSON.stringify({ "first load, KB compressed": bytes / 1024, "interactive, ms": interactive, "10,000 entries open, ms": opened, "longest task while scrolling, ms": scrolled.longest, "most nodes while scrolling": scrolled.most }));
