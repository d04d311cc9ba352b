/** One run: its picture, its numbers, its plots and its flows. */
import { useEffect, useRef, useState } from "preact/hooks";
import { Picture } from "../draw/picture";
import type { Column } from "../player";
import * as player from "../player";
import type { FlowLook, Gauge, QueueLook } from "../simulator/contract";
import * as source from "../source";
import { short, showRate, showShare, showSize, showTime } from "../units";
import { Choice } from "./field";
import { type Item, losses, NumberList } from "./numbers";
import { Plot, type PlotData } from "./plot";
import { colours } from "./theme";

/** Flows that have a row of their own. */
const ROWS = 10;
const PICTURE_HEIGHT = 210;

export function ColumnView({ column, index }: { column: Column; index: number }) {
  player.tick.value;
  const { opened, frame } = column;
  const queue = frame.look.queues[opened.watched];
  const info = opened.queues[opened.watched];
  if (!queue || !info) return null;
  const picture = usePicture(column);
  return (
    <article class="column" aria-label={`${info.discipline}`}>
      <ColumnHeader column={column} index={index} />
      <div class="picture-place">
        <canvas
          ref={picture.canvas}
          class="picture"
          role="img"
          aria-label={`${queue.packets} packets wait in the queue of ${info.discipline}`}
          style={{ height: `${PICTURE_HEIGHT}px` }}
        />
        {index === 0 ? <Standing column={column} /> : null}
      </div>
      <Numbers queue={queue} gauges={info.gauges} />
      <Plots column={column} picture={picture.current} />
      <Flows column={column} picture={picture.current} />
      <DigestLine column={column} />
    </article>
  );
}

/** What an opened run says before its reader starts it. */
function Standing({ column }: { column: Column }) {
  const { start } = column.opened;
  const waits = !player.playing.value && player.working.value === null && player.now.value <= start;
  if (!waits || column.frame.finished) return null;
  return (
    <div class="standing" role="status">
      <button
        type="button"
        class="main"
        onClick={() => {
          player.playing.value = true;
        }}
      >
        Start the run
      </button>
      <p class="small">
        Play or the space bar starts it, too.
        {start < 0 ? " Times before 0 s are its warm-up." : ""}
      </p>
    </div>
  );
}

/** A canvas that shows every frame of a column. */
function usePicture(column: Column) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const picture = useRef<Picture | null>(null);
  picture.current ??= new Picture(column.opened, colours.value);
  const current = picture.current;
  useEffect(() => current.setTheme(colours.value), [colours.value, current]);
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context) return;
    const unwatch = player.watch((changed) => {
      if (changed !== column) return;
      current.learn(column.frame);
      current.take(column.opened, column.frame, player.speed.peek());
    });
    current.learn(column.frame);
    current.take(column.opened, column.frame, player.speed.peek());
    let request = 0;
    const draw = () => {
      request = requestAnimationFrame(draw);
      const ratio = window.devicePixelRatio || 1;
      const { clientWidth: width, clientHeight: height } = element;
      if (element.width !== Math.round(width * ratio)) element.width = Math.round(width * ratio);
      if (element.height !== Math.round(height * ratio)) element.height = Math.round(height * ratio);
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      current.draw(context, width, height, column.frame, player.speed.value, player.playing.value);
    };
    draw();
    return () => {
      cancelAnimationFrame(request);
      unwatch();
    };
  }, [column, current]);
  return { canvas, current };
}

function ColumnHeader({ column, index }: { column: Column; index: number }) {
  const disciplines = player.catalogue.value?.disciplines ?? [];
  const discipline = column.opened.queues[column.opened.watched]?.discipline ?? "";
  const label = source.lesson.value?.runs[index]?.label;
  const summary = label ?? disciplines.find((d) => d.name === discipline)?.summary ?? "";
  return (
    <header class="column-header">
      <Choice
        hidden
        label={`Discipline ${index + 1}`}
        value={discipline}
        options={disciplines.map((d) => ({ value: d.name, label: d.name }))}
        onChange={(name) => source.setDiscipline(index, name)}
      />
      <p class="small summary">{summary}</p>
      {player.columns.value.length > 1 ? (
        <button
          type="button"
          class="plain"
          aria-label={`Remove ${discipline}`}
          onClick={() => source.removeColumn(index)}
        >
          ×
        </button>
      ) : null}
    </header>
  );
}

