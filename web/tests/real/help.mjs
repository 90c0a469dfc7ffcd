// What the tests against the real server share: a home and a project of their own, `ostler serve`, a link to it that can be
// cut, and a browser. `cargo xtask web test` gives the program (OSTLER_BIN) and the scripted model (VENDOR_URL).
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { chromium } from "playwright-core";
import { isFine } from "../browser/help.mjs";

export { isFine };
export const TOKEN = "a-token-for-these-tests-only";
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

export const CART = `class Cart:
    """Items, a coupon, and what it all costs."""

    def __init__(self, items, coupon=None):
        self.items = items
        self.coupon = coupon

    def net(self):
        net = sum(item.price * item.count for item in self.items)
        if self.coupon:
            net -= self.coupon.percent
        return net

    def gross(self):
        return round(self.net() * 1.19, 2)

    def __len__(self):
        return len(self.items)
`;
const TEST = `import unittest
from types import SimpleNamespace as Item
from shop.cart import Cart


class CartTest(unittest.TestCase):
    def test_net_with_coupon(self):
        cart = Cart([Item(price=98, count=1)], Item(percent=10))
        self.assertEqual(cart.net(), 88.2)


unittest.main()
`;
export const ODD = ["line\nbreak.txt", "turned\u202egnp.exe", "<img src=x onerror=hit>.md"];

/** A folder with a git repository of these files. */
function repository(root, files) {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  const git = (...words) => execFileSync("git", ["-c", "user.name=Test", "-c", "user.email=test@example.invalid", ...words], { cwd: root });
  git("init", "-q", "-b", "main");
  git("add", "-A");
  git("commit", "-q", "-m", "start");
}

/** A link that can be cut. */
class Link {
  sockets = new Set();
  to = 0;
  isCut = false;
  server = createServer((near) => {
    if (this.isCut) return near.destroy();
    const far = connect(this.to, "127.0.0.1");
    for (const [one, other] of [[near, far], [far, near]]) {
      this.sockets.add(one);
      one.on("close", () => (this.sockets.delete(one), other.destroy()));
      one.on("error", () => other.destroy());
    }
    near.pipe(far);
    far.pipe(near);
  });
  listen() {
    return new Promise((done) => this.server.listen(0, "127.0.0.1", () => done(this.server.address().port)));
  }
  cut() {
    this.isCut = true;
    for (const socket of this.sockets) socket.destroy();
  }
  mend() {
    this.isCut = false;
  }
}

export class World {
  base = realpathSync(mkdtempSync(join(tmpdir(), "ostler-web-")));
  home = join(this.base, "home");
  root = join(this.base, "shop");
  link = new Link();
  contexts = [];

  static async start({ language = "en", more = "" } = {}) {
    const world = new World();
    world.language = language;
    const port = await world.link.listen();
    world.at = `http://127.0.0.1:${port}`;
    mkdirSync(join(world.home, ".ostler"), { recursive: true });
    mkdirSync(join(world.base, "tmp"));
    world.configure(`
default_model = "mock/mock-model"
language = "${language}"
[serve]
token = "${TOKEN}"
hosts = ["127.0.0.1:${port}"]
[[providers]]
name = "mock"
kind = "openai"
base_url = "${process.env.VENDOR_URL}/v1"
models = ["mock-model", "wise-2"]
api_key_env = "MOCK_KEY"
context_window = 200000
price = { input = 3.0, cached_input = 0.3, output = 15.0 }
${more}`);
    repository(world.root, { "shop/cart.py": CART, "shop/__init__.py": "", "tests/test_cart.py": TEST, "CHANGELOG.md": "# Changes\n\n- The cart counts its items.\n", ...Object.fromEntries(ODD.map((name) => [`odd/${name}`, "x\n"])) });
    await world.serve();
    world.browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
    return world;
  }

  configure(text) {
    writeFileSync(join(this.home, ".ostler", "config.toml"), text);
  }

  env() {
    return { HOME: this.home, OSTLER_HOME: join(this.home, ".ostler"), TMPDIR: join(this.base, "tmp"), LANG: "C.UTF-8", TZ: "UTC", MOCK_KEY: "mock-key", PATH: process.env.PATH, GIT_CONFIG_NOSYSTEM: "1" };
  }

