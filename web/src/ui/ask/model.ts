// What an ask says about its answers; the rules of crate `wire`, `ask.rs`. Nothing is known here of any single choice. Pure.

import type { Ask, Choice } from "../../wire";

export type TextUse = "answer" | "reason" | "nothing";

export interface Answer {
  choice: string;
  reason?: string;
}

export function options(ask: Ask): Choice[] {
  return ask.options ?? [];
}

export function refusal(ask: Ask): Choice | undefined {
  return options(ask).find((choice) => choice.refuses);
}

/** What becomes of a text that is typed while it is open. */
export function textUse(ask: Ask): TextUse {
  if (refusal(ask)?.takes === "reason") return "reason";
  return ask.free_text || options(ask).length === 0 ? "answer" : "nothing";
}

/** A choice that does not say is confirmed. */
export function needsConfirm(choice: Choice): boolean {
  return choice.confirm ?? true;
}

/** The index of the option that a key stands for: its own, or its number. */
export function byKey(ask: Ask, key: string): number {
  const own = options(ask).findIndex((choice) => choice.key !== undefined && choice.key.toLowerCase() === key.toLowerCase());
  if (own >= 0) return own;
  return /^[1-9]$/.test(key) && Number(key) <= options(ask).length ? Number(key) - 1 : -1;
}

/** The choice that a typed text is the exact name of: its key, its id, its label, or `yes` and `no` for these keys. */
export function named(ask: Ask, text: string): Choice | undefined {
  const word = text.trim().toLowerCase();
  const long: Record<string, string> = { y: "yes", n: "no" };
  return options(ask).find(({ key, id, label }) => {
    const low = key?.toLowerCase();
    return word !== "" && [low, low ? long[low] : undefined, id.toLowerCase(), label.toLowerCase()].includes(word);
  });
}

/** The answer that takes a choice. Where the preview was edited, a yes is one to the new text. */
export function take(ask: Ask, choice: Choice, edited: string | null): Answer {
  const edit = options(ask).find((one) => one.takes === "edited_text");
  if (edit && edited !== null && !choice.refuses) return { choice: edit.id, reason: edited };
  return { choice: choice.id };
}

export function leave(ask: Ask): Answer {
  return { choice: ask.silence?.choice ?? "" };
}

/** A typed text as the answer that it is, or null where there is no place for it. */
export function takeText(ask: Ask, text: string): Answer | null {
  // A blank may be a part of a password.
  if (ask.kind === "secret") return text ? { choice: text } : null;
  const words = text.trim();
  if (!words) return null;
  const use = textUse(ask);
  if (use === "reason") return { choice: refusal(ask)!.id, reason: words };
  return use === "answer" ? { choice: words } : null;
}
