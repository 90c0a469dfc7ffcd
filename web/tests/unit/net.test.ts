import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Hub } from "../../src/net/hub";
import type { FromHub } from "../../src/net/messages";
import { SseReader } from "../../src/net/sse";

test("messages are read whatever way they are cut", () => {
  const text = ": beat\n\nevent: snapshot\r\ndata: {\"a\":1}\r\n\r\ndata: x\ndata: y\n\n";
  for (let cut = 0; cut < text.length; cut++) {
    const reader = new SseReader();
    // A cut between \r and \n would be an empty line more, which ends nothing.
    const got = [...reader.take(text.slice(0, cut)), ...reader.take(text.slice(cut))];
    expect(got.filter((one) => one.data !== "")).toContainEqual({ event: "message", data: "x\ny" });
  }
});

interface Stream {
  url: string;
  send(event: string | null, data: unknown): void;
  cut(): void;
}

/** A server of streams that the test holds in its hands. */
function server() {
  const streams: Stream[] = [];
  const changes: unknown[] = [];
  const get = (async (url: string, init?: RequestInit) => {
    if (url === "/api/me") return Response.json({ csrf: "c" });
    if (init?.method === "POST") {
      changes.push(JSON.parse(String(init.body)));
      return new Response(null, { status: 204 });
    }
    let control!: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({ start: (made) => void (control = made) });
    init?.signal?.addEventListener("abort", () => control.error(new Error("cut")));
    streams.push({
      url,
      send: (event, data) => control.enqueue(new TextEncoder().encode(`${event ? `event: ${event}\n` : ""}data: ${JSON.stringify(data)}\n\n`)),
      cut: () => control.close(),
    });
    return new Response(body);
  }) as typeof fetch;
  return { get, streams, changes };
}

const settle = () => vi.advanceTimersByTimeAsync(1);
const notice = (entry: number) => ({ type: "notice", entry, parent: entry - 1, ts: "", text: "x" });

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("a link that is cut goes on from the cursor, and nothing comes twice", async () => {
  const { get, streams } = server();
  const hub = new Hub(get);
  const heard: FromHub[] = [];
  const port = { post: (message: FromHub) => void heard.push(message) };
  hub.attach(port);
  hub.hear(port, { t: "want", sessions: [{ session: "s", after: 4 }] });
  await settle();
  expect(streams[0]!.url).toContain(`want=${encodeURIComponent("s:4")}`);
  streams[0]!.send("snapshot", { session: "s", snapshot: { asks: [], running: [], answer: "" }, head: 4 });
  streams[0]!.send(null, { session: "s", event: notice(5) });
  await settle();
  streams[0]!.cut();
  await settle();
  expect(heard.at(-1)).toEqual({ t: "link", link: "offline" });
  await vi.advanceTimersByTimeAsync(1000);
  expect(streams[1]!.url).toContain(encodeURIComponent("s:5"));
  streams[1]!.send(null, { session: "s", event: notice(5) });
  streams[1]!.send(null, { session: "s", event: notice(6) });
  await settle();
  const numbers = heard.flatMap((message) => (message.t === "event" && "entry" in message.event ? [message.event.entry] : []));
  expect(numbers).toEqual([5, 6]);
});

test("a second tab gets how things stand from the hub", async () => {
  const { get, streams, changes } = server();
  const hub = new Hub(get);
  const [one, two]: FromHub[][] = [[], []];
  const [a, b] = [{ post: (m: FromHub) => void one!.push(m) }, { post: (m: FromHub) => void two!.push(m) }];
  hub.attach(a);
  await settle();
  hub.hear(a, { t: "want", sessions: [{ session: "s", after: 1 }] });
  await settle();
  expect(changes).toEqual([{ add: [{ session: "s", after: 1 }], remove: [] }]);
  streams[0]!.send("snapshot", { session: "s", snapshot: { asks: [], running: [], answer: "", reasoning: "" }, head: 1 });
  streams[0]!.send(null, { session: "s", event: { type: "assistant_delta", text: "Hel" } });
  await settle();
  hub.attach(b);
  hub.hear(b, { t: "want", sessions: [{ session: "s", after: 1 }] });
  streams[0]!.send(null, { session: "s", event: { type: "assistant_delta", text: "lo" } });
  await settle();
  expect(two).toMatchObject([{ t: "link", link: "online" }, { t: "snapshot", head: 1, snapshot: { answer: "Hel" } }, { t: "event", event: { text: "lo" } }]);
  expect(changes.length).toBe(1);
  hub.hear(a, { t: "bye" });
  expect(changes.length).toBe(1);
  hub.hear(b, { t: "bye" });
  await settle();
  expect(changes.at(-1)).toEqual({ add: [], remove: ["s"] });
});

test("a stream that is silent is begun anew", async () => {
  const { get, streams } = server();
  const hub = new Hub(get);
  hub.attach({ post: () => {} });
  await settle();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(streams.length).toBeGreaterThan(1);
});
