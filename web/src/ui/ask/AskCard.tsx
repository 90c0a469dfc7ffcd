// A question to the person: what it is about, exactly, and the choices as the ask describes them. No key and no finger that was
// meant for something else answers it.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { cleanAsk } from "../../lib/clean";
import { parseDiff } from "../../lib/diff";
import { useWords } from "../../state/app";
import type { Ask, Choice } from "../../wire";
import { DiffView } from "../DiffView";
import { Markdown } from "../Markdown";
import { mayAnswer, mayPress } from "./guard";
import { byKey, leave, named, needsConfirm, options, refusal, take, takeText, textUse, type Answer } from "./model";

interface Props {
  ask: Ask;
  count: number;
  /** False if it did not arrive, and may be sent once more. */
  answer: (choice: string, reason?: string) => Promise<boolean>;
  /** Stops what asks; without it Escape answers. */
  interrupt?: () => void;
}

/** A press that confirms is another one than the first. */
const CONFIRM_AFTER = 300;

/** A marked element keeps keys of the page away from it. */
export function isEditable(target: EventTarget | null): boolean {
  const element = target as HTMLElement | null;
  return !!element?.closest?.("input, textarea, select, [contenteditable]");
}

export function AskCard(props: Props) {
  const { ask, count } = props;
  const state = useAsk(props);
  const words = useWords();
  const card = useRef<HTMLElement>(null);
  const body = useRef<HTMLDivElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    // What a project can do most of it stands last, next to the answers.
    if (ask.kind === "trust" && body.current) body.current.scrollTop = body.current.scrollHeight;
    // Whoever is writing goes on writing.
    const active = document.activeElement;
    const isBusy = isEditable(active) && (active as HTMLTextAreaElement).value !== "";
    if (!isBusy && !document.querySelector("dialog[open]")) card.current?.focus({ preventScroll: true });
    return () => {
      // Not on a phone, where it would bring up the keyboard.
      const wasHere = card.current?.contains(document.activeElement) && matchMedia("(hover: hover)").matches;
      if (wasHere) setTimeout(() => document.activeElement === document.body && document.querySelector<HTMLElement>("#composer")?.focus(), 0);
    };
  }, []);
  useKeys(field, state, ask);
  // One that shows its items below is itself the heading.
  const isHead = ask.kind === "trust" && !ask.title && !!ask.preview;
  const title = ask.title || (isHead ? ask.subject : ask.kind === "question" ? words.question : "");
  const use = textUse(ask);
  const subject = subjectOf(ask);
  return (
    <section class={`ask ask-${ask.kind}`} ref={card} tabIndex={-1} role="group" aria-label={(isHead ? cleanAsk(title) : `${title} ${cleanAsk(ask.subject)}`).slice(0, 200)} data-ask={ask.ask} data-ready={state.ready ? "true" : "false"}>
      <header class="ask-head">
        <h2>{title ? cleanAsk(title) : words.question}</h2>
        {subject !== ask.subject ? <code class="ask-tool">{cleanAsk(ask.tool ?? "")}</code> : null}
        {ask.from ? <span class="faint">{words.askFrom(cleanAsk(ask.from))}</span> : null}
        {count > 1 ? <span class="badge">{words.askCount(1, count)}</span> : null}
      </header>
      <div class="ask-body" ref={body} tabIndex={0} role="group" aria-label={title || words.question}>
        {isHead ? null : ask.kind === "permission" || ask.kind === "trust" ? <pre class="ask-subject">{cleanAsk(subject)}</pre> : <div class="ask-words"><Markdown text={cleanAsk(ask.subject)} /></div>}
        <Preview ask={ask} state={state} />
      </div>
      {state.note ? <p class="note warn" role="status">{state.note}</p> : null}
      {ask.kind === "secret" ? (
        <input
          type="password"
          class="ask-text"
          autocomplete="off"
          value={state.text}
          aria-label={words.answerHere}
          onInput={(event) => state.setText(event.currentTarget.value)}
          onKeyDown={(event) => fieldKey(event, state, card.current)}
        />
      ) : use !== "nothing" && !state.editing && (use === "answer" || state.writing || state.text) ? (
        <textarea
          ref={field}
          class="ask-text"
          rows={1}
          value={state.text}
          placeholder={use === "reason" ? cleanAsk(refusal(ask)?.hint ?? words.answerHere) : words.answerHere}
          aria-label={use === "reason" ? `${cleanAsk(refusal(ask)?.label ?? "")}: ${cleanAsk(refusal(ask)?.hint ?? "")}` : words.answerHere}
          onInput={(event) => state.setText(event.currentTarget.value)}
          onKeyDown={(event) => fieldKey(event, state, card.current)}
        />
      ) : null}
      <Buttons ask={ask} state={state} />
      <footer class="ask-foot faint">
        <span class="esc-hint">{escapeAnswers(props) ? words.escAnswers(labelOf(ask, leave(ask).choice)) : words.escStops}</span>
        {use === "reason" && !state.writing && !state.text && !state.editing ? <button type="button" class="quiet small" onClick={() => { state.write(); requestAnimationFrame(() => field.current?.focus()); }}>{words.withReason(cleanAsk(refusal(ask)?.label ?? ""))}</button> : null}
        {use === "answer" && !ask.multi ? <button type="button" class="small" disabled={!state.text.trim()} onClick={() => state.sendText()}>{words.sendAnswer}</button> : null}
        {ask.multi ? <button type="button" class="small primary" disabled={state.marked.length === 0} onClick={() => state.sendMarked()}>{words.sendChosen(state.marked.length)}</button> : null}
      </footer>
    </section>
  );
}

