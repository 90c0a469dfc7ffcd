// A diff of files: side by side where there is room, else in one column; marks on the words that differ; what did not change
// is folded.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { clean } from "../lib/clean";
import { foldRuns, pairs, type DiffLine, type FileDiff, type Hunk, type Pair, type Span } from "../lib/diff";
import { languageOf } from "../lib/highlight";
import { useStore } from "../lib/store";
import { useWords } from "../state/app";
import { addComment, comments, dropComment, type Comment } from "../state/comments";
import { Colored } from "./Code";
import { CopyButton, Icon, useWidth } from "./parts";

/** Side by side from here on. */
export const SPLIT_FROM = 900;
/** Lines that are drawn at first, and that each "more" adds. */
const STEP = 200;

interface Props {
  files: FileDiff[];
  /** No names above the files. */
  bare?: boolean;
  /** Lines that are drawn at first. */
  first?: number;
  /** Side by side or not, whatever the room. */
  how?: "split" | "unified";
  /** What else can be done with a file. */
  tools?: (file: FileDiff) => ComponentChildren;
  /** Lines can be noted on for this session. */
  session?: string;
  /** Files that were looked at are folded. */
  viewed?: (file: FileDiff) => boolean;
}

export function DiffView({ files, bare, first = STEP, how, tools, session, viewed }: Props) {
  const [ref, width] = useWidth<HTMLDivElement>();
  const split = how ? how === "split" : width >= SPLIT_FROM;
  return (
    <div class="diff" ref={ref}>
      {files.map((file, at) => <FileView key={`${at}${file.path}`} file={file} split={split} bare={bare === true} first={first} tools={tools} session={session} viewed={viewed?.(file)} />)}
    </div>
  );
}

interface FileProps extends Pick<Props, "tools" | "session"> {
  file: FileDiff;
  split: boolean;
  bare: boolean;
  first: number;
  viewed?: boolean;
}

function FileView({ file, split, bare, first, tools, session, viewed }: FileProps) {
  const words = useWords();
  const [limit, setLimit] = useState(first);
  const [shut, setShut] = useState(viewed === true);
  useEffect(() => setShut(viewed === true), [viewed]);
  const notes = useNotes(session, file);
  const count = file.hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0);
  const lang = languageOf(file.path);
  let left = limit;
  const hunks = file.hunks.map((hunk) => {
    const lines = hunk.lines.slice(0, Math.max(0, left));
    left -= hunk.lines.length;
    return { ...hunk, lines };
  });
  return (
    <div class="diff-file" data-path={file.path}>
      {bare ? null : (
        <div class="diff-head">
          <button type="button" class="quiet diff-name" aria-expanded={!shut} onClick={() => setShut(!shut)}>
            <Icon name={shut ? "right" : "down"} />
            <span class="path">{clean(file.path)}</span>
          </button>
          <Counts added={file.added} removed={file.removed} />
          <span class="diff-tools">
            {notes ? <button type="button" class="quiet small" title={words.noteOnLine} onClick={() => { setShut(false); notes.open(firstChanged(file)); }}><Icon name="comment" /> <span class="wide-only">{words.note}</span></button> : null}
            <CopyButton text={file.path} label={words.copyPath} />
            {tools?.(file)}
          </span>
        </div>
      )}
      {shut ? null : (
        <div class="diff-scroll" tabIndex={0} role="group" aria-label={words.diffOf(file.path)}>
          <table class={split ? "diff-table split" : "diff-table"}>
            {split ? <colgroup><col class="col-no" /><col /><col class="col-no" /><col /></colgroup> : null}
            <thead class="hidden">
              <tr>{split ? <><th colSpan={2}>{words.was}</th><th colSpan={2}>{words.is}</th></> : <><th>{words.was}</th><th>{words.is}</th><th>{words.diff}</th></>}</tr>
            </thead>
            <tbody>
              {hunks.map((hunk, at) => hunk.lines.length > 0 ? <HunkView key={at} hunk={hunk} split={split} lang={lang} notes={notes} /> : null)}
            </tbody>
          </table>
          {file.note && file.hunks.length === 0 ? <p class="faint pad">{clean(file.note)}</p> : null}
        </div>
      )}
      {!shut && count > limit ? (
        <button type="button" class="quiet more" onClick={() => setLimit(limit + STEP)}>{words.earlier(count - limit).replace("… ", "+ ")}</button>
      ) : null}
    </div>
  );
}

