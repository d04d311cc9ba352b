/** The hands on the running link: the link itself, its traffic, and the parameters of each discipline. */
import { useState } from "preact/hooks";
import * as player from "../player";
import { type GroupSetup, type Scenario, TRAFFIC } from "../scenario";
import type { Group } from "../simulator/contract";
import * as source from "../source";
import { quantity, showRate, showTime } from "../units";
import { Choice, NumberField, Toggle } from "./field";
import { ParameterField } from "./parameter";

/** Parameters that are shown before one asks for more. */
const FIRST_SHOWN = 5;
const MOST_GROUPS = 5;

export function Controls() {
  player.tick.value;
  if (player.columns.value.length === 0) return null;
  return (
    <div class="controls">
      <LinkControls />
      <TrafficControls />
      {player.columns.value.map((column, i) => (
        <DisciplineControls key={column.id} index={i} />
      ))}
    </div>
  );
}

function LinkControls() {
  player.tick.value;
  const column = player.columns.value[0];
  const queue = column?.opened.queues[column.opened.watched];
  if (!queue) return null;
  return (
    <section aria-labelledby="link-title">
      <h2 id="link-title">Link</h2>
      {queue.rate !== null ? (
        <NumberField
          label="Rate"
          value={queue.rate}
          min={1e5}
          max={1e9}
          logarithmic
          show={(v) => showRate(v)}
          read={(text) => quantity(text, "rate") ?? quantity(text.replace(/\/s$/i, ""), "rate")}
          onChange={source.setRate}
        />
      ) : null}
      <NumberField
        label="Delay, one way"
        value={queue.delay}
        min={0.0005}
        max={0.5}
        logarithmic
        show={(v) => showTime(v)}
        read={(text) => quantity(text.replace("µ", "u"), "time")}
        onChange={source.setDelay}
      />
      {source.byHand() ? (
        <Toggle
          label="ECN: mark packets instead of dropping them"
          value={source.scenario.value.ecn}
          note="starts anew"
          onChange={(ecn) => source.openScenario({ ...source.scenario.value, ecn })}
        />
      ) : null}
    </section>
  );
}

function TrafficControls() {
  player.tick.value;
  const column = player.columns.value[0];
  if (!column) return null;
  const { groups } = column.opened;
  const hand = source.byHand();
  const responsive = groups.filter((g) => g.responsive || g.rate === null);
  const blasts = groups.filter((g) => !g.responsive && g.rate !== null);
  return (
    <section aria-labelledby="traffic-title">
      <h2 id="traffic-title">Traffic</h2>
      {responsive.map((group) => (
        <GroupControls key={group.name} group={group} hand={hand} />
      ))}
      {hand && source.scenario.value.groups.length < MOST_GROUPS ? <AddGroup /> : null}
      {blasts.map((group) => (
        <BlastControls key={group.name} group={group} />
      ))}
    </section>
  );
}

function GroupControls({ group, hand }: { group: Group; hand: boolean }) {
  const setup = hand ? source.scenario.value.groups.find((g) => g.name === group.name) : undefined;
  const kind = TRAFFIC.find((k) => k.kind === group.kind);
  const most = Math.max(kind?.most ?? 100, group.count);
  return (
    <div class="group">
      {group.counted ? (
        <NumberField
          label={setup ? (kind?.label ?? group.name) : group.name}
          value={group.count}
          min={0}
          max={most}
          whole
          show={(v) => String(Math.round(v))}
          read={(text) => (/^\s*\d+\s*$/.test(text) ? Number(text) : null)}
          onChange={(count) => source.setCount(group.name, count)}
        />
      ) : (
        <p class="fixed">
          {group.name}: {group.count} {group.kind}
        </p>
      )}
      {setup ? <GroupKind setup={setup} /> : <p class="small">{group.transport}</p>}
    </div>
  );
}

