// What runs below a session, or ran: the conversation of a sub-agent, the output of a job. Only to be read; it grows while it is
// looked at.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { clean, lastLines } from "../lib/clean";
import { api } from "../net/api";
import { change, useApp, useWords } from "../state/app";
import { command } from "../state/sessions";
import { EMPTY, withEntries, type Row } from "../state/transcript";
import { drawRow } from "./chat/Chat";
import { Icon, Modal, Skeleton } from "./parts";

const close = () => change({ dialog: null });
/** Between two looks at what grows. */
const LOOK_MS = 1200;
/** Rows that are drawn; earlier ones are left out. */
const MAX_ROWS = 150;
const MAX_LINES = 1500;

/** Looks again and again while it runs, and once more after its end. */
function useLook(runs: boolean, look: () => Promise<void>): string {
  const [failure, setFailure] = useState("");
  useEffect(() => {
    let here = true;
    let timer: ReturnType<typeof setTimeout>;
    const next = () => {
      look().then(() => here && setFailure(""), (error: unknown) => here && setFailure(error instanceof Error ? error.message : String(error))).finally(() => {
        if (here && runs) timer = setTimeout(next, LOOK_MS);
      });
    };
    next();
    return () => {
      here = false;
      clearTimeout(timer);
    };
  }, [runs]);
  return failure;
}

/** Stays at the end unless the person scrolled away from it. */
function useFollow(what: unknown): { current: HTMLDivElement | null } {
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  useEffect(() => {
    const scroller = box.current?.closest<HTMLElement>(".modal-body");
    const onScroll = () => {
      if (scroller) atEnd.current = scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop < 40;
    };
    scroller?.addEventListener("scroll", onScroll);
    return () => scroller?.removeEventListener("scroll", onScroll);
  }, []);
  useLayoutEffect(() => {
    const scroller = box.current?.closest<HTMLElement>(".modal-body");
    if (scroller && atEnd.current) scroller.scrollTop = scroller.scrollHeight;
  }, [what]);
  return box;
}

export function AgentDialog({ session, child, name, title }: { session: string; child: string; name: string; title: string }) {
  const words = useWords();
  const runs = useApp((now) => now.sessions[session]?.live.tasks.some((task) => task.session === child) ?? false);
  const [transcript, setTranscript] = useState(EMPTY);
  const failure = useLook(runs, async () => {
    const page = await api.entries(child, undefined, 1000);
    setTranscript((now) => withEntries(now, page.entries, now.entries.length === 0 ? page.more : now.more));
  });
  const rows = useMemo(() => transcript.rows.slice(-MAX_ROWS), [transcript]);
  const box = useFollow(rows);
  const isRunning = (row: Row) => runs && row.kind === "call" && !row.result && !row.ended;
  return (
    <Modal title={`${name} · ${clean(title)}`} onClose={close} wide tall>
      <div ref={box} class="below">
        {runs ? <p class="below-head"><span class="pulse" aria-hidden="true" /> {words.working} <StopBelow session={session} name={name} /></p> : null}
        {failure && rows.length === 0 ? <p class="note bad" role="alert">✗ {failure}</p> : null}
        {rows.length === 0 && !failure ? <Skeleton lines={5} /> : null}
        {transcript.rows.length > rows.length ? <p class="faint">{words.earlierRows(transcript.rows.length - rows.length)}</p> : null}
        {rows.map((row) => <div key={row.key}>{drawRow({ row, running: isRunning(row) && row.kind === "call" ? { id: row.call.id, name: row.call.name, tail: "" } : null, asked: false, since: null, session: "" })}</div>)}
      </div>
    </Modal>
  );
}

export function JobDialog({ session, name }: { session: string; name: string }) {
  const words = useWords();
  const runs = useApp((now) => now.sessions[session]?.live.jobs.includes(name) ?? false);
  const [text, setText] = useState<string | null>(null);
  const failure = useLook(runs, async () => setText(await api.jobLog(session, name)));
  const tail = useMemo(() => lastLines(clean(text ?? ""), MAX_LINES), [text]);
  const box = useFollow(text);
  return (
    <Modal title={`${words.job} ${name}`} onClose={close} wide tall>
      <div ref={box} class="below">
        {runs ? <p class="below-head"><span class="pulse" aria-hidden="true" /> {words.callState.running} <StopBelow session={session} name={name} /></p> : null}
        {failure && text === null ? <p class="note bad" role="alert">✗ {failure}</p> : null}
        {text === null && !failure ? <Skeleton lines={5} /> : null}
        {text === "" ? <p class="faint">{words.noOutput}</p> : null}
        {tail.hidden > 0 ? <p class="faint">{words.earlier(tail.hidden)}</p> : null}
        {tail.text ? <pre class="job-log" tabIndex={0}>{tail.text}</pre> : null}
      </div>
    </Modal>
  );
}

function StopBelow({ session, name }: { session: string; name: string }) {
  const words = useWords();
  return <button type="button" class="small" onClick={() => void command(session, `kill ${name}`)}><Icon name="stop" /> {words.stopIt(name)}</button>;
}
