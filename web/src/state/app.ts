// What the page knows, in one store, and the choices that hold for all of it: route, language, colours.

import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { createStore, useStore } from "../lib/store";
import type { Link } from "../net/messages";
import type { Me } from "../net/api";
import type { Ask, Image, List, Open, Project, SessionRow, Snapshot, View } from "../wire";
import { wordsOf, type Language, type Words } from "../words";
import { keep, recall } from "./prefs";
import type { Transcript } from "./transcript";

export type Route =
  | { at: "home" }
  | { at: "session"; id: string }
  | { at: "panel"; project: string; panel: string }
  /** What is asked before a session opens. Loaded anew, it is the panel of trust, which asks the same and opens nothing. */
  | { at: "start"; project: string; open: Open; asks: Ask[]; round: number; first?: First };
/** What is said in a session as soon as it is open. */
export interface First {
  text: string;
  images: Image[];
  /** In this mode; left out, in the usual one. */
  mode?: string;
}

export type Theme = "auto" | "light" | "dark";

/** An answer to a command that is shown among the rows: it is in no log. */
export interface Shown {
  key: string;
  /** The newest row at the time. */
  after: number;
  command: string;
  view: View;
}

export interface Pending {
  id: string;
  text: string;
  images: Image[];
  delivery: "steer" | "queue";
  sent: boolean;
  failed: boolean;
}

export interface SessionView {
  id: string;
  project: string;
  transcript: Transcript;
  live: Snapshot;
  /** Entries up to this one are in `live` already. */
  head: number | null;
  status: "loading" | "ready" | "failed";
  failure: string;
  closed: boolean;
  deleted?: boolean;
  loadingOlder: boolean;
  shown: Shown[];
  pending: Pending[];
  /** A unified diff of what the session changed. */
  changes: string;
  /** When the running calls and the reasoning began, by the clock of this page. */
  since: Map<string, number>;
}

export type Dialog =
  | { at: "view"; session: string | null; project: string; command: string; view: View }
  | { at: "rewind"; session: string; list: List; entry?: number }
  | { at: "palette" }
  | { at: "keys" }
  | { at: "agent"; session: string; child: string; name: string; title: string }
  | { at: "job"; session: string; name: string }
  /** One picture, as large as it fits. */
  | { at: "picture"; source: string }
  | { at: "settings" }
  | { at: "project" }
  | { at: "changes"; session: string; file: string }
  | { at: "rename"; session: string }
  | { at: "remove"; session: string }
  | { at: "leave"; session: string };

export interface App {
  me: Me | null;
  language: Language;
  theme: Theme;
  route: Route;
  link: Link;
  /** It was online before. */
  wasOnline: boolean;
  projects: Project[];
  rows: SessionRow[];
  listed: boolean;
  sessions: { [id: string]: SessionView };
  /** The session that was looked at last. */
  lastSession: string;
  dialog: Dialog | null;
  /** The left sheet and the right drawer, where the window is narrow. */
  sheet: "left" | "right" | null;
  toasts: { key: number; text: string; tone: "plain" | "bad" }[];
  /** For screen readers. */
  polite: string;
  urgent: string;
}

export function parseRoute(path: string): Route {
  const [, first, second, third] = path.split("/").map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  if (first === "s" && second) return { at: "session", id: second };
  if (first === "p" && second && third) return { at: "panel", project: second, panel: third };
  return { at: "home" };
}

export function pathOf(route: Route): string {
  if (route.at === "session") return `/s/${encodeURIComponent(route.id)}`;
  if (route.at === "panel") return `/p/${encodeURIComponent(route.project)}/${encodeURIComponent(route.panel)}`;
  return route.at === "start" ? `/p/${encodeURIComponent(route.project)}/trust` : "/";
}

const told = typeof location === "undefined" ? "/" : location.pathname;

export const app = createStore<App>({
  me: null,
  language: (recall("language") as Language | null) ?? (typeof navigator !== "undefined" && navigator.language.startsWith("zh") ? "zh" : "en"),
  theme: (recall("theme") as Theme | null) ?? "auto",
  route: parseRoute(told),
  link: "connecting",
  wasOnline: false,
  projects: [],
  rows: [],
  listed: false,
  sessions: {},
  lastSession: "",
  dialog: null,
  sheet: null,
  toasts: [],
  polite: "",
  urgent: "",
});

export function change(part: Partial<App>): void {
  app.set((now) => ({ ...now, ...part }));
}

export function useApp<P>(pick: (value: App) => P): P {
  return useStore(app, pick);
}

export const WordsContext = createContext<Words>(wordsOf("en"));

export function useWords(): Words {
  return useContext(WordsContext);
}

export function words(): Words {
  return wordsOf(app.get().language);
}

export function go(route: Route, how: "push" | "replace" = "push"): void {
  const path = pathOf(route);
  if (path !== location.pathname) {
    if (how === "push") history.pushState(null, "", path);
    else history.replaceState(null, "", path);
  }
  change({ route, sheet: null, dialog: null });
}

export function setTheme(theme: Theme): void {
  keep("theme", theme === "auto" ? null : theme);
  change({ theme });
  showTheme(theme);
}

export function showTheme(theme: Theme): void {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

export function setLanguage(language: Language): void {
  keep("language", language);
  change({ language });
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
}

let toastKey = 0;

export function toast(text: string, tone: "plain" | "bad" = "plain"): void {
  const key = ++toastKey;
  app.set((now) => ({ ...now, toasts: [...now.toasts.slice(-3), { key, text, tone }] }));
  setTimeout(() => app.set((now) => ({ ...now, toasts: now.toasts.filter((one) => one.key !== key) })), tone === "bad" ? 9000 : 3500);
}

export function say(text: string, how: "polite" | "urgent" = "polite"): void {
  change(how === "polite" ? { polite: text } : { urgent: text });
}

export function sessionTitle(now: App, id: string): string {
  const own = now.sessions[id]?.transcript.title;
  const row = now.rows.find((one) => one.id === id);
  return own || row?.title || id.slice(0, 8);
}

export type Sign = "working" | "asks" | "background" | "idle" | "failed" | "closed";

/** How a session stands, from what is known best. */
export function signOf(row: SessionRow | undefined, view: SessionView | undefined): Sign {
  if (view?.status === "ready" && !view.closed) {
    if (view.live.asks.length > 0) return "asks";
    if (view.live.working) return "working";
    if (view.live.tasks.length > 0 || view.live.jobs.length > 0) return "background";
  }
  return !row || row.state === "deleted" ? "closed" : row.state;
}

export function asksOf(now: App): { session: string; ask: Ask }[] {
  return Object.values(now.sessions).flatMap((view) => view.live.asks.map((ask) => ({ session: view.id, ask })));
}