export function Counts({ added, removed }: { added: number; removed: number }) {
  return (
    <span class="counts">
      {added > 0 || removed === 0 ? <span class="plus">+{added}</span> : null} {removed > 0 ? <span class="minus">−{removed}</span> : null}
    </span>
  );
}

function HunkView({ hunk, split, lang, notes }: { hunk: Hunk; split: boolean; lang: string; notes: Notes | null }) {
  const words = useWords();
  const [opened, setOpened] = useState<number[]>([]);
  const parts = useMemo(() => foldRuns(pairs(hunk.lines)), [hunk.lines]);
  const columns = split ? 4 : 3;
  return (
    <>
      {hunk.skipped > 0 ? (
        <tr class="skip"><td colSpan={columns}>⋯ {words.unchanged(hunk.skipped)} {hunk.heading ? <span class="heading">{clean(hunk.heading)}</span> : null}</td></tr>
      ) : null}
      {parts.map((part, at) => {
        if (!("folded" in part)) return <PairView key={at} pair={part} split={split} lang={lang} notes={notes} />;
        if (opened.includes(at)) return part.folded.map((pair, n) => <PairView key={`${at}.${n}`} pair={pair} split={split} lang={lang} notes={notes} />);
        return (
          <tr class="skip" key={at}>
            <td colSpan={columns}>
              <button type="button" class="quiet small" aria-expanded={false} onClick={() => setOpened([...opened, at])}>⋯ {words.unchanged(part.folded.length)}</button>
            </td>
          </tr>
        );
      })}
    </>
  );
}

function PairView({ pair, split, lang, notes }: { pair: Pair; split: boolean; lang: string; notes: Notes | null }) {
  const { left, right } = pair;
  const same = left !== null && left === right;
  const below = notes ? <NoteRows notes={notes} lines={same ? [left] : [left, right]} columns={split ? 4 : 3} /> : null;
  if (split) {
    return (
      <>
        <tr>
          <Number of={left?.old ?? null} line={same ? right : left} notes={notes} kind={left?.kind ?? "none"} />
          <Text line={left} spans={pair.leftSpans} lang={lang} />
          <Number of={right?.new ?? null} line={right} notes={notes} kind={right?.kind ?? "none"} />
          <Text line={right} spans={pair.rightSpans} lang={lang} />
        </tr>
        {below}
      </>
    );
  }
  if (same) return <><Unified line={left} spans={null} lang={lang} notes={notes} />{below}</>;
  return (
    <>
      {left ? <Unified line={left} spans={pair.leftSpans} lang={lang} notes={notes} /> : null}
      {right ? <Unified line={right} spans={pair.rightSpans} lang={lang} notes={notes} /> : null}
      {below}
    </>
  );
}

function Unified({ line, spans, lang, notes }: { line: DiffLine; spans: Span[] | null; lang: string; notes: Notes | null }) {
  return (
    <tr>
      <Number of={line.old} line={line} notes={notes} kind={line.kind} />
      <Number of={line.new} line={line} notes={notes} kind={line.kind} />
      <Text line={line} spans={spans} lang={lang} />
    </tr>
  );
}

/** A finger or a mouse notes on a line by its number; by keys it is the button of the file. */
function Number({ of, line, notes, kind }: { of: number | null; line: DiffLine | null; notes: Notes | null; kind: string }) {
  const can = notes && line;
  return <td class={`no ${kind} ${can ? "notable" : ""}`} onClick={can ? () => notes.open(line) : undefined}>{of || ""}</td>;
}

