// What the mock answers to commands: views in the shapes of the real ones.
import { DIFF } from "./scripts.mjs";

const command = (label, line) => ({ label, act: { command: line } });
const column = (name, key, kind = "text") => ({ name, key, kind });
const list = (title, items, more = {}) => ({ list: { title, items, ...more } });

const VIEWS = {
  mcp: { table: { columns: [column("name", "name"), column("type", "type"), column("", "disabled"), column("scope", "scope"), column("what", "target")], rows: [
    ["postgres", "stdio", { text: "on", value: false }, "user", "postgres-mcp --read-only"],
    ["browser", "http", { text: "on", value: false }, "project", "http://127.0.0.1:9/mcp"],
  ] } },
  memory: { table: { title: "Remembered", columns: [column("id", "id"), column("scope", "scope"), column("updated", "updated", "time"), column("name", "name"), column("description", "description", "prose")], label: "name", search: "memory search", rows: Array.from({ length: 14 }, (_, n) => ({
    cells: [`f${n}`, n % 3 ? "project" : "global", { text: `${n + 1}d`, value: "2026-11-11T11:00:00Z" }, `fact ${n}`, "tests run with python3 -m unittest, never with pytest"], marked: false, actions: [command("show", `memory show f${n}`), command("archive", `memory archive f${n}`)],
  })) } },
  permissions: { table: { columns: [column("list", "list"), column("rule", "rule"), column("where", "from"), column("note", "notes")], rows: [["mode", "normal", "", { text: "" }], ["approval", "ask", "", { text: "" }], ["allow", "Bash(python3 -m unittest *)", "ostler.toml", { text: "" }], ["deny", "Read(.env)", "user", { text: "" }]] } },
  "permissions list --since 30d": { table: { columns: [column("list", "list"), column("rule", "rule"), column("decided", "decided", "number"), column("layer", "layer"), column("where", "from"), column("note", "notes")], rows: [["deny", "Read(.env)", { text: "2", value: 2 }, "user", "~/.ostler/config.toml:4:9", { text: "", value: [] }], ["allow", "Bash(python3 -m unittest *)", { text: "41", value: 41 }, "project", "ostler.toml:2:10", { text: "", value: [] }]] } },
  "permissions suggest": { table: { columns: [column("asked", "count", "number"), column("rules", "rules"), column("example", "example", "prose")], rows: [[{ text: "12", value: 12 }, "Bash(git commit:*)", "git commit -m 'fix the parser'"]] } },
  "permissions audit": { report: { text: "    5  read_file shop/cart.py  [allow]\n       read     shop/cart.py\n", value: [] } },
  doctor: { table: { columns: [column("", "status"), column("", "topic"), column("", "text")], rows: [["ok", "version", "ostler 0.1.0 on linux x86_64"], ["ok", "model", "anthropic/claude-sonnet-5"], ["warning", "provider", "openai: no key (OPENAI_API_KEY is not set)"], ["ok", "sandbox", "namespaces active, with landlock 7"], ["error", "git", "no git on PATH"]], frame: { fields: {}, rows: "findings" } } },
  trust: { group: [{ text: "These files of the project decide what runs. Look at them before you trust them." }, { table: { title: "Wants trust", columns: ["file", "what it does"], rows: [[".mcp.json", "starts a server: browser"], ["ostler.toml", "adds a hook after each edit"]] } }, list("", [{ label: "trust these", actions: [command("trust", "trust yes")] }, { label: "leave them out", actions: [command("refuse", "trust no")] }])] },
  agents: { table: { title: "Roles", columns: [column("role", "name"), column("files", "filesystem"), column("model", "model"), column("description", "description", "prose"), column("", "shell", "data")], rows: [["builder", "read-write", "of the session", "Builds or changes something and verifies it", { text: "", value: true }], ["critic", "read-only", "of the session", "Finds what is wrong with a plan or a design", { text: "", value: true }]] } },
  skills: { table: { title: "Skills", columns: [column("skill", "name"), column("from", "from"), column("description", "description", "prose")], rows: [{ cells: ["commit", "built in", "Commit the changes, in the style of the project's history"], marked: false, actions: [{ label: "use", act: { do: { compose: "/commit " } } }, command("show", "skills commit")] }] } },
  cache: { report: { text: "request  shared  cached\n1        0 %     0 %\n2        96 %    91 %\n", remarks: ["one prompt broke the cache: the model was changed"] } },
  checkpoints: { table: { columns: [column("id", "id", "number"), column("when", "when", "time"), column("label", "label", "prose")], rows: [], empty: "No checkpoints yet." } },
  model: list("Model", [["anthropic/claude-sonnet-5", true], ["anthropic/claude-opus-5"], ["openai/gpt-6-codex"], ["ollama/qwen4-coder"]].map(([label, marked]) => ({ label, ...(marked ? { marked } : {}), actions: [command("use", `model ${label}`)] }))),
  effort: list("Effort", ["none", "minimal", "low", "medium", "high", "max"].map((label) => ({ label, actions: [command("use", `effort ${label}`)] }))),
  context: { group: [{ text: "`███░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░│░░░░░░░░░░░`\n\n█ used · ░ free · │ compacts here (80 %)" }, { table: {
    columns: [column("part", "part"), column("tokens", "tokens", "number"), column("share", "share", "number"), column("", "kind", "data")],
    rows: [["system prompt", 1217, "part"], ["tool schemas", 3389, "part"], ["your words and files", 60, "part"], ["tool results", 1033, "part"], ["total", 5699, "total"], ["free", 194_301, "free"], ["kept when compacting", 61, "compaction"]].map(([name, count, kind]) => [name, { text: count.toLocaleString("en"), value: count }, { text: `${Math.round(count / 2000)}%`, value: count / 200_000 }, { text: "", value: kind }]),
  } }] },
  status: { table: { columns: [], rows: [["model", "anthropic/claude-sonnet-5"], ["mode", "normal"], ["approval", "ask"]] } },
  theme: { do: { theme: "" } },
};

