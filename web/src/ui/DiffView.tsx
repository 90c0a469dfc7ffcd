// A diff of files: side by side where there is room, else in one column; marks on the words that differ; what did not change
// is folded.

import { useMemo, useState } from "preact/hooks";
import { clean } from "../lib/clean";
import { foldRuns, pairs, type DiffLine, type FileDiff, type Hunk, type Pair, type Span } from "../lib/diff";
import { languageOf } from "../lib/highlight";
import { useWords } from "../state/app";
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
}

export function DiffView({ files, bare, first = STEP, how }: Props) {
  const [ref, width] = useWidth<HTMLDivElement>();
  const split = how ? how === "split" : width >= SPLIT_FROM;
  return (
    <div class="diff" ref={ref}>
      {files.map((file, at) => <FileView key={`${at}${file.path}`} file={file} split={split} bare={bare === true} first={first} />)}
    </div>
  );
}

function FileView({ file, split, bare, first }: { file: FileDiff; split: boolean; bare: boolean; first: number }) {
  const words = useWords();
  const [limit, setLimit] = useState(first);
  const [shut, setShut] = useState(false);
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
          <CopyButton text={file.path} label={words.copyPath} />
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
              {hunks.map((hunk, at) => hunk.lines.length > 0 ? <HunkView key={at} hunk={hunk} split={split} lang={lang} /> : null)}
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

function HunkView({ hunk, split, lang }: { hunk: Hunk; split: boolean; lang: string }) {
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
        if (!("folded" in part)) return <PairView key={at} pair={part} split={split} lang={lang} next={null} />;
        if (opened.includes(at)) return part.folded.map((pair, n) => <PairView key={`${at}.${n}`} pair={pair} split={split} lang={lang} next={null} />);
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

function PairView({ pair, split, lang }: { pair: Pair; split: boolean; lang: string; next: null }) {
  const { left, right } = pair;
  if (split) {
    return (
      <tr>
        <Number of={left?.old ?? null} kind={left?.kind ?? "none"} />
        <Text line={left} spans={pair.leftSpans} lang={lang} />
        <Number of={right?.new ?? null} kind={right?.kind ?? "none"} />
        <Text line={right} spans={pair.rightSpans} lang={lang} />
      </tr>
    );
  }
  if (left && left === right) return <Unified line={left} spans={null} lang={lang} />;
  return (
    <>
      {left ? <Unified line={left} spans={pair.leftSpans} lang={lang} /> : null}
      {right ? <Unified line={right} spans={pair.rightSpans} lang={lang} /> : null}
    </>
  );
}

function Unified({ line, spans, lang }: { line: DiffLine; spans: Span[] | null; lang: string }) {
  return (
    <tr>
      <Number of={line.old} kind={line.kind} />
      <Number of={line.new} kind={line.kind} />
      <Text line={line} spans={spans} lang={lang} />
    </tr>
  );
}

function Number({ of, kind }: { of: number | null; kind: string }) {
  return <td class={`no ${kind}`}>{of || ""}</td>;
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