function escapeAnswers({ ask, interrupt }: Props): boolean {
  return ask.silence?.escape === "answer" || !interrupt;
}

function labelOf(ask: Ask, id: string): string {
  return cleanAsk(options(ask).find((choice) => choice.id === id)?.label ?? "–");
}

/** What it is about. Where a title says what is wanted, the name of the tool stands beside that. */
function subjectOf(ask: Ask): string {
  const tool = `${ask.tool ?? ""}: `;
  return ask.kind === "permission" && ask.title && ask.tool && ask.subject.startsWith(tool) ? ask.subject.slice(tool.length) : ask.subject;
}

/** The file of rules without the folders that it lies in; the rule itself is never cut. */
function shortFile(detail: string): string {
  return detail.replace(/(?:~|\/)[^\s()（）]*\/(permissions\.toml)(?=$|[\s)）])/, "…/$1");
}

interface AskState {
  ready: boolean;
  text: string;
  note: string;
  confirming: string | null;
  marked: string[];
  edited: string | null;
  editing: boolean;
  busy: boolean;
  /** The place for a reason is open. */
  writing: boolean;
  write(): void;
  setText(text: string): void;
  setNote(note: string): void;
  edit(text: string): void;
  showEdited(): void;
  /** Takes a choice; by key, the guard has to allow it. */
  choose(choice: Choice, by: "key" | "press"): void;
  sendText(): void;
  sendMarked(): void;
  leave(): void;
  mayKey(): boolean;
}

