// What was used: stacked bars per day by model with a line for the cache, and the tables beneath.

import { useEffect, useMemo, useState } from "preact/hooks";
import { ApiError, api } from "../../net/api";
import { cost, percent, tokens } from "../../lib/format";
import { useApp, useWords } from "../../state/app";
import type { UsageRow } from "../../wire";
import { Skeleton, useWidth } from "../parts";
import { daysBack, MAX_MODELS, measure, niceTop, rowsOfView, stacks, sumBy, type Measure, type Stack, type Sum } from "./usage-data";

const SPANS = [7, 30, 90];

export function UsagePanel({ project }: { project: string }) {
  const words = useWords();
  const [days, setDays] = useState(30);
  const [chosen, setBy] = useState<Measure | null>(null);
  const [loaded, setLoaded] = useState<Loaded | null>(null);
  const [failure, setFailure] = useState("");
  useEffect(() => {
    let here = true;
    load(project, days).then((made) => here && setLoaded(made), (error: unknown) => here && setFailure(error instanceof Error ? error.message : String(error)));
    return () => {
      here = false;
    };
  }, [project, days]);
  if (failure) return <p class="note bad" role="alert">✗ {failure}</p>;
  if (!loaded) return <Skeleton lines={8} />;
  const { rows } = loaded;
  // Where nothing has a price, tokens say more.
  const by = chosen ?? (rows.some((row) => row.cost) ? "cost" : "tokens");
  return (
    <div class="usage">
      <div class="usage-tools">
        <div class="switch" role="group" aria-label={words.usageDays("…")}>
          {SPANS.map((span) => <button type="button" key={span} aria-pressed={span === days} onClick={() => setDays(span)}>{words.usageDays(span)}</button>)}
        </div>
        <div class="switch" role="group" aria-label={words.usageCost}>
          <button type="button" aria-pressed={by === "cost"} onClick={() => setBy("cost")}>{words.usageCost}</button>
          <button type="button" aria-pressed={by === "tokens"} onClick={() => setBy("tokens")}>{words.usageTokens}</button>
        </div>
      </div>
      {rows.length === 0 ? <p class="faint">{words.usageNone}</p> : <Usage loaded={loaded} days={days} by={by} />}
    </div>
  );
}

interface Loaded {
  rows: UsageRow[];
  /** Of a server that does not say which model a day's requests went to: its own sums. */
  models: Sum[] | null;
  projects: Sum[] | null;
}

async function load(project: string, days: number): Promise<Loaded> {
  try {
    return { rows: await api.usage(days), models: null, projects: null };
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    const by = async (what: "day" | "model" | "project") => rowsOfView(await api.projectCommand(project, `usage --by ${what}`), what);
    const [rows, models, projects] = await Promise.all([by("day"), by("model"), by("project")]);
    return { rows, models: sumBy(models, (row) => row.model), projects: sumBy(projects, (row) => row.project) };
  }
}

function Usage({ loaded, days, by }: { loaded: Loaded; days: number; by: Measure }) {
  const { rows } = loaded;
  const words = useWords();
  const projects = useApp((now) => now.projects);
  const name = (id: string) => projects.find((one) => one.id === id)?.name ?? id.replace(/-[0-9a-f]{8}$/, "");
  const sorted = (sums: Sum[]) => sums.sort((a, b) => measure(b, by) - measure(a, by));
  const models = useMemo(() => sorted(sumBy(rows, (row) => row.model)), [rows, by]);
  const shown = models.slice(0, MAX_MODELS).map((sum) => sum.key);
  const byProject = sorted(loaded.projects ?? sumBy(rows, (row) => row.project));
  const list = useMemo(() => stacks(rows, daysBack(days, new Date()), shown, by), [rows, days, by]);
  const total = sumBy(rows, () => "")[0]!;
  const byDay = sumBy(rows, (row) => row.day).sort((a, b) => (a.key < b.key ? 1 : -1));
  return (
    <>
      <dl class="facts">
        <div><dt>{words.usageCost}</dt><dd>{cost(total.cost)}</dd></div>
        <div><dt>{words.usageRequests}</dt><dd>{total.requests.toLocaleString("en")}</dd></div>
        <div><dt>{words.usageTokens}</dt><dd>{tokens(total.input + total.output)}</dd></div>
        <div><dt>{words.usageHit}</dt><dd>{percent(total.cached, total.input)} %</dd></div>
      </dl>
      <Chart list={list} models={shown} by={by} days={days} hasOther={models.length > MAX_MODELS} />
      <SumTable title={words.usageProject} label={words.project} sums={byProject.map((sum) => ({ ...sum, key: name(sum.key) }))} />
      <SumTable title={words.usageModel} label={words.model} sums={loaded.models ? sorted(loaded.models) : models} colors={loaded.models ? undefined : shown} />
      <SumTable title={words.usageDay} label={words.day} sums={byDay} />
    </>
  );
}

const HEIGHT = 240;
const PAD = { left: 52, right: 40, top: 12, bottom: 26 };

