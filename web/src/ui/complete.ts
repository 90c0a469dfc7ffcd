// What is being typed that a menu can complete: a command at the beginning, a file after an @. Pure.

import type { CommandInfo } from "../wire";

export interface Completing {
  kind: "command" | "file";
  /** Where the word begins, its sign included. */
  from: number;
  to: number;
  word: string;
}

export function completing(text: string, caret: number): Completing | null {
  const before = text.slice(0, caret);
  const command = /^\/([\w:.-]*)$/.exec(before);
  if (command) return { kind: "command", from: 0, to: caret, word: command[1]! };
  const file = /(?:^|[\s(])@([^\s@]*)$/.exec(before);
  if (file) return { kind: "file", from: caret - file[1]!.length - 1, to: caret, word: file[1]! };
  return null;
}

/** Commands that begin with what was typed, then those that have it within. */
export function matchCommands(commands: CommandInfo[], word: string, max = 60): CommandInfo[] {
  const low = word.toLowerCase();
  const begin = commands.filter((one) => one.name.toLowerCase().startsWith(low));
  const within = commands.filter((one) => !begin.includes(one) && low.length > 1 && `${one.name} ${one.help}`.toLowerCase().includes(low));
  return [...begin, ...within].slice(0, max);
}

export function replaced(text: string, at: Completing, by: string): { text: string; caret: number } {
  const rest = text.slice(at.to);
  const gap = rest.startsWith(" ") || by.endsWith("/") ? "" : " ";
  return { text: text.slice(0, at.from) + by + gap + rest, caret: at.from + by.length + gap.length };
}