function Numbers({ queue, gauges }: { queue: QueueLook; gauges: Gauge[] }) {
  const items: Item[] = [
    ["delay", showTime(queue.delay)],
    ["link used", showShare(queue.counters.utilisation)],
    ...losses(queue.counters),
  ];
  for (const gauge of gauges.slice(0, player.columns.value.length > 1 ? 2 : 3)) {
    const value = queue.gauges[gauge.name];
    if (value !== undefined) items.push([gauge.label || gauge.name, gaugeText(gauge, value)]);
  }
  return <NumberList items={items} />;
}

function isShare(gauge: Gauge): boolean {
  return gauge.unit === "1" || gauge.unit === "" || /prob/.test(gauge.name);
}

function gaugeText(gauge: Gauge, value: number): string {
  if (gauge.unit === "s") return showTime(value);
  if (gauge.unit === "bit/s") return showRate(value);
  if (isShare(gauge)) return /prob|^p$|_p$|share|fraction/.test(gauge.name) ? showShare(value) : short(value);
  return `${short(value)} ${gauge.unit}`;
}

/** A round number at or above a value, so that a plot's scale seldom changes. */
export function roundUp(value: number): number {
  if (!(value > 0) || !Number.isFinite(value)) return 1;
  const size = 10 ** Math.floor(Math.log10(value));
  return ([1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((m) => m * size >= value) ?? 10) * size;
}

/** The same scale for all runs beside each other: the largest value of any. */
function highest(value: (column: Column) => Iterable<number | null>): number {
  let high = 0;
  for (const column of player.columns.value) for (const v of value(column)) high = Math.max(high, v ?? 0);
  return roundUp(high * 1.05);
}

/** The fastest link of those beside each other with some room above, Mbit/s. */
function mostRate(): number {
  const rates = player.columns.value.map(
    (c) => c.opened.queues[c.opened.watched]?.rate ?? Number.POSITIVE_INFINITY,
  );
  return (1.15 * Math.max(...rates)) / 1e6;
}

function visible(column: Column): { points: Column["points"]; from: number; to: number } {
  const span = player.shownSpan();
  const to = Math.max(column.frame.now, column.opened.start + span);
  const from = to - span;
  const first = column.points.findIndex((p) => p.time >= from);
  return { points: first < 0 ? [] : column.points.slice(Math.max(0, first - 1)), from, to };
}

function Plots({ column, picture }: { column: Column; picture: Picture }) {
  const theme = colours.value;
  const info = column.opened.queues[column.opened.watched];
  const [chosen, choose] = useState<string | null>(null);
  const gauges = info?.gauges ?? [];
  const gauge =
    gauges.find((g) => g.name === chosen) ?? gauges.find((g) => /prob|^p/.test(g.name)) ?? gauges[0];
  const shared = { theme, turn: player.tick.value, height: 92 };

  const delay = (): PlotData => {
    const { points, from, to } = visible(column);
    return {
      from,
      to,
      top: highest((c) => visible(c).points.map((p) => (p.delayMax ?? 0) * 1e3)),
      lines: [
        { label: "largest", colour: theme.line, width: 1 },
        { label: "mean", colour: theme.ink },
      ],
      values: [
        points.map((p) => p.time),
        points.map((p) => (p.delayMax === null ? null : p.delayMax * 1e3)),
        points.map((p) => (p.delay === null ? null : p.delay * 1e3)),
      ],
    };
  };
  const throughput = (): PlotData => {
    const { points, from, to } = visible(column);
    const groups = column.opened.groups;
    return {
      from,
      to,
      top: Math.min(
        mostRate(),
        highest((c) => visible(c).points.map((p) => Math.max(...p.rates, 0) / 1e6)),
      ),
      lines: groups.map((g, i) => ({ label: g.name, colour: picture.palette.group(i) })),
      values: [
        points.map((p) => p.time),
        ...groups.map((_, i) => points.map((p) => (p.rates[i] ?? 0) / 1e6)),
      ],
    };
  };
  const gauged = (): PlotData => {
    const { points, from, to } = visible(column);
    const values = points.map((p) => p.gauges[gauge?.name ?? ""] ?? null);
    return {
      from,
      to,
      top: roundUp(Math.max(0, ...values.map((v) => v ?? 0)) * 1.05),
      lines: [{ label: gauge?.name ?? "", colour: theme.ink }],
      values: [points.map((p) => p.time), values],
    };
  };
  return (
    <div class="plots">
      <Plot label="Queueing delay" unit="ms: mean, and largest" data={delay} {...shared} />
      <Plot label="Throughput" unit="Mbit/s" data={throughput} {...shared} />
      {gauge ? (
        <Plot
          label={<GaugeChoice gauges={gauges} value={gauge} onChange={choose} />}
          unit={gauge.unit === "1" ? "" : gauge.unit}
          data={gauged}
          {...shared}
        />
      ) : null}
      <GroupLegend column={column} picture={picture} />
    </div>
  );
}

function GaugeChoice(p: { gauges: Gauge[]; value: Gauge; onChange: (name: string) => void }) {
  if (p.gauges.length === 1) return <>{p.value.label || p.value.name}</>;
  return (
    <Choice
      hidden
      label="Gauge in the plot"
      value={p.value.name}
      options={p.gauges.map((g) => ({ value: g.name, label: g.label || g.name }))}
      onChange={p.onChange}
    />
  );
}

function GroupLegend({ column, picture }: { column: Column; picture: Picture }) {
  const { groups } = column.opened;
  if (groups.length < 2) return null;
  return (
    <ul class="legend">
      {groups.map((group, i) => (
        <li key={group.name}>
          <span class="swatch" style={{ background: picture.palette.group(i) }} />
          {group.name}
        </li>
      ))}
    </ul>
  );
}

function Flows({ column, picture }: { column: Column; picture: Picture }) {
  const { look } = column.frame;
  const flows = [...look.flows].sort((a, b) => a.id - b.id).slice(0, ROWS);
  const widest = Math.max(1, ...flows.map((f) => f.window ?? 0));
  if (flows.length === 0) return null;
  return (
    <table class="flows">
      <thead>
        <tr>
          <th scope="col">flow</th>
          <th scope="col">window</th>
          <th scope="col">rate</th>
          <th scope="col">round trip</th>
        </tr>
      </thead>
      <tbody>
        {flows.map((flow) => (
          <FlowRow key={flow.id} flow={flow} widest={widest} column={column} picture={picture} />
        ))}
      </tbody>
      {look.flows_total > flows.length ? (
        <tfoot>
          <tr>
            <td colSpan={4} class="small">
              and {(look.flows_total - flows.length).toLocaleString("en")} more
            </td>
          </tr>
        </tfoot>
      ) : null}
    </table>
  );
}

function FlowRow(p: { flow: FlowLook; widest: number; column: Column; picture: Picture }) {
  const { flow, picture } = p;
  const colour = picture.palette.flow(flow.id, flow.group);
  const name = p.column.opened.groups[flow.group]?.name ?? "";
  return (
    <tr>
      <th scope="row">
        <span class="swatch" style={{ background: colour }} />
        {name} <span class="small">{flow.transport}</span>
      </th>
      <td>
        {flow.window === null ? (
          "–"
        ) : (
          <>
            <span class="bar" style={{ width: `${(flow.window / p.widest) * 64}px`, background: colour }} />
            {showSize(flow.window)}
          </>
        )}
      </td>
      <td>{showRate(p.column.rates.of(flow.id, p.column.frame.now, flow.delivered))}</td>
      <td>{showTime(flow.rtt)}</td>
    </tr>
  );
}

function DigestLine({ column }: { column: Column }) {
  if (!column.digest) return null;
  return (
    <p class="digest">
      Digest <code>{column.digest.digest}</code>
    </p>
  );
}
