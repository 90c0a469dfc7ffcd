// When a key may answer a question: not in the moment in which it appears, and not while somebody is typing. Pure.

/** Milliseconds that a question has to be in sight, and that typing has to pause. */
export const GUARD = 500;

let lastTyped = -Infinity;

/** A key was typed anywhere on the page. */
export function typed(at: number): void {
  lastTyped = at;
}

export function mayAnswer(shownAt: number, now: number, last = lastTyped): boolean {
  return now - shownAt >= GUARD && now - last >= GUARD;
}

/** For a finger: the question was there before it came down. */
export function mayPress(shownAt: number, now: number): boolean {
  return now - shownAt >= GUARD;
}