function useAsk(props: Props): AskState {
  const { ask, answer, interrupt } = props;
  const words = useWords();
  const shownAt = useRef(Infinity);
  const [ready, setReady] = useState(false);
  const [text, setText] = useState("");
  const [note, setNote] = useState("");
  const [confirming, setConfirming] = useState<{ id: string; at: number } | null>(null);
  const [marked, setMarked] = useState<string[]>([]);
  const [edited, setEdited] = useState<string | null>(null);
  const [editing, setEditing] = useState(false);
  const [busy, setBusy] = useState(false);
  const [writing, setWriting] = useState(false);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>;
    // From the moment it was really drawn.
    const frame = requestAnimationFrame(() => {
      shownAt.current = performance.now();
      timer = setTimeout(() => setReady(true), 500);
    });
    return () => {
      cancelAnimationFrame(frame);
      clearTimeout(timer);
    };
  }, []);
  const sendAnswer = (made: Answer) => {
    if (busy) return;
    setBusy(true);
    void answer(made.choice, made.reason).then((arrived) => {
      // It is closed by then, or can be answered once more.
      if (arrived) setTimeout(() => setBusy(false), 4000);
      else setBusy(false);
    });
  };
  const choose = (choice: Choice, by: "key" | "press") => {
    const now = performance.now();
    if (by === "key" ? !mayAnswer(shownAt.current, now) : !mayPress(shownAt.current, now)) return;
    setNote("");
    if (ask.multi && !choice.refuses) {
      setMarked(marked.includes(choice.id) ? marked.filter((id) => id !== choice.id) : [...marked, choice.id]);
      return;
    }
    if (choice.takes === "edited_text") {
      setEdited(edited ?? ask.preview ?? "");
      setEditing(true);
      return;
    }
    if (choice.takes === "reason" && text.trim()) return sendAnswer({ choice: choice.id, reason: text.trim() });
    // A text that was meant for a no does not become a yes.
    if (text.trim() && textUse(ask) === "reason") return setNote(words.textGoesWith(cleanAsk(refusal(ask)?.label ?? "")));
    if (needsConfirm(choice)) {
      if (confirming?.id !== choice.id) {
        setConfirming({ id: choice.id, at: now });
        return setNote(words.confirmSaid(choice.key ? `“${cleanAsk(choice.label)}” (${choice.key})` : `“${cleanAsk(choice.label)}”`));
      }
      if (now - confirming.at < CONFIRM_AFTER) return;
    }
    sendAnswer(take(ask, choice, edited));
  };
  return {
    ready, text, note, confirming: confirming?.id ?? null, marked, edited, editing, busy, writing,
    write: () => setWriting(true),
    setText(next) {
      setText(next);
      setConfirming(null);
    },
    setNote, choose,
    edit: setEdited,
    showEdited() {
      setEditing(false);
      setNote(words.edited);
    },
    sendText() {
      const meant = textUse(ask) === "reason" ? named(ask, text) : undefined;
      // Neither a yes by Enter, nor a no because of a yes.
      if (meant && !meant.refuses) return setNote(words.namesChoice(cleanAsk(text.trim())));
      const made = takeText(ask, text);
      if (made) sendAnswer(made);
    },
    sendMarked() {
      if (marked.length > 0 && mayPress(shownAt.current, performance.now())) sendAnswer({ choice: marked.join(", ") });
    },
    leave() {
      if (confirming) {
        setConfirming(null);
        return setNote("");
      }
      if (escapeAnswers(props)) sendAnswer(leave(ask));
      else interrupt?.();
    },
    mayKey: () => mayAnswer(shownAt.current, performance.now()),
  };
}

function Preview({ ask, state }: { ask: Ask; state: AskState }) {
  const words = useWords();
  const text = state.edited ?? ask.preview ?? "";
  const files = useMemo(() => (ask.preview_format === "diff" ? parseDiff(cleanAsk(text), ask.subject) : []), [text, ask]);
  if (state.editing) {
    return (
      <div class="ask-edit">
        <textarea class="ask-editor" aria-label={words.editPlan} value={text} rows={12} onInput={(event) => state.edit(event.currentTarget.value)} />
        <button type="button" class="primary" onClick={() => state.showEdited()}>{words.showEdited}</button>
      </div>
    );
  }
  if (!text) return null;
  if (ask.preview_format === "diff" && files.length > 0) return <DiffView files={files} bare={files.length === 1} first={Infinity} />;
  if (ask.preview_format === "markdown") return <Markdown text={cleanAsk(text)} />;
  // What goes on in the next row does not look like a row of its own.
  if (ask.kind === "trust") return <div class="ask-preview ask-rows">{cleanAsk(text).split("\n").map((row, at) => <div key={at}>{row}</div>)}</div>;
  return <pre class="ask-preview">{cleanAsk(text)}</pre>;
}

/** Characters of a detail that a column has room for. */
const LONG_DETAIL = 60;
const COLUMNS = 4;

/** Of more choices than there are columns, one without a key of its own stands below them. */
function isExtra(ask: Ask, at: number): boolean {
  const all = options(ask);
  return all.length > COLUMNS && ask.kind === "permission" && !all[at]!.key;
}

