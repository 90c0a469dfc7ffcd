// Beside the conversation: what it changed, its plan, what runs in the background, what it weighs and costs.

import { useMemo } from "preact/hooks";
import { clean, oneLine } from "../lib/clean";
import { parseDiff, totals } from "../lib/diff";
import { cost, duration, percent, tokens } from "../lib/format";
import { change, useApp, useWords } from "../state/app";
import { command } from "../state/sessions";
import type { Doing, Task, TodoState } from "../wire";
import type { Words } from "../words";
import { Counts } from "./DiffView";
import { Icon, useNow } from "./parts";

export function RightPanel({ id }: { id: string }) {
  const words = useWords();
  return (
    <aside class="right" aria-label={words.details}>
      <Goal id={id} />
      <Changes id={id} />
      <Plan id={id} />
      <Background id={id} />
      <Weight id={id} />
    </aside>
  );
}

function Goal({ id }: { id: string }) {
  const words = useWords();
  const goal = useApp((now) => now.sessions[id]?.live.mode.goal);
  if (!goal) return null;
  return (
    <section>
      <h2>{words.goalIs} {goal.turn > 0 ? `${goal.turn}/${goal.most}` : ""}</h2>
      <p>{clean(goal.objective)}</p>
      {goal.why ? <p class="faint">{clean(goal.why)}</p> : null}
    </section>
  );
}

function Changes({ id }: { id: string }) {
  const words = useWords();
  const diff = useApp((now) => now.sessions[id]?.changes ?? "");
  const files = useMemo(() => parseDiff(diff), [diff]);
  const sum = totals(files);
  const open = (file: string) => change({ dialog: { at: "changes", session: id, file }, sheet: null });
  return (
    <section>
      <h2>{words.changes}{files.length > 0 ? <span class="faint"> · {words.files(files.length)} <Counts added={sum.added} removed={sum.removed} /></span> : null}</h2>
      {files.length === 0 ? <p class="faint">{words.noChanges}</p> : (
        <>
          <ul class="changes">
            {files.slice(0, 30).map((file) => (
              <li key={file.path}>
                <button type="button" class="row-button" onClick={() => open(file.path)} title={file.path}>
                  <span class="path">{clean(file.path)}</span> <Counts added={file.added} removed={file.removed} />
                </button>
              </li>
            ))}
          </ul>
          <button type="button" class="small" onClick={() => open("")}>{words.reviewAll}</button>
        </>
      )}
    </section>
  );
}

const TODO_MARKS: Record<TodoState, string> = { pending: "○", in_progress: "▶", done: "✓" };

function Plan({ id }: { id: string }) {
  const words = useWords();
  const todo = useApp((now) => now.sessions[id]?.transcript.todo);
  if (!todo?.length) return null;
  const done = todo.filter((item) => item.state === "done").length;
  return (
    <section>
      <h2>{words.plan(done, todo.length)}</h2>
      <ul class="todo">
        {todo.map((item, at) => (
          <li key={at} class={`todo-${item.state}`}>
            <span class="todo-mark" aria-hidden="true">{TODO_MARKS[item.state]}</span>
            <span class="hidden">{words.todoState[item.state]}: </span>
            <span>{clean(item.text)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function doingText(doing: Doing, words: Words): string {
  return typeof doing === "string" ? words.doing[doing] : words.doing.running(doing.running);
}

/** Of those that have ended, the newest. */
const MAX_ENDED = 6;

function Background({ id }: { id: string }) {
  const words = useWords();
  const tasks = useApp((now) => now.sessions[id]?.live.tasks);
  const jobs = useApp((now) => now.sessions[id]?.live.jobs);
  const heard = useMemo(() => Date.now(), [tasks]);
  const passed = Math.max(0, useNow((tasks?.length ?? 0) > 0) - heard);
  const children = useApp((now) => now.sessions[id]?.transcript.children);
  const ended = (children ?? []).filter((child) => !tasks?.some((task) => task.session === child.session_id)).slice(-MAX_ENDED).reverse();
  if (!tasks?.length && !jobs?.length && ended.length === 0) return null;
  const show = (child: string, name: string, title: string) => change({ dialog: { at: "agent", session: id, child, name, title }, sheet: null });
  const stop = (name: string) => <button type="button" class="quiet square small" aria-label={words.stopIt(name)} title={words.stopIt(name)} onClick={() => void command(id, `kill ${name}`)}><Icon name="stop" /></button>;
  return (
    <section>
      <h2>{words.agents}</h2>
      <ul class="tasks">
        {(tasks ?? []).map((task: Task) => (
          <li key={task.id}>
            <span class="task-id">{task.id}</span>
            <button type="button" class="task-text" title={task.prompt} disabled={!task.session} onClick={() => show(task.session!, task.id, task.prompt)}>{oneLine(task.prompt, 80)}<span class="faint"> · {doingText(task.doing, words)} · {duration(task.seconds * 1000 + passed)}</span></button>
            {stop(task.id)}
          </li>
        ))}
        {(jobs ?? []).map((job) => (
          <li key={job}>
            <span class="task-id">{job}</span>
            <button type="button" class="task-text" onClick={() => change({ dialog: { at: "job", session: id, name: job }, sheet: null })}>{words.jobOutput}</button>
            {stop(job)}
          </li>
        ))}
        {ended.map((child) => (
          <li key={child.session_id} class="ended">
            <span class="task-id" aria-hidden="true">{child.outcome === "done" ? "✓" : "✗"}</span>
            <button type="button" class="task-text" title={child.title} onClick={() => show(child.session_id, child.id, [child.role, child.title].filter(Boolean).join(": "))}>
              <span class="hidden">{child.outcome === "done" ? words.state.idle : words.state.failed}: </span>
              {oneLine([child.role, child.title].filter(Boolean).join(": "), 80)}<span class="faint"> · {duration(child.duration_ms)}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Weight({ id }: { id: string }) {
  const words = useWords();
  const used = useApp((now) => now.sessions[id]?.transcript.context ?? 0);
  const total = useApp((now) => now.sessions[id]?.live.window ?? 0);
  const sums = useApp((now) => now.sessions[id]?.transcript.sums);
  const budget = useApp((now) => now.sessions[id]?.live.budget ?? null);
  const clients = useApp((now) => now.sessions[id]?.live.clients?.ids.length ?? 0);
  const row = useApp((now) => now.rows.find((one) => one.id === id));
  const share = percent(used, total);
  const spent = Math.max(row?.cost ?? 0, sums?.cost ?? 0);
  return (
    <section class="weight">
      <h2>{words.context}{total > 0 ? <span class="faint"> {share} %</span> : null}</h2>
      <meter class={share > 80 ? "high" : ""} min={0} max={100} value={share} aria-label={words.context} title={words.contextOf(tokens(used), tokens(total))}>{share} %</meter>
      <p class="faint">
        {total > 0 ? words.contextOf(tokens(used), tokens(total)) : words.contextUnknown(tokens(used))}
      </p>
      <p class="faint">
        {[row?.cost === null && !sums?.cost ? "" : cost(spent), sums && sums.input > 0 ? words.cachedShare(percent(sums.cached, sums.input)) : "", budget !== null ? words.budget(budget) : "", clients > 1 ? words.attached(clients) : ""].filter(Boolean).join(" · ")}
      </p>
      <div class="buttons">
        <button type="button" class="small" onClick={() => void command(id, "rewind")}><Icon name="back" /> {words.rewind}</button>
        <button type="button" class="small" onClick={() => void command(id, "context")}>{words.context}</button>
      </div>
    </section>
  );
}
