// The shared worker: one hub for all tabs.

import { Hub } from "./hub";
import type { Port, ToHub } from "./messages";

const hub = new Hub();

self.addEventListener("connect", (event) => {
  const channel = (event as MessageEvent).ports[0]!;
  const port: Port = { post: (message) => channel.postMessage(message) };
  channel.onmessage = (heard: MessageEvent<ToHub>) => hub.hear(port, heard.data);
  hub.attach(port);
});
