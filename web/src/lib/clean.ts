// Text of programs and models, made harmless to look at: no escape sequence, no control character, no letter that turns the
// reading direction works or hides what stands beside it.

// CSI, OSC (to BEL or ST), DCS and friends, and two-byte escapes.
const ESCAPES =
  /\u001b\[[0-?]*[ -/]*[@-~]|\u009b[0-?]*[ -/]*[@-~]|\u001b[\]PX^_][\s\S]*?(?:\u0007|\u001b\\|\u009c|$)|\u001b[ -/]*[0-~]?/g;
// C0 without tab and line feed, DEL, C1.
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
// Marks that turn or embed the direction, and letters without a shape.
const TURNS = /[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/gu;
const HAS_BAD = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/u;

const mark = (letter: string) => `⟨${letter.codePointAt(0)!.toString(16).toUpperCase()}⟩`;

/** A text with its hidden characters named by their numbers: nothing of it is left out, and nothing does more than stand there. */
export function clean(text: string): string {
  if (!HAS_BAD.test(text)) return text;
  return text.replace(/\r\n/g, "\n").replace(CONTROLS, mark).replace(TURNS, mark);
}

/** What a terminal would show of the output of a program: without colors, and with what was overwritten left out. Never for what
 * a person decides about. */
export function cleanOutput(text: string): string {
  if (!HAS_BAD.test(text)) return text;
  const lines = text.replace(/\r\n/g, "\n").replace(ESCAPES, "").split("\n");
  return clean(lines.map(overwrite).join("\n"));
}

/** What a terminal shows of a line that goes back to its beginning: what was written last. */
function overwrite(line: string): string {
  if (!line.includes("\r")) return line;
  const parts = line.split("\r").filter((part) => part !== "");
  return parts.at(-1) ?? "";
}

const MAX_BLANKS = 40;

/** Long runs of blanks within a line as a count, so that what stands behind them is seen. */
export function countBlanks(text: string): string {
  return text.replace(/(?:[^\S\n\r]|[\u2800\u115f\u1160\u3164\uffa0]){41,}/g, (run) =>
    run.length > MAX_BLANKS ? ` ·×${run.length} ` : run,
  );
}

/** What a person is asked about: clean, and with nothing pushed out of sight. */
export function cleanAsk(text: string): string {
  return countBlanks(clean(text));
}

/** One line, cut. */
export function oneLine(text: string, max = 200): string {
  const line = clean(text).replace(/\s+/g, " ").trim();
  return line.length > max ? `${line.slice(0, max - 1)}…` : line;
}

/** The last lines of a text, and how many come before. */
export function lastLines(text: string, count: number): { hidden: number; text: string } {
  const lines = text.replace(/\n+$/, "").split("\n");
  const hidden = Math.max(0, lines.length - count);
  return { hidden, text: lines.slice(hidden).join("\n") };
}
