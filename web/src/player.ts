/** The runs side by side, kept at the same simulated time. */
import { batch, computed, effect, signal } from "@preact/signals";
import { Rates } from "./rates";
import type {
  Catalogue,
  ChangeSet,
  Checked,
  Digest,
  Fault,
  Measured,
  NumberRequest,
  Opened,
  Stepped,
} from "./simulator/contract";
import { type Program, Refusal } from "./simulator/module";
import { Remote } from "./simulator/remote";
import type { Point } from "./simulator/series";
import type { Frame, Setup } from "./simulator/session";

/** Speeds that can be chosen: simulated seconds per second. */
export const SLOWEST = 0.01;
export const FASTEST = 1000;
/** Computing time of one frame, ms: the page stays at 30 frames a second and more. */
const BUDGET = 24;
/** What the plots show, in seconds of the clock on the wall. */
const SHOWN = 24;
/** Intervals of a plot, and intervals kept. */
const INTERVALS = 240;
const KEPT = 1200;
/** A flow's rate looks back this far, simulated s. */
const RATE_SPAN = 1;
/** For bringing runs to an instant, ms. */
const PATIENCE = 20_000;
/** Numbers beside the picture change this often, ms. */
const READABLE = 120;

/** One run beside others. */
export interface Column {
  id: number;
  setup: Setup;
  opened: Opened;
  /** The newest state; the picture reads it at every frame of the screen. */
  frame: Frame;
  points: Point[];
  rates: Rates;
  remote: Remote;
  digest: Digest | null;
}

export const catalogue = signal<Catalogue | null>(null);
export const columns = signal<Column[]>([]);
export const playing = signal(false);
export const speed = signal(0.05);
/** Simulated time of all runs, s; it changes a few times a second, for reading. */
export const now = signal(0);
/** Counts the changes of `columns`' contents, for what reads numbers from them. */
export const tick = signal(0);
/** Counts the changes by hand that runs have taken. */
export const changes = signal(0);
export const problem = signal<Fault | null>(null);
/** What the last single step did. */
export const stepped = signal<Stepped["event"] | null>(null);
/** Simulated seconds per second that are reached when the machine cannot keep up; else null. */
export const achieved = signal<number | null>(null);
/** Whether runs are being opened or brought to an instant. */
export const working = signal<string | null>(null);
export const finished = computed(() => {
  tick.value;
  return columns.value.length > 0 && columns.value.every((c) => c.frame.finished);
});

/** What the picture calls with every new frame of a column. */
type Watcher = (column: Column) => void;
const watchers = new Set<Watcher>();

export function watch(watcher: Watcher): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

/** The part of simulated time that the plots show, s. */
export function shownSpan(): number {
  return Math.max(SHOWN * speed.value, 0.05);
}

/** The length of a plot's interval: not shorter than a few packets take. */
function width(column: { opened: Opened } | null): number {
  const rate = column?.opened.queues[column.opened.watched]?.rate ?? 1e7;
  return Math.max(shownSpan() / INTERVALS, (16 * 12_000) / Math.max(rate, 1000));
}

let program: Program | null = null;
let next = 0;
const idle: Remote[] = [];

/** The rest of the simulator, once it is unpacked. */
let unpacked: (rest: Promise<WebAssembly.Module | null>) => void;
const rest = new Promise<WebAssembly.Module | null>((resolve) => {
  unpacked = resolve;
});

/** Gives the player its simulator, and reads what it has; `others` unpacks the rest while the first runs are opened. */
export async function load(first: Program, others: () => Promise<WebAssembly.Module | null>): Promise<void> {
  program = first;
  const asked = remote();
  idle.push(asked);
  catalogue.value = await asked.catalogue();
  unpacked(others());
}

function remote(): Remote {
  if (!program) throw new Error("the simulator has not been loaded");
  return idle.pop() ?? new Remote(program, rest);
}

/** Shows what went wrong, in the simulator's words. */
export function complain(e: unknown): void {
  problem.value = e instanceof Refusal ? e.fault : { message: e instanceof Error ? e.message : String(e) };
}

