// The calls of the HTTP API. Errors are sentences for the person.

import type { Ask, Entry, Op, Open, Opened, Project, Reply, SessionRow, UsageRow, View } from "../wire";

export interface Me {
  version: string;
  auth_mode: "none" | "token" | "password";
  csrf: string;
  language: "en" | "zh";
}

export class ApiError extends Error {
  constructor(readonly status: number, readonly kind: string, message: string) {
    super(message);
  }

  /** It did not arrive, or the server could not take it now: the same may be sent again. */
  get isLink(): boolean {
    return this.status === 0 || this.status === 502 || this.status === 503 || this.status === 504;
  }
}

/** Calls that change something wait until the page knows who is logged in. */
let known: (value: string) => void = () => {};
let csrf = new Promise<string>((done) => {
  known = done;
});

export function setCsrf(value: string): void {
  known(value);
  csrf = Promise.resolve(value);
}

async function call<T>(method: string, path: string, body?: unknown, again = false): Promise<T> {
  const headers: Record<string, string> = { accept: "application/json" };
  if (method !== "GET") headers["x-ostler-csrf"] = await csrf;
  if (body !== undefined) headers["content-type"] = "application/json";
  let answer: Response;
  try {
    answer = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch (error) {
    throw new ApiError(0, "offline", error instanceof Error ? error.message : String(error));
  }
  if (!answer.ok) {
    const failed = await problem(answer);
    // A server that was started anew has another one.
    if (failed.status === 403 && method !== "GET" && !again) {
      setCsrf((await call<Me>("GET", "/api/me")).csrf);
      return call(method, path, body, true);
    }
    throw failed;
  }
  if (answer.status === 204) return undefined as T;
  const text = await answer.text();
  return (text ? JSON.parse(text) : {}) as T;
}

async function problem(answer: Response): Promise<ApiError> {
  try {
    const told = (await answer.json()) as { kind?: string; detail?: string; title?: string };
    return new ApiError(answer.status, told.kind ?? "", told.detail || told.title || answer.statusText);
  } catch {
    return new ApiError(answer.status, "", answer.statusText || String(answer.status));
  }
}

const id = encodeURIComponent;

/** Bytes of the end of a job's output. */
const MAX_LOG = 200_000;

async function textOf(path: string): Promise<string> {
  const answer = await fetch(path);
  if (!answer.ok) throw await problem(answer);
  return answer.text();
}

export const api = {
  jobLog: (session: string, job: string) => textOf(`/api/sessions/${id(session)}/artifacts/job-${id(job)}.log?tail=${MAX_LOG}`),
  me: () => call<Me>("GET", "/api/me"),
  logout: () => call<void>("POST", "/logout"),
  projects: async () => (await call<{ projects: Project[] }>("GET", "/api/projects")).projects,
  addProject: (root: string) => call<Project>("POST", "/api/projects", { root }),
  forgetProject: (project: string) => call<void>("DELETE", `/api/projects/${id(project)}`),
  projectCommand: async (project: string, line: string) =>
    (await call<{ view: View }>("POST", `/api/projects/${id(project)}/command`, { line })).view,
  questions: async (project: string) => (await call<{ asks: Ask[] }>("GET", `/api/projects/${id(project)}/questions`)).asks,
  answer: (project: string, ask: string, choice: string, reason?: string) =>
    call<void>("POST", `/api/projects/${id(project)}/answers`, { ask, choice, ...(reason === undefined ? {} : { reason }) }),
  files: (project: string, q: string, limit = 30) =>
    call<{ items: { path: string; folder: boolean }[]; truncated: boolean }>("GET", `/api/projects/${id(project)}/files?q=${id(q)}&limit=${limit}`),
  usage: async (days: number) => (await call<{ rows: UsageRow[] }>("GET", `/api/usage?days=${days}`)).rows,
  sessions: async (q = "", limit = 500) =>
    (await call<{ sessions: SessionRow[] }>("GET", `/api/sessions?limit=${limit}${q ? `&q=${id(q)}` : ""}`)).sessions,
  open: (project: string, open: Open) => call<Opened>("POST", "/api/sessions", { project, open }),
  session: (session: string) => call<Opened>("GET", `/api/sessions/${id(session)}`),
  rename: (session: string, title: string) => call<void>("PATCH", `/api/sessions/${id(session)}`, { title }),
  remove: (session: string) => call<void>("DELETE", `/api/sessions/${id(session)}`),
  exportUrl: (session: string, format: string) => `/api/sessions/${id(session)}/export?format=${format}`,
  entries: (session: string, before?: number, limit = 200) =>
    call<{ entries: Entry[]; more: boolean }>("GET", `/api/sessions/${id(session)}/entries?limit=${limit}${before === undefined ? "" : `&before=${before}`}`),
  op: async (session: string, op: Op & { id: string; again?: boolean }) =>
    (await call<{ replies?: Reply[] }>("POST", `/api/sessions/${id(session)}/ops`, op)).replies ?? [],
};
