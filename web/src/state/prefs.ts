// What this browser remembers: language, colours, drafts, what was sent. A browser that keeps nothing does no harm.

const PREFIX = "ostler.";
const MAX_HISTORY = 100;

export function recall(key: string): string | null {
  try {
    return localStorage.getItem(PREFIX + key);
  } catch {
    return null;
  }
}

export function keep(key: string, value: string | null): void {
  try {
    if (value === null || value === "") localStorage.removeItem(PREFIX + key);
    else localStorage.setItem(PREFIX + key, value);
  } catch {
    // Full, or forbidden.
  }
}

/** Where to come back to after the login, in this tab. */
export function leaveForLogin(): void {
  try {
    sessionStorage.setItem(`${PREFIX}return`, location.pathname);
  } catch {
    // Then it is the first page.
  }
  location.assign("/login");
}

export function comeBack(): string | null {
  try {
    const path = sessionStorage.getItem(`${PREFIX}return`);
    sessionStorage.removeItem(`${PREFIX}return`);
    return location.pathname === "/" ? path : null;
  } catch {
    return null;
  }
}

export function draftOf(session: string): string {
  return recall(`draft.${session}`) ?? "";
}

export function keepDraft(session: string, text: string): void {
  keep(`draft.${session}`, text);
}

/** What was sent and did not arrive. Pictures are not kept: they are too large. */
export function keepUnsent(session: string, list: { id: string; text: string; delivery: "steer" | "queue" }[]): void {
  keep(`unsent.${session}`, list.length ? JSON.stringify(list.map(({ id, text, delivery }) => ({ id, text, delivery }))) : null);
}

export function unsent(session: string): { id: string; text: string; delivery: "steer" | "queue" }[] {
  try {
    const read = JSON.parse(recall(`unsent.${session}`) ?? "[]") as unknown;
    return Array.isArray(read) ? (read as { id: string; text: string; delivery: "steer" | "queue" }[]) : [];
  } catch {
    return [];
  }
}

export function history(): string[] {
  try {
    const read = JSON.parse(recall("history") ?? "[]") as unknown;
    return Array.isArray(read) ? read.filter((line): line is string => typeof line === "string") : [];
  } catch {
    return [];
  }
}

export function addHistory(line: string): void {
  const lines = history().filter((known) => known !== line);
  keep("history", JSON.stringify([...lines, line.slice(0, 20_000)].slice(-MAX_HISTORY)));
}
