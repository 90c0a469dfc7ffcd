// Everything by its name: sessions, new ones, panels, commands of the session that is open, settings.

import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { clean, oneLine } from "../lib/clean";
import { age } from "../lib/format";
import { api } from "../net/api";
import { app, change, go, setLanguage, setTheme, signOf, useApp, useWords, words as spoken } from "../state/app";
import { command, openOther, perform } from "../state/sessions";
import type { SessionRow } from "../wire";
import { PANELS } from "./panels/list";
import { Sign } from "./parts";

export interface Found {
  key: string;
  group: string;
  label: string;
  hint: string;
  /** Words that find it, besides its label. */
  also?: string;
  row?: SessionRow;
  run: () => void;
}

const MAX_SHOWN = 40;
/** Sessions that are listed while nothing is typed. */
const FIRST_SESSIONS = 6;
/** Before the server is asked for what was said. */
const PAUSE = 160;

/** Those in which every word occurs; the ones whose label begins with the text come first. Pure. */
export function matching(all: Found[], text: string): Found[] {
  const low = text.trim().toLowerCase();
  if (!low) return all;
  const parts = low.split(/\s+/);
  const rank = (one: Found) => {
    const label = one.label.toLowerCase().replace(/^\//, "");
    const bare = low.replace(/^\//, "");
    return label.startsWith(bare) ? 0 : label.includes(bare) ? 1 : 2;
  };
  const has = (one: Found) => {
    const where = `${one.label} ${one.hint} ${one.also ?? ""}`.toLowerCase();
    return parts.every((part) => where.includes(part));
  };
  return all.filter(has).map((one, at) => ({ one, at, rank: rank(one) })).sort((a, b) => a.rank - b.rank || a.at - b.at).map(({ one }) => one);
}

function useAll(): Found[] {
  const words = useWords();
  const rows = useApp((now) => now.rows);
  const projects = useApp((now) => now.projects);
  const route = useApp((now) => now.route);
  const session = route.at === "session" ? route.id : "";
  const commands = useApp((now) => now.sessions[session]?.live.commands);
  const here = route.at === "session" ? app.get().sessions[session]?.project : route.at === "panel" || route.at === "start" ? route.project : undefined;
  const project = here || projects[0]?.id || "";
  return useMemo(() => {
    const name = (id: string) => projects.find((one) => one.id === id)?.name ?? id;
    const sessions = rows.map((row): Found => ({ key: `s${row.id}`, group: words.sessions, label: oneLine(row.title || words.newSession, 90), hint: name(row.project), row, run: () => go({ at: "session", id: row.id }) }));
    const fresh = projects.map((one): Found => ({ key: `n${one.id}`, group: words.actions, label: words.newIn(one.name), hint: one.root, run: () => void openOther(one.id, "new") }));
    const own = (session ? (commands ?? []) : []).map((one): Found => ({
      key: `c${one.name}`, group: words.commands, label: `/${one.name}`, hint: one.help,
      run: () => (/^</.test(one.arguments ?? "") ? perform(session, { compose: `/${one.name} ` }) : void command(session, one.name)),
    }));
    const panels = project ? PANELS.map((panel): Found => ({ key: `p${panel}`, group: words.panel, label: words.panels[panel], hint: name(project), run: () => go({ at: "panel", project, panel }) })) : [];
    const settings: Found[] = [
      { key: "home", group: words.actions, label: words.startPage, hint: "", run: () => go({ at: "home" }) },
      { key: "add", group: words.actions, label: words.addProject, hint: "", run: () => change({ dialog: { at: "project" } }) },
      { key: "settings", group: words.actions, label: words.settings, hint: "", run: () => change({ dialog: { at: "settings" } }) },
      { key: "keys", group: words.actions, label: words.keys, hint: "?", also: "shortcuts help", run: () => change({ dialog: { at: "keys" } }) },
      { key: "light", group: words.theme, label: words.themeLight, hint: words.theme, also: "light theme", run: () => setTheme("light") },
      { key: "dark", group: words.theme, label: words.themeDark, hint: words.theme, also: "dark theme", run: () => setTheme("dark") },
      { key: "auto", group: words.theme, label: words.themeAuto, hint: words.theme, also: "theme", run: () => setTheme("auto") },
      { key: "en", group: words.language, label: "English", hint: words.language, run: () => setLanguage("en") },
      { key: "zh", group: words.language, label: "中文", hint: words.language, also: "chinese", run: () => setLanguage("zh") },
    ];
    return [...sessions, ...fresh, ...own, ...panels, ...settings];
  }, [rows, projects, commands, session, project, words]);
}

/** Sessions in which something was said that has these words. */
function useSaid(text: string, known: Found[]): Found[] {
  const [found, setFound] = useState<{ text: string; rows: SessionRow[] }>({ text: "", rows: [] });
  useEffect(() => {
    const q = text.trim();
    if (q.length < 2 || q.startsWith("/")) return;
    let here = true;
    const timer = setTimeout(() => void api.sessions(q, 20).then((rows) => here && setFound({ text: q, rows }), () => {}), PAUSE);
    return () => {
      here = false;
      clearTimeout(timer);
    };
  }, [text]);
  if (found.text !== text.trim()) return [];
  const listed = new Set(known.map((one) => one.key));
  return found.rows.filter((row) => !listed.has(`s${row.id}`)).map((row) => ({
    key: `s${row.id}`, group: spoken().saidIn, label: oneLine(row.title || spoken().newSession, 90), hint: "", row, run: () => go({ at: "session", id: row.id }),
  }));
}

export function Palette() {
  const words = useWords();
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const dialog = useRef<HTMLDialogElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const id = useId();
  const all = useAll();
  const named = useMemo(() => {
    const hits = matching(all, text);
    // At first the newest sessions and what can be done; not everything.
    return text.trim() ? hits : [...hits.filter((one) => one.row).slice(0, FIRST_SESSIONS), ...hits.filter((one) => !one.row)];
  }, [all, text]);
  const said = useSaid(text, named);
  const shown = [...named, ...said].slice(0, MAX_SHOWN);
  const chosen = Math.min(at, Math.max(0, shown.length - 1));
  const now = Date.now();
  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    dialog.current!.showModal();
    return () => {
      dialog.current?.close();
      if (before?.isConnected) before.focus();
    };
  }, []);
  useLayoutEffect(() => list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" }), [chosen, text]);
  const close = () => change({ dialog: null });
  const run = (one: Found | undefined) => {
    if (!one) return;
    close();
    one.run();
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setAt((chosen + step + shown.length) % Math.max(1, shown.length));
    else if (event.key === "Enter") run(shown[chosen]);
    else return;
    event.preventDefault();
  };
  return (
    <dialog
      ref={dialog}
      class="modal palette"
      aria-label={words.palette}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      onClick={(event) => event.target === dialog.current && close()}
    >
      <div class="modal-box">
        <input
          class="palette-text" type="text" autofocus role="combobox" aria-expanded="true" aria-controls={id} aria-autocomplete="list" aria-label={words.palette}
          aria-activedescendant={shown.length > 0 ? `${id}-${chosen}` : undefined} placeholder={words.paletteHint} value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setAt(0);
          }}
          onKeyDown={onKey}
        />
        <ul class="palette-list" role="listbox" id={id} ref={list} aria-label={words.palette}>
          {shown.map((one, n) => (
            <li key={one.key} id={`${id}-${n}`} role="option" aria-selected={n === chosen} onClick={() => run(one)} onPointerMove={() => n !== chosen && setAt(n)}>
              {one.row ? <Sign sign={signOf(one.row, app.get().sessions[one.row.id])} /> : <span class="sign" aria-hidden="true">›</span>}
              <span class="palette-label">{clean(one.label)}</span>
              <span class="palette-hint">{oneLine(one.hint, 90)}</span>
              <span class="palette-group">{one.row && one.group === words.sessions ? age(one.row.updated, now, words.justNow) : one.group}</span>
            </li>
          ))}
        </ul>
        {shown.length === 0 ? <p class="faint pad">{words.noMatch}</p> : null}
      </div>
    </dialog>
  );
}
