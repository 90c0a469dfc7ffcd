// What modes and postures are called, by their names in the log. Pure.

import type { Words } from "../words";

export function modeName(mode: string, words: Words): string {
  return mode === "normal" ? words.modes.normal : mode === "plan" ? words.modes.plan : mode === "goal" ? words.modes.goal : mode;
}

/** The names that the log has for what is done about questions. One that is not known is shown as it is. */
export function postureName(posture: string, { postures }: Words): string {
  const known: Record<string, string> = { ask: postures.ask, edits: postures.edits, auto: postures.auto, yolo: postures.yolo, refuse: postures.refuse, "yolo for commands": postures.commands };
  const left = /^auto for (.+)$/.exec(posture)?.[1];
  return left ? postures.autoFor(left) : (known[posture] ?? posture);
}
