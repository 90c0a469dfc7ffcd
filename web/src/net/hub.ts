// The one stream of this browser: which sessions it carries, how far each has come, and which tabs want what. It connects
// again by itself, each session from its own cursor on, so nothing is lost and nothing comes twice.

import { follow, isEntry } from "../state/live";
import type { Event, Snapshot } from "../wire";
import type { FromHub, Link, Port, ToHub, Wanted } from "./messages";
import { SseReader, type Message } from "./sse";

/** Waits between tries, in milliseconds. */
const WAITS = [300, 700, 1500, 3000, 6000, 12_000];
/** The server writes at least a comment every 15 s. */
const SILENCE = 40_000;
/** A tab that said nothing for so long is gone. */
const TAB_GONE = 10 * 60_000;

interface Carried {
  cursor: number | null;
  live: Snapshot | null;
  /** Entries up to this one are in `live` already. */
  head: number | null;
}

interface Tab {
  wants: Set<string>;
  heard: number;
}

export class Hub {
  private tabs = new Map<Port, Tab>();
  private carried = new Map<string, Carried>();
  private key = "";
  private link: Link = "connecting";
  private tries = 0;
  private abort: AbortController | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private lastByte = 0;
  private csrf = "";
  private started = false;

  constructor(private readonly get: typeof fetch = (input, init) => fetch(input, init)) {
    setInterval(() => this.watch(), 5_000);
  }

  attach(port: Port): void {
    this.tabs.set(port, { wants: new Set(), heard: Date.now() });
    port.post({ t: "link", link: this.link });
    if (!this.started) {
      this.started = true;
      void this.connect();
    }
  }

  hear(port: Port, message: ToHub): void {
    if (message.t === "bye") {
      this.tabs.delete(port);
      this.drop();
      return;
    }
    const tab = this.tabs.get(port) ?? { wants: new Set<string>(), heard: 0 };
    this.tabs.set(port, tab);
    tab.heard = Date.now();
    if (message.t === "now") this.connectSoon();
    if (message.t === "want") this.want(port, tab, message.sessions);
  }

  private want(port: Port, tab: Tab, sessions: Wanted[]): void {
    const fresh: Wanted[] = [];
    for (const wanted of sessions) {
      const known = this.carried.get(wanted.session);
      if (!known) {
        this.carried.set(wanted.session, { cursor: wanted.after, live: null, head: null });
        fresh.push(wanted);
      } else if (!tab.wants.has(wanted.session) && known.live) {
        port.post({ t: "snapshot", session: wanted.session, snapshot: known.live, head: known.cursor });
      }
    }
    tab.wants = new Set(sessions.map((wanted) => wanted.session));
    const removed = this.unwanted();
    if (fresh.length > 0 || removed.length > 0) void this.change(fresh, removed);
  }

  /** Sessions that no tab wants any more. */
  private unwanted(): string[] {
    const wanted = new Set([...this.tabs.values()].flatMap((tab) => [...tab.wants]));
    const removed = [...this.carried.keys()].filter((session) => !wanted.has(session));
    for (const session of removed) this.carried.delete(session);
    return removed;
  }

  private drop(): void {
    const removed = this.unwanted();
    if (removed.length > 0) void this.change([], removed);
  }

