// A panel of a project: the view that its command answers with, whatever it is.

import { useEffect, useState } from "preact/hooks";
import { api } from "../../net/api";
import { change, toast, useApp, useWords } from "../../state/app";
import { openOther } from "../../state/sessions";
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
        {panel === "usage" ? <UsagePanel project={project} /> : panel === "trust" ? <TrustPanel project={project} /> : <CommandPanel project={project} line={panel} />}
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

/** A command and what it answers; actions run in its place. */
export function CommandPanel({ project, line }: { project: string; line: string }) {
  const words = useWords();
  const [view, setView] = useState<View | null>(null);
  const [path, setPath] = useState<string[]>([line]);
  const [failure, setFailure] = useState("");
  const at = path.at(-1)!;
  useEffect(() => {
    let here = true;
    setFailure("");
    api.projectCommand(project, at).then(
      (made) => here && setView(made),
      (error: unknown) => here && setFailure(error instanceof Error ? error.message : String(error)),
    );
    return () => {
      here = false;
    };
  }, [project, at]);
  const act = (what: Act) => {
    if ("command" in what) setPath([...path, what.command]);
    else if (typeof what.do === "object" && "open" in what.do) void openOther(project, what.do.open);
    else if (typeof what.do === "object" && "copy" in what.do) void navigator.clipboard?.writeText(what.do.copy).then(() => toast(words.copied));
  };
  return (
    <>
      {path.length === 1 && line === "permissions" ? <p class="crumbs"><button type="button" class="small" onClick={() => setPath([...path, "permissions audit"])}>{words.coverage}</button></p> : null}
      {path.length > 1 ? <p class="crumbs"><button type="button" class="small" onClick={() => setPath(path.slice(0, -1))}><Icon name="back" /> {words.back}</button> <span class="faint">{at}</span></p> : null}
      {failure ? <p class="note bad" role="alert">✗ {failure}</p> : view ? <ViewPart view={view} onAct={act} /> : <Skeleton lines={6} />}
    </>
  );
}
