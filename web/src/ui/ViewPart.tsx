// What a command answers with, whatever the command: tables with actions, lists, reports, diffs, groups. The labels and what
// they do come from the view.

import { Fragment } from "preact";
import { useMemo, useState } from "preact/hooks";
import { clean } from "../lib/clean";
import { parseDiff } from "../lib/diff";
import { tokens } from "../lib/format";
import { useWords } from "../state/app";
import type { Act, Action, Cell, Column, Item, List, Report, Row, Table, View } from "../wire";
import { DiffView } from "./DiffView";
import { Markdown } from "./Markdown";
import { moveFocus } from "./parts";

interface Props {
  view: View;
  onAct: (act: Act) => void;
  /** The first actions of a list, in place of doing them. */
  onPick?: (item: Item) => void;
  /** One of several that are read together: none of them is searched alone. */
  inGroup?: boolean;
}

export function ViewPart({ view, onAct, onPick, inGroup }: Props) {
  if ("text" in view) return <TextPart text={view.text} />;
  if ("error" in view) return <p class="note bad" role="alert">✗ {clean(view.error)}</p>;
  if ("diff" in view) return <DiffView files={parseDiff(view.diff)} />;
  if ("report" in view) return <ReportPart report={view.report} />;
  if ("table" in view) return <TablePart table={view.table} onAct={onAct} inGroup={inGroup} />;
  if ("list" in view) return <ListPart list={view.list} onAct={onAct} onPick={onPick} />;
  const filled = "group" in view ? windowOf(view.group) : null;
  if ("group" in view && filled) return <WindowPart filled={filled} table={view.group[1]!} onAct={onAct} />;
  if ("group" in view) return <div class="group">{view.group.map((part, at) => <ViewPart key={at} view={part} onAct={onAct} inGroup />)}</div>;
  return null;
}

/** A bar of a terminal, such as `██░░│░`: how much is full, and where its mark is. Pure. */
export function barOf(line: string): { full: number; mark: number | null } | null {
  const bar = /^`?([█▓░│|]{8,})`?$/u.exec(line.trim())?.[1];
  if (!bar) return null;
  const cells = [...bar];
  const mark = cells.findIndex((cell) => cell === "│" || cell === "|");
  return { full: cells.filter((cell) => cell === "█" || cell === "▓").length / cells.length, mark: mark < 0 ? null : mark / cells.length };
}

interface Filled {
  parts: { name: string; tokens: number }[];
  window: number;
  mark: number | null;
}

function valueOf(cell: Cell | undefined): unknown {
  return typeof cell === "object" ? cell.value : cell;
}

/** What fills the context window: a bar of a terminal, then a table whose rows say which kind they are. Pure. */
export function windowOf(group: View[]): Filled | null {
  const [head, body] = group;
  if (group.length !== 2 || !head || !body || !("text" in head) || !("table" in body)) return null;
  const bar = barOf(head.text.split("\n")[0] ?? "");
  const at = (key: string) => body.table.columns.findIndex((column) => typeof column !== "string" && column.key === key);
  const [name, tokens, kind] = [at("part"), at("tokens"), at("kind")];
  if (!bar || name < 0 || tokens < 0 || kind < 0) return null;
  const rows = body.table.rows.map((row) => cellsOf(row).cells);
  const of = (wanted: string) => rows.filter((row) => valueOf(row[kind]) === wanted).map((row) => ({ name: textOf(row[name]), tokens: Number(valueOf(row[tokens])) }));
  const [parts, [total], [free]] = [of("part"), of("total"), of("free")];
  if (parts.length === 0 || !total || !free || parts.some((part) => !Number.isFinite(part.tokens))) return null;
  return { parts, window: total.tokens + free.tokens, mark: bar.mark };
}

const COLOURS = 7;

function WindowPart({ filled, table, onAct }: { filled: Filled; table: View; onAct: (act: Act) => void }) {
  const { parts, window, mark } = filled;
  const words = useWords();
  const used = parts.reduce((sum, part) => sum + part.tokens, 0);
  // Little in a large window is seen once more, larger.
  const isSmall = used * 5 < window;
  const bar = (whole: number) => parts.map((part, at) => <span key={part.name} class={`s${at % COLOURS}`} style={{ width: `${(part.tokens / whole) * 100}%` }} />);
  return (
    <div class="window-part">
      <p class="window-sum"><strong>{words.contextOf(tokens(used), tokens(window))}</strong>{mark === null ? null : <span class="faint"> · {words.compactsAt(Math.round(mark * 100))}</span>}</p>
      <div class="gauge" aria-hidden="true">
        {bar(window)}
        {mark === null ? null : <i style={{ left: `${mark * 100}%` }} />}
      </div>
      {isSmall ? <div class="gauge closer" aria-hidden="true">{bar(used)}</div> : null}
      <p class="gauge-key" aria-hidden="true">{parts.map((part, at) => <span class="key" key={part.name}><span class={`swatch s${at % COLOURS}`} /> {clean(part.name)} {Math.round((part.tokens / Math.max(1, used)) * 100)} %</span>)}</p>
      <ViewPart view={table} onAct={onAct} />
    </div>
  );
}

