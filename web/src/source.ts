/** Where the runs come from: set up by hand, an experiment file, or a lesson; and what hands do to them. */
import { signal } from "@preact/signals";
import { type Cell, cell, measured } from "./cell";
import { measuresOf } from "./lessons/claim";
import type { Lesson } from "./lessons/lesson";
import * as player from "./player";
import { type ColumnSetup, experiment, FIRST, type Scenario } from "./scenario";
import { fragment, LONGEST, MOST_COLUMNS, read } from "./share";
import type { Checked, Value } from "./simulator/contract";
import { library } from "./simulator/embedded";
import type { Setup } from "./simulator/session";
import { rateText, timeText } from "./units";

/** An experiment that was not made by hand. */
export interface File {
  text: string;
  checked: Checked;
  /** The runs that are shown, and the settings on top of the text. */
  runs: number[];
  set: string[];
}

export const scenario = signal<Scenario>(FIRST);
/** The experiment that is shown instead of the scenario. */
export const file = signal<File | null>(null);
export const lesson = signal<Lesson | null>(null);

/** Whether controls set up the experiment, rather than only change a run. */
export function byHand(): boolean {
  return file.value === null && lesson.value === null;
}

function setups(of: Scenario): Setup[] {
  const disciplines = player.catalogue.value?.disciplines ?? [];
  return of.columns.map((_, i) => ({ toml: experiment(of, i, disciplines), run: 0, set: [], measures: [] }));
}

/** Starts the link that was set up by hand from the beginning. */
export async function openScenario(next: Scenario): Promise<boolean> {
  // What is set next builds on this, even before the runs are open.
  const before = scenario.value;
  scenario.value = next;
  const opened = await player.open(setups(next));
  if (opened) {
    file.value = null;
    lesson.value = null;
    cell.value = null;
  } else if (scenario.value === next) scenario.value = before;
  return opened;
}

/** Opens runs of an experiment file. */
export async function openFile(text: string, runs: number[] = [0], set: string[] = []): Promise<boolean> {
  if (text.length > LONGEST) {
    player.complain(new Error(`An experiment of more than ${LONGEST / 1024} KiB cannot be opened here.`));
    return false;
  }
  try {
    const checked = await player.check(text, set);
    if (checked.runs.length === 0) throw new Error("This experiment has no run that sends packets.");
    const shown = runs.slice(0, MOST_COLUMNS);
    const opened = await player.open(shown.map((run) => ({ toml: text, run, set, measures: [] })));
    if (!opened) return false;
    file.value = { text, checked, runs: shown, set };
    lesson.value = null;
    cell.value = null;
    measured.value = null;
    return true;
  } catch (e) {
    player.complain(e);
    return false;
  }
}

/** Opens a run of an experiment, or experiments of one run each beside each other, as a link has them. */
async function openShared(texts: string[], run: number, set: string[]): Promise<boolean> {
  const [first] = texts;
  if (first !== undefined && texts.length === 1) return openFile(first, [run], set);
  const opened = await player.open(texts.map((toml) => ({ toml, run: 0, set: [], measures: [] })));
  if (opened && first !== undefined) {
    const runs = player.columns.value.map((c) => c.opened.run);
    file.value = { text: first, checked: { title: "", duration: 0, runs, warnings: [] }, runs: [0], set: [] };
    lesson.value = null;
  }
  return opened;
}

export async function openLesson(next: Lesson): Promise<boolean> {
  const opened = await player.open(
    next.runs.map((run, of) => ({ toml: run.toml, run: 0, set: [], measures: measuresOf(next.claims, of) })),
  );
  if (opened) {
    lesson.value = next;
    file.value = null;
    cell.value = null;
    player.speed.value = next.speed;
    player.playing.value = !matchMedia("(prefers-reduced-motion: reduce)").matches;
  }
  return opened;
}

/** Where a link that was not made by its reader is first seen, simulated s: the first thing to be seen is a queue at work. */
const SEEN_FROM = 5;

/** The first link, at work. */
export async function openFirst(): Promise<boolean> {
  if (!(await openScenario(FIRST))) return false;
  await player.forward(SEEN_FROM);
  return true;
}

/** The first link, with these disciplines beside each other, at work. */
async function openDisciplines(names: string[], at: number | null): Promise<boolean> {
  const known = new Set(player.catalogue.value?.disciplines.map((d) => d.name));
  const unknown = names.find((name) => !known.has(name));
  if (unknown !== undefined) throw new Error(`There is no discipline "${unknown.slice(0, 40)}".`);
  const columns = names.map((discipline) => ({ discipline, parameters: {} }));
  if (!(await openScenario({ ...FIRST, columns }))) return false;
  await player.forward(at ?? SEEN_FROM);
  return true;
}

/** The run of a published cell, from its start. */
async function openCell(of: Cell): Promise<boolean> {
  const found = (await library()).find((x) => x.id === of.experiment);
  if (!found) throw new Error(`There is no experiment "${of.experiment.slice(0, 40)}" in this page.`);
  if (!(await openFile(found.toml, [of.run]))) return false;
  cell.value = of;
  player.speed.value = 1;
  return true;
}

/** The experiment that `aqmkit play` serves with the page. */
async function besidePage(): Promise<string> {
  const answer = await fetch("experiment.toml").catch(() => null);
  if (!answer?.ok) throw new Error("The experiment is no longer there: start aqmkit play again.");
  return answer.text();
}