function rewind(session, words) {
  const said = session.log.filter((entry) => entry.type === "message" && entry.role === "user");
  if (words.length === 0) {
    const items = said.map((entry, at) => ({ label: `${at + 1}  ${entry.text.slice(0, 50)}`, detail: `10:2${at} · 2 files +4 -2`, actions: [command("rewind", `rewind ${at + 1}`), command("diff", `diff ${at + 1}`), command("fork", `fork ${at + 1}`)] }));
    return list("Rewind to before", items.reverse(), { empty: "nothing was said yet" });
  }
  const number = Number(words[0]);
  const point = said[number - 1];
  if (!point) return { error: `There is no prompt ${words[0]}.` };
  if (words.length === 1) {
    const kinds = [["files and conversation", "both"], ["files only", "code"], ["conversation only", "conversation"]];
    return list(`Rewind ${point.text}`, [...kinds.map(([label, kind]) => ({ label, actions: [command("rewind", `rewind ${number} ${kind}`)] })), { label: "leave everything as it is", actions: [{ label: "leave everything as it is", act: { do: { compose: "" } } }] }]);
  }
  if (words[1] === "file") {
    session.write("notice", { text: `${words.slice(2).join(" ")} is as it was.` });
    return { do: { compose: "" } };
  }
  const from = session.head;
  session.parent = point.parent;
  session.write("rewind", { what: words[1], from });
  session.write("notice", { text: `Took back “${point.text.slice(0, 40)}”: 2 files.` });
  session.diff = "";
  return { do: { compose: point.text } };
}

