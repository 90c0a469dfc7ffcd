// Where the person writes: history, menus for commands and files, pictures and files, steering and queueing.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { clean, oneLine } from "../lib/clean";
import { api } from "../net/api";
import { toast, useApp, useWords } from "../state/app";
import { addHistory, draftOf, history, keepDraft } from "../state/prefs";
import { command, interrupt, onCompose, resendNow, sayText } from "../state/sessions";
import type { Delivery, Image } from "../wire";
import { attach, attachedText, LONG_PASTE, LONG_PASTE_LETTERS, withTexts, type Attached } from "./attach";
import { comments, dropComment, dropComments, withComments } from "../state/comments";
import { useStore } from "../lib/store";
import { typed } from "./ask/guard";
import { completing, matchCommands, replaced, type Completing } from "./complete";
import { Icon } from "./parts";

interface Option {
  label: string;
  hint: string;
  insert: string;
}

interface Props {
  /** The session; on the first page none is there yet. */
  id: string;
  /** For a message that begins a session: its project, and what sends it. */
  first?: { project: string; send: (text: string, images: Image[]) => void };
  /** What else is chosen with the message. */
  tools?: ComponentChildren;
}

export function Composer({ id, first, tools }: Props) {
  const words = useWords();
  const view = useApp((now) => now.sessions[id]);
  const [text, setText] = useState(() => draftOf(id));
  const [attached, setAttached] = useState<Attached[]>([]);
  const [over, setOver] = useState(false);
  const area = useRef<HTMLTextAreaElement>(null);
  const menu = useMenu(id, text, area, first?.project);
  const notes = useStore(comments, (now) => now[id]);
  const past = useRef({ at: -1, lines: [] as string[] });
  const working = view?.live.working ?? false;
  const asks = (view?.live.asks.length ?? 0) > 0;
  const write = (next: string, caret?: number) => {
    setText(next);
    keepDraft(id, next);
    if (caret !== undefined) requestAnimationFrame(() => area.current?.setSelectionRange(caret, caret));
  };
  useLayoutEffect(() => grow(area.current), [text]);
  useEffect(() => {
    onCompose((session, composed) => {
      if (session !== id) return;
      if (composed) write(composed, composed.length);
      area.current?.focus();
    });
  }, [id]);
  const addFiles = async (files: File[]) => {
    for (const file of files) {
      const made = await attach(file, words);
      if (typeof made === "string") toast(made, "bad");
      else setAttached((now) => [...now, made]);
    }
  };
  const submit = (delivery: Delivery) => {
    const message = withTexts(withComments(text.trim(), notes ?? []), attached);
    const images = attached.flatMap((one) => (one.image ? [one.image] : []));
    if (!message && images.length === 0) return;
    if (text.trim()) addHistory(text.trim());
    past.current.at = -1;
    if (first) first.send(message, images);
    else sayText(id, message, delivery, images);
    dropComments(id);
    write("");
    setAttached([]);
  };
  const recallLine = (by: number): boolean => {
    if (past.current.at < 0) past.current.lines = history();
    const { lines, at } = past.current;
    const next = (at < 0 ? lines.length : at) + by;
    if (next < 0 || lines.length === 0) return at >= 0;
    past.current.at = next >= lines.length ? -1 : next;
    const line = lines[next] ?? "";
    write(line, line.length);
    return true;
  };
  const onKey = (event: KeyboardEvent) => {
    typed(performance.now());
    if (event.isComposing || event.keyCode === 229) return;
    if (menu.key(event, (option) => take(option))) return;
    const bare = !event.ctrlKey && !event.metaKey && !event.altKey;
    if (event.key === "Enter" && !event.shiftKey && bare) {
      event.preventDefault();
      submit(working ? "steer" : "queue");
    } else if (event.key === "Tab" && !event.shiftKey && bare && working && text.trim()) {
      event.preventDefault();
      submit("queue");
    } else if (event.key === "Tab" && event.shiftKey && !first) {
      event.preventDefault();
      void command(id, "mode next");
    } else if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      if (asks) document.querySelector<HTMLElement>(".ask")?.focus();
      else if (working) void interrupt(id);
      else area.current?.blur();
    } else if (event.key === "ArrowUp" && bare && (text === "" || past.current.at >= 0)) {
      if (recallLine(-1)) event.preventDefault();
    } else if (event.key === "ArrowDown" && bare && past.current.at >= 0) {
      if (recallLine(1)) event.preventDefault();
    }
  };
  const take = (option: Option) => {
    if (!menu.at) return;
    const made = replaced(text, menu.at, option.insert);
    write(made.text, made.caret);
    area.current?.focus();
  };
  const onPaste = (event: ClipboardEvent) => {
    const files = [...(event.clipboardData?.files ?? [])];
    const pasted = event.clipboardData?.getData("text/plain") ?? "";
    if (files.length > 0 && !pasted) {
      event.preventDefault();
      void addFiles(files);
    } else if (pasted.length > LONG_PASTE_LETTERS || pasted.split("\n").length > LONG_PASTE) {
      event.preventDefault();
      setAttached((now) => [...now, attachedText(words.pasted(pasted.split("\n").length), pasted)]);
    }
  };
  const empty = !text.trim() && attached.length === 0 && !notes?.length;
  return (
    <form
      class={`composer ${over ? "over" : ""}`}
      onSubmit={(event) => {
        event.preventDefault();
        submit(working ? "steer" : "queue");
      }}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        void addFiles([...(event.dataTransfer?.files ?? [])]);
      }}
    >
      <Queue id={id} />
      {menu.options.length > 0 ? <MenuBox menu={menu} take={take} /> : null}
      {attached.length > 0 || notes?.length ? (
        <ul class="attached">
          {(notes ?? []).map((note) => (
            <li key={note.key} title={note.text}>
              <Icon name="comment" />
              <span class="name">{oneLine(`${note.path}:${note.line}`, 40)}</span>
              <button type="button" class="quiet square small" aria-label={words.removeIt(`${note.path}:${note.line}`)} onClick={() => dropComment(id, note.key)}><Icon name="close" /></button>
            </li>
          ))}
          {attached.map((one) => (
            <li key={one.key}>
              {one.image ? <img src={`data:${one.image.media_type};base64,${one.image.data}`} alt="" /> : <Icon name="clip" />}
              <span class="name">{oneLine(one.name, 60)}</span>
              <button type="button" class="quiet square small" aria-label={words.removeIt(one.name)} onClick={() => setAttached(attached.filter((other) => other.key !== one.key))}><Icon name="close" /></button>
            </li>
          ))}
        </ul>
      ) : null}
      <div class="composer-line">
        <label class="quiet square button" title={words.attach}>
          <Icon name="clip" />
          <span class="hidden">{words.attach}</span>
          <input
            class="hidden"
            type="file"
            multiple
            onChange={(event) => {
              void addFiles([...(event.currentTarget.files ?? [])]);
              event.currentTarget.value = "";
            }}
          />
        </label>
        {tools}
        <textarea
          ref={area}
          id="composer"
          rows={1}
          value={text}
          placeholder={over ? words.drop : first ? words.firstHint : asks ? words.askHint : working ? words.steerHint : words.ask}
          aria-label={words.composer}
          aria-controls={menu.options.length > 0 ? menu.id : undefined}
          aria-autocomplete="list"
          aria-activedescendant={menu.options.length > 0 ? `${menu.id}-${menu.chosen}` : undefined}
          enterkeyhint="send"
          onInput={(event) => {
            past.current.at = -1;
            write(event.currentTarget.value);
            menu.look();
          }}
          onKeyDown={onKey}
          onKeyUp={menu.look}
          onClick={menu.look}
          onBlur={() => setTimeout(menu.close, 150)}
          onPaste={onPaste}
        />
        {working && !empty ? <button type="button" class="quiet" title={`${words.queue} (Tab)`} onClick={() => submit("queue")}>{words.queue}</button> : null}
        {working && empty ? (
          <button type="button" class="square stop" aria-label={words.stop} title={`${words.stop} (Esc)`} onClick={() => void interrupt(id)}><Icon name="stop" /></button>
        ) : (
          <button type="submit" class="primary square" aria-label={working ? words.steer : words.send} title={working ? words.steer : words.send} disabled={empty}><Icon name="send" /></button>
        )}
      </div>
    </form>
  );
}

