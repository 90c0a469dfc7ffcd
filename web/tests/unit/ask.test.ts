import { expect, test } from "vitest";
import { mayAnswer, mayPress } from "../../src/ui/ask/guard";
import { byKey, leave, named, needsConfirm, take, takeText, textUse } from "../../src/ui/ask/model";
import type { Ask } from "../../src/wire";

const permission: Ask = {
  ask: "a", kind: "permission", subject: "rm", silence: { choice: "deny", escape: "stop_turn" },
  options: [{ id: "once", label: "yes", key: "y", confirm: false }, { id: "always", label: "always", key: "a" }, { id: "other", label: "no key", confirm: false }, { id: "deny", label: "no", key: "n", takes: "reason", refuses: true, confirm: false }],
};
const plan: Ask = { ...permission, kind: "plan", options: [{ id: "approve", label: "ok", key: "y", confirm: false }, { id: "edit", label: "edit", key: "e", takes: "edited_text", confirm: false }, { id: "keep", label: "no", key: "n", refuses: true, confirm: false }] };
const question: Ask = { ask: "q", kind: "question", subject: "?", free_text: true, options: [{ id: "A", label: "A", confirm: false }] };

test("keys are those of the ask, and numbers", () => {
  expect(["y", "Y", "a", "n", "3", "4", "5", "0", "x"].map((key) => byKey(permission, key))).toEqual([0, 0, 1, 3, 2, 3, -1, -1, -1]);
});

test("a choice that does not say whether it lasts is confirmed", () => {
  expect(permission.options!.map(needsConfirm)).toEqual([false, true, false, false]);
});

test("a text goes with a no, or is an answer; never with a yes", () => {
  expect(textUse(permission)).toBe("reason");
  expect(takeText(permission, " too broad ")).toEqual({ choice: "deny", reason: "too broad" });
  expect(takeText(question, "B")).toEqual({ choice: "B" });
  expect(takeText(question, "  ")).toBeNull();
  expect(takeText(plan, "yes")).toBeNull();
  expect(textUse({ ask: "b", kind: "question", subject: "?" })).toBe("answer");
});

test("a yes to an edited plan is one to the new text", () => {
  expect(take(plan, plan.options![0]!, null)).toEqual({ choice: "approve" });
  expect(take(plan, plan.options![0]!, "new")).toEqual({ choice: "edit", reason: "new" });
  expect(take(plan, plan.options![2]!, "new")).toEqual({ choice: "keep" });
  expect(leave(permission)).toEqual({ choice: "deny" });
});

test.each([
  [0, 499, -Infinity, false],
  [0, 500, -Infinity, true],
  [0, 900, 600, false],
  [0, 1100, 600, true],
  [Infinity, 5000, -Infinity, false],
])("shown at %d, now %d, typed at %d: %s", (shown, now, typed, expected) => {
  expect(mayAnswer(shown, now, typed)).toBe(expected);
});

test("a finger that was on its way does not answer", () => {
  expect([mayPress(0, 300), mayPress(0, 500)]).toEqual([false, true]);
});

test.each([["y", "once"], [" YES ", "once"], ["always", "always"], ["no", "deny"], ["no key", "other"], ["yes please", undefined], ["s", undefined], ["", undefined]])("%j names %j", (text, id) => {
  expect(named(permission, text)?.id).toBe(id);
});
