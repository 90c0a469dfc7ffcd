// The timeline of what the person said: where to go back to, and what that changes, before it happens.

import { useEffect, useMemo, useState } from "preact/hooks";
import { clean } from "../lib/clean";
import { parseDiff } from "../lib/diff";
import { app, change, useWords } from "../state/app";
import { ask, command, perform, rewindFile } from "../state/sessions";
import type { Act, Item, List, View } from "../wire";
import { DiffView } from "./DiffView";
import { Icon, Modal, Skeleton } from "./parts";

const close = () => change({ dialog: null });

/** The command of an item that shows what it changed: it says `diff`. */
function diffOf(item: Item): string | null {
  for (const action of item.actions ?? []) {
    if ("command" in action.act && /^diff\b/.test(action.act.command)) return action.act.command;
  }
  return null;
}

/** The item of an entry: as many prompts follow it as items stand above it, and it has its words. */
function itemOf(list: List, session: string, entry: number): Item | null {
  const items = (list.items ?? []).filter((item) => diffOf(item));
  const said = (app.get().sessions[session]?.transcript.rows ?? []).filter((row) => row.kind === "user");
  const row = said.find((one) => one.entry === entry);
  if (!row) return null;
  const start = clean(row.text).trim().split("\n")[0]!.slice(0, 24);
  const has = (item: Item | undefined) => item?.label.includes(start) ?? false;
  const by = items[said.filter((one) => one.entry > entry).length];
  return has(by) ? by! : (items.find(has) ?? null);
}

export function Rewind({ session, list, entry }: { session: string; list: List; entry?: number }) {
  const words = useWords();
  const [chosen, setChosen] = useState<Item | null>(null);
  const [diff, setDiff] = useState<View | "loading" | null>(null);
  const [kinds, setKinds] = useState<List | null>(null);
  const choose = (item: Item) => {
    setChosen(item);
    setDiff(null);
    setKinds(null);
    const [first] = item.actions ?? [];
    const line = diffOf(item);
    if (!line) return;
    setDiff("loading");
    // All that was changed since, as all of it goes.
    void ask(session, `${line}..`).then(setDiff, () => setDiff(null));
    // An item without a diff acts at once when it is pressed below; one with numbers first says what it can take back.
    if (first && "command" in first.act) void ask(session, first.act.command).then((view) => view && "list" in view && setKinds(view.list), () => {});
  };
  useEffect(() => {
    const item = entry === undefined ? null : itemOf(list, session, entry);
    if (item) choose(item);
  }, []);
  const act = (what: Act) => {
    close();
    if ("command" in what) void command(session, what.command);
    else perform(session, what.do);
  };
  const files = useMemo(() => (diff && diff !== "loading" && "diff" in diff ? parseDiff(clean(diff.diff)) : []), [diff]);
  const others = (chosen?.actions ?? []).slice(1).filter((action) => !("command" in action.act && /^diff\b/.test(action.act.command)));
  const number = Number(/^diff (\d+)$/.exec((chosen && diffOf(chosen)) ?? "")?.[1] ?? 0);
  return (
    <Modal title={clean(list.title)} onClose={close} wide>
      <div class="rewind">
        <ol class="timeline">
          {(list.items ?? []).map((item, at) => (
            <li key={at} class={item === chosen ? "current" : undefined}>
              <button type="button" class="pick" aria-current={item === chosen ? "step" : undefined} onClick={() => choose(item)}>
                <span class="pick-label">{clean(item.label)}</span>
                {item.detail ? <span class="faint">{clean(item.detail)}</span> : null}
              </button>
            </li>
          ))}
          {list.items?.length ? null : <li class="faint">{clean(list.empty ?? words.noMatch)}</li>}
        </ol>
        <div class="rewind-what" aria-live="polite">
          {!chosen ? <p class="faint">{words.rewindChoose}</p> : (
            <>
              <div class="buttons">
                {(kinds?.items ?? (diffOf(chosen) ? [] : [chosen])).map((item, at) => {
                  const first = item.actions?.[0];
                  if (!first || ("do" in first.act && kinds)) return null;
                  return <button type="button" key={at} class={at === 0 ? "primary" : ""} onClick={() => act(first.act)}>{words.rewind}: {clean(item.label)}</button>;
                })}
                {others.map((action) => <button type="button" key={action.label} class="quiet" onClick={() => act(action.act)}>{clean(action.label)}</button>)}
              </div>
              {diff === "loading" ? <Skeleton lines={4} /> : diff ? files.length > 0 ? (
                <>
                  <p class="faint">{words.rewindChanges}</p>
                  <DiffView files={files} tools={number > 0 ? (file) => <RewindFile run={() => { close(); void rewindFile(session, number, file.path); }} path={file.path} /> : undefined} />
                </>
              ) : <p class="faint">{words.rewindNothing}</p> : null}
            </>
          )}
        </div>
      </div>
    </Modal>
  );
}

/** Pressed once it asks, pressed twice it goes back. A name that is no single line cannot be said to a command. */
export function RewindFile({ run, path }: { run: () => void; path: string }) {
  const words = useWords();
  const [sure, setSure] = useState(false);
  useEffect(() => {
    if (!sure) return;
    const timer = setTimeout(() => setSure(false), 4000);
    return () => clearTimeout(timer);
  }, [sure]);
  if (/[\n\r]/.test(path)) return null;
  return (
    <button type="button" class={`quiet small ${sure ? "sure" : ""}`} title={words.rewindThis} onClick={() => (sure ? run() : setSure(true))}>
      <Icon name="back" /> <span class={sure ? "" : "wide-only"}>{sure ? words.confirm(words.rewindThis) : words.rewindThis}</span>
    </button>
  );
}
