// Unified diffs as files, hunks and lines; pairs for two columns; marks on the words that differ. Draws nothing.

export type LineKind = "same" | "add" | "del";

export interface DiffLine {
  kind: LineKind;
  text: string;
  old: number | null;
  new: number | null;
}

export interface Hunk {
  oldStart: number;
  newStart: number;
  /** Unchanged lines between the hunk before and this one, where that is known. */
  skipped: number;
  heading: string;
  lines: DiffLine[];
}

export interface FileDiff {
  path: string;
  from: string | null;
  status: "changed" | "new" | "gone";
  hunks: Hunk[];
  added: number;
  removed: number;
  note: string;
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/;
/** Lines of one diff that are read. */
export const MAX_DIFF_LINES = 20_000;

function name(line: string): string | null {
  const path = line.slice(4).split("\t")[0] ?? "";
  if (path === "/dev/null") return null;
  return path.replace(/^[ab]\//, "");
}

interface Reader {
  files: FileDiff[];
  file: FileDiff | null;
  hunk: Hunk | null;
  old: number;
  new: number;
  oldLeft: number;
  newLeft: number;
}

function begin(reader: Reader, path: string): FileDiff {
  const file: FileDiff = { path, from: null, status: "changed", hunks: [], added: 0, removed: 0, note: "" };
  reader.files.push(file);
  reader.file = file;
  reader.hunk = null;
  return file;
}

/** Reads a unified diff. `path` names the file of one that has no header. */
export function parseDiff(text: string, path = ""): FileDiff[] {
  const reader: Reader = { files: [], file: null, hunk: null, old: 0, new: 0, oldLeft: 0, newLeft: 0 };
  const lines = text.replace(/\n$/, "").split("\n").slice(0, MAX_DIFF_LINES);
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!;
    const inHunk = reader.hunk !== null && (reader.oldLeft > 0 || reader.newLeft > 0);
    if (inHunk && readLine(reader, line)) continue;
    if (line.startsWith("diff --git ")) {
      begin(reader, line.split(" b/").at(-1) ?? path);
    } else if (line.startsWith("--- ") && lines[at + 1]?.startsWith("+++ ")) {
      header(reader, line, lines[at + 1]!, path);
      at++;
    } else if (HUNK.test(line)) {
      openHunk(reader, line, path);
    } else if (reader.file && /^(new file|deleted file|rename|Binary|similarity|old mode|new mode)/.test(line)) {
      if (line.startsWith("new file")) reader.file.status = "new";
      if (line.startsWith("deleted file")) reader.file.status = "gone";
      reader.file.note = line;
    }
  }
  return reader.files;
}

function header(reader: Reader, before: string, after: string, path: string): void {
  const from = name(before);
  const to = name(after);
  const fresh = !reader.file || reader.file.hunks.length > 0;
  const file = fresh ? begin(reader, path) : reader.file!;
  file.path = to ?? from ?? path;
  file.from = from !== to ? from : null;
  if (from === null) file.status = "new";
  if (to === null) file.status = "gone";
}

function openHunk(reader: Reader, line: string, path: string): void {
  const found = HUNK.exec(line)!;
  const file = reader.file ?? begin(reader, path);
  const [oldStart, newStart] = [Number(found[1]), Number(found[3])];
  const last = file.hunks.at(-1);
  const end = last ? last.newStart + last.lines.filter((l) => l.kind !== "del").length : 1;
  reader.hunk = { oldStart, newStart, skipped: Math.max(0, newStart - end), heading: found[5] ?? "", lines: [] };
  file.hunks.push(reader.hunk);
  [reader.old, reader.new] = [oldStart, newStart];
  reader.oldLeft = found[2] === undefined ? 1 : Number(found[2]);
  reader.newLeft = found[4] === undefined ? 1 : Number(found[4]);
}

function readLine(reader: Reader, line: string): boolean {
  const [file, hunk] = [reader.file!, reader.hunk!];
  const mark = line[0] ?? " ";
  const text = line.slice(1);
  if (mark === "+") {
    hunk.lines.push({ kind: "add", text, old: null, new: reader.new++ });
    reader.newLeft--;
    file.added++;
  } else if (mark === "-") {
    hunk.lines.push({ kind: "del", text, old: reader.old++, new: null });
    reader.oldLeft--;
    file.removed++;
  } else if (mark === " ") {
    hunk.lines.push({ kind: "same", text, old: reader.old++, new: reader.new++ });
    reader.oldLeft--;
    reader.newLeft--;
  } else {
    return mark === "\\";
  }
  return true;
}

/** A new file as a diff from nothing. */
export function wholeFile(path: string, text: string): FileDiff {
  const body = text.replace(/\n$/, "").split("\n").slice(0, MAX_DIFF_LINES);
  const lines = body.map((line, at): DiffLine => ({ kind: "add", text: line, old: null, new: at + 1 }));
  const hunk: Hunk = { oldStart: 0, newStart: 1, skipped: 0, heading: "", lines };
  return { path, from: null, status: "new", hunks: [hunk], added: lines.length, removed: 0, note: "" };
}

export interface Span {
  text: string;
  marked: boolean;
}

export interface Pair {
  left: DiffLine | null;
  right: DiffLine | null;
  leftSpans: Span[] | null;
  rightSpans: Span[] | null;
}

/** Lines beside each other: what was taken away at the left of what came instead. */
export function pairs(lines: DiffLine[]): Pair[] {
  const out: Pair[] = [];
  for (let at = 0; at < lines.length; ) {
    const line = lines[at]!;
    if (line.kind === "same") {
      out.push({ left: line, right: line, leftSpans: null, rightSpans: null });
      at++;
      continue;
    }
    const dels: DiffLine[] = [];
    const adds: DiffLine[] = [];
    while (lines[at]?.kind === "del") dels.push(lines[at++]!);
    while (lines[at]?.kind === "add") adds.push(lines[at++]!);
    for (let n = 0; n < Math.max(dels.length, adds.length); n++) {
      const [left, right] = [dels[n] ?? null, adds[n] ?? null];
      const words = left && right ? wordSpans(left.text, right.text) : null;
      out.push({ left, right, leftSpans: words?.[0] ?? null, rightSpans: words?.[1] ?? null });
    }
  }
  return out;
}

const WORD = /[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu;
const MAX_WORDS = 240;

/** The words that differ between two lines, or null where the lines have too little in common for marks to help. */
export function wordSpans(before: string, after: string): [Span[], Span[]] | null {
  const a = before.match(WORD) ?? [];
  const b = after.match(WORD) ?? [];
  if (a.length > MAX_WORDS || b.length > MAX_WORDS) return null;
  const table = common(a, b);
  const [left, right]: [Span[], Span[]] = [[], []];
  let [i, j, same] = [0, 0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      same += a[i]!.trim().length;
      push(left, a[i++]!, false);
      push(right, b[j++]!, false);
    } else if (j >= b.length || (i < a.length && table[(i + 1) * (b.length + 1) + j]! >= table[i * (b.length + 1) + j + 1]!)) {
      push(left, a[i++]!, true);
    } else {
      push(right, b[j++]!, true);
    }
  }
  const longest = Math.max(before.trim().length, after.trim().length);
  return same * 3 < longest ? null : [left, right];
}

/** Lengths of the longest common subsequences of the tails. */
function common(a: string[], b: string[]): Uint16Array {
  const width = b.length + 1;
  const table = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const skip = Math.max(table[(i + 1) * width + j]!, table[i * width + j + 1]!);
      table[i * width + j] = a[i] === b[j] ? table[(i + 1) * width + j + 1]! + 1 : skip;
    }
  }
  return table;
}

function push(spans: Span[], text: string, marked: boolean): void {
  const last = spans.at(-1);
  if (last && last.marked === marked) last.text += text;
  else spans.push({ text, marked });
}

/** Lines of a hunk with long unchanged runs apart, to be folded. */
export function foldRuns(list: Pair[], around = 3, least = 8): (Pair | { folded: Pair[] })[] {
  const out: (Pair | { folded: Pair[] })[] = [];
  for (let at = 0; at < list.length; ) {
    let end = at;
    while (end < list.length && list[end]!.left !== null && list[end]!.left === list[end]!.right) end++;
    const head = at === 0 ? 0 : around;
    const tail = end === list.length ? 0 : around;
    if (end - at > head + tail + least) {
      out.push(...list.slice(at, at + head), { folded: list.slice(at + head, end - tail) }, ...list.slice(end - tail, end));
    } else {
      out.push(...list.slice(at, end));
    }
    at = end;
    if (at < list.length) out.push(list[at++]!);
  }
  return out;
}

export function totals(files: FileDiff[]): { added: number; removed: number } {
  return files.reduce((sum, f) => ({ added: sum.added + f.added, removed: sum.removed + f.removed }), { added: 0, removed: 0 });
}
