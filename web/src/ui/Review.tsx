// What a session changed, file by file: a list at the left, what was looked at, notes on lines that go along with the next message.

import { useEffect, useMemo, useState } from "preact/hooks";
import { clean } from "../lib/clean";
import { parseDiff, totals, type FileDiff } from "../lib/diff";
import { useStore } from "../lib/store";
import { change, useApp, useWords } from "../state/app";
import { comments } from "../state/comments";
import { rewindFile } from "../state/sessions";
import { Counts, DiffView, SPLIT_FROM } from "./DiffView";
import { Modal, useWidth } from "./parts";
import { RewindFile } from "./Rewind";

const close = () => change({ dialog: null });
/** From here on the files are listed beside the diff. */
const LIST_FROM = 1000;

/** What was looked at, by session and file, as it was then: a file that changes since has to be looked at anew. */
const seen = new Map<string, string>();

function stamp(file: FileDiff): string {
  return file.hunks.map((hunk) => hunk.lines.map((line) => line.kind[0] + line.text).join("\n")).join("\n@\n");
}

export function Review({ session, file }: { session: string; file: string }) {
  const words = useWords();
  const diff = useApp((now) => now.sessions[session]?.changes ?? "");
  const files = useMemo(() => parseDiff(diff), [diff]);
  const stamps = useMemo(() => new Map(files.map((one) => [one.path, stamp(one)])), [files]);
  const [how, setHow] = useState<"auto" | "unified" | "split">("auto");
  const [, redraw] = useState(0);
  const [ref, width] = useWidth<HTMLDivElement>();
  const notes = useStore(comments, (now) => now[session]?.length ?? 0);
  const isSplit = how === "auto" ? width >= SPLIT_FROM : how === "split";
  const sum = totals(files);
  const isSeen = (one: FileDiff) => seen.get(`${session}/${one.path}`) === stamps.get(one.path);
  const mark = (one: FileDiff, is: boolean) => {
    if (is) seen.set(`${session}/${one.path}`, stamps.get(one.path)!);
    else seen.delete(`${session}/${one.path}`);
    redraw((n) => n + 1);
  };
  const show = (path: string) => {
    const found = [...(ref.current?.querySelectorAll<HTMLElement>(".diff-file") ?? [])].find((one) => one.dataset.path === path);
    found?.scrollIntoView({ block: "start" });
    found?.querySelector<HTMLElement>(".diff-name")?.focus({ preventScroll: true });
  };
  useEffect(() => {
    if (file) show(file);
  }, [file]);
  const done = files.filter(isSeen).length;
  const tools = (one: FileDiff) => (
    <>
      <RewindFile path={one.path} run={() => void rewindFile(session, 1, one.path)} />
      <label class="viewed"><input type="checkbox" checked={isSeen(one)} onChange={(event) => mark(one, event.currentTarget.checked)} /> {words.viewed}</label>
    </>
  );
  return (
    <Modal title={`${words.changes} · ${words.files(files.length)}`} onClose={close} wide tall>
      <div class="review-bar">
        <div class="switch" role="group" aria-label={words.diff}>
          <button type="button" aria-pressed={isSplit} onClick={() => setHow("split")}>{words.split}</button>
          <button type="button" aria-pressed={!isSplit} onClick={() => setHow("unified")}>{words.unified}</button>
        </div>
        <Counts added={sum.added} removed={sum.removed} />
        {files.length > 1 ? <span class="faint">{words.viewedOf(done, files.length)}</span> : null}
        {notes > 0 ? <button type="button" class="small primary" onClick={() => { close(); setTimeout(() => document.querySelector<HTMLElement>("#composer")?.focus(), 0); }}>{words.sendNotes(notes)}</button> : null}
      </div>
      <div class={`review ${width >= LIST_FROM && files.length > 1 ? "with-list" : ""}`} ref={ref}>
        {width >= LIST_FROM && files.length > 1 ? (
          <ul class="review-list" aria-label={words.filesMenu}>
            {files.map((one) => (
              <li key={one.path} class={isSeen(one) ? "seen" : undefined}>
                <button type="button" class="row-button" title={one.path} onClick={() => show(one.path)}><span class="path">{clean(one.path)}</span> <Counts added={one.added} removed={one.removed} /></button>
              </li>
            ))}
          </ul>
        ) : null}
        {files.length > 0 ? <DiffView files={files} how={how === "auto" ? undefined : how} tools={tools} session={session} viewed={isSeen} /> : <p class="faint">{words.noChanges}</p>}
      </div>
    </Modal>
  );
}
