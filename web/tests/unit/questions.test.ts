import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { answerQuestion, fetchQuestions, wantsTrust } from "../../src/state/questions";
import { setCsrf } from "../../src/net/api";
import type { Ask, Project } from "../../src/wire";

const ask = (name: string): Ask => ({ ask: name, kind: "trust", subject: "?", options: [{ id: "trust", label: "trust", confirm: true }, { id: "not_now", label: "not now", refuses: true, confirm: false }] });
const json = (body: unknown, status = 200) => new Response(status === 204 ? null : JSON.stringify(body), { status });
const conflict = () => json({ kind: "conflict", status: 409, detail: "The content has changed." }, 409);
const sent: string[] = [];

/** A server that gives these answers, in this order. */
function serve(...answers: (() => Response | Promise<Response>)[]): void {
  vi.stubGlobal("fetch", (path: string, init: RequestInit) => {
    sent.push(`${init.method} ${path}${init.body ? ` ${String(init.body)}` : ""}`);
    return Promise.resolve().then(answers.shift() ?? (() => json({}, 500)));
  });
}

beforeEach(() => {
  sent.length = 0;
  setCsrf("c");
});
afterEach(() => void vi.unstubAllGlobals());

test("asked is about projects that are not trusted, or have changed", () => {
  const states: Project["trust"][] = ["not_needed", "trusted", "untrusted", "changed", "refused"];
  const projects = states.map((trust) => ({ id: trust, root: "/", name: trust, trust }));
  expect(states.filter((trust) => wantsTrust(projects, trust))).toEqual(["untrusted", "changed"]);
  expect(wantsTrust(projects, "other")).toBe(false);
});

test("a server without questions has none; another failure is one", async () => {
  serve(() => json({ detail: "?" }, 404), () => json({ detail: "broken" }, 500));
  expect(await fetchQuestions("a/b")).toEqual([]);
  await expect(fetchQuestions("p")).rejects.toThrow("broken");
  expect(sent[0]).toBe("GET /api/projects/a%2Fb/questions");
});

test("an answer may bring another question", async () => {
  serve(() => json(null, 204), () => json({ asks: [ask("two")] }));
  const next = await answerQuestion("p", [ask("one")], new Set(), ask("one"), { choice: "trust" });
  expect(next).toEqual({ asks: [ask("two")], problem: "", taken: true });
  expect(sent).toEqual(['POST /api/projects/p/answers {"ask":"one","choice":"trust"}', "GET /api/projects/p/questions"]);
});

test("what was put off is not put again here, even if it stays open", async () => {
  serve(() => json(null, 204), () => json({ asks: [ask("one")] }));
  expect((await answerQuestion("p", [ask("one")], new Set(), ask("one"), { choice: "not_now" })).asks).toEqual([]);
});

test("an answer that was not taken brings the questions as they are, and the sentence", async () => {
  serve(conflict, () => json({ asks: [ask("other")] }));
  const settled = new Set<string>();
  expect(await answerQuestion("p", [ask("one")], settled, ask("one"), { choice: "trust" })).toEqual({ asks: [ask("other")], problem: "The content has changed.", taken: false });
  serve(conflict, () => json({ asks: [ask("one")] }));
  expect((await answerQuestion("p", [ask("one")], settled, ask("one"), { choice: "trust" })).asks).toEqual([ask("one")]);
});

test("an answer that did not arrive leaves the question where it was", async () => {
  serve(() => Promise.reject(new TypeError("no link")));
  expect(await answerQuestion("p", [ask("one")], new Set(), ask("one"), { choice: "trust" })).toEqual({ asks: [ask("one")], problem: "no link", taken: false });
  expect(sent.length).toBe(1);
});

test("an answer that arrived is not asked for again when the questions cannot be read", async () => {
  serve(() => json(null, 204), () => json({ detail: "away" }, 503));
  expect(await answerQuestion("p", [ask("one"), ask("two")], new Set(), ask("one"), { choice: "never" })).toEqual({ asks: [ask("two")], problem: "away", taken: true });
});
