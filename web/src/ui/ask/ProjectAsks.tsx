// Questions about a project, one after the other, and the page that puts them before a session opens.

import { useEffect, useRef, useState } from "preact/hooks";
import { clean } from "../../lib/clean";
import { change, sessionTitle, toast, useApp, useWords, type Route } from "../../state/app";
import { answerQuestion, fetchQuestions, refreshProjects, tellQuestion } from "../../state/questions";
import { openNow } from "../../state/sessions";
import type { Ask } from "../../wire";
import { Icon } from "../parts";
import { AskCard } from "./AskCard";

interface Props {
  project: string;
  /** Those that are known to be open; without them they are fetched. */
  known?: Ask[];
  onAnswered?: () => void;
  /** Nothing is open any more. */
  onDone?: () => void;
}

export function ProjectAsks({ project, known, onAnswered, onDone }: Props) {
  const [asks, setAsks] = useState<Ask[]>(known ?? []);
  const [problem, setProblem] = useState("");
  /** Each answer is one to a card that was just drawn: a confirmation is never left over from another. */
  const [round, setRound] = useState(0);
  const settled = useRef(new Set<string>());
  const here = useRef(true);
  useEffect(() => () => void (here.current = false), []);
  useEffect(() => {
    if (known) return;
    let waits = true;
    fetchQuestions(project).then(
      (found) => {
        const open = found.filter((one) => !settled.current.has(one.ask));
        if (!waits || open.length === 0) return;
        setAsks(open);
        tellQuestion(open[0]!);
      },
      (error: unknown) => waits && setProblem(error instanceof Error ? error.message : String(error)),
    );
    return () => {
      waits = false;
    };
  }, [project]);
  const first = asks[0];
  const answer = async (ask: Ask, choice: string, reason?: string) => {
    const next = await answerQuestion(project, asks, settled.current, ask, { choice, reason });
    void refreshProjects();
    if (!here.current) {
      if (next.problem) toast(next.problem, "bad");
      return next.taken;
    }
    setAsks(next.asks);
    setProblem(next.problem);
    setRound(round + 1);
    onAnswered?.();
    if (next.asks[0]) tellQuestion(next.asks[0]);
    else {
      // The page that showed it goes.
      if (next.problem && onDone) toast(next.problem, "bad");
      onDone?.();
    }
    return next.taken;
  };
  if (!first && !problem) return null;
  return (
    <div class="project-asks">
      {problem ? <p class="note bad" role="alert">✗ {clean(problem)}</p> : null}
      {first ? <AskCard key={`${first.ask}/${round}`} ask={first} count={asks.length} answer={(choice, reason) => answer(first, choice, reason)} /> : null}
    </div>
  );
}

export function StartPage({ route }: { route: Extract<Route, { at: "start" }> }) {
  const words = useWords();
  const { project, open, asks, first } = route;
  const resumed = typeof open === "object" && "resume" in open ? open.resume : "";
  const title = useApp((now) => (resumed ? sessionTitle(now, resumed) : ""));
  const name = useApp((now) => now.projects.find((one) => one.id === project)?.name ?? project);
  const [state, setState] = useState<"asks" | "opens" | "failed">("asks");
  const begin = async () => {
    setState("opens");
    await openNow(project, open, first);
    // It is another page by then, or it did not open.
    setState("failed");
  };
  return (
    <main class="panel-page" id="main">
      <header class="session-head">
        <button type="button" class="quiet square narrow-only" aria-label={words.menu} onClick={() => change({ sheet: "left" })}><Icon name="menu" /></button>
        <h1>{title || words.newIn(name)}</h1>
      </header>
      <div class="panel-body">
        {state === "asks" ? <p class="faint start-hint">{words.startHint}</p> : null}
        <ProjectAsks project={project} known={asks} onDone={() => void begin()} />
        {state === "failed" ? <p><button type="button" class="primary" onClick={() => void begin()}>{title || words.newIn(name)}</button></p> : null}
      </div>
    </main>
  );
}