  private async change(add: Wanted[], remove: string[]): Promise<void> {
    if (this.link !== "online") return;
    const body = { add: add.map(({ session, after }) => (after === null ? { session } : { session, after })), remove };
    try {
      const answer = await this.get(`/api/events/${this.key}`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-ostler-csrf": this.csrf },
        body: JSON.stringify(body),
      });
      if (!answer.ok) this.again();
    } catch {
      this.again();
    }
  }

  /** Ends the stream that is open and begins another one. */
  private again(): void {
    this.abort?.abort();
  }

  private connectSoon(): void {
    if (this.link === "online") return;
    this.tries = 0;
    clearTimeout(this.timer);
    if (!this.abort) void this.connect();
  }

  private async connect(): Promise<void> {
    const abort = new AbortController();
    this.abort = abort;
    this.lastByte = Date.now();
    let login = false;
    try {
      const me = await this.get("/api/me", { signal: abort.signal });
      login = me.status === 401;
      if (me.ok) {
        this.csrf = ((await me.json()) as { csrf: string }).csrf;
        await this.read(abort.signal);
      }
    } catch {
      // The link is down; the next try says more.
    }
    this.abort = null;
    this.say(login ? "login" : "offline");
    const wait = WAITS[Math.min(this.tries++, WAITS.length - 1)]!;
    this.timer = setTimeout(() => void this.connect(), wait * (0.8 + Math.random() * 0.4));
  }

  private async read(signal: AbortSignal): Promise<void> {
    this.key = `${Date.now().toString(36)}${Math.random().toString(36).slice(2)}${Math.random().toString(36).slice(2)}`;
    const asked = new Map([...this.carried].map(([session, { cursor }]) => [session, cursor]));
    const want = [...asked].map(([session, cursor]) => (cursor === null ? session : `${session}:${cursor}`)).join(",");
    const answer = await this.get(`/api/events?stream=${this.key}${want ? `&want=${encodeURIComponent(want)}` : ""}`, { signal, cache: "no-store" });
    if (!answer.ok || !answer.body) return;
    this.tries = 0;
    this.say("online");
    // What was wanted or not any more while the stream was on its way.
    const added = [...this.carried].filter(([session]) => !asked.has(session)).map(([session, { cursor }]) => ({ session, after: cursor }));
    const gone = [...asked.keys()].filter((session) => !this.carried.has(session));
    if (added.length > 0 || gone.length > 0) void this.change(added, gone);
    const [reader, decoder, sse] = [answer.body.getReader(), new TextDecoder(), new SseReader()];
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      this.lastByte = Date.now();
      for (const message of sse.take(decoder.decode(value, { stream: true }))) this.take(message);
    }
  }

  private take(message: Message): void {
    let data: Record<string, unknown>;
    try {
      data = JSON.parse(message.data) as Record<string, unknown>;
    } catch {
      return;
    }
    if (message.event === "sessions") {
      this.tell(null, { t: "sessions", rows: data.sessions as never });
      return;
    }
    const session = String(data.session ?? "");
    const known = this.carried.get(session);
    if (!known) return;
    if (message.event === "snapshot") {
      known.live = data.snapshot as Snapshot;
      known.head = (data.head as number | null | undefined) ?? null;
      this.tell(session, { t: "snapshot", session, snapshot: known.live, head: known.head });
    } else if (message.event === "closed") {
      this.tell(session, { t: "closed", session });
      // Whoever wants it again begins anew.
      this.carried.delete(session);
    } else {
      this.event(session, known, data.event as Event);
    }
  }

  private event(session: string, known: Carried, event: Event): void {
    let isOld = false;
    if (isEntry(event)) {
      if (known.cursor !== null && event.entry <= known.cursor) return;
      known.cursor = event.entry;
      isOld = known.head !== null && event.entry <= known.head;
    }
    if (known.live && !isOld) known.live = follow(known.live, event);
    this.tell(session, { t: "event", session, event });
  }

  private tell(session: string | null, message: FromHub): void {
    for (const [port, tab] of this.tabs) {
      if (session === null || tab.wants.has(session)) port.post(message);
    }
  }

  private say(link: Link): void {
    if (this.link === link) return;
    this.link = link;
    this.tell(null, { t: "link", link });
  }

  /** A stream that is silent is dead, and so is a tab. */
  private watch(): void {
    if (this.abort && Date.now() - this.lastByte > SILENCE) this.abort.abort();
    for (const [port, tab] of this.tabs) {
      if (Date.now() - tab.heard > TAB_GONE) this.tabs.delete(port);
    }
    this.drop();
  }
}
