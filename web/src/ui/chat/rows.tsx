// The rows of a conversation that are no calls.

import { clean, oneLine } from "../../lib/clean";
import { clock, cost, duration, percent, tokens } from "../../lib/format";
import { useApp, useWords, type Pending, type Shown } from "../../state/app";
import { perform, command, rewindTo, sayText } from "../../state/sessions";
import type { Row } from "../../state/transcript";
import type { Image } from "../../wire";
import { Markdown } from "../Markdown";
import { CopyButton, Icon, Shot, useNow } from "../parts";
import { modeName, postureName } from "../names";
import { ViewPart } from "../ViewPart";
import { useOpen } from "./open";

const SAFE_PICTURE = /^image\/(png|jpeg|gif|webp)$/;

export function Pictures({ images }: { images: Image[] }) {
  const safe = images.filter((image) => SAFE_PICTURE.test(image.media_type));
  if (safe.length === 0) return null;
  return <div class="pictures">{safe.map((image, at) => <Shot key={at} source={`data:${image.media_type};base64,${image.data}`} />)}</div>;
}

/** Characters of a prompt that are shown at once. */
const LONG_PROMPT = 1500;

export function UserRow({ row, session }: { row: Extract<Row, { kind: "user" }>; session: string }) {
  const words = useWords();
  const text = clean(row.text);
  const [open, toggle] = useOpen(row.key, text.length <= LONG_PROMPT);
  return (
    <article class="user" aria-label={words.you}>
      <header class="who">
        <span>{words.you}</span>
        <span class="user-tools">
          <CopyButton text={row.text} />
          {session ? <button type="button" class="quiet square small" aria-label={words.rewindHere} title={words.rewindHere} onClick={() => void rewindTo(session, row.entry)}><Icon name="back" /></button> : null}
        </span>
        <time class="faint" dateTime={row.ts}>{clock(row.ts)}</time>
      </header>
      <div class="user-text">{open ? text : `${text.slice(0, LONG_PROMPT)} …`}</div>
      {text.length > LONG_PROMPT ? <button type="button" class="quiet small" aria-expanded={open} onClick={toggle}>{open ? words.showLess : words.showAll(text.split("\n").length)}</button> : null}
      <Pictures images={row.images} />
    </article>
  );
}

export function PendingRow({ pending }: { pending: Pending }) {
  const words = useWords();
  return (
    <article class="user pending" aria-label={words.you}>
      <header class="who"><span>{words.you}</span>{pending.failed ? <span class="warn-text">{words.notSent}</span> : null}</header>
      <div class="user-text">{clean(pending.text)}</div>
      <Pictures images={pending.images} />
    </article>
  );
}

export function AnswerRow({ text, live }: { text: string; live?: boolean }) {
  return (
    <article class={`answer ${live ? "live" : ""}`}>
      <Markdown text={text} />
      {live ? null : <div class="answer-tools"><CopyButton text={text} /></div>}
    </article>
  );
}

export function ThoughtRow({ row }: { row: Extract<Row, { kind: "thought" }> }) {
  const words = useWords();
  const [open, toggle] = useOpen(row.key, false);
  const label = row.took !== null && row.took >= 1000 ? words.thoughtFor(duration(row.took)) : words.thought;
  return (
    <div class="thought">
      <button type="button" class="quiet thought-head" aria-expanded={open} onClick={toggle}><Icon name={open ? "down" : "right"} /> {label}</button>
      {open ? <div class="thought-text">{clean(row.text).trim()}</div> : null}
    </div>
  );
}

/** What the model is thinking: the last lines of it. */
export function LiveThought({ text, since }: { text: string; since: number | null }) {
  const words = useWords();
  const now = useNow(true);
  const tail = clean(text).trim().slice(-400);
  return (
    <div class="thought live">
      <p class="thought-head">{words.thinking}{since !== null ? ` · ${duration(Math.max(0, now - since))}` : ""}</p>
      <div class="thought-text clipped"><span>{tail}</span></div>
    </div>
  );
}

export function WorkingRow({ since, text }: { since: number | null; text: string }) {
  const words = useWords();
  const now = useNow(true);
  return <p class="working"><span class="pulse" aria-hidden="true" />{text ? oneLine(text, 160) : words.working}{since !== null && now - since > 2000 ? ` · ${duration(now - since)}` : ""}</p>;
}