/** Replaces one group of the scenario, which starts the runs anew. */
function regroup(name: string, next: GroupSetup | null): void {
  const groups = source.scenario.value.groups.flatMap((g) => (g.name === name ? (next ? [next] : []) : [g]));
  source.openScenario({ ...source.scenario.value, groups });
}

function GroupKind({ setup }: { setup: GroupSetup }) {
  const controls = player.catalogue.value?.controls ?? [];
  const kind = TRAFFIC.find((k) => k.kind === setup.kind);
  return (
    <div class="pair">
      {kind?.controlled ? (
        <Choice
          hidden
          label={`Congestion control of ${setup.name}`}
          value={setup.control}
          options={controls.map((c) => ({ value: c.name, label: c.name }))}
          onChange={(control) => regroup(setup.name, { ...setup, control })}
        />
      ) : null}
      {source.scenario.value.groups.length > 1 ? (
        <button
          type="button"
          class="plain"
          aria-label={`Remove ${setup.name}`}
          onClick={() => regroup(setup.name, null)}
        >
          Remove
        </button>
      ) : null}
    </div>
  );
}

function AddGroup() {
  return (
    <Choice
      hidden
      label="Add traffic"
      value=""
      options={[
        { value: "", label: "Add traffic…" },
        ...TRAFFIC.map((k) => ({ value: k.kind, label: k.label })),
      ]}
      onChange={(kind) => {
        const { groups } = source.scenario.value;
        const names = new Set(groups.map((g) => g.name));
        const counted = TRAFFIC.find((k) => k.kind === kind)?.counted;
        if (!counted) return;
        let name = counted;
        for (let i = 2; names.has(name); i++) name = `${counted}-${i}`;
        const next: Scenario = {
          ...source.scenario.value,
          groups: [...groups, { name, kind, count: 2, control: "cubic" }],
        };
        source.openScenario(next);
      }}
    />
  );
}

/** An unresponsive sender: on or off, and how fast. */
function BlastControls({ group }: { group: Group }) {
  const column = player.columns.value[0];
  const link = column?.opened.queues[column.opened.watched]?.rate ?? 1e7;
  const sending = (group.rate ?? 0) >= 1000;
  player.tick.value;
  const [kept, keep] = useState(sending ? (group.rate ?? link) : link * 1.2);
  return (
    <div class="group">
      <Toggle
        label={`Unresponsive ${group.name}`}
        value={sending}
        onChange={(on) => source.setBlast(group.name, on ? kept : 0)}
      />
      <NumberField
        label={`Rate of ${group.name}`}
        value={sending ? (group.rate ?? kept) : kept}
        min={link / 100}
        max={link * 2}
        logarithmic
        show={(v) => showRate(v)}
        read={(text) => quantity(text.replace(/\/s$/i, ""), "rate")}
        onChange={(rate) => {
          keep(rate);
          return sending ? source.setBlast(group.name, rate) : undefined;
        }}
      />
    </div>
  );
}

function DisciplineControls({ index }: { index: number }) {
  player.tick.value;
  const [all, showAll] = useState(false);
  const column = player.columns.value[index];
  const queue = column?.opened.queues[column.opened.watched];
  const known = player.catalogue.value?.disciplines.find((d) => d.name === queue?.discipline);
  if (!column || !queue || !known) return null;
  const shown = all ? known.parameters : known.parameters.slice(0, FIRST_SHOWN);
  const hidden = known.parameters.length - shown.length;
  return (
    <section aria-labelledby={`discipline-${column.id}`}>
      <h2 id={`discipline-${column.id}`}>
        {known.name} <span class="small">parameters</span>
      </h2>
      {shown.map((parameter) => (
        <ParameterField
          key={parameter.name}
          parameter={parameter}
          value={queue.parameters[parameter.name] ?? null}
          onChange={(value) => source.setParameter(index, parameter.name, value, parameter.live)}
        />
      ))}
      {hidden > 0 || all ? (
        <button type="button" class="plain" onClick={() => showAll(!all)}>
          {all ? "Fewer parameters" : `${hidden} more parameters`}
        </button>
      ) : null}
    </section>
  );
}
