/** A bottleneck of real packets: the queue of each direction, its delay and throughput, its gauges and parameters. */
import { useState } from "preact/hooks";
import * as live from "../live";
import * as player from "../player";
import type { Discipline } from "../simulator/contract";
import { quantity, short, showRate, showShare, showTime } from "../units";
import { roundUp } from "./column";
import { Choice, NumberField } from "./field";
import { type Item, losses, NumberList } from "./numbers";
import { ParameterField } from "./parameter";
import { Plot, type PlotData } from "./plot";
import { colours } from "./theme";

/** What the plots show, s. */
const SPAN = 60;
/** The states between which a rate is taken: half a second. */
const BACK = 5;

export function LiveView() {
  const states = live.states.value ?? [];
  const now = states[states.length - 1];
  return (
    <>
      <header class="top">
        <h1>
          aqmkit <span>play</span>
        </h1>
        <p class="title">
          {now
            ? `${now.name === now.kind ? now.kind : `${now.kind} ${now.name}`}: real packets, ${now.at.toFixed(1)} s`
            : "Waiting for the first state…"}
          {now && !now.writable ? " (only to look at)" : ""}
        </p>
      </header>
      <main class="live">
        <section class="stage" aria-label="Running bottleneck">
          {live.ended.value ? (
            <p class="problem" role="alert">
              No more states: {live.ended.value}
            </p>
          ) : null}
          {live.refused.value ? (
            <div class="problem" role="alert">
              <p>{live.refused.value}</p>
              <button type="button" class="plain" onClick={() => (live.refused.value = null)}>
                Dismiss
              </button>
            </div>
          ) : null}
          <div class={`columns of-${now?.directions.length ?? 1}`}>
            {now?.directions.map((direction, i) => (
              <DirectionView
                key={direction.name}
                direction={direction}
                index={i}
                state={now}
                states={states}
              />
            ))}
          </div>
          {now?.late ? (
            <p class="small">Lateness of departures, 99th percentile: {showTime(now.late)}</p>
          ) : null}
        </section>
      </main>
    </>
  );
}

interface Shown {
  direction: live.Direction;
  index: number;
  state: live.State;
  states: live.State[];
}

function DirectionView(p: Shown) {
  const { direction, state } = p;
  const disciplines = player.catalogue.value?.disciplines ?? [];
  const discipline = disciplines.find((d) => d.name === direction.discipline);
  return (
    <article class="column" aria-label={direction.name}>
      <header class="column-header">
        <h2>
          {direction.name}: {direction.discipline}
        </h2>
        <p class="small summary">{discipline?.summary}</p>
      </header>
      <Bar direction={direction} />
      <Numbers {...p} />
      <Plots {...p} discipline={discipline} />
      {state.writable && discipline ? <Settings direction={direction} discipline={discipline} /> : null}
    </article>
  );
}

/** The limit of the queue in packets, where it has one in packets. */
function limitOf(direction: live.Direction): number | null {
  const limit = direction.parameters.limit;
  const packets = typeof limit === "string" ? /^([\d.]+)p$/.exec(limit)?.[1] : limit;
  return Number(packets) > 0 ? Number(packets) : null;
}

/** The queue as a bar: how much of its limit is taken. */
function Bar({ direction }: { direction: live.Direction }) {
  const limit = limitOf(direction);
  const share = limit === null ? 0 : Math.min(1, direction.packets / limit);
  return (
    <div
      class="live-queue"
      role="img"
      aria-label={`${direction.packets} packets wait${limit === null ? "" : ` of at most ${limit}`}`}
    >
      <div style={{ width: `${100 * share}%` }} />
      <span>
        {direction.packets.toLocaleString("en")} packets wait
        {limit === null ? "" : `, of at most ${limit.toLocaleString("en")}`}
      </span>
    </div>
  );
}

/** What left a direction, bit/s, at each state but the first ones. */
function throughputs(states: live.State[], index: number): (number | null)[] {
  return states.map((state, i) => {
    const before = states[i - BACK];
    const [to, from] = [state.directions[index], before?.directions[index]];
    if (!before || !to || !from) return null;
    return 8 * live.perSecond(to.sent_bytes, from.sent_bytes, state.at - before.at);
  });
}

function Numbers({ direction, index, states }: Shown) {
  const rate = throughputs(states.slice(-BACK - 1), index).at(-1) ?? null;
  const items: Item[] = [
    ["throughput", showRate(rate)],
    ["link used", showShare(rate === null ? null : rate / direction.rate)],
    ["delay", showTime(direction.delay)],
    ["99th percentile", showTime(direction.delay_p99)],
    ...losses(direction),
  ];
  if (direction.overrun > 0)
    items.push(["dropped before, machine too slow", direction.overrun.toLocaleString("en")]);
  for (const [name, value] of Object.entries(direction.gauges).slice(0, 4)) items.push([name, short(value)]);
  return <NumberList items={items} />;
}