interface Notes {
  /** The line that is being noted on. */
  at: DiffLine | null;
  open(line: DiffLine | null): void;
  close(): void;
  add(line: DiffLine, text: string): void;
  of(line: DiffLine): Comment[];
  drop(key: number): void;
  /** Another line of the file, by its number in the file as it is now. */
  find(number: number): DiffLine | null;
}

function firstChanged(file: FileDiff): DiffLine | null {
  const lines = file.hunks.flatMap((hunk) => hunk.lines);
  return lines.find((line) => line.kind === "add") ?? lines.find((line) => line.kind === "del") ?? lines[0] ?? null;
}

function useNotes(session: string | undefined, file: FileDiff): Notes | null {
  const [at, setAt] = useState<DiffLine | null>(null);
  const mine = useStore(comments, (now) => (session ? now[session] : undefined));
  if (!session) return null;
  const isOf = (note: Comment, line: DiffLine) => note.path === file.path && note.gone === (line.new === null) && note.line === (line.new ?? line.old);
  return {
    at,
    open: setAt,
    close: () => setAt(null),
    add(line, text) {
      addComment(session, { path: file.path, line: line.new ?? line.old ?? 0, gone: line.new === null, code: line.text, text });
      setAt(null);
    },
    of: (line) => (mine ?? []).filter((note) => isOf(note, line)),
    drop: (key) => dropComment(session, key),
    find: (number) => file.hunks.flatMap((hunk) => hunk.lines).find((line) => line.new === number) ?? null,
  };
}

function NoteRows({ notes, lines, columns }: { notes: Notes; lines: (DiffLine | null)[]; columns: number }) {
  const words = useWords();
  const known = lines.filter((line) => line !== null);
  const made = known.flatMap((line) => notes.of(line));
  const open = notes.at !== null && known.includes(notes.at) ? notes.at : null;
  if (made.length === 0 && !open) return null;
  return (
    <tr class="note-row">
      <td colSpan={columns}>
        {made.map((note) => (
          <p key={note.key} class="line-note"><Icon name="comment" /> <span>{clean(note.text)}</span> <button type="button" class="quiet square small" aria-label={words.removeIt(words.note)} onClick={() => notes.drop(note.key)}><Icon name="close" /></button></p>
        ))}
        {open ? <NoteForm notes={notes} line={open} /> : null}
      </td>
    </tr>
  );
}

function NoteForm({ notes, line }: { notes: Notes; line: DiffLine }) {
  const words = useWords();
  const [text, setText] = useState("");
  const send = () => text.trim() && notes.add(line, text.trim());
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => field.current?.focus(), []);
  return (
    <form
      class="note-form"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") {
          event.preventDefault();
          event.stopPropagation();
          notes.close();
        } else if (event.key === "Enter" && !event.shiftKey && !event.isComposing && event.target === field.current) {
          event.preventDefault();
          send();
        }
      }}
    >
      {line.new !== null ? (
        <label class="note-line">{words.line} <input type="number" min="1" value={line.new} onChange={(event) => { const found = notes.find(event.currentTarget.valueAsNumber); if (found) notes.open(found); }} /></label>
      ) : null}
      <textarea ref={field} rows={2} value={text} placeholder={words.noteHint} aria-label={words.noteHint} onInput={(event) => setText(event.currentTarget.value)} />
      <button type="submit" class="small primary" disabled={!text.trim()}>{words.add}</button>
      <button type="button" class="small" onClick={() => notes.close()}>{words.cancel}</button>
    </form>
  );
}

const MARK = { same: " ", add: "+", del: "−" };

function Text({ line, spans, lang }: { line: DiffLine | null; spans: Span[] | null; lang: string }) {
  if (!line) return <td class="text none" />;
  return (
    <td class={`text ${line.kind}`}>
      <span class="mark">{MARK[line.kind]}</span>
      {spans
        ? spans.map((span, at) => (span.marked ? <mark key={at}>{clean(span.text)}</mark> : <span key={at}>{clean(span.text)}</span>))
        : <Colored text={clean(line.text)} lang={lang} />}
    </td>
  );
}