function TextPart({ text }: { text: string }) {
  const [first = "", ...rest] = text.split("\n");
  const bar = barOf(first);
  if (!bar) return <Markdown text={text} />;
  return (
    <div>
      <div class="gauge" aria-hidden="true"><span style={{ width: `${bar.full * 100}%` }} />{bar.mark === null ? null : <i style={{ left: `${bar.mark * 100}%` }} />}</div>
      <Markdown text={rest.join("\n").trim()} />
    </div>
  );
}

function ReportPart({ report }: { report: Report }) {
  return (
    <div>
      <pre class={`report ${report.failed ? "bad" : ""}`} tabIndex={0}>{clean(report.text)}</pre>
      <Remarks remarks={report.remarks} />
    </div>
  );
}

function Remarks({ remarks }: { remarks?: string[] }) {
  return <>{(remarks ?? []).map((text, at) => <p key={at} class="note warn">! {clean(text)}</p>)}</>;
}

function columnOf(column: Column): { name: string; kind: string } {
  return typeof column === "string" ? { name: column, kind: "text" } : { name: column.name, kind: column.kind ?? "text" };
}

function cellsOf(row: Row): { cells: Cell[]; marked: boolean; actions: Action[] } {
  return Array.isArray(row) ? { cells: row, marked: false, actions: [] } : { cells: row.cells, marked: row.marked ?? false, actions: row.actions ?? [] };
}

function textOf(cell: Cell | undefined): string {
  return cell === undefined ? "" : typeof cell === "string" ? cell : cell.text;
}

/** Rows that a filter helps with. */
const MANY = 12;
const MAX_ROWS = 300;
/** Actions that stand in the line of a row. */
const BESIDE = 2;

function TablePart({ table, onAct, inGroup }: { table: Table; onAct: (act: Act) => void; inGroup?: boolean }) {
  const words = useWords();
  const [filter, setFilter] = useState("");
  const columns = table.columns.map(columnOf);
  const width = Math.max(columns.length, ...table.rows.slice(0, 50).map((row) => cellsOf(row).cells.length));
  const shown = Array.from({ length: width }, (_, at) => at).filter((at) => columns[at]?.kind !== "data" && [...table.rows, ...(table.sums ?? [])].some((row) => textOf(cellsOf(row).cells[at]) !== ""));
  const hasHead = columns.some((column) => column.name !== "");
  const hasActions = table.rows.some((row) => cellsOf(row).actions.length > 0);
  // Many actions stand below what they are about, so that they do not take its room.
  const isBelow = table.rows.some((row) => cellsOf(row).actions.length > BESIDE);
  // On a phone each row of such a table stands by itself.
  const isWide = shown.length > 2 && table.rows.slice(0, 50).some((row) => cellsOf(row).cells.some((cell, at) => at > 0 && shown.includes(at) && textOf(cell).length > SHORT));
  const rows = table.rows.map(cellsOf).filter((row) => {
    const text = row.cells.map(textOf).join(" ").toLowerCase();
    return filter.toLowerCase().split(/\s+/).every((word) => text.includes(word));
  });
  return (
    <section class="table-part">
      {table.title ? <h2>{clean(table.title)}</h2> : null}
      {(table.rows.length > MANY && !inGroup) || table.search ? (
        <Find value={filter} onChange={setFilter} onSearch={table.search ? (text) => onAct({ command: `${table.search} ${text}` }) : undefined} />
      ) : null}
      {table.rows.length === 0 && table.empty ? <p class="faint">{clean(table.empty)}</p> : null}
      {table.rows.length > 0 ? (
        <div class="scroll-x" tabIndex={0} role="group" aria-label={table.title || words.result("")}>
          <table class={`data ${isWide ? "stack" : ""}`}>
            {hasHead ? (
              <thead>
                <tr>
                  {shown.map((at) => <th key={at} scope="col" class={`k-${columns[at]?.kind ?? "text"}`}>{clean(columns[at]?.name ?? "")}{columns[at]?.name ? null : <span class="hidden">{words.title}</span>}</th>)}
                  {hasActions && !isBelow ? <th scope="col"><span class="hidden">{words.actions}</span></th> : null}
                </tr>
              </thead>
            ) : null}
            <tbody>
              {rows.slice(0, MAX_ROWS).map((row, n) => (
                <Fragment key={n}>
                  <tr class={`${row.marked ? "marked" : ""} ${isBelow ? "with-acts" : ""}`}>
                    {shown.map((at) => <CellPart key={at} cell={row.cells[at]} kind={columns[at]?.kind ?? "text"} label={columns[at]?.name ?? ""} />)}
                    {hasActions && !isBelow ? <td class="acts"><Actions actions={row.actions} onAct={onAct} /></td> : null}
                  </tr>
                  {isBelow ? <tr class={row.marked ? "marked" : undefined}><td class="acts-below" colSpan={shown.length}><Actions actions={row.actions} onAct={onAct} /></td></tr> : null}
                </Fragment>
              ))}
            </tbody>
            {table.sums?.length ? (
              <tfoot>
                {table.sums.map(cellsOf).map((row, n) => (
                  <tr key={n}>{shown.map((at) => <CellPart key={at} cell={row.cells[at]} kind={columns[at]?.kind ?? "text"} />)}{hasActions && !isBelow ? <td /> : null}</tr>
                ))}
              </tfoot>
            ) : null}
          </table>
        </div>
      ) : null}
      {table.summary ? <p class="faint lines">{clean(table.summary).trim()}</p> : null}
      <Remarks remarks={table.remarks} />
    </section>
  );
}

