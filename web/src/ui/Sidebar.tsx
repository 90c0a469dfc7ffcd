// At the left: sessions by project, with their signs, search, and the panels.

import { useEffect, useMemo, useState } from "preact/hooks";
import { age, baseName } from "../lib/format";
import { oneLine } from "../lib/clean";
import { api } from "../net/api";
import { change, go, signOf, useApp, useWords } from "../state/app";
import { openOther } from "../state/sessions";
import type { SessionRow } from "../wire";
import { FIRST_PANELS, PANELS } from "./panels/list";
import { Icon, Menu, moveFocus, Sign, Skeleton, useNow, type IconName } from "./parts";

const IS_MAC = /Mac|iPhone|iPad/.test(navigator.platform);
/** Sessions of a project that are listed before it is searched. */
const SHOWN = 12;

export function Sidebar() {
  const words = useWords();
  const [query, setQuery] = useState("");
  const listed = useApp((now) => now.listed);
  const projects = useApp((now) => now.projects);
  const rows = useFound(query);
  const groups = useMemo(() => {
    const ids = [...new Set([...projects.map((one) => one.id), ...rows.map((row) => row.project)])];
    const newest = (id: string) => rows.filter((row) => row.project === id && row.updated)[0]?.updated ?? "";
    return ids
      .map((id) => ({ id, project: projects.find((one) => one.id === id), rows: rows.filter((row) => row.project === id) }))
      .filter((group) => query === "" || group.rows.length > 0)
      .sort((a, b) => (newest(a.id) < newest(b.id) ? 1 : -1));
  }, [projects, rows, query]);
  const here = useCurrentProject();
  return (
    <nav class="left" aria-label={words.menu}>
      <div class="brand">
        <a href="/" class="logo" onClick={(event) => { event.preventDefault(); go({ at: "home" }); }}><img src="/icon.svg" alt="" width="22" height="22" /> Ostler</a>
        <button type="button" class="quiet small palette-key" title={words.palette} onClick={() => change({ dialog: { at: "palette" }, sheet: null })}><span class="hidden">{words.palette} </span><kbd>{IS_MAC ? "⌘K" : "Ctrl K"}</kbd></button>
        <Menu label={words.newSession} class="quiet square" align="right" items={() => Promise.resolve(newItems(projects, words))}><Icon name="plus" /></Menu>
        <button type="button" class="quiet square" aria-label={words.settings} title={words.settings} onClick={() => change({ dialog: { at: "settings" }, sheet: null })}><Icon name="gear" /></button>
      </div>
      <div class="search">
        <Icon name="search" />
        <input id="search" type="search" placeholder={words.searchShort} aria-label={words.search} value={query} onInput={(event) => setQuery(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape") setQuery("");
            if (event.key === "ArrowDown") {
              event.preventDefault();
              event.currentTarget.closest("nav")?.querySelector<HTMLElement>(".session-row")?.focus();
            }
          }} />
        <kbd>f</kbd>
      </div>
      <div class="sessions" onKeyDown={(event) => moveFocus(event, event.currentTarget, ".session-row")}>
        {!listed ? <Skeleton lines={6} /> : null}
        {listed && rows.length === 0 ? <p class="faint pad">{query ? words.noMatch : words.noSessions}</p> : null}
        {groups.map((group) => <Group key={group.id} id={group.id} name={group.project?.name ?? baseName(group.id).replace(/-[0-9a-f]{8}$/, "")} trust={group.project?.trust} rows={group.rows} all={query !== ""} />)}
      </div>
      {here ? <Panels project={here} /> : null}
    </nav>
  );
}

function newItems(projects: { id: string; name: string; root: string }[], words: ReturnType<typeof useWords>) {
  return [
    ...projects.map((project) => ({ label: words.newIn(project.name), hint: project.root, run: () => void openOther(project.id, "new") })),
    { label: words.addProject, run: () => change({ dialog: { at: "project" } }) },
  ];
}

export function useCurrentProject(): string {
  return useApp((now) => {
    const route = now.route;
    if (route.at === "session") return now.sessions[route.id]?.project || now.rows.find((row) => row.id === route.id)?.project || now.projects[0]?.id || "";
    return route.at === "panel" || route.at === "start" ? route.project : (now.projects[0]?.id ?? "");
  });
}

/** The sessions, or those that a search of titles and history finds. */
function useFound(query: string): SessionRow[] {
  const rows = useApp((now) => now.rows);
  const [found, setFound] = useState<{ query: string; rows: SessionRow[] } | null>(null);
  useEffect(() => {
    const q = query.trim();
    if (!q) return setFound(null);
    let here = true;
    const timer = setTimeout(() => void api.sessions(q, 100).then((made) => here && setFound({ query: q, rows: made }), () => {}), 180);
    return () => {
      here = false;
      clearTimeout(timer);
    };
  }, [query]);
  return useMemo(() => {
    const q = query.trim().toLowerCase();
    if (!q) return rows;
    const byTitle = rows.filter((row) => row.title.toLowerCase().includes(q));
    const more = (found?.query === query.trim() ? found.rows : []).filter((row) => !byTitle.some((one) => one.id === row.id));
    return [...byTitle, ...more];
  }, [rows, found, query]);
}

