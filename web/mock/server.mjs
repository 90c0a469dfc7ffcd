// A server of the HTTP API with recorded and scripted sessions, for development and for the browser tests. No part of Ostler.
// `node mock/server.mjs [--port N] [--lang zh]` serves web/dist; `--dev` serves the sources through Vite.
import { createServer } from "node:http";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { DIFF, approve, bash, editFile, EDIT, question, readFile as readCall, scriptOf, trustAsk } from "./scripts.mjs";
import { Session } from "./session.mjs";
import { projectView, sessionView, usage } from "./views.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".png": "image/png", ".webmanifest": "application/manifest+json" };
export const CSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; worker-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
const FILES = ["CHANGELOG.md", "pyproject.toml", "shop/", "shop/__init__.py", "shop/cart.py", "shop/coupon.py", "tests/", "tests/test_cart.py"];
const MINUTE = 60_000;

export class Mock {
  constructor({ language = "en", dist = join(here, "../dist") } = {}) {
    this.language = language;
    this.dist = dist;
    this.csrf = randomUUID();
    this.streams = new Map();
    this.sessions = new Map();
    this.offline = false;
    this.projects = [
      { id: "shop-1a2b3c4d", root: "/src/shop", name: "shop", trust: "trusted" },
    ];
    /** What is asked before a session of a project opens: by its id, what makes the next question, or null. */
    this.questions = new Map();
    /** Files beside sessions, by session and name. */
    this.logs = new Map();
    /** Answers to these, newest last. */
    this.answers = [];
    this.addAsking("api", (language) => trustAsk("5e6f", { language }));
    this.seed();
  }

  seed() {
    const titles = [["fix", "shop-1a2b3c4d", "fix the coupon"], ["docs", "shop-1a2b3c4d", "docs of the release"], ["demo", "shop-1a2b3c4d", "the test of the calculator fails"], ["migrate", "api-5e6f7a8b", "migrate to the new schema"], ["long", "api-5e6f7a8b", "a very long session"], ["empty", "api-5e6f7a8b", ""]];
    titles.forEach(([id, project, title], at) => {
      const s = this.add(id, project, title);
      s.updated = new Date(Date.now() - at * 47 * MINUTE).toISOString();
      if (id !== "empty") s.log.push({ type: "meta", entry: 0, parent: null, ts: s.updated, schema_version: 1, session_id: id, root: "/src" });
    });
    this.seedFix(this.sessions.get("fix"));
    this.sessions.get("docs").closed = true;
    const demo = this.sessions.get("demo");
    demo.log = readFileSync(join(here, "recorded/demo.jsonl"), "utf8").trim().split("\n").map((line) => JSON.parse(line)).filter((event) => typeof event.entry === "number");
    demo.updated = new Date(Date.now() - 90 * MINUTE).toISOString();
    this.seedLong(this.sessions.get("long"), 10_000);
  }

  /** A project that is not trusted, with the question about it; `trust` then has the state of its badge. */
  addAsking(name, make, trust = "untrusted", id = `${name}-5e6f7a8b`) {
    this.projects.push({ id, root: `/src/${name}`, name, trust });
    this.questions.set(id, make);
    return id;
  }

  asksOf(id) {
    const made = this.questions.get(id)?.(this.language);
    return made ? [made] : [];
  }

  /** As the server does: what is put off stays open for the next session. */
  answerOf(id, { ask, choice, reason }) {
    const open = this.asksOf(id).find((one) => one.ask === ask && one.options.some((option) => option.id === choice));
    if (!open) return false;
    this.answers.push({ project: id, ask, choice, ...(reason === undefined ? {} : { reason }) });
    if (choice === "not_now") return true;
    this.projects.find((one) => one.id === id).trust = choice === "trust" ? "trusted" : "refused";
    this.questions.set(id, open.then ?? null);
    return true;
  }

  add(id, project, title) {
    const s = new Session(id, project, title);
    this.sessions.set(id, s);
    s.listeners.add((session, event) => this.deliver(session, event));
    return s;
  }

