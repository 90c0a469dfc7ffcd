// What came of a call: a verb for it, a few facts for its title, and what stands below. Reads the envelope of any tool by the
// form that the call declares; no tool is known by its name.

import { parseDiff, totals, wholeFile, type FileDiff } from "../lib/diff";
import { bytes } from "../lib/format";
import type { Words } from "../words";
import type { CallTitle, Json, ResultForm, ToolResult, ToolUse } from "../wire";

export type Body =
  | { as: "output"; text: string }
  | { as: "hidden"; text: string }
  | { as: "code"; path: string; text: string }
  | { as: "diff"; files: FileDiff[] }
  | { as: "markdown"; text: string }
  | { as: "image"; type: string; data: string }
  /** The whole of an output that was cut, as a file of the session. */
  | { as: "artifact"; name: string }
  | { as: "answer"; text: string }
  | { as: "warning"; text: string }
  | { as: "error"; text: string };

export type CallState = "queued" | "asked" | "running" | "done" | "failed" | "denied" | "stopped";

export interface Outcome {
  facts: string[];
  failed: boolean;
  body: Body[];
}

type Fields = { [key: string]: Json };

function fields(value: Json | undefined): Fields {
  return value !== null && typeof value === "object" && !Array.isArray(value) ? value : {};
}

function text(of: Fields, key: string): string {
  const value = of[key];
  return typeof value === "string" ? value : "";
}

function number(of: Fields, key: string): number | null {
  const value = of[key];
  return typeof value === "number" ? value : null;
}

function list(of: Fields, key: string): Json[] {
  const value = of[key];
  return Array.isArray(value) ? value : [];
}

function pick(of: Fields, ...keys: string[]): string {
  return keys.map((key) => text(of, key)).find((found) => found !== "") ?? "";
}

const VERBS: Record<ResultForm, keyof Words["verbs"] | null> = {
  text: null, nothing: null, command: "ran", file: "read", edit: "edited", whole_file: "wrote", cell: "edited",
  matches: "searched", paths: "found", entries: "listed", web_results: "searchedWeb", page: "fetched", answer: "asked",
  time: "time", facts: "recalled", fact: "remembered", report: "delegated",
};
const BY_KIND: Record<CallTitle["kind"], keyof Words["verbs"] | null> = {
  read: "read", edit: "edited", run: "ran", net: "fetched", delegate: "delegated", memory: "recalled", talk: null, other: null,
};

/** What was done, as a verb; the tool's own name where nothing better is known. */
export function verb(call: ToolUse, words: Words, running: boolean): string {
  const table: Record<string, string> = running ? words.calling : words.called;
  const declared = table[call.title?.verb ?? ""];
  if (declared) return declared;
  const form = call.title?.result ?? "text";
  const key = VERBS[form] ?? (call.title ? BY_KIND[call.title.kind] : null);
  if (!key) return toolName(call.name);
  return running ? words.verbsNow[key] : words.verbs[key];
}

/** Those of servers are `server: tool`. */
export function toolName(name: string): string {
  const of = /^mcp__(.+?)__(.+)$/.exec(name);
  return of ? `${of[1]}: ${of[2]}` : name;
}

const MAX_SUBJECT = 1000;

export function subject(call: ToolUse): string {
  if (call.title) return (call.title.subject ?? "").slice(0, MAX_SUBJECT);
  const input = call.input;
  if (input === null) return "";
  if (typeof input !== "object" || Array.isArray(input)) return JSON.stringify(input).slice(0, MAX_SUBJECT);
  const parts = Object.entries(input).map(([key, value]) => `${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`);
  return parts.join(", ").replace(/\s+/g, " ").slice(0, MAX_SUBJECT);
}

/** The argument that the subject shows only the beginning of. */
export function wholeInput(call: ToolUse): string | null {
  if (!call.title) return JSON.stringify(call.input, null, 2);
  if (!call.title.body) return null;
  const whole = text(fields(call.input), call.title.body);
  return whole.trim() && whole.trim() !== call.title.subject ? whole : null;
}