  /** Starts the server; a link leads there. */
  async serve() {
    this.server = spawn(process.env.OSTLER_BIN, ["serve", "--port", "0"], { cwd: this.root, env: this.env(), stdio: ["ignore", "pipe", "pipe"] });
    this.said = "";
    this.server.stderr.on("data", (bytes) => (this.said += bytes));
    this.link.to = await new Promise((done, fail) => {
      let out = "";
      this.server.stdout.on("data", (bytes) => {
        out += bytes;
        const found = /^http:\/\/127\.0\.0\.1:(\d+)\//.exec(out);
        if (found) done(Number(found[1]));
      });
      this.server.on("exit", (code) => fail(new Error(`the server ended with ${code}: ${this.said}`)));
    });
  }

  async down(signal = "SIGINT") {
    if (this.server.exitCode !== null || this.server.signalCode !== null) return;
    const ended = new Promise((done) => this.server.once("exit", done));
    this.server.kill(signal);
    await ended;
  }

  async api(method, path, body, { token = TOKEN } = {}) {
    const answer = await fetch(`${this.at}${path}`, { method, headers: { authorization: `Bearer ${token}`, "content-type": "application/json" }, body: body && JSON.stringify(body) });
    const text = await answer.text();
    return { status: answer.status, json: text ? JSON.parse(text) : null };
  }

  async project() {
    this.known ??= (await this.api("GET", "/api/projects")).json.projects[0].id;
    return this.known;
  }

  async session() {
    return (await this.api("POST", "/api/sessions", { project: await this.project(), open: "new" })).json.id;
  }

  say(id, text) {
    return this.api("POST", `/api/sessions/${id}/ops`, { op: "say", text });
  }

  async entries(id) {
    return (await this.api("GET", `/api/sessions/${id}/entries?limit=2000`)).json.entries;
  }

  /** A session in which this was said and all is over. */
  async spoken(text) {
    const id = await this.session();
    await this.say(id, text);
    await until(async () => (await this.entries(id)).some((entry) => entry.type === "turn_end"));
    return id;
  }

  /** A page that is logged in and fails on errors and on what the policy forbids. */
  async page(path = "/", { width = 1360, height = 860, login = true, ...more } = {}) {
    const context = await this.browser.newContext({ viewport: { width, height }, baseURL: this.at, locale: this.language === "zh" ? "zh-CN" : "en-GB", ...more });
    context.setDefaultTimeout(20_000);
    this.contexts.push(context);
    const page = await context.newPage();
    page.faults = [];
    page.asked = [];
    page.on("request", (request) => page.asked.push(request.url()));
    page.on("pageerror", (error) => page.faults.push(String(error)));
    page.on("console", (message) => {
      const text = message.text();
      if (message.type() === "error" && !/ERR_(CONNECTION|EMPTY|INTERNET|FAILED|SOCKET|INCOMPLETE)|Failed to load resource/.test(text)) page.faults.push(text);
    });
    if (login) await page.goto(`/?token=${TOKEN}`);
    if (!login || path !== "/") await page.goto(path);
    return page;
  }

  async stop() {
    for (const context of this.contexts) await context.close();
    await this.browser?.close();
    await this.down();
    this.link.cut();
    this.link.server.close();
    rmSync(this.base, { recursive: true, force: true });
  }
}

export async function until(ready, what = "it") {
  for (let n = 0; n < 200; n++) {
    const found = await ready();
    if (found) return found;
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error(`${what} did not come`);
}

export async function send(page, words, key = "Enter") {
  await page.fill("#composer", words);
  await page.press("#composer", key);
}

export const ready = (page) => page.waitForSelector(".ask[data-ready=true]");
export const askOf = (page) => page.locator(".ask").getAttribute("data-ask");
export const noAsk = (page) => page.waitForSelector(".ask", { state: "detached" });
export const clean = (page) => assert.deepEqual(page.faults, []);
export const shows = (page, text, where = ".vlist") => page.waitForFunction(([what, at]) => document.querySelector(at)?.textContent.includes(what), [text, where]);
export const phone = { width: 360, height: 740, hasTouch: true, isMobile: true };
export const dark = { colorScheme: "dark" };
