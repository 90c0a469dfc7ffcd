// A panel of a project: the view that its command answers with, whatever it is.

import { useEffect, useState } from "preact/hooks";
import { api } from "../../net/api";
import { oneLine } from "../../lib/clean";
import { change, go, sessionTitle, toast, useApp, useWords } from "../../state/app";
import { keep, keepDraft } from "../../state/prefs";
import { ask, openOther } from "../../state/sessions";
import type { Act, View } from "../../wire";
import { ProjectAsks } from "../ask/ProjectAsks";
import { Icon, Skeleton } from "../parts";
import { ViewPart } from "../ViewPart";
import { UsagePanel } from "./Usage";

export function PanelPage({ project, panel }: { project: string; panel: string }) {
  const words = useWords();
  const name = useApp((now) => now.projects.find((one) => one.id === project)?.name ?? project);
  const title = words.panels[panel as keyof typeof words.panels] ?? panel;
  const [round, setRound] = useState(0);
  return (
    <main class="panel-page" id="main">
      <header class="session-head">
        <button type="button" class="quiet square narrow-only" aria-label={words.menu} onClick={() => change({ sheet: "left" })}><Icon name="menu" /></button>
        <h1>{title} <span class="faint">· {name}</span></h1>
        <div class="head-tools"><button type="button" class="quiet square" aria-label={words.refresh} title={words.refresh} onClick={() => setRound(round + 1)}><Icon name="refresh" /></button></div>
      </header>
      <div class="panel-body" key={`${project}${panel}${round}`}>
        {panel === "usage" ? <UsagePanel project={project} /> : panel === "trust" ? <TrustPanel project={project} /> : panel === "mcp" ? <ServersPanel project={project} /> : panel === "permissions" ? <RulesPanel project={project} /> : <CommandPanel project={project} line={panel} />}
      </div>
    </main>
  );
}

/** The question, if there is one, and below it what was decided. */
function TrustPanel({ project }: { project: string }) {
  const [answers, setAnswers] = useState(0);
  return (
    <>
      <ProjectAsks project={project} onAnswered={() => setAnswers(answers + 1)} />
      <CommandPanel key={answers} project={project} line="trust" />
    </>
  );
}

/** A session of the project that runs here, the one that was looked at last before all others. */
function useRunning(project: string): { id: string; title: string } | null {
  const id = useApp((now) => {
    const runs = now.rows.filter((row) => row.project === project && row.state !== "closed" && row.state !== "deleted");
    return (runs.find((row) => row.id === now.lastSession) ?? runs[0])?.id ?? "";
  });
  const title = useApp((now) => (id ? sessionTitle(now, id) : ""));
  return id ? { id, title } : null;
}

/** How the servers stand in a session, and what can be done about them there; without a session, how they are configured. */
function ServersPanel({ project }: { project: string }) {
  const words = useWords();
  const listed = useApp((now) => now.listed);
  const running = useRunning(project);
  const [configured, setConfigured] = useState(false);
  if (!listed) return <Skeleton lines={6} />;
  const inSession = running && !configured ? running : null;
  return (
    <>
      {running ? (
        <div class="panel-tools">
          <div class="switch" role="group" aria-label={words.panels.mcp}>
            <button type="button" aria-pressed={inSession !== null} onClick={() => setConfigured(false)}>{words.inSession(oneLine(running.title, 40))}</button>
            <button type="button" aria-pressed={inSession === null} onClick={() => setConfigured(true)}>{words.asConfigured}</button>
          </div>
        </div>
      ) : <p class="note faint">{words.opensToSee}</p>}
      <CommandPanel key={inSession?.id ?? ""} project={project} line="mcp" session={inSession?.id} />
    </>
  );
}

/** Without the counts, where half a configuration tells nothing of what it decides. */
const RULES_ONLY = "permissions list";
const RULES = [["permissions list --since 30d", "rules"], ["permissions suggest", "suggested"], ["permissions audit", "audited"]] as const;