function Group({ id, name, trust, rows, all }: { id: string; name: string; trust?: string; rows: SessionRow[]; all: boolean }) {
  const words = useWords();
  const [more, setMore] = useState(false);
  const current = useApp((now) => (now.route.at === "session" ? now.route.id : ""));
  const shown = more || all ? rows : rows.filter((row, at) => at < SHOWN || row.id === current || row.state === "asks" || row.state === "working");
  return (
    <section class="group-sessions" aria-label={name}>
      <header>
        <h2>{name}</h2>
        {trust === "untrusted" || trust === "changed" ? <button type="button" class="badge warn" onClick={() => go({ at: "panel", project: id, panel: "trust" })}>{words.panels.trust}</button> : null}
        <button type="button" class="quiet square small" aria-label={words.newIn(name)} title={words.newIn(name)} onClick={() => void openOther(id, "new")}><Icon name="plus" /></button>
      </header>
      <ul>{shown.map((row) => <li key={row.id} class="session-item"><SessionLink row={row} current={row.id === current} /><RowMenu row={row} /></li>)}</ul>
      {rows.length > shown.length ? <button type="button" class="quiet small more-sessions" onClick={() => setMore(true)}>+ {rows.length - shown.length}</button> : null}
    </section>
  );
}

function RowMenu({ row }: { row: SessionRow }) {
  const words = useWords();
  const title = oneLine(row.title || words.newSession, 60);
  const items = [
    { label: words.rename, run: () => change({ dialog: { at: "rename", session: row.id }, sheet: null }) },
    { label: words.exportAs("Markdown"), href: api.exportUrl(row.id, "md") },
    { label: words.remove, bad: true, run: () => change({ dialog: { at: "remove", session: row.id }, sheet: null }) },
  ];
  return <Menu label={`${words.actions}: ${title}`} class="quiet square small" float items={items}><Icon name="dots" /></Menu>;
}

function SessionLink({ row, current }: { row: SessionRow; current: boolean }) {
  const words = useWords();
  const now = useNow(true, 30_000);
  const sign = useApp((app) => signOf(app.rows.find((one) => one.id === row.id) ?? row, app.sessions[row.id]));
  const own = useApp((app) => app.sessions[row.id]?.transcript.title);
  return (
    <a
      class={`session-row ${current ? "current" : ""}`}
      href={`/s/${encodeURIComponent(row.id)}`}
      aria-current={current ? "page" : undefined}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        go({ at: "session", id: row.id });
      }}
    >
      <Sign sign={sign} />
      <span class="session-title">{oneLine(own || row.title || words.newSession, 90)}</span>
      <span class="session-age">{age(row.updated, now, words.justNow)}</span>
    </a>
  );
}

function Panels({ project }: { project: string }) {
  const words = useWords();
  const route = useApp((now) => now.route);
  const at = route.at === "panel" ? route.panel : "";
  const others = PANELS.filter((panel) => !FIRST_PANELS.includes(panel)).map((panel) => ({ label: words.panels[panel], run: () => go({ at: "panel", project, panel }) }));
  return (
    <div class="panels">
      {FIRST_PANELS.map((panel) => (
        <a
          key={panel}
          href={`/p/${encodeURIComponent(project)}/${panel}`}
          class={at === panel ? "current" : undefined}
          aria-current={at === panel ? "page" : undefined}
          onClick={(event) => {
            event.preventDefault();
            go({ at: "panel", project, panel });
          }}
        >
          <Icon name={ICON_OF[panel] ?? "dots"} />
          {words.short[panel as keyof typeof words.short] ?? words.panels[panel]}
        </a>
      ))}
      <Menu label={words.short.more} class="quiet small" items={others} up align="right"><Icon name="dots" /> <span>{words.short.more}</span></Menu>
    </div>
  );
}

const ICON_OF: { [panel: string]: IconName } = { usage: "chart", mcp: "plug", memory: "book", permissions: "shield", trust: "key", doctor: "pulse" };

export function focusSearch(): void {
  const isNarrow = matchMedia("(max-width: 699px)").matches;
  change({ sheet: isNarrow ? "left" : null });
  const focus = () => document.querySelector<HTMLInputElement>(isNarrow ? ".modal #search" : "#search")?.focus();
  // At once, so that what is typed next arrives there; a sheet is drawn first.
  if (isNarrow) requestAnimationFrame(focus);
  else focus();
}
