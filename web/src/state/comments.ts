// What the person noted on lines of a diff. It goes along with the next message, and is nowhere else until then.

import { createStore } from "../lib/store";

export interface Comment {
  key: number;
  path: string;
  /** By the numbers of the file as it is now; of a line that is gone, as it was. */
  line: number;
  gone: boolean;
  code: string;
  text: string;
}

/** By session. */
export const comments = createStore<{ [session: string]: Comment[] }>({});

const MAX = 50;
let count = 0;

export function addComment(session: string, comment: Omit<Comment, "key">): void {
  comments.set((now) => ({ ...now, [session]: [...(now[session] ?? []), { ...comment, key: ++count }].slice(-MAX) }));
}

export function dropComment(session: string, key: number): void {
  comments.set((now) => ({ ...now, [session]: (now[session] ?? []).filter((one) => one.key !== key) }));
}

export function dropComments(session: string): void {
  if (comments.get()[session]) comments.set(({ [session]: _, ...others }) => others);
}

/** The message with what was noted on lines, each below the line that it is about. */
export function withComments(message: string, notes: Comment[]): string {
  const told = notes.map((note) => `${note.path}:${note.line}${note.gone ? " (removed)" : ""}\n> ${note.code.trim() || "(empty line)"}\n${note.text}`);
  return [message, ...told].filter(Boolean).join("\n\n");
}