function Plots({
  direction,
  index,
  state,
  states,
  discipline,
}: Shown & { discipline: Discipline | undefined }) {
  const theme = colours.value;
  const names = Object.keys(direction.gauges);
  const [chosen, choose] = useState<string | null>(null);
  const gauge = names.find((n) => n === chosen) ?? names.find((n) => /prob|^p/.test(n)) ?? names[0];
  const to = Math.max(state.at, SPAN);
  const from = to - SPAN;
  const shared = { theme, turn: state.at, height: 92 };

  const plot = (lines: PlotData["lines"], ...values: (number | null)[][]): PlotData => {
    const first = states.findIndex((s) => s.at >= from);
    const seen = values.map((v) => v.slice(Math.max(0, first)));
    const top = roundUp(1.05 * Math.max(0, ...seen.flat().map((v) => v ?? 0)));
    return { from, to, top, lines, values: [states.slice(Math.max(0, first)).map((s) => s.at), ...seen] };
  };
  const of = (value: (d: live.Direction) => number | null) =>
    states.map((s) => {
      const d = s.directions[index];
      return d ? value(d) : null;
    });
  const ms = (seconds: number | null) => (seconds === null ? null : seconds * 1e3);
  const drops = (what: "dropped" | "marked") =>
    states.map((s, i) => {
      const before = states[i - BACK];
      const [end, start] = [s.directions[index], before?.directions[index]];
      return before && end && start ? live.perSecond(end[what], start[what], s.at - before.at) : null;
    });
  const label = (name: string) => discipline?.gauges?.find((g) => g.name === name)?.label || name;
  return (
    <div class="plots">
      <Plot
        label="Queue"
        unit="packets"
        data={() =>
          plot(
            [{ label: "packets", colour: theme.ink }],
            of((d) => d.packets),
          )
        }
        {...shared}
      />
      <Plot
        label="Queueing delay"
        unit="ms: median, and 99th percentile"
        data={() =>
          plot(
            [
              { label: "99th percentile", colour: theme.line, width: 1 },
              { label: "median", colour: theme.ink },
            ],
            of((d) => ms(d.delay_p99)),
            of((d) => ms(d.delay)),
          )
        }
        {...shared}
      />
      <Plot
        label="Throughput"
        unit="Mbit/s, and the rate of the link"
        data={() =>
          plot(
            [
              { label: "rate", colour: theme.line, width: 1, dash: [4, 3] },
              { label: "throughput", colour: theme.ink },
            ],
            of((d) => d.rate / 1e6),
            throughputs(states, index).map((r) => (r === null ? null : r / 1e6)),
          )
        }
        {...shared}
      />
      <Plot
        label="Drops and marks"
        unit="packets/s: dropped, and marked (dashed)"
        data={() =>
          plot(
            [
              { label: "dropped", colour: theme.ink },
              { label: "marked", colour: theme.faint, dash: [4, 3] },
            ],
            drops("dropped"),
            drops("marked"),
          )
        }
        {...shared}
      />
      {gauge === undefined ? null : (
        <Plot
          label={
            names.length === 1 ? (
              label(gauge)
            ) : (
              <Choice
                hidden
                label="Gauge in the plot"
                value={gauge}
                options={names.map((n) => ({ value: n, label: label(n) }))}
                onChange={choose}
              />
            )
          }
          unit=""
          data={() =>
            plot(
              [{ label: gauge, colour: theme.ink }],
              of((d) => d.gauges[gauge] ?? null),
            )
          }
          {...shared}
        />
      )}
    </div>
  );
}

/** The rate and the parameters, as sliders: a change takes effect for the packets that arrive next. */
function Settings({ direction, discipline }: { direction: live.Direction; discipline: Discipline }) {
  return (
    <section class="controls" aria-label={`Settings of ${direction.name}`}>
      <Choice
        label="Discipline"
        value={direction.discipline}
        options={(player.catalogue.value?.disciplines ?? []).map((d) => ({ value: d.name, label: d.name }))}
        onChange={(aqm) => live.change(direction.name, { aqm })}
      />
      <NumberField
        label="Rate"
        value={direction.rate}
        min={Math.min(1e5, direction.rate)}
        max={Math.max(1e9, direction.rate)}
        logarithmic
        show={showRate}
        read={(text) => quantity(text, "rate")}
        onChange={(rate) => live.change(direction.name, { rate_bps: Math.round(rate) })}
      />
      {discipline.parameters.map((parameter) => {
        const value = direction.parameters[parameter.name];
        return value === undefined || value === null ? null : (
          <ParameterField
            key={parameter.name}
            parameter={parameter}
            value={value}
            onChange={(v) => live.change(direction.name, { parameters: { [parameter.name]: v } })}
          />
        );
      })}
    </section>
  );
}