  seedFix(s) {
    const at = (n) => new Date(Date.now() - 300_000 + n * 1000).toISOString();
    const [test, edit] = [bash("python3 -m unittest"), editFile("shop/cart.py")];
    s.write("settings", { model: "anthropic/claude-sonnet-5" }, at(0));
    s.user("fix the failing test");
    s.log.at(-1).ts = at(1);
    s.write("message", { role: "assistant", text: "I'll run the test first.", parts: [{ reasoning: { text: "The person wants the failing test fixed. I should reproduce it before I change anything." } }, { text: { text: "I'll run the test first." } }, { call: { id: test.id } }] }, at(5));
    s.write("tool_use", test, at(5));
    s.write("tool_result", { tool_use_id: test.id, ok: true, duration_ms: 1214, output: { ok: true, data: { stdout: "F.\nAssertionError: 88 != 90\n\nRan 2 tests in 0.004s\n\nFAILED (failures=1)\n", stderr: "", exit_code: 1 } } }, at(7));
    s.use();
    s.write("message", { role: "assistant", text: "The coupon is taken as an amount; it should be a share of the price.", parts: [{ text: { text: "The coupon is taken as an amount; it should be a share of the price." } }, { call: { id: edit.id } }] }, at(12));
    s.write("tool_use", edit, at(12));
    s.write("approval", { tool_use_id: edit.id, decision: "session" }, at(13));
    s.write("tool_result", { tool_use_id: edit.id, ok: true, duration_ms: 31, output: { ok: true, data: { path: "/src/shop/shop/cart.py", diff: EDIT } } }, at(14));
    s.write("todo", { items: [{ text: "reproduce", state: "done" }, { text: "fix the discount", state: "done" }, { text: "clean build and tests", state: "in_progress" }] }, at(15));
    s.use();
    s.write("message", { role: "assistant", text: "Fixed: `net` takes **a tenth** now, not ten cents. Next I would build from scratch, to be sure nothing old is left.", parts: [] }, at(20));
    s.use();
    s.write("turn_end", { outcome: "done" }, at(21));
    s.turns = 1;
    s.diff = DIFF;
  }

  seedLong(s, size) {
    let n = 0;
    while (s.log.length < size) {
      const call = readCall(`src/part_${n}.rs`);
      s.write("message", { role: "user", text: `Question ${n}: what does part ${n} do?` });
      s.write("message", { role: "assistant", text: `Part ${n} ${"reads a line and counts its words. ".repeat(1 + (n % 7))}`, parts: [{ text: { text: `Part ${n} ${"reads a line and counts its words. ".repeat(1 + (n % 7))}` } }, { call: { id: call.id } }] });
      s.write("tool_use", call);
      s.write("tool_result", { tool_use_id: call.id, ok: true, duration_ms: 4, output: { ok: true, data: { path: call.input.path, content: "fn main() {}\n".repeat(3) } } });
      s.write("turn_end", { outcome: "done" });
      n++;
    }
    s.turns = n;
  }

  deliver(session, event) {
    const isEntry = typeof event.entry === "number";
    for (const stream of this.streams.values()) {
      if (stream.carries.has(session.id) && !stream.holds) stream.send(null, { session: session.id, event });
      if (isEntry || event.type === "ask" || event.type === "ask_closed") stream.sessions([session.row()]);
    }
  }

  listen(port = 0) {
    this.server = createServer((request, response) => {
      this.handle(request, response).catch((error) => this.problem(response, 500, "fatal", String(error?.stack ?? error)));
    });
    return new Promise((done) => this.server.listen(port, "127.0.0.1", () => done(`http://127.0.0.1:${this.server.address().port}`)));
  }

  close() {
    for (const stream of this.streams.values()) stream.response.destroy();
    this.server.closeAllConnections();
    return new Promise((done) => this.server.close(done));
  }

  /** Cuts every stream and refuses all calls, as a server that is away does. */
  goOffline() {
    this.offline = true;
    this.server.closeAllConnections();
  }

  problem(response, status, kind, detail) {
    if (response.headersSent) return response.destroy();
    response.writeHead(status, { "content-type": "application/problem+json" });
    response.end(JSON.stringify({ type: "about:blank", title: kind, status, detail, kind }));
  }

  json(response, body, status = 200) {
    response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
    response.end(body === undefined ? "" : JSON.stringify(body));
  }

  async handle(request, response) {
    if (this.offline) return request.socket.destroy();
    const url = new URL(request.url, "http://x");
    const parts = url.pathname.split("/").filter(Boolean).map(decodeURIComponent);
    if (parts[0] !== "api") return this.file(url, response);
    if (request.method !== "GET" && request.headers["x-ostler-csrf"] !== this.csrf) return this.problem(response, 403, "forbidden_origin", "no csrf");
    const body = request.method === "POST" || request.method === "PATCH" ? await read(request) : null;
    const route = { me: "me", projects: "projectsRoute", sessions: "sessionsRoute", events: "eventsRoute", usage: "usageRoute" }[parts[1]];
    if (!route) return this.problem(response, 404, "not_found", url.pathname);
    return this[route](request, response, parts.slice(2), url, body);
  }

