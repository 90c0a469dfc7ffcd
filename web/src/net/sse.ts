// Reads a stream of server-sent events from bytes. Pure.

export interface Message {
  event: string;
  data: string;
}

export class SseReader {
  private rest = "";
  private event = "";
  private data: string[] = [];

  /** Takes what arrived and gives the messages that are whole. */
  take(text: string): Message[] {
    const out: Message[] = [];
    const lines = (this.rest + text).split(/\r\n|\n|\r/);
    this.rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "") {
        if (this.data.length > 0) out.push({ event: this.event || "message", data: this.data.join("\n") });
        this.event = "";
        this.data = [];
      } else if (line.startsWith("event:")) {
        this.event = line.slice(6).trim();
      } else if (line.startsWith("data:")) {
        this.data.push(line.slice(line[5] === " " ? 6 : 5));
      }
    }
    return out;
  }
}