function Chart({ list, models, by, days, hasOther }: { list: Stack[]; models: string[]; by: Measure; days: number; hasOther: boolean }) {
  const words = useWords();
  const [ref, measured] = useWidth<HTMLElement>();
  const width = Math.max(280, measured || 800);
  const [at, setAt] = useState<number | null>(null);
  const top = niceTop(Math.max(...list.map((stack) => stack.total)));
  const plot = { width: width - PAD.left - PAD.right, height: HEIGHT - PAD.top - PAD.bottom };
  const step = plot.width / list.length;
  const bar = Math.max(2, Math.min(34, step * 0.68));
  const x = (n: number) => PAD.left + step * (n + 0.5);
  const y = (share: number) => PAD.top + plot.height * (1 - share);
  const show = (value: number) => (by === "cost" ? (value === 0 ? "$0" : `$${value < 1 ? value.toFixed(2) : value.toFixed(value < 10 ? 1 : 0)}`) : tokens(value));
  const line = list.flatMap((stack, n) => (stack.hit === null ? [] : [`${x(n).toFixed(1)},${y(stack.hit / 100).toFixed(1)}`]));
  const every = Math.ceil(list.length / Math.max(2, Math.floor(plot.width / 70)));
  const picked = at === null ? null : list[at];
  return (
    <figure class="chart" ref={ref}>
      <svg width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={words.usageChart(by === "cost" ? words.usageCost : words.usageTokens, days)}>
        {[0, 0.5, 1].map((share) => (
          <g key={share}>
            <line class="grid" x1={PAD.left} x2={width - PAD.right} y1={y(share)} y2={y(share)} />
            <text class="axis" x={PAD.left - 8} y={y(share) + 4} text-anchor="end">{show(top * share)}</text>
            <text class="axis hit" x={width - PAD.right + 6} y={y(share) + 4}>{share * 100}%</text>
          </g>
        ))}
        {list.map((stack, n) => {
          let below = 0;
          return (
            <g key={stack.day} class={at === n ? "bar on" : "bar"} onPointerEnter={() => setAt(n)} onPointerLeave={() => setAt(null)}>
              <rect class="reach" x={x(n) - step / 2} y={PAD.top} width={step} height={plot.height} />
              {stack.parts.map((part, m) => {
                if (part <= 0) return null;
                const height = (part / top) * plot.height;
                below += height;
                return <rect key={m} class={`series s${m}`} x={x(n) - bar / 2} y={PAD.top + plot.height - below} width={bar} height={Math.max(0.5, height - 0.5)} rx="1" />;
              })}
              {n % every === 0 ? <text class="axis" x={x(n)} y={HEIGHT - 8} text-anchor="middle">{stack.day.slice(5).replace("-", "/")}</text> : null}
            </g>
          );
        })}
        {line.length > 1 ? <polyline class="hit-line" points={line.join(" ")} /> : null}
        {line.length > 1 && line.length < 40 ? line.map((point) => <circle key={point} class="hit-dot" cx={point.split(",")[0]} cy={point.split(",")[1]} r="2" />) : null}
      </svg>
      <figcaption>
        {models.map((model, n) => <span key={model} class="key"><i class={`swatch s${n}`} /> {model || words.usageTotal}</span>)}
        {hasOther ? <span class="key"><i class={`swatch s${models.length}`} /> {words.other}</span> : null}
        <span class="key"><i class="swatch line" /> {words.usageHit}</span>
        <span class="picked">{picked ? `${picked.day} · ${show(picked.total)}${picked.hit === null ? "" : ` · ${Math.round(picked.hit)} %`}` : ""}</span>
      </figcaption>
    </figure>
  );
}

function SumTable({ title, label, sums, colors }: { title: string; label: string; sums: Sum[]; colors?: string[] }) {
  const words = useWords();
  const most = Math.max(...sums.map((sum) => sum.cost), 0);
  return (
    <section class="table-part">
      <h2>{title}</h2>
      <div class="scroll-x" tabIndex={0} role="group" aria-label={title}>
        <table class="data">
          <thead>
            <tr><th scope="col">{label}</th><th scope="col" class="k-number">{words.usageRequests}</th><th scope="col" class="k-number">{words.usageInput}</th><th scope="col" class="k-number">{words.usageCached}</th><th scope="col" class="k-number">{words.usageOutput}</th><th scope="col" class="k-number">{words.usageCost}</th></tr>
          </thead>
          <tbody>
            {sums.slice(0, 100).map((sum) => (
              <tr key={sum.key}>
                <td>{colors ? <i class={`swatch s${Math.max(0, colors.indexOf(sum.key))}`} /> : null} {sum.key || words.other}</td>
                <td class="k-number">{sum.requests.toLocaleString("en")}</td>
                <td class="k-number">{tokens(sum.input)}</td>
                <td class="k-number">{percent(sum.cached, sum.input)} %</td>
                <td class="k-number">{tokens(sum.output)}</td>
                <td class="k-number">{cost(sum.cost)}{most > 0 ? <meter class="inline" min={0} max={most} value={sum.cost} aria-hidden="true" /> : null}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