  me(_, response) {
    this.json(response, { version: "0.1.0", auth_mode: "token", csrf: this.csrf, language: this.language });
  }

  usageRoute(_, response, __, url) {
    this.json(response, { rows: usage(Number(url.searchParams.get("days") ?? 30), this.projects.map((one) => one.id)) });
  }

  projectsRoute(request, response, [id, what], url, body) {
    if (!id && request.method === "GET") return this.json(response, { projects: this.projects });
    if (!id) {
      if (!body.root.startsWith("/src")) return this.problem(response, 404, "not_found", `There is no folder ${body.root}.`);
      const name = body.root.split("/").at(-1);
      const project = { id: `${name}-00000000`, root: body.root, name, trust: "not_needed" };
      this.projects.push(project);
      return this.json(response, project, 201);
    }
    if (what === "command") return this.json(response, { view: projectView(body.line) });
    if (what === "questions") return this.json(response, { asks: this.asksOf(id) });
    if (what === "answers") {
      if (this.answerOf(id, body)) return this.json(response, undefined, 204);
      return this.problem(response, 409, "conflict", this.language === "zh" ? "此问题已不再开放：内容已更改。" : "This question is not open any more: the content has changed.");
    }
    if (what === "files") {
      const q = url.searchParams.get("q") ?? "";
      const items = FILES.filter((path) => path.includes(q)).map((path) => ({ path: path.replace(/\/$/, ""), folder: path.endsWith("/") }));
      return this.json(response, { items, truncated: false });
    }
    return this.problem(response, 404, "not_found", id);
  }

  async sessionsRoute(request, response, [id, what], url, body) {
    if (!id && request.method === "GET") {
      const q = (url.searchParams.get("q") ?? "").toLowerCase();
      const rows = [...this.sessions.values()].filter((s) => !q || s.title.toLowerCase().includes(q) || s.log.slice(0, 500).some((e) => e.text?.toLowerCase().includes(q)));
      return this.json(response, { sessions: rows.map((s) => s.row()).sort((a, b) => (a.updated < b.updated ? 1 : -1)) });
    }
    if (!id && body.open?.resume) {
      const s = this.sessions.get(body.open.resume);
      s.closed = false;
      return this.json(response, this.opened(s), 201);
    }
    if (!id) {
      const s = this.add(randomUUID(), body.project, "");
      return this.json(response, this.opened(s), 201);
    }
    const s = this.sessions.get(id);
    if (!s) return this.problem(response, 404, "not_found", `There is no session ${id}.`);
    if (what === "entries") {
      const before = url.searchParams.has("before") ? Number(url.searchParams.get("before")) : Infinity;
      const older = s.log.filter((entry) => entry.entry < before);
      const limit = Number(url.searchParams.get("limit") ?? 200);
      return this.json(response, { entries: older.slice(-limit), more: older.length > limit });
    }
    if (what === "artifacts") {
      const kept = this.logs.get(`${id}/${url.pathname.split("/").at(-1)}`);
      if (kept === undefined) return this.problem(response, 404, "not_found", "Not found.");
      response.writeHead(200, { "content-type": "application/octet-stream" });
      return response.end(kept);
    }
    if (what === "ops") return this.op(response, s, body);
    if (what === "export") {
      response.writeHead(200, { "content-type": "text/plain", "content-disposition": "attachment; filename=session.txt" });
      return response.end(s.log.map((entry) => JSON.stringify(entry)).join("\n"));
    }
    if (request.method === "PATCH") {
      s.title = body.title;
      s.write("settings", { title: body.title });
      return this.json(response, undefined, 204);
    }
    if (request.method === "DELETE") {
      if (s.snap.working) return this.problem(response, 409, "conflict", "A turn works in this session.");
      this.sessions.delete(id);
      return this.json(response, undefined, 204);
    }
    s.closed = false;
    return this.json(response, this.opened(s));
  }

  opened(s) {
    return { id: s.id, project: s.project, head: s.head, snapshot: s.snapshot(), notes: [] };
  }