/** The servers as they stand in a session, and what can be done about each. */
function servers(session, [verb, name, tool]) {
  session.trusted ??= new Set();
  if (verb === "tools") {
    const is = session.trusted.has("query");
    return list(`Tools of ${name}`, [{ label: "query", detail: "Asks the database", marked: is, actions: [command(is ? "no longer while planning" : "trust while planning", `mcp ${is ? "untrust" : "trust"} ${name} query`)] }]);
  }
  if (verb === "trust" || verb === "untrust") {
    session.trusted[verb === "trust" ? "add" : "delete"](tool ?? "query");
    return { text: `Tools of ${name} that may be used while planning: ${[...session.trusted].join(", ") || "none"}.` };
  }
  if (verb === "reconnect") {
    session.connected = (session.connected ?? 0) + 1;
    return { text: `${name} is connected anew.` };
  }
  const actions = (of) => [command("tools", `mcp tools ${of}`), command("reconnect", `mcp reconnect ${of}`), command("trust its read-only tools while planning", `mcp trust ${of}`), { label: "copy login command", act: { do: { copy: `ostler mcp login ${of}` } } }];
  // It takes a moment, and two looks.
  const state = session.connected === 1 ? { text: "starting", value: "starting" } : { text: session.connected ? "ready" : "nothing listens at http://127.0.0.1:9/mcp: is the server running, and is that its address?", value: session.connected ? "ready" : "failed" };
  if (session.connected === 1) session.connected = 2;
  return { table: { title: "MCP servers", columns: [column("name", "name"), column("state", "state"), column("tools", "offers"), column("what", "server", "prose")], rows: [
    { cells: ["browser", state, { text: "" }, ""], marked: false, actions: actions("browser") },
    { cells: ["postgres", { text: "ready", value: "ready" }, "12 tools, 0 prompts, 0 resources", "postgres 2.1.0"], marked: true, actions: actions("postgres") },
  ] } };
}

/** The answer to a command of a session. */
export function sessionView(session, line) {
  const [name, ...words] = line.replace(/^\//, "").split(/\s+/).filter(Boolean);
  session.commands.push(line.replace(/^\//, ""));
  switch (name) {
    case "diff":
      return words.length ? { diff: DIFF } : session.diff ? { diff: session.diff } : { text: "Nothing was changed." };
    case "rewind":
      return rewind(session, words);
    case "mode": {
      const mode = words[0] === "next" ? (session.snap.mode.mode === "plan" ? "normal" : "plan") : words[0];
      if (!mode) return { text: `Mode: ${session.snap.mode.mode}` };
      session.write("mode", { mode, posture: session.snap.mode.posture });
      return { text: `Mode: ${mode}` };
    }
    case "approve": {
      if (!words[0]) return { text: `Approval: ${session.snap.mode.posture}` };
      session.write("mode", { mode: session.snap.mode.mode, posture: { all: "yolo for commands", none: "refuse", ask: "ask", edits: "edits", auto: "auto", yolo: "yolo" }[words[0]] ?? `auto for ${words[0]}` });
      return { text: `Approval: ${words[0]}` };
    }
    case "model":
      if (!words[0]) return VIEWS.model;
      session.write("settings", { model: words[0] });
      return { text: `Model: ${words[0]}` };
    case "mcp":
      return servers(session, words);
    case "kill":
      session.delta({ type: "tasks", tasks: [] });
      session.delta({ type: "jobs", running: [] });
      return { text: `${words[0]} was stopped.` };
    default:
      return VIEWS[name] ?? { error: `There is no command /${name}. Try /help.` };
  }
}

/** The answer to a command of a project. */
export function projectView(line) {
  const [name, ...words] = line.split(/\s+/);
  if (VIEWS[line]) return VIEWS[line];
  if (words.length > 0) return { text: `\`${line}\`: done.` };
  return VIEWS[name] ?? { error: `There is no command ${name}.` };
}

export function usage(days, projects) {
  const models = [["anthropic/claude-sonnet-5", 1], ["anthropic/claude-opus-5", 0.45], ["openai/gpt-6-codex", 0.3], ["ollama/qwen4-coder", 0.12]];
  const rows = [];
  for (let back = 0; back < days; back++) {
    const day = new Date(Date.now() - back * 86_400_000).toISOString().slice(0, 10);
    const weekday = new Date(day).getUTCDay();
    if (weekday === 0) continue;
    for (const [n, [model, share]] of models.entries()) {
      const wave = (Math.sin(back * 1.7 + n) + 1.3) * share;
      if (wave < 0.12) continue;
      const input = Math.round(900_000 * wave);
      rows.push({ day, project: projects[(back + n) % projects.length], model, requests: Math.round(90 * wave), input, cached: Math.round(input * (0.72 + 0.2 * Math.sin(back))), cache_write: 0, output: Math.round(26_000 * wave), cost: n === 3 ? 0 : +(3.1 * wave).toFixed(4) });
    }
  }
  return rows;
}
