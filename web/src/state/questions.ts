// What is to be answered about a project before a session of it opens: whether its files are trusted.

import { oneLine } from "../lib/clean";
import { ApiError, api } from "../net/api";
import type { Ask, Project } from "../wire";
import { change, say, words } from "./app";

/** What is open, and why an answer could not be taken. */
export interface Standing {
  asks: Ask[];
  problem: string;
  taken: boolean;
}

export function wantsTrust(projects: Project[], id: string): boolean {
  const trust = projects.find((one) => one.id === id)?.trust;
  return trust === "untrusted" || trust === "changed";
}

/** A server that knows of no questions has none. */
export async function fetchQuestions(project: string): Promise<Ask[]> {
  try {
    return await api.questions(project);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return [];
    throw error;
  }
}

/** Answers, and looks what is open then. What was answered here is not put again, even if it stays open for others. */
export async function answerQuestion(project: string, asks: Ask[], settled: Set<string>, ask: Ask, made: { choice: string; reason?: string }): Promise<Standing> {
  let problem = "";
  let taken = false;
  try {
    await api.answer(project, ask.ask, made.choice, made.reason);
    taken = true;
    settled.add(ask.ask);
  } catch (error) {
    problem = sentence(error);
    // It did not arrive: the same question stands.
    if (!(error instanceof ApiError) || error.isLink) return { asks, problem, taken };
  }
  const isOpen = (one: Ask) => !settled.has(one.ask);
  try {
    return { asks: (await fetchQuestions(project)).filter(isOpen), problem, taken };
  } catch (error) {
    return { asks: asks.filter(isOpen), problem: problem || sentence(error), taken };
  }
}

export async function refreshProjects(): Promise<void> {
  try {
    change({ projects: await api.projects() });
  } catch {
    // Shown as they were.
  }
}

/** For screen readers. */
export function tellQuestion(ask: Ask): void {
  say(words().saidAsk(oneLine(`${ask.title ?? ""} ${ask.subject}`.trim(), 300)), "urgent");
}

function sentence(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