export function stateOf(result: ToolResult | null, ended: boolean, asked: boolean, running: boolean): CallState {
  if (!result) return asked ? "asked" : ended ? "stopped" : running ? "running" : "queued";
  if (result.ok) return "done";
  const code = text(fields(fields(result.output).error), "code");
  if (code === "denied" || code === "blocked") return "denied";
  return code === "interrupted" ? "stopped" : "failed";
}

/** A call that hands over a list of things to do: how many of them are done. */
export function progressOf(call: ToolUse): string {
  const items = list(fields(call.input), "items").map((item) => text(fields(item), "state"));
  const isTodo = items.length > 0 && items.every((state) => state === "pending" || state === "in_progress" || state === "done");
  return isTodo ? `${items.filter((state) => state === "done").length}/${items.length}` : "";
}

export function readOutcome(call: ToolUse, result: ToolResult, words: Words): Outcome {
  const envelope = fields(result.output);
  if (envelope.error !== undefined && envelope.error !== null) {
    const message = text(fields(envelope.error), "message") || JSON.stringify(envelope.error);
    return { facts: [], failed: true, body: [{ as: "error", text: message }] };
  }
  const data = "data" in envelope ? envelope.data! : result.output;
  const of = fields(data);
  const input = fields(call.input);
  switch (call.title?.result ?? "text") {
    case "command":
      return command(of, words);
    case "file":
      return file(of, words);
    case "edit":
      return edit(of, call);
    case "whole_file":
      return written(of, input, words);
    case "cell":
      return { facts: [pick(of, "done")].filter(Boolean), failed: false, body: [{ as: "diff", files: [wholeFile(pick(of, "path"), pick(input, "source", "new_source"))] }] };
    case "matches":
      return listed(of, "matches", words.matches(number(of, "count") ?? list(of, "matches").length));
    case "paths":
      return listed(of, "paths", words.files(number(of, "total") ?? list(of, "paths").length));
    case "entries":
      return listed(of, "entries", words.entries(list(of, "entries").length));
    case "web_results":
      return webResults(of, words);
    case "page":
      return page(of);
    case "answer":
      return pick(of, "answer") ? { facts: [], failed: false, body: [{ as: "answer", text: pick(of, "answer") }] } : { facts: [words.nobodyAnswered], failed: false, body: [] };
    case "time":
      return { facts: [pick(of, "utc")].filter(Boolean), failed: false, body: [] };
    case "facts":
      return facts(of, words);
    case "fact":
      return { facts: [text(fields(of.fact), "name")].filter(Boolean), failed: false, body: [] };
    case "report":
      return { ...unknown(data, true), facts: [text(fields(of.worktree), "branch")].filter(Boolean) };
    case "nothing":
      return { facts: [], failed: false, body: [] };
    case "text":
      return unknown(data, false);
  }
}

function command(of: Fields, words: Words): Outcome {
  const [code, job] = [number(of, "exit_code"), text(of, "job")];
  const timedOut = of.timed_out === true;
  const out: string[] = [];
  if (job) out.push(text(of, "state") === "killed" ? words.jobKilled(job) : code === null ? words.jobRuns(job) : words.jobEnded(job, code));
  else if (code) out.push(words.exitCode(code));
  if (timedOut) out.push(words.timedOut);
  const said = [text(of, "stdout"), text(of, "stderr")].map((part) => part.replace(/\n+$/, "")).filter(Boolean).join("\n");
  const body: Body[] = said ? [{ as: "output", text: said }] : [];
  const artifact = text(of, "artifact").split(/[\\/]/).at(-1);
  if (artifact) body.push({ as: "artifact", name: artifact });
  const hint = text(fields(of.denied), "hint");
  if (hint) body.push({ as: "warning", text: hint });
  return { facts: out, failed: timedOut || (code !== null && code !== 0), body };
}

