// Sums for the charts of usage. Pure.

import type { Table, UsageRow, View } from "../../wire";

export interface Sum {
  key: string;
  requests: number;
  input: number;
  cached: number;
  output: number;
  cost: number;
}

export type Measure = "cost" | "tokens";

/** Models with a colour of their own; the rest is one. */
export const MAX_MODELS = 6;

export function sumBy(rows: UsageRow[], key: (row: UsageRow) => string): Sum[] {
  const sums = new Map<string, Sum>();
  for (const row of rows) {
    const name = key(row);
    const sum = sums.get(name) ?? { key: name, requests: 0, input: 0, cached: 0, output: 0, cost: 0 };
    sums.set(name, {
      key: name, requests: sum.requests + row.requests, input: sum.input + row.input, cached: sum.cached + row.cached,
      output: sum.output + row.output, cost: sum.cost + (row.cost ?? 0),
    });
  }
  return [...sums.values()];
}

export function measure(sum: { cost: number | null; input: number; output: number }, by: Measure): number {
  return by === "cost" ? (sum.cost ?? 0) : sum.input + sum.output;
}

/** The days up to today, oldest first. */
export function daysBack(count: number, today: Date): string[] {
  return Array.from({ length: count }, (_, at) => new Date(today.getTime() - (count - 1 - at) * 86_400_000).toISOString().slice(0, 10));
}

export interface Stack {
  day: string;
  parts: number[];
  total: number;
  hit: number | null;
}

/** For each day what each model took, in the order of `models`; the last place is for the others. */
export function stacks(rows: UsageRow[], days: string[], models: string[], by: Measure): Stack[] {
  return days.map((day) => {
    const own = rows.filter((row) => row.day === day);
    const parts = models.map((model) => own.filter((row) => row.model === model).reduce((sum, row) => sum + measure(row, by), 0));
    const rest = own.filter((row) => !models.includes(row.model)).reduce((sum, row) => sum + measure(row, by), 0);
    const all = [...parts, rest];
    const input = own.reduce((sum, row) => sum + row.input, 0);
    const cached = own.reduce((sum, row) => sum + row.cached, 0);
    return { day, parts: all, total: all.reduce((a, b) => a + b, 0), hit: input > 0 ? (cached / input) * 100 : null };
  });
}

/** A round number above a value, for the axis. */
export function niceTop(value: number): number {
  if (value <= 0) return 1;
  const unit = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 2.5, 5, 10].map((step) => step * unit).find((top) => top >= value) ?? 10 * unit;
}

/** Rows of a `usage --by …` table, for a server that does not give them by day and model. */
export function rowsOfView(view: View, by: "day" | "model" | "project"): UsageRow[] {
  if (!("table" in view)) return [];
  const table: Table = view.table;
  const at = (key: string) => table.columns.findIndex((column) => typeof column !== "string" && column.key === key);
  return table.rows.map((row) => {
    const cells = Array.isArray(row) ? row : row.cells;
    const value = (key: string) => {
      const cell = cells[at(key)];
      return typeof cell === "object" && typeof cell.value === "number" ? cell.value : 0;
    };
    const first = cells[at("key")] ?? cells[0] ?? "";
    const name = typeof first === "string" ? first : typeof first.value === "string" ? first.value : first.text;
    const empty = { day: "", project: "", model: "" };
    return { ...empty, [by]: name, requests: value("requests"), input: value("input"), cached: value("cached"), cache_write: value("cache_write"), output: value("output"), cost: value("cost") };
  });
}
