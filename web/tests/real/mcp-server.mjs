// A small MCP server over stdio: its tool asks the person for an address before it answers.
import { createInterface } from "node:readline";

const FORM = { message: "Where shall it go?", requestedSchema: { type: "object", properties: { street: { type: "string", title: "Street" }, size: { type: "string", title: "Size", enum: ["small", "large"] }, gift: { type: "boolean", title: "Gift wrap" } }, required: ["street"] } };
const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
let call = null;

const METHODS = {
  initialize: () => ({ protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "shop", version: "1.0.0" } }),
  ping: () => ({}),
  "tools/list": () => ({ tools: [{ name: "order", description: "Orders something.", inputSchema: { type: "object", properties: {} } }] }),
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line);
  if (message.method === "tools/call") {
    call = message.id;
    say({ id: "form-1", method: "elicitation/create", params: FORM });
  } else if (message.id === "form-1") {
    say({ id: call, result: { content: [{ type: "text", text: `ordered: ${JSON.stringify(message.result ?? message.error)}` }] } });
  } else if (message.id !== undefined && message.method) {
    const answer = METHODS[message.method];
    say(answer ? { id: message.id, result: answer() } : { id: message.id, error: { code: -32601, message: "no such method" } });
  }
});
