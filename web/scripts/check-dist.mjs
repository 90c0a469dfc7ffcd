// What is built keeps to its promises: nothing inline, nothing of others, and a first load that is small.
import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const dist = join(dirname(fileURLToPath(import.meta.url)), "../dist");
const MAX_FIRST = 150 * 1024;
const html = readFileSync(join(dist, "index.html"), "utf8");
const wrong = [];
if (/<script(?![^>]*\bsrc=)[^>]*>/.test(html)) wrong.push("an inline script");
if (/\sstyle=|<style/.test(html)) wrong.push("an inline style");
if (/(?:src|href)="(?:https?:)?\/\//.test(html)) wrong.push("a file of somebody else");
const first = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map((found) => found[1]);
let size = gzipSync(html).length;
for (const path of first) size += gzipSync(readFileSync(join(dist, path))).length;
for (const name of readdirSync(join(dist, "assets"))) {
  const bytes = readFileSync(join(dist, "assets", name));
  if (name.endsWith(".js") && /\beval\(|new Function\(/.test(bytes.toString())) wrong.push(`eval in ${name}`);
  console.log(`${name.padEnd(40)} ${(gzipSync(bytes).length / 1024).toFixed(1)} KB compressed`);
}
console.log(`first load ${(size / 1024).toFixed(1)} KB compressed`);
if (size > MAX_FIRST) wrong.push(`a first load of ${size} bytes`);
if (wrong.length > 0) {
  console.error(`not as promised: ${wrong.join(", ")}`);
  process.exit(1);
}
