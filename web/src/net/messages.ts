// What a page and the hub say to each other. The hub is in the shared worker, or in the page where there is none.

import type { Event, SessionRow, Snapshot } from "../wire";

export interface Wanted {
  session: string;
  /** The last entry that is known. */
  after: number | null;
}

export type ToHub =
  | { t: "want"; sessions: Wanted[] }
  | { t: "alive" }
  /** Try to connect now: the person asked for it, or the network is back. */
  | { t: "now" }
  | { t: "bye" };

export type Link = "connecting" | "online" | "offline" | "login";

export type FromHub =
  | { t: "link"; link: Link }
  | { t: "snapshot"; session: string; snapshot: Snapshot; head: number | null }
  | { t: "event"; session: string; event: Event }
  | { t: "closed"; session: string }
  | { t: "sessions"; rows: SessionRow[] };

export interface Port {
  post(message: FromHub): void;
}
