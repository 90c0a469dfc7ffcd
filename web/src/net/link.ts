// A page's way to the hub: through the shared worker, or to a hub of its own where there is none.

import { Hub } from "./hub";
import type { FromHub, Port, ToHub } from "./messages";

export function openLink(hear: (message: FromHub) => void): (message: ToHub) => void {
  let wants: ToHub | null = null;
  let to = shared(hear, () => {
    to = own(hear);
    if (wants) to(wants);
  }) ?? own(hear);
  const send = (message: ToHub) => {
    if (message.t === "want") wants = message;
    to(message);
  };
  setInterval(() => send({ t: "alive" }), 60_000);
  addEventListener("online", () => send({ t: "now" }));
  return send;
}

/** `fails` is called where the worker cannot be loaded. */
function shared(hear: (message: FromHub) => void, fails: () => void): ((message: ToHub) => void) | null {
  if (typeof SharedWorker === "undefined") return null;
  try {
    const worker = new SharedWorker(new URL("./worker.ts", import.meta.url), { type: "module", name: "ostler" });
    worker.port.onmessage = (event: MessageEvent<FromHub>) => hear(event.data);
    worker.port.start();
    worker.onerror = fails;
    addEventListener("pagehide", () => worker.port.postMessage({ t: "bye" } satisfies ToHub));
    return (message) => worker.port.postMessage(message);
  } catch {
    return null;
  }
}

function own(hear: (message: FromHub) => void): (message: ToHub) => void {
  const hub = new Hub();
  const port: Port = { post: (message) => queueMicrotask(() => hear(message)) };
  hub.attach(port);
  return (message) => hub.hear(port, message);
}