function grow(area: HTMLTextAreaElement | null): void {
  if (!area) return;
  area.style.height = "auto";
  area.style.height = `${Math.min(area.scrollHeight, Math.round(innerHeight * 0.4))}px`;
}

function Queue({ id }: { id: string }) {
  const words = useWords();
  const queue = useApp((now) => now.sessions[id]?.live.queue);
  const failed = useApp((now) => now.sessions[id]?.pending.some((one) => one.failed) ?? false);
  return (
    <>
      {queue?.length ? (
        <ul class="queue" aria-label={words.queued}>
          {queue.map((one, at) => <li key={at}><span class="badge">{one.delivery === "steer" ? words.steering : words.queued}</span> {oneLine(one.text, 120)}</li>)}
        </ul>
      ) : null}
      {failed ? <p class="queue warn-text">{words.notSent} <button type="button" class="small" onClick={() => resendNow(id)}>{words.retryNow}</button></p> : null}
    </>
  );
}

interface MenuState {
  id: string;
  at: Completing | null;
  options: Option[];
  chosen: number;
  choose(at: number): void;
  look(): void;
  close(): void;
  key(event: KeyboardEvent, take: (option: Option) => void): boolean;
}

function useMenu(id: string, text: string, area: { current: HTMLTextAreaElement | null }, of?: string): MenuState {
  const words = useWords();
  const commands = useApp((now) => now.sessions[id]?.live.commands);
  const project = useApp((now) => of ?? now.sessions[id]?.project ?? "");
  const [at, setAt] = useState<Completing | null>(null);
  const [files, setFiles] = useState<Option[]>([]);
  const [chosen, choose] = useState(0);
  const shut = useRef("");
  const name = useId();
  const look = () => {
    const next = area.current && document.activeElement === area.current ? completing(area.current.value, area.current.selectionStart) : null;
    const key = next ? `${next.kind}${next.word}` : "";
    if (key !== (at ? `${at.kind}${at.word}` : "")) choose(0);
    if (key !== shut.current) shut.current = "";
    setAt(next && shut.current !== key ? next : null);
  };
  useEffect(() => {
    if (!area.current?.value.startsWith("/") && !text.includes("@")) setAt(null);
  }, [text]);
  useEffect(() => {
    if (at?.kind !== "file" || !project) {
      setFiles([]);
      return;
    }
    let here = true;
    const timer = setTimeout(() => {
      api.files(project, at.word).then((found) => {
        if (!here) return;
        const options = found.items.map((item) => ({ label: `${item.path}${item.folder ? "/" : ""}`, hint: "", insert: `@${item.path}${item.folder ? "/" : ""}` }));
        setFiles(found.truncated ? [...options, { label: "…", hint: words.moreFiles, insert: "" }] : options);
      }, () => here && setFiles([]));
    }, 60);
    return () => {
      here = false;
      clearTimeout(timer);
    };
  }, [at?.kind, at?.word, project]);
  const named = at?.kind === "command" ? matchCommands(commands ?? [], at.word).map((one) => ({ label: `/${one.name}${one.arguments ? ` ${one.arguments}` : ""}`, hint: one.help, insert: `/${one.name}` })) : [];
  const options = at?.kind === "command" ? named : at?.kind === "file" ? files : [];
  const key = (event: KeyboardEvent, take: (option: Option) => void): boolean => {
    if (options.length === 0) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) choose((chosen + step + options.length) % options.length);
    else if (event.key === "Escape") {
      shut.current = at ? `${at.kind}${at.word}` : "";
      setAt(null);
      event.stopPropagation();
    } else if ((event.key === "Tab" && !event.shiftKey) || (event.key === "Enter" && !isWhole(at, options[chosen]))) {
      const option = options[chosen];
      if (option?.insert) take(option);
    } else return false;
    event.preventDefault();
    return true;
  };
  return { id: name, at, options, chosen: Math.min(chosen, Math.max(0, options.length - 1)), choose, look, close: () => setAt(null), key };
}

/** The command stands there already: Enter sends it. */
function isWhole(at: Completing | null, option: Option | undefined): boolean {
  return at?.kind === "command" && option?.insert === `/${at.word}`;
}

function MenuBox({ menu, take }: { menu: MenuState; take: (option: Option) => void }) {
  const words = useWords();
  const box = useRef<HTMLUListElement>(null);
  useLayoutEffect(() => box.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" }), [menu.chosen]);
  return (
    <ul class="complete" role="listbox" id={menu.id} ref={box} aria-label={menu.at?.kind === "file" ? words.filesMenu : words.commands}>
      {menu.options.map((option, at) => (
        <li
          key={option.label}
          id={`${menu.id}-${at}`}
          role="option"
          aria-selected={at === menu.chosen}
          onPointerDown={(event) => {
            event.preventDefault();
            if (option.insert) take(option);
          }}
          onPointerMove={() => menu.choose(at)}
        >
          <span class="complete-label">{clean(option.label)}</span>
          <span class="complete-hint">{clean(option.hint)}</span>
        </li>
      ))}
    </ul>
  );
}