/** The rules with how many calls each decided, rules that would spare questions, and what the newest session touched. */
function RulesPanel({ project }: { project: string }) {
  const words = useWords();
  const [line, setLine] = useState<string>(RULES[0][0]);
  return (
    <>
      <div class="panel-tools">
        <div class="switch" role="group" aria-label={words.panels.permissions}>
          {RULES.map(([one, name]) => <button type="button" key={one} aria-pressed={one === line} onClick={() => setLine(one)}>{words.rules[name]}</button>)}
        </div>
      </div>
      <CommandPanel key={line} project={project} line={line} or={line === RULES[0][0] ? RULES_ONLY : undefined} />
      {line === RULES[0][0] ? <p class="note faint">{words.decidedHint}</p> : null}
    </>
  );
}

/** A command and what it answers, or another one where it fails; actions run in its place. With a session it is a command of that. */
export function CommandPanel({ project, line, session, or }: { project: string; line: string; session?: string; or?: string }) {
  const words = useWords();
  const [view, setView] = useState<View | null>(null);
  const [said, setSaid] = useState<View | null>(null);
  const [path, setPath] = useState<string[]>([line]);
  const [failure, setFailure] = useState("");
  const [round, setRound] = useState(0);
  const at = path.at(-1)!;
  const run = (command: string) => (session ? ask(session, command) : api.projectCommand(project, command));
  const failed = (error: unknown) => setFailure(error instanceof Error ? error.message : String(error));
  useEffect(() => {
    let here = true;
    let timer: ReturnType<typeof setTimeout>;
    setFailure("");
    const made = run(at).catch((error: unknown) => (or && at === line ? run(or) : Promise.reject(error)));
    made.then((made) => {
      if (!here) return;
      setView(made);
      // What is about to change is looked at again.
      if (session && made && isUnderWay(made)) timer = setTimeout(() => setRound((n) => n + 1), AGAIN_MS);
    }, (error: unknown) => here && failed(error));
    return () => {
      here = false;
      clearTimeout(timer);
    };
  }, [project, session, at, round]);
  const act = (what: Act) => {
    if ("command" in what) {
      if (!session) return setPath([...path, what.command]);
      // What only says what was done stands above what it changed.
      void run(what.command).then((made) => {
        if (made && ("text" in made || "error" in made)) {
          setSaid(made);
          setRound((n) => n + 1);
        } else setPath([...path, what.command]);
      }, failed);
    } else if (typeof what.do === "object" && "open" in what.do) void openOther(project, what.do.open);
    else if (typeof what.do === "object" && "copy" in what.do) void navigator.clipboard?.writeText(what.do.copy).then(() => toast(words.copied));
    else if (typeof what.do === "object" && "compose" in what.do) compose(project, what.do.compose);
  };
  return (
    <>
      {path.length > 1 ? <p class="crumbs"><button type="button" class="small" onClick={() => { setSaid(null); setPath(path.slice(0, -1)); }}><Icon name="back" /> {words.back}</button> <span class="faint">{at}</span></p> : null}
      {said ? <div class="said-view" role="status"><ViewPart view={said} onAct={act} /></div> : null}
      {failure ? <p class="note bad" role="alert">✗ {failure}</p> : view ? <ViewPart view={view} onAct={act} /> : <Skeleton lines={6} />}
    </>
  );
}

/** Between two looks at what is about to change. */
const AGAIN_MS = 1000;

/** A row says that it is starting. */
function isUnderWay(view: View): boolean {
  if (!("table" in view)) return false;
  return view.table.rows.some((row) => (Array.isArray(row) ? row : row.cells).some((cell) => typeof cell === "object" && cell.value === "starting"));
}

/** A text that is to be written in a session goes to the first page, where one begins. */
function compose(project: string, text: string): void {
  keep("project", project);
  keepDraft("first", text);
  go({ at: "home" });
}