/** The runs of an experiment. */
export async function check(toml: string, set: string[] = []): Promise<Checked> {
  const asked = remote();
  try {
    return await asked.check(toml, set);
  } finally {
    idle.push(asked);
  }
}

/** While commands are under way no frame begins, so that each falls on the same instant of all runs. */
let held = 0;
let lastCommand: Promise<unknown> = Promise.resolve();

/** Carries commands out one after another, between frames. */
function inTurn<T>(command: () => Promise<T>): Promise<T> {
  held += 1;
  const result = lastCommand.then(async () => {
    await computing;
    return command();
  });
  lastCommand = result
    .catch(() => undefined)
    .then(() => {
      held -= 1;
    });
  return result;
}

/** Opens these runs in place of the current ones; if one is refused, the current ones stay. */
export function open(setups: Setup[]): Promise<boolean> {
  return inTurn(() => openNow(setups));
}

async function openNow(setups: Setup[]): Promise<boolean> {
  const opened: Column[] = [];
  working.value = "Opening…";
  try {
    for (const setup of setups) {
      const used = remote();
      try {
        const answer = await used.open(setup, width(null));
        opened.push({
          id: ++next,
          setup,
          opened: answer.opened,
          frame: answer.frame,
          points: [],
          rates: new Rates(),
          remote: used,
          digest: null,
        });
      } catch (e) {
        if (e instanceof Refusal && e.fault.message === "closed") throw e;
        idle.push(used);
        throw e;
      }
    }
  } catch (e) {
    for (const column of opened) idle.push(column.remote);
    complain(e);
    return false;
  } finally {
    working.value = null;
  }
  // A worker holds one run; beyond three that wait, workers are ended.
  idle.push(...columns.value.map((c) => c.remote));
  for (const unneeded of idle.splice(3)) unneeded.end();
  generation += 1;
  batch(() => {
    problem.value = null;
    stepped.value = null;
    columns.value = opened;
    now.value = opened[0]?.frame.now ?? 0;
    tick.value += 1;
  });
  return true;
}

/** Counts the sets of columns, so that an answer to an earlier one is dropped. */
let generation = 0;

function take(column: Column, frame: Frame): void {
  column.frame = frame;
  column.rates.see(frame.look, RATE_SPAN);
  column.points.push(...frame.points);
  if (column.points.length > KEPT) column.points.splice(0, column.points.length - KEPT);
  for (const watcher of watchers) watcher(column);
}

async function toEach(of: (column: Column) => Promise<void>): Promise<void> {
  const turn = generation;
  await Promise.all(columns.value.map((column) => of(column))).catch((e) => {
    if (turn === generation) complain(e);
  });
  batch(() => {
    tick.value += 1;
    now.value = Math.min(...columns.value.map((c) => c.frame.now));
  });
}

/** Waits until no frame is being computed, so that commands of all columns fall on the same instant. */
let computing: Promise<void> = Promise.resolve();

/** Back to the start of all runs, with everything that was changed on the way undone. */
export function restart(): Promise<void> {
  stepped.value = null;
  return inTurn(() =>
    toEach(async (column) => {
      const frame = await column.remote.restart();
      column.points = [];
      column.digest = null;
      take(column, frame);
    }),
  );
}

/** Lets one thing happen: at the first column, and the others follow to the same instant. */
export function step(): Promise<void> {
  playing.value = false;
  return inTurn(stepNow);
}

async function stepNow(): Promise<void> {
  const first = columns.value[0];
  if (!first || first.frame.finished) return;
  try {
    const answer = await first.remote.step();
    stepped.value = answer.event;
    take(first, answer.frame);
    const until = answer.frame.now;
    await toEach(async (column) => {
      if (column !== first) take(column, await column.remote.advance(until, 1000, width(column)));
    });
  } catch (e) {
    complain(e);
  }
}

/**
 * Changes a running simulation: one column, by its index, or all. A refusal is shown, unless the caller has another way and asks for
 * quiet.
 */
export function change(set: ChangeSet, only: number | null = null, quiet = false): Promise<boolean> {
  return inTurn(() => changeNow(set, only, quiet));
}

