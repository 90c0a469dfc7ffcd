// A session of the mock server: its log, how it stands, who listens, and the scripts that play in it.

const commands = [
  ["agents", "roles, the sub-agents that run, and those that ran"], ["approve", "who approves; a duration such as 10m asks again after it", "[ask|all|none|<duration>]"],
  ["bg", "run a prompt in the background, in a session of its own", "<prompt>"], ["clear", "discard this transcript and start anew"],
  ["compact", "fold older work into a digest now", "[focus]"], ["context", "what fills the context window, by part"], ["cost", "tokens and cost of this session"],
  ["diff", "what this session changed, or what its n-th prompt did", "[n]"], ["doctor", "what is there, what is missing, and what to do about it"],
  ["effort", "how hard the model thinks", "[none|minimal|low|medium|high|max]"], ["fork", "go on in a copy of this session", "[n]"], ["help", "this list", "[command]"],
  ["mcp", "servers of others: state, trust, reconnect", "[reconnect|trust|untrust NAME]"], ["memory", "what is remembered"], ["mode", "show or change the mode", "[normal|plan|goal|next]"],
  ["model", "choose the model, or go on with the one named", "[provider/model]"], ["permissions", "the rules that hold"], ["review", "Review the changes", "[what]"],
  ["rewind", "take back files, conversation or both", "[n|undo]"], ["status", "session, model, mode, tools and what the prompt weighs"], ["theme", "change the colours", "[name]"],
].map(([name, help, args = ""]) => ({ name, help, arguments: args }));

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

export class Session {
  constructor(id, project, title) {
    Object.assign(this, { id, project, title, log: [], listeners: new Set(), turns: 0, cost: 0, closed: false, playing: null, answers: new Map(), diff: "", commands: [] });
    this.updated = new Date().toISOString();
    this.failed = false;
    this.snap = {
      model: "anthropic/claude-sonnet-5", mode: { mode: "normal", posture: "ask" }, window: 200_000, commands, tasks: [], jobs: [], budget: null, asks: [], answer: "",
      reasoning: "", running: [], retry: null, queue: [], working: false, turn: null, clients: { ids: [1] },
    };
  }

  get head() {
    return this.log.at(-1)?.entry ?? null;
  }

  get state() {
    if (this.closed) return "closed";
    return this.snap.asks.length ? "asks" : this.snap.working ? "working" : this.failed ? "failed" : "idle";
  }

  row() {
    const { id, project, title, updated, turns, cost } = this;
    return { id, project, title, updated, turns, cost, bytes: this.log.length * 300, state: this.state };
  }

  /** Writes an entry and tells everybody. */
  write(type, body, ts) {
    const entry = { type, entry: this.log.length, parent: this.parent ?? this.head, ts: ts ?? new Date().toISOString(), ...body };
    this.parent = undefined;
    this.log.push(entry);
    this.updated = entry.ts;
    const { snap } = this;
    if (type === "message" && entry.role === "user") [snap.turn, snap.working] = [snap.working ? snap.turn : entry.entry, true];
    if (type === "message" && entry.role === "assistant") [snap.answer, snap.reasoning, snap.retry] = ["", "", null];
    if (type === "tool_result") snap.running = snap.running.filter((call) => call.id !== entry.tool_use_id);
    if (type === "usage") this.cost += entry.cost ?? 0;
    if (type === "turn_end") Object.assign(snap, { answer: "", reasoning: "", running: [], working: false });
    if (type === "mode") snap.mode = { mode: entry.mode, posture: entry.posture };
    if (type === "settings" && entry.model) snap.model = entry.model;
    this.tell(entry);
    return entry;
  }

