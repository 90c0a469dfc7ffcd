// The first page: what to work on, where, what waits for the person, and what was worked on last.

import { useMemo, useState } from "preact/hooks";
import { oneLine } from "../lib/clean";
import { age, cost } from "../lib/format";
import { change, go, signOf, useApp, useWords } from "../state/app";
import { keep, recall } from "../state/prefs";
import { openOther } from "../state/sessions";
import type { Project, SessionRow } from "../wire";
import { Composer } from "./Composer";
import { Icon, Menu, Sign, Skeleton, useNow } from "./parts";

/** Sessions of each list. */
const MAX_WAITING = 8;
const MAX_RECENT = 7;
const MODES = ["normal", "plan"] as const;
type Mode = (typeof MODES)[number];
/** The draft of a first message is kept under this name. */
const FIRST = "first";

export function Home() {
  const words = useWords();
  const projects = useApp((now) => now.projects);
  const rows = useApp((now) => now.rows);
  const listed = useApp((now) => now.listed);
  const [chosen, choose] = useState(() => recall("project") ?? "");
  const [mode, setMode] = useState<Mode>("normal");
  const project = projects.find((one) => one.id === chosen) ?? projects.find((one) => one.id === rows[0]?.project) ?? projects[0];
  const [waiting, recent] = useMemo(() => {
    const waits = (row: SessionRow) => row.state === "asks" || row.state === "working" || row.state === "failed";
    return [rows.filter(waits).slice(0, MAX_WAITING), rows.filter((row) => !waits(row)).slice(0, MAX_RECENT)];
  }, [rows]);
  return (
    <main class="home" id="main">
      <button type="button" class="quiet square narrow-only" aria-label={words.menu} onClick={() => change({ sheet: "left" })}><Icon name="menu" /></button>
      <div class="home-box">
        <h1><img src="/icon.svg" alt="" width="34" height="34" /> {words.welcome}</h1>
        {!listed ? <Skeleton lines={3} /> : project ? (
          <>
            <Composer
              id={FIRST}
              first={{ project: project.id, send: (text, images) => void openOther(project.id, "new", { text, images, ...(mode === "normal" ? {} : { mode }) }) }}
              tools={<Choices project={project} projects={projects} choose={(id) => { choose(id); keep("project", id); }} mode={mode} setMode={setMode} />}
            />
            <div class="home-where">
              <span class="faint home-root" title={project.root}>{oneLine(project.root, 90)}</span>
              <button type="button" class="quiet small" onClick={() => void openOther(project.id, "new")}>{words.emptySession}</button>
            </div>
          </>
        ) : (
          <p class="buttons"><button type="button" class="primary" onClick={() => change({ dialog: { at: "project" } })}>{words.addProject}</button></p>
        )}
        <Rows title={words.waiting} rows={waiting} projects={projects} />
        <Rows title={words.recent} rows={recent} projects={projects} />
      </div>
    </main>
  );
}

interface ChoicesProps {
  project: Project;
  projects: Project[];
  choose: (id: string) => void;
  mode: Mode;
  setMode: (mode: Mode) => void;
}

/** Where the session works, and whether it plans first. */
function Choices({ project, projects, choose, mode, setMode }: ChoicesProps) {
  const words = useWords();
  const items = [
    ...projects.map((one) => ({ label: one.name, hint: one.root, marked: one.id === project.id, run: () => choose(one.id) })),
    { label: words.addProject, run: () => change({ dialog: { at: "project" } }) },
  ];
  const modes = MODES.map((one) => ({ label: words.modes[one], hint: words.modes[`${one}Hint`], marked: one === mode, run: () => setMode(one) }));
  return (
    <div class="home-choices">
      <Menu text label={words.project} class="pill" items={items}><Icon name="folder" /> {project.name} <Icon name="down" /></Menu>
      <Menu text label={words.mode} class={`pill ${mode === "plan" ? "on" : ""}`} items={modes}>{words.modes[mode]} <Icon name="down" /></Menu>
    </div>
  );
}

function Rows({ title, rows, projects }: { title: string; rows: SessionRow[]; projects: Project[] }) {
  const words = useWords();
  const now = useNow(rows.length > 0, 30_000);
  const sessions = useApp((at) => at.sessions);
  if (rows.length === 0) return null;
  return (
    <section class="home-rows" aria-label={title}>
      <h2>{title}</h2>
      <ul>
        {rows.map((row) => {
          const sign = signOf(row, sessions[row.id]);
          return (
            <li key={row.id}>
              <a
                class="home-row"
                href={`/s/${encodeURIComponent(row.id)}`}
                onClick={(event) => {
                  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
                  event.preventDefault();
                  go({ at: "session", id: row.id });
                }}
              >
                <Sign sign={sign} />
                <span class="session-title">{oneLine(row.title || words.newSession, 110)}</span>
                <span class="home-facts">{[projects.find((one) => one.id === row.project)?.name, row.cost ? cost(row.cost) : ""].filter(Boolean).join(" · ")}</span>
                <span class="session-age">{age(row.updated, now, words.justNow)}</span>
              </a>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
