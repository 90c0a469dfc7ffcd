// A call of a tool: a verb, what it is about, how it stands, and what came of it.

import { useMemo } from "preact/hooks";
import { clean, cleanOutput, lastLines, oneLine } from "../../lib/clean";
import { duration } from "../../lib/format";
import { languageOf } from "../../lib/highlight";
import { change, useApp, useWords } from "../../state/app";
import { progressOf, readOutcome, stateOf, subject, verb, wholeInput, type Body, type CallState } from "../../state/outcome";
import type { Row } from "../../state/transcript";
import type { Child, RunningCall } from "../../wire";
import { Code } from "../Code";
import { DiffView } from "../DiffView";
import { Markdown } from "../Markdown";
import { CopyButton, Icon, Shot, useNow } from "../parts";
import { useOpen } from "./open";

const MARKS: Record<CallState, string> = { queued: "○", asked: "!", running: "●", done: "●", failed: "✗", denied: "⊘", stopped: "■" };
/** Lines of output that are seen while it runs, and of one that failed. */
const LIVE = 8;
const FAILED = 8;
/** Lines of a change that are seen at once, and characters of anything. */
const FIRST_DIFF = 40;
const MAX_TEXT = 60_000;

export interface CallProps {
  row: Extract<Row, { kind: "call" }>;
  running: RunningCall | null;
  asked: boolean;
  since: number | null;
  session: string;
}

export function CallRow({ row, running, asked, since, session }: CallProps) {
  const words = useWords();
  const { call, result } = row;
  const state = stateOf(result, row.ended, asked, running !== null);
  const outcome = useMemo(() => (result ? readOutcome(call, result, words) : null), [result, words]);
  const failed = state === "failed" || (state === "done" && outcome?.failed === true);
  const hasDiff = outcome?.body.some((part) => part.as === "diff") ?? false;
  const usual = hasDiff || call.by === "person" || outcome?.body.some((part) => part.as === "answer" || part.as === "image") || false;
  const [open, toggle] = useOpen(`call.${call.id}`, usual);
  const now = useNow(running !== null && since !== null);
  const whole = useMemo(() => wholeInput(call), [call]);
  const took = result ? result.duration_ms : since !== null && running ? now - since : 0;
  const progress = progressOf(call);
  const why = row.approval?.decision === "deny" ? (row.approval.reason ?? row.approval.rule ?? "") : "";
  const facts = [
    ...(call.by === "person" ? [words.byYou] : []),
    ...(progress ? [progress] : []),
    ...(outcome?.facts ?? []),
    ...(why ? [words.deniedAs(why)] : row.approval && row.approval.decision !== "deny" ? [words.approvedAs(row.approval.decision)] : []),
    ...(["asked", "stopped"].includes(state) || (state === "denied" && !why) ? [words.callState[state]] : []),
  ].map((fact) => oneLine(fact, 100));
  const mark = failed ? "failed" : state;
  const more = (outcome?.body.length ?? 0) > 0 || whole !== null;
  const about = clean(subject(call));
  return (
    <div class={`call call-${mark}`}>
      <button type="button" class="call-head" aria-expanded={more ? open : undefined} onClick={toggle} disabled={!more}>
        <span class="call-mark" aria-hidden="true">{MARKS[mark]}</span>
        <span class="hidden">{words.callState[mark]}: </span>
        <span class="call-verb">{verb(call, words, state === "denied" || (!result && !row.ended))}</span>
        {about ? <span class="call-subject">{about.split("\n")[0]}</span> : null}
        <span class="call-facts">{facts.join(" · ")}</span>
        {took >= 100 ? <span class="call-time">{duration(took)}</span> : null}
        {more ? <span class="call-fold" aria-hidden="true"><Icon name={open ? "down" : "right"} /></span> : null}
      </button>
      {row.child && session ? <p class="call-child"><button type="button" class="small" onClick={() => openAgent(session, row.child!)}><Icon name="right" /> {words.openAgent(row.child.id)}</button></p> : null}
      {running?.progress ? <p class="tail">{oneLine(running.progress, 200)}</p> : null}
      {running?.tail ? <Tail text={running.tail} lines={LIVE} /> : null}
      {!open && failed && outcome ? <Failure body={outcome.body} /> : null}
      {open && more ? (
        <div class="call-body">
          {whole ? <Code text={clean(whole).slice(0, MAX_TEXT)} lang={call.title?.kind === "run" ? "bash" : call.title ? "" : "json"} /> : null}
          {call.repair ? <p class="note warn">{clean(call.repair)}</p> : null}
          {outcome?.body.map((part, at) => <BodyPart key={at} part={part} />)}
        </div>
      ) : null}
    </div>
  );
}

function openAgent(session: string, child: Child): void {
  change({ dialog: { at: "agent", session, child: child.session_id, name: child.id, title: [child.role, child.title].filter(Boolean).join(": ") } });
}

function Tail({ text, lines }: { text: string; lines: number }) {
  const words = useWords();
  const tail = lastLines(cleanOutput(text), lines);
  return (
    <pre class="tail">
      {tail.hidden > 0 ? <span class="faint">{words.earlier(tail.hidden)}{"\n"}</span> : null}
      {tail.text}
    </pre>
  );
}

function Failure({ body }: { body: Body[] }) {
  const text = body.map((part) => (part.as === "error" || part.as === "warning" || part.as === "output" ? part.text : "")).filter(Boolean).join("\n");
  return text ? <div class="call-body"><Tail text={text} lines={FAILED} /></div> : null;
}

/** Pictures that are shown; a drawing can hold more than a picture. */
const SAFE_PICTURE = /^image\/(png|jpeg|gif|webp)$/;

function BodyPart({ part }: { part: Body }) {
  switch (part.as) {
    case "output":
    case "hidden":
      return <Output text={part.text} />;
    case "code":
      return <Code text={clean(part.text).slice(0, MAX_TEXT)} lang={languageOf(part.path)} copy />;
    case "diff":
      return <DiffView files={part.files} bare={part.files.length === 1} first={FIRST_DIFF} />;
    case "markdown":
      return <Markdown text={part.text} />;
    case "image":
      return SAFE_PICTURE.test(part.type) ? <Shot source={`data:${part.type};base64,${part.data}`} /> : <p class="faint">{clean(part.type)}</p>;
    case "artifact":
      return <Artifact name={part.name} />;
    case "answer":
      return <p class="said">{clean(part.text)}</p>;
    case "warning":
      return <p class="note warn">! {clean(part.text)}</p>;
    case "error":
      return <pre class="output bad">{cleanOutput(part.text).slice(0, MAX_TEXT)}</pre>;
  }
}

function Artifact({ name }: { name: string }) {
  const words = useWords();
  const session = useApp((now) => (now.route.at === "session" ? now.route.id : ""));
  return <p class="note"><a href={`/api/sessions/${encodeURIComponent(session)}/artifacts/${encodeURIComponent(name)}`} download={name}>{words.wholeOutput}</a></p>;
}

function Output({ text }: { text: string }) {
  const shown = cleanOutput(text).slice(-MAX_TEXT);
  return (
    <div class="output-box">
      <pre class="output" tabIndex={0}>{shown}</pre>
      <CopyButton text={shown} />
    </div>
  );
}