  op(response, s, op) {
    this.lastOp = op;
    if (op.op === "say" || op.op === "prompt") {
      const isCommand = /^\/\S/.test(op.text) && !op.images?.length;
      if (!isCommand) {
        this.prompt(s, op);
        return this.json(response, {}, 202);
      }
      return this.json(response, { replies: [{ op: op.id, command: op.text.slice(1), view: sessionView(s, op.text) }] });
    }
    if (op.op === "command") return this.json(response, { replies: [{ op: op.id, command: op.line, view: sessionView(s, op.line) }] });
    if (op.op === "answer") {
      s.answer(op.ask, op.choice, op.reason);
      return this.json(response, {}, 202);
    }
    if (op.op === "interrupt") void s.stop();
    if (op.op === "close") {
      s.closed = true;
      for (const stream of this.streams.values()) if (stream.carries.has(s.id)) stream.send("closed", { session: s.id });
      for (const stream of this.streams.values()) stream.sessions([s.row()]);
    }
    return this.json(response, {}, 202);
  }

  prompt(s, op) {
    if (s.log.some((entry) => entry.op === op.id)) return;
    if (s.snap.working) {
      s.delta({ type: "queue", prompts: [...s.snap.queue, { text: op.text, delivery: op.delivery ?? "queue" }] });
      s.waiting = [...(s.waiting ?? []), op];
      return;
    }
    s.stopped = false;
    s.failed = false;
    s.user(op.text, { op: op.id, ...(op.images ? { images: op.images } : {}) });
    s.playing = scriptOf(op.text)(s, op.text).then(() => {
      const [next, ...rest] = s.waiting ?? [];
      s.waiting = rest;
      if (!next) return;
      s.delta({ type: "queue", prompts: rest.map((one) => ({ text: one.text, delivery: one.delivery ?? "queue" })) });
      this.prompt(s, next);
    });
  }

  eventsRoute(request, response, [key], url, body) {
    if (key) {
      const stream = this.streams.get(key);
      if (!stream) return this.problem(response, 404, "not_found", "no such stream");
      for (const id of body.remove ?? []) stream.carries.delete(id);
      this.json(response, undefined, 204);
      for (const { session, after } of body.add ?? []) stream.add(session, after);
      return;
    }
    const name = url.searchParams.get("stream");
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    const stream = new Stream(this, response);
    this.streams.set(name, stream);
    response.write(": hello\n\n");
    for (const want of (url.searchParams.get("want") ?? "").split(",").filter(Boolean)) {
      const [id, after] = want.split(":");
      stream.add(id, after === undefined ? undefined : Number(after));
    }
    const beat = setInterval(() => response.write(": beat\n\n"), 15_000);
    response.on("close", () => {
      clearInterval(beat);
      this.streams.delete(name);
    });
  }

  async file(url, response) {
    const headers = { "content-security-policy": CSP, "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" };
    const path = normalize(url.pathname).replace(/^(\.\.[/\\])+/, "");
    const name = extname(path) ? path : "/index.html";
    try {
      const bytes = await readFile(join(this.dist, name));
      response.writeHead(200, { ...headers, "content-type": TYPES[extname(name)] ?? "application/octet-stream", "cache-control": name.startsWith("/assets/") ? "public, max-age=31536000, immutable" : "no-cache" });
      response.end(bytes);
    } catch {
      this.problem(response, 404, "not_found", path);
    }
  }
}

class Stream {
  constructor(mock, response) {
    Object.assign(this, { mock, response, carries: new Set() });
  }

  send(event, data) {
    this.response.write(`${event ? `event: ${event}\n` : ""}data: ${JSON.stringify(data)}\n\n`);
  }

  sessions(rows) {
    this.send("sessions", { sessions: rows });
  }

  add(id, after) {
    const s = this.mock.sessions.get(id);
    if (!s) return this.send("closed", { session: id });
    this.carries.add(id);
    this.send("snapshot", { session: id, snapshot: s.snapshot(), head: s.head });
    for (const entry of s.log) if (after === undefined || entry.entry > after) this.send(null, { session: id, event: entry });
  }
}

async function read(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString() || "{}");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const after = (name) => (process.argv.includes(name) ? process.argv[process.argv.indexOf(name) + 1] : undefined);
  const mock = new Mock({ language: after("--lang") ?? "en" });
  const at = await mock.listen(Number(after("--port") ?? 8790));
  if (process.argv.includes("--dev")) {
    const { createServer: vite } = await import("vite");
    const dev = await vite({ server: { proxy: { "/api": at } } });
    await dev.listen();
    dev.printUrls();
  } else console.log(at);
  const play = (id, script, text) => {
    const s = mock.sessions.get(id);
    s.user(text);
    void script(s);
  };
  if (process.argv.includes("--asks")) {
    play("migrate", approve, "migrate it");
    play("docs", question, "write the docs");
  }
}