export function RetryRow({ retry, since }: { retry: { after_ms: number; attempt: number; reason: string }; since: number }) {
  const words = useWords();
  const now = useNow(true);
  const left = Math.max(0, Math.ceil((since + retry.after_ms - now) / 1000));
  return <p class="note warn">{words.retry(oneLine(retry.reason, 200), left, retry.attempt)}</p>;
}

export function NoticeRow({ text }: { text: string }) {
  return <p class="note lines">{clean(text)}</p>;
}

export function SettingRow({ row }: { row: Extract<Row, { kind: "setting" }> }) {
  const words = useWords();
  const texts = [
    row.model ? words.modelIs(row.model) : "",
    row.effort ? words.effortIs(row.effort) : "",
    row.title ? words.titleIs(row.title) : "",
    row.place ? words.placeIs(row.place) : "",
    row.mode ? words.modeIs(modeName(row.mode, words), postureName(row.posture ?? "ask", words)) : "",
  ].filter(Boolean);
  return <p class="note faint">{texts.map((text) => clean(text)).join(" · ")}</p>;
}

/** Letters between back-ticks as code. */
function WithCode({ text }: { text: string }) {
  return <>{text.split(/`([^`\n]+)`/).map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part))}</>;
}

export function ErrorRow({ row, session }: { row: Extract<Row, { kind: "error" }>; session: string }) {
  const words = useWords();
  const [open, toggle] = useOpen(row.key, false);
  const kind = words.errors[row.error as keyof typeof words.errors] ?? words.errors.other;
  return (
    <div class="failure">
      <p class="failure-head">✗ {kind}</p>
      <p class="failure-text lines"><WithCode text={clean(row.message).slice(0, 4000)} /></p>
      <TryAgain session={session} entry={row.entry} />
      {row.details ? <button type="button" class="quiet small" aria-expanded={open} onClick={toggle}>{words.more}</button> : null}
      {open ? <pre class="output">{clean(JSON.stringify(row.details, null, 2)).slice(0, 20_000)}</pre> : null}
    </div>
  );
}

/** Says what was said last once more, while nothing came after this failure. */
function TryAgain({ session, entry }: { session: string; entry: number }) {
  const words = useWords();
  const last = useApp((now) => {
    const view = now.sessions[session];
    if (!view || view.live.working || view.closed || view.pending.length > 0) return null;
    const row = view.transcript.rows.findLast((one) => one.kind === "user");
    const isLast = !view.transcript.rows.some((one) => one.kind === "user" && one.entry > entry);
    return isLast && row?.kind === "user" ? row : null;
  });
  if (!last) return null;
  return <button type="button" class="small" onClick={() => sayText(session, last.text, "queue", last.images)}>{words.tryAgain}</button>;
}

export function CompactionRow({ row }: { row: Extract<Row, { kind: "compaction" }> }) {
  const words = useWords();
  const [open, toggle] = useOpen(row.key, false);
  const { answers, calls, tokens_before, tokens_after, digest } = row.compaction;
  return (
    <div class="compaction">
      <button type="button" class="quiet thought-head" aria-expanded={open} onClick={toggle}>
        <Icon name={open ? "down" : "right"} /> {words.compacted(answers, calls)} · {tokens(tokens_before)} → {tokens(tokens_after)}
      </button>
      {open ? <Markdown text={digest} /> : null}
    </div>
  );
}

export function TurnRow({ row }: { row: Extract<Row, { kind: "turn" }> }) {
  const words = useWords();
  const facts = [
    row.took !== null && row.took >= 1000 ? duration(row.took) : "",
    row.input > 0 ? words.turnUsage(tokens(row.input), `${percent(row.cached, row.input)} %`, tokens(row.output)) : "",
    row.cost ? cost(row.cost) : "",
  ].filter(Boolean);
  const ended = row.outcome === "interrupted" ? words.interrupted : row.outcome === "done" || row.outcome === "error" ? "" : words.ended[row.outcome];
  return (
    <div class="turn">
      {ended ? <p class="note warn">{ended}</p> : null}
      {facts.length > 0 ? <p class="turn-facts">{facts.join(" · ")}</p> : null}
    </div>
  );
}

export function ShownRow({ shown, session }: { shown: Shown; session: string }) {
  return (
    <div class="shown">
      {shown.command ? <p class="shown-head">/{oneLine(shown.command, 80)}</p> : null}
      <ViewPart view={shown.view} onAct={(act) => ("command" in act ? void command(session, act.command) : perform(session, act.do))} />
    </div>
  );
}