function file(of: Fields, words: Words): Outcome {
  const image = fields(of.image);
  if (text(image, "media_type")) {
    const size = `${number(of, "width") ?? "?"}×${number(of, "height") ?? "?"}`;
    const data = text(image, "data");
    return { facts: [text(image, "media_type"), size], failed: false, body: data ? [{ as: "image", type: text(image, "media_type"), data }] : [] };
  }
  if (typeof of.binary === "string") return { facts: [of.binary || words.binary, bytes(number(of, "bytes") ?? 0)], failed: false, body: [] };
  const content = text(of, "content");
  const count = content === "" ? 0 : content.replace(/\n$/, "").split("\n").length;
  return { facts: [words.lines(count)], failed: false, body: [{ as: "code", path: text(of, "path"), text: content }] };
}

function edit(of: Fields, call: ToolUse): Outcome {
  const edits = list(of, "edits").map(fields);
  const path = call.title?.subject || text(of, "path");
  const diffs = edits.length ? edits.map((one) => ({ path: text(one, "path") || path, diff: text(one, "diff") })) : [{ path, diff: text(of, "diff") }];
  const files = diffs.flatMap((one) => parseDiff(one.diff, one.path));
  const sum = totals(files);
  return { facts: [`+${sum.added} −${sum.removed}`], failed: false, body: [{ as: "diff", files }] };
}

function written(of: Fields, input: Fields, words: Words): Outcome {
  const path = pick(of, "path") || pick(input, "path", "file_path");
  if (typeof of.diff === "string") {
    const files = parseDiff(of.diff, path);
    const sum = totals(files);
    if (files.length === 0) return { facts: [words.notChanged], failed: false, body: [] };
    return { facts: [`+${sum.added} −${sum.removed}`], failed: false, body: [{ as: "diff", files }] };
  }
  const made = wholeFile(path, pick(input, "content", "contents", "text"));
  return { facts: [of.created === true ? words.newFile : words.overwritten, `+${made.added}`], failed: false, body: [{ as: "diff", files: [made] }] };
}

function listed(of: Fields, key: string, fact: string): Outcome {
  const items = list(of, key).filter((item): item is string => typeof item === "string");
  return { facts: [fact], failed: false, body: items.length ? [{ as: "hidden", text: items.join("\n") }] : [] };
}

function webResults(of: Fields, words: Words): Outcome {
  const results = list(of, "results").map(fields);
  const lines = results.map((r) => `${text(r, "title")}\n${text(r, "url")}\n${text(r, "snippet")}\n`);
  return { facts: [words.results(results.length)], failed: false, body: [{ as: "hidden", text: lines.join("\n") }] };
}

function page(of: Fields): Outcome {
  const status = number(of, "status");
  const facts = [status !== null && status !== 200 ? `HTTP ${status}` : "", pick(of, "title")].filter(Boolean);
  return { facts, failed: status !== null && status >= 400, body: [{ as: "hidden", text: text(of, "content") }] };
}

function facts(of: Fields, words: Words): Outcome {
  const found = list(of, "facts").map(fields);
  const lines = found.map((fact) => ["id", "name", "description", "content"].map((key) => text(fact, key)).filter(Boolean).join("  "));
  return { facts: [words.results(found.length)], failed: false, body: [{ as: "hidden", text: lines.join("\n") }] };
}

function unknown(data: Json, markdown: boolean): Outcome {
  const of = fields(data);
  const body: Body[] = [];
  if (text(of, "diff")) body.push({ as: "diff", files: parseDiff(text(of, "diff"), text(of, "path")) });
  const pieces = list(of, "content").map(fields);
  for (const piece of pieces) {
    if (text(piece, "type") === "image") body.push({ as: "image", type: text(piece, "mimeType") || text(piece, "media_type"), data: text(piece, "data") });
  }
  const texts = pieces.map((piece) => text(piece, "text")).filter(Boolean);
  const own = typeof data === "string" ? data : pick(of, "text", "content", "output", "message", "report");
  const shown = own || texts.join("\n") || (data === null || body.length ? "" : JSON.stringify(data, null, 2));
  if (shown) body.push({ as: markdown ? "markdown" : "output", text: shown });
  return { facts: [], failed: false, body };
}