const STATES: Record<string, string> = { ok: "good", ready: "good", starting: "warn", warning: "warn", warn: "warn", error: "bad", failed: "bad", 正常: "good", 警告: "warn", 错误: "bad" };

/** Letters that stand in one line, however narrow the table. */
const SHORT = 24;

function CellPart({ cell, kind, label }: { cell: Cell | undefined; kind: string; label?: string }) {
  const text = clean(textOf(cell));
  const value = typeof cell === "object" && typeof cell.value === "string" ? cell.value : "";
  const state = STATES[text] ?? STATES[value];
  const full = typeof cell === "object" && kind === "time" && typeof cell.value === "string" ? cell.value : undefined;
  return <td class={`k-${kind} ${text.length <= SHORT ? "short" : ""} ${text ? "" : "blank"}`} title={full} data-label={label ? clean(label) : undefined}>{state ? <span class={`${text.length <= SHORT ? "chip" : "state-text"} ${state}`}>{text}</span> : text}</td>;
}

function Find({ value, onChange, onSearch }: { value: string; onChange: (text: string) => void; onSearch?: (text: string) => void }) {
  const words = useWords();
  return (
    <input
      class="find"
      type="search"
      placeholder={words.findIn}
      aria-label={words.findIn}
      value={value}
      onInput={(event) => onChange(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === "Enter" && onSearch && value.trim()) onSearch(value.trim());
      }}
    />
  );
}

function Actions({ actions, onAct }: { actions: Action[]; onAct: (act: Act) => void }) {
  return (
    <>
      {actions.map((action, at) => (
        <button type="button" key={at} class={at === 0 ? "small" : "small quiet"} onClick={() => onAct(action.act)}>{clean(action.label)}</button>
      ))}
    </>
  );
}

function ListPart({ list, onAct, onPick }: { list: List; onAct: (act: Act) => void; onPick?: (item: Item) => void }) {
  const words = useWords();
  const [filter, setFilter] = useState("");
  const items = useMemo(
    () => (list.items ?? []).filter((item) => `${item.label} ${item.detail ?? ""}`.toLowerCase().includes(filter.toLowerCase())),
    [list, filter],
  );
  const pick = (item: Item) => {
    if (onPick) onPick(item);
    else if (item.actions?.[0]) onAct(item.actions[0].act);
  };
  return (
    <section class="list-part">
      {(list.items?.length ?? 0) > MANY || list.search ? (
        <Find value={filter} onChange={setFilter} onSearch={list.search ? (text) => onAct({ command: `${list.search} ${text}` }) : undefined} />
      ) : null}
      {items.length === 0 ? <p class="faint">{clean(list.empty ?? words.noMatch)}</p> : null}
      <ul class="list" onKeyDown={(event) => moveFocus(event, event.currentTarget, ".pick")}>
        {items.map((item, at) => (
          <li key={at} class={item.marked ? "marked" : undefined}>
            {item.actions?.length ? (
              <button type="button" class="pick" aria-current={item.marked ? "true" : undefined} onClick={() => pick(item)}>
                <span class="menu-mark" aria-hidden="true">{item.marked ? "✓" : ""}</span>
                <span class="pick-label">{clean(item.label)}</span>
                {item.detail ? <span class="faint">{clean(item.detail)}</span> : null}
              </button>
            ) : (
              <p class="pick-text">{clean(item.label)} {item.detail ? <span class="faint">{clean(item.detail)}</span> : null}</p>
            )}
            {!onPick && (item.actions?.length ?? 0) > 1 ? <Actions actions={item.actions!.slice(1)} onAct={onAct} /> : null}
          </li>
        ))}
      </ul>
    </section>
  );
}