function Buttons({ ask, state }: { ask: Ask; state: AskState }) {
  const words = useWords();
  if (state.editing) return null;
  // A long rule is read in a line of its own.
  const reason = textUse(ask) === "reason" && state.text.trim() !== "";
  const inColumns = options(ask).filter((_, at) => !isExtra(ask, at)).length;
  const isLong = (ask.kind === "permission" && inColumns > COLUMNS) || options(ask).some((choice) => shortFile(choice.detail ?? "").length > LONG_DETAIL);
  return (
    <div class={`ask-buttons cols-${isLong ? 1 : Math.min(COLUMNS, inColumns)} ${isLong ? "in-rows" : ""}`} role="group" aria-label={words.question}>
      {options(ask).map((choice, at) => {
        const key = choice.key ?? String(at + 1);
        const confirms = state.confirming === choice.id;
        const isMarked = state.marked.includes(choice.id);
        // With a reason written, the no is what is about to be sent.
        const isMeant = reason && choice.refuses;
        const look = choice.refuses ? (isMeant ? "no meant" : "no") : reason ? "other" : at === 0 && !confirms && !ask.multi ? "yes" : "";
        return (
          <button
            type="button"
            key={choice.id}
            class={`ask-choice ${isExtra(ask, at) ? "extra" : ""} ${look} ${confirms ? "confirming" : ""} ${isMarked ? "ticked" : ""}`}
            aria-disabled={!state.ready || state.busy}
            aria-pressed={ask.multi && !choice.refuses ? isMarked : undefined}
            aria-keyshortcuts={key}
            data-choice={choice.id}
            onClick={() => state.choose(choice, "press")}
          >
            <span class="ask-label">
              {ask.multi && !choice.refuses ? <span class="tick" aria-hidden="true">{isMarked ? "☑" : "☐"}</span> : null}
              {confirms ? words.confirm(cleanAsk(choice.label)) : isMeant ? words.withThis(cleanAsk(choice.label)) : cleanAsk(choice.label)}
              <kbd>{isMeant ? "⏎" : key}</kbd>
            </span>
            {choice.detail ? <span class="ask-detail" title={cleanAsk(choice.detail)}>{shortFile(cleanAsk(choice.detail))}</span> : null}
          </button>
        );
      })}
    </div>
  );
}

/** Enter sends the text as what it is: a reason for a no, or an answer. It never approves. */
function fieldKey(event: KeyboardEvent, state: AskState, card: HTMLElement | null): void {
  if (event.isComposing) return;
  if (event.key === "Enter" && !event.shiftKey) {
    event.preventDefault();
    if (state.mayKey() || state.text.length > 1) state.sendText();
  } else if (event.key === "Escape") {
    event.preventDefault();
    event.stopPropagation();
    card?.focus();
  }
}

/** Keys that answer while nothing is being written. */
function useKeys(field: { current: HTMLTextAreaElement | null }, state: AskState, ask: Ask): void {
  const words = useWords();
  const latest = useRef({ state, ask, words });
  latest.current = { state, ask, words };
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const { state, ask } = latest.current;
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return;
      if (document.querySelector("dialog[open]") || isEditable(event.target)) return;
      if (event.key === "Escape") {
        if (!state.mayKey()) return;
        event.preventDefault();
        state.leave();
        return;
      }
      if (event.key.length !== 1 || event.key === " " || (event.target as HTMLElement | null)?.closest?.("[role=menu]")) return;
      const at = byKey(ask, event.key);
      const choice = options(ask)[at];
      if (choice && !state.text && state.mayKey()) {
        event.preventDefault();
        state.choose(choice, "key");
        return;
      }
      // What was typed is not lost, and it is seen that it did not answer.
      if (event.key === "?" || event.key === "/" || textUse(ask) === "nothing" || state.editing) return;
      event.preventDefault();
      state.write();
      state.setText(state.text + event.key);
      if (!state.writing) state.setNote(latest.current.words.typedSoFar);
      if (field.current) field.current.focus();
      else requestAnimationFrame(() => field.current?.focus());
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
}