async function changeNow(set: ChangeSet, only: number | null, quiet: boolean): Promise<boolean> {
  let good = true;
  for (const [index, column] of columns.value.entries()) {
    if (only !== null && index !== only) continue;
    try {
      const answer = await column.remote.change(set);
      column.opened = answer.opened;
      take(column, answer.frame);
    } catch (e) {
      if (!quiet) complain(e);
      good = false;
    }
  }
  if (good) problem.value = null;
  changes.value += 1;
  tick.value += 1;
  return good;
}

/** Simulates all runs up to an instant, without showing what is between. */
export async function forward(until: number): Promise<void> {
  working.value = "Simulating…";
  try {
    await inTurn(() => toEach((column) => forwardOne(column, until)));
  } finally {
    working.value = null;
  }
}

async function forwardOne(column: Column, until: number): Promise<void> {
  const begun = performance.now();
  while (column.frame.now < until && !column.frame.finished && performance.now() - begun < PATIENCE)
    take(column, await column.remote.advance(until, 100, width(column)));
  await close(column);
}

/** Simulates all runs to their ends, however long it takes; the picture follows, and Pause ends it. */
export function toEnd(): void {
  speed.value = FASTEST;
  playing.value = true;
}

/** The digest of a run that has ended. */
async function close(column: Column): Promise<void> {
  if (column.frame.finished && !column.digest) column.digest = await column.remote.digest();
}

/** A number of a run's results so far. */
export function number(column: Column, of: NumberRequest): Promise<Measured> {
  return inTurn(() => column.remote.number(of));
}

async function advance(until: number): Promise<void> {
  const behind = columns.value.filter((c) => !c.frame.finished && c.frame.now < until);
  await toEachOf(behind, async (column) => {
    take(column, await column.remote.advance(until, BUDGET, width(column)));
    await close(column);
  });
}

async function toEachOf(some: Column[], of: (column: Column) => Promise<void>): Promise<void> {
  const turn = generation;
  try {
    await Promise.all(some.map(of));
  } catch (e) {
    playing.value = false;
    if (turn === generation) complain(e);
  }
}

/** Measures how much of the wanted speed is reached. */
const pace = { wall: 0, simulated: 0 };

function measurePace(elapsed: number, advanced: number): void {
  pace.wall += elapsed;
  pace.simulated += advanced;
  if (pace.wall < 1) return;
  const reached = pace.simulated / pace.wall;
  achieved.value = reached < 0.85 * speed.value ? reached : null;
  pace.wall = pace.simulated = 0;
}

let lastFrame = 0;
let lastNumbers = 0;
let busy = false;

/** One frame of the screen: simulates a piece, unless the last one is still being simulated. */
function onFrame(at: number): void {
  requestAnimationFrame(onFrame);
  const elapsed = Math.min(0.1, (at - lastFrame) / 1000);
  if (!playing.value || busy || held > 0 || columns.value.length === 0) {
    if (!busy) lastFrame = at;
    return;
  }
  lastFrame = at;
  const from = Math.min(...columns.value.map((c) => c.frame.now));
  busy = true;
  computing = advance(from + elapsed * speed.value).then(() => {
    busy = false;
    const reached = Math.min(...columns.value.map((c) => c.frame.now));
    measurePace(elapsed, reached - from);
    if (finished.value) playing.value = false;
    if (at - lastNumbers < READABLE && playing.value) return;
    lastNumbers = at;
    batch(() => {
      now.value = reached;
      tick.value += 1;
    });
  });
}

/** Starts the clock of the page. */
export function begin(): void {
  // What is read beside the picture is up to date when it stands still.
  effect(() => {
    if (playing.value) return;
    computing.then(() =>
      batch(() => {
        if (columns.peek().length > 0) now.value = Math.min(...columns.peek().map((c) => c.frame.now));
        tick.value = tick.peek() + 1;
      }),
    );
  });
  requestAnimationFrame(onFrame);
}

export function experiments(end?: "now"): Promise<string[]> {
  return inTurn(() => Promise.all(columns.value.map((c) => c.remote.experiment(end))));
}

export function digests(): Promise<Digest[]> {
  return inTurn(() => Promise.all(columns.value.map((c) => c.remote.digest())));
}