/** What an address asks for. False if it asks for nothing or for something wrong. */
export async function openAddress(hash: string, lessons: readonly Lesson[]): Promise<boolean> {
  try {
    const shared = await read(hash);
    if (!shared) return false;
    if (shared.lesson !== null) {
      const found = lessons.find((l) => l.id === shared.lesson);
      if (!found) throw new Error(`There is no lesson "${shared.lesson.slice(0, 40)}".`);
      return await openLesson(found);
    }
    if (shared.cell) return await openCell(shared.cell);
    if (shared.disciplines.length > 0) return await openDisciplines(shared.disciplines, shared.at);
    const texts = shared.beside ? [await besidePage()] : shared.experiments;
    const opened = await openShared(texts, shared.run, shared.set);
    if (opened && shared.speed !== null) player.speed.value = shared.speed;
    if (opened && shared.at !== null) await player.forward(shared.at);
    return opened;
  } catch (e) {
    player.complain(e);
    return false;
  }
}

/** Whether this page is inside a report, where it has no address that another person can open. */
export function isInside(): boolean {
  return location.protocol === "blob:";
}

/** The link to what is shown now, with everything that was changed. */
export async function link(): Promise<string> {
  // To the nanosecond, so that it leads to the same instant with the same digest.
  const at = Math.round(player.now.value * 1e9) / 1e9;
  const base = isInside() ? "play.html" : (location.href.split("#")[0] ?? "");
  return base + (await fragment(await player.experiments(), player.speed.value, at > 0 ? at : null));
}

/** Back to the start: with the settings of now if they were made by hand, else as the experiment begins. */
export async function restart(): Promise<void> {
  const plays = player.playing.value;
  player.playing.value = false;
  if (byHand()) await openScenario(scenario.value);
  else await player.restart();
  measured.value = null;
  player.playing.value = plays;
}

/** A change that runs take while they go on; where there are none by hand, the scenario follows. */
export async function setRate(rate: number): Promise<void> {
  if ((await player.change({ rate: rateText(rate) })) && byHand())
    scenario.value = { ...scenario.value, rate };
}

export async function setDelay(delay: number): Promise<void> {
  if ((await player.change({ delay: timeText(delay) })) && byHand())
    scenario.value = { ...scenario.value, delay };
}

export async function setCount(group: string, count: number): Promise<void> {
  if (!(await player.change({ count: { [group]: count } })) || !byHand()) return;
  const groups = scenario.value.groups.map((g) => (g.name === group ? { ...g, count } : g));
  scenario.value = { ...scenario.value, groups };
}

/** The rate of unresponsive traffic; 0 switches it off. */
export async function setBlast(group: string, rate: number): Promise<void> {
  if (!(await player.change({ blast: { [group]: rateText(rate) } })) || !byHand()) return;
  scenario.value = { ...scenario.value, blast: rate };
}

/** A parameter of a column's discipline; one that cannot change in a run starts it anew. */
export async function setParameter(column: number, name: string, value: Value, live: boolean): Promise<void> {
  const hand = byHand();
  if (await player.change({ parameters: { [name]: value } }, column, !live && hand)) {
    if (hand) scenario.value = withParameter(scenario.value, column, name, value);
  } else if (!live && hand) await openScenario(withParameter(scenario.value, column, name, value));
}

function withParameter(of: Scenario, column: number, name: string, value: Value): Scenario {
  const columns = of.columns.map((c, i) =>
    i === column ? { ...c, parameters: { ...c.parameters, [name]: value } } : c,
  );
  return { ...of, columns };
}

/** Another discipline in a column: of the scenario, or of the experiment that is open. */
export async function setDiscipline(column: number, discipline: string): Promise<void> {
  if (byHand()) {
    const columns = scenario.value.columns.map((c, i) => (i === column ? { discipline, parameters: {} } : c));
    await openScenario({ ...scenario.value, columns });
    return;
  }
  await reopen((all) => all.map((s, i) => (i === column ? { ...s, set: [`aqm=${discipline}`] } : s)));
}

/** The same traffic once more beside, under another discipline. */
export async function addColumn(discipline: string): Promise<void> {
  if (player.columns.value.length >= MOST_COLUMNS) return;
  if (byHand()) {
    const added: ColumnSetup = { discipline, parameters: {} };
    await openScenario({ ...scenario.value, columns: [...scenario.value.columns, added] });
    return;
  }
  await reopen((all) => {
    const last = all[all.length - 1];
    return last ? [...all, { ...last, set: [`aqm=${discipline}`] }] : all;
  });
}

export async function removeColumn(column: number): Promise<void> {
  if (byHand()) {
    const columns = scenario.value.columns.filter((_, i) => i !== column);
    await openScenario({ ...scenario.value, columns });
    return;
  }
  await reopen((all) => all.filter((_, i) => i !== column));
}

/** Opens the runs of an experiment or a lesson anew with other settings. */
async function reopen(how: (all: Setup[]) => Setup[]): Promise<void> {
  const keeps = lesson.value !== null;
  const next = how(player.columns.value.map((c) => c.setup));
  cell.value = null;
  // What a lesson says holds for the runs that it sets up.
  if ((await player.open(keeps ? next.map((s) => ({ ...s, measures: [] })) : next)) && keeps) {
    const [first] = next;
    const runs = player.columns.value.map((c) => c.opened.run);
    if (first)
      file.value = {
        text: first.toml,
        checked: { title: lesson.value?.title ?? "", duration: 0, runs, warnings: [] },
        runs: [0],
        set: [],
      };
    lesson.value = null;
  }
}