  delta(event) {
    const { snap } = this;
    if (event.type === "assistant_delta") snap.answer += event.text;
    if (event.type === "reasoning_delta") snap.reasoning += event.text;
    if (event.type === "tool_started") snap.running = [...snap.running, { id: event.id, name: event.name, tail: "" }];
    if (event.type === "tool_output") snap.running = snap.running.map((call) => (call.id === event.id ? { ...call, tail: call.tail + event.chunk } : call));
    if (event.type === "retry") snap.retry = { after_ms: event.after_ms, attempt: event.attempt, reason: event.reason };
    if (event.type === "tasks") snap.tasks = event.tasks;
    if (event.type === "jobs") snap.jobs = event.running;
    if (event.type === "queue") snap.queue = event.prompts;
    if (event.type === "ask_closed") snap.asks = snap.asks.filter((ask) => ask.ask !== event.ask);
    this.tell({ ...event, ts: new Date().toISOString() });
  }

  tell(event) {
    for (const listener of this.listeners) listener(this, event);
  }

  /** Puts a question and waits for its answer. */
  ask(ask) {
    const full = { ask: `a${this.log.length}-${Math.random().toString(16).slice(2)}`, preview_format: "text", silence: { choice: "deny", reason: "nobody is there to answer", escape: "stop_turn" }, ...ask };
    this.snap.asks = [...this.snap.asks, full];
    this.tell({ type: "ask", ...full, ts: new Date().toISOString() });
    return new Promise((done) => this.answers.set(full.ask, done));
  }

  answer(id, choice, reason) {
    const ask = this.snap.asks.find((one) => one.ask === id);
    if (!ask) return false;
    const label = ask.options?.find((one) => one.id === choice)?.label ?? choice;
    this.lastAnswer = { choice, reason };
    this.delta({ type: "ask_closed", ask: id, by: 1, answer: label });
    this.answers.get(id)?.({ choice, reason });
    this.answers.delete(id);
    return true;
  }

  user(text, extra = {}) {
    if (!this.title) this.title = text.slice(0, 60);
    this.turns++;
    return this.write("message", { role: "user", text, ...(Array.isArray(extra) ? { images: extra } : extra) });
  }

  /** Streams an answer, then writes it. */
  async say(text, { thought = "", calls = [], pace = 8 } = {}) {
    for (const piece of thought.match(/\s*\S+/g) ?? []) await this.step({ type: "reasoning_delta", text: piece }, pace);
    for (const piece of text.match(/\s*\S+\s*?/g) ?? []) await this.step({ type: "assistant_delta", text: piece }, pace);
    if (this.stopped) return;
    const parts = [...(thought ? [{ reasoning: { text: thought } }] : []), ...(text ? [{ text: { text } }] : []), ...calls.map((call) => ({ call: { id: call.id } }))];
    this.write("message", { role: "assistant", text, parts, model: { provider: "anthropic", model: "claude-sonnet-5" }, stop: calls.length ? "calls" : "end" });
    for (const call of calls) this.write("tool_use", call);
    this.use();
  }

  async step(delta, pace) {
    if (this.stopped) return;
    this.delta(delta);
    if (pace) await sleep(pace);
  }

  use() {
    const input = 9000 + this.log.length * 310;
    const cached = Math.round(input * 0.89);
    this.write("usage", { provider: "anthropic", model: "claude-sonnet-5", input, cached, cache_write: 400, output: 180, cost: 0.0041 });
  }

  /** Plays a call with its output. */
  async call(call, data, { chunks = [], ok = true, ms = 40, error } = {}) {
    this.delta({ type: "tool_started", id: call.id, name: call.name });
    for (const chunk of chunks) {
      await sleep(ms);
      if (this.stopped) return;
      this.delta({ type: "tool_output", id: call.id, name: call.name, chunk });
    }
    const output = error ? { ok: false, error } : { ok: true, data };
    this.write("tool_result", { tool_use_id: call.id, output, ok, duration_ms: Math.max(3, chunks.length * ms + 12) });
  }

  end(outcome = "done") {
    this.write("turn_end", { outcome });
  }

  async stop() {
    if (!this.snap.working) return;
    this.stopped = true;
    for (const ask of this.snap.asks) this.delta({ type: "ask_closed", ask: ask.ask });
    this.write("interrupted", { role: "system", text: "Interrupted" });
    this.end("interrupted");
  }

  snapshot() {
    return structuredClone(this.snap);
  }
}
