import { Gathering, type Measure } from "../lessons/claim";
import type { Advanced, ChangeSet, Look, Measured, NumberRequest, Opened, Stepped } from "./contract";
import { ARRIVAL, DEPARTURE, eachRecord } from "./log";
import type { Simulator } from "./module";
import { type Point, Series } from "./series";

/** What is simulated: one run of an experiment. */
export interface Setup {
  toml: string;
  run: number;
  /** Changes by path, as `--set` of the command. */
  set: string[];
  measures: Measure[];
}

/** What happened to a packet at the watched queue, for the picture. */
export interface Happening {
  time: number;
  kind: number;
  flow: number;
  group: number;
  bytes: number;
  /** How long it had waited, s. */
  delay: number;
}

/** What a page shows of a run at one instant. */
export interface Frame {
  now: number;
  finished: boolean;
  look: Look;
  /** Intervals that ended since the last frame. */
  points: Point[];
  happenings: Happening[];
  /** Value of each measure so far, and whether its span is over. */
  measured: { value: number | null; complete: boolean }[];
  /** Computing time of this frame, ms. */
  spent: number;
}

/** The state of measures is looked at this often while one needs it, s. */
const LOOKS = 0.01;
/** Events of a slice between two looks at the clock. */
const SLICE = 4000;
/** Packets and flows that a picture can show. */
const PACKETS = 2400;
const FLOWS = 64;
/** Arrivals and departures, and drops and marks, that a picture can show for one frame. */
const MOVES = 160;
const INCIDENTS = 240;

/** One run in the module, with what is gathered about it. */
export class Session {
  readonly opened: Opened;
  private series: Series;
  private gatherings: Gathering[] = [];
  private points: Point[] = [];
  private moves: Happening[] = [];
  private incidents: Happening[] = [];
  private now: number;
  private finished = false;
  private nextLook: number;

  constructor(
    private readonly simulator: Simulator,
    readonly setup: Setup,
    private width: number,
  ) {
    this.opened = simulator.call("open", { toml: setup.toml, run: setup.run, set: setup.set });
    this.now = this.nextLook = this.opened.start;
    this.series = this.newSeries();
    this.startGathering();
  }

  private newSeries(): Series {
    return new Series(this.opened.watched, this.opened.groups.length, this.now, this.width);
  }

  private startGathering(): void {
    this.gatherings = this.setup.measures.map((measure) => {
      const group = this.opened.groups.findIndex((g) => g.name === measure.group);
      return new Gathering(measure, this.opened.watched, group);
    });
  }

  close(): void {
    this.simulator.call("close", { handle: this.opened.handle });
  }

  restart(): void {
    this.simulator.call("restart", { handle: this.opened.handle });
    this.now = this.nextLook = this.opened.start;
    this.finished = false;
    this.points = [];
    this.moves = [];
    this.incidents = [];
    this.series = this.newSeries();
    this.startGathering();
  }

  /** Sets the length of the plots' intervals. */
  setWidth(width: number): void {
    this.width = width;
    this.series.width = width;
  }

  /** Simulates up to `until`, or for so many milliseconds, whichever comes first. */
  advance(until: number, budget: number): void {
    const stop = performance.now() + budget;
    const gathers = this.gatherings.some((g) => !g.complete);
    // The simulator counts whole nanoseconds: it would never come to an instant between two of them.
    const end = Math.round(until * 1e9) / 1e9;
    while (this.now < end && !this.finished) {
      const pause = Math.min(end, this.series.due(), gathers ? this.nextLook : end);
      if (pause > this.now) {
        const { handle } = this.opened;
        this.took(this.simulator.call("advance", { handle, until: pause, events: SLICE }));
      }
      this.notice(gathers);
      if (performance.now() >= stop) break;
    }
  }

  /** Simulates up to the next thing that happens at the watched queue. */
  step(): Stepped["event"] {
    const stepped = this.simulator.call("step", { handle: this.opened.handle });
    this.took(stepped);
    this.notice(true);
    return stepped.event;
  }

  private took(advanced: Pick<Advanced, "now" | "finished">): void {
    this.now = advanced.now;
    this.finished = advanced.finished;
    eachRecord(this.simulator.log(this.opened.handle), (event) => {
      this.series.add(event);
      for (const gathering of this.gatherings) gathering.add(event);
      if (event.queue !== this.opened.watched) return;
      const moves = event.kind === ARRIVAL || event.kind === DEPARTURE;
      const { time, kind, flow, group, bytes, delay } = event;
      const [kept, most] = moves ? [this.moves, MOVES] : [this.incidents, INCIDENTS];
      kept.push({ time, kind, flow, group, bytes, delay });
      // The latest are those that a picture of now shows.
      if (kept.length >= 2 * most) kept.splice(0, kept.length - most);
    });
  }

  /** Closes an interval of the plots and looks for the measures, where it is time. */
  private notice(gathers: boolean): void {
    const closes = this.now >= this.series.due() - 1e-9 || this.finished;
    const looks = gathers && this.now >= this.nextLook - 1e-9;
    if (!closes && !looks) return;
    const look = this.look(0, 0);
    if (looks) {
      for (const gathering of this.gatherings) gathering.see(look);
      this.nextLook = this.now + LOOKS;
    }
    const point = this.series.close(look);
    if (point) this.points.push(point);
  }

  private look(packets: number, flows: number): Look {
    return this.simulator.call("look", { handle: this.opened.handle, packets, flows });
  }

  change(set: ChangeSet): void {
    const changed = this.simulator.call("change", { handle: this.opened.handle, set });
    this.opened.queues = changed.queues;
    this.opened.groups = changed.groups;
  }

  /** What there is to show now. Points and happenings are given once. */
  frame(spent: number): Frame {
    const frame: Frame = {
      now: this.now,
      finished: this.finished,
      look: this.look(PACKETS, FLOWS),
      points: this.points,
      happenings: [...this.moves.slice(-MOVES), ...this.incidents.slice(-INCIDENTS)],
      measured: this.gatherings.map((g) => ({ value: g.value(), complete: g.complete })),
      spent,
    };
    this.points = [];
    this.moves = [];
    this.incidents = [];
    return frame;
  }

  experiment(end?: "now"): string {
    const { handle } = this.opened;
    return this.simulator.call("experiment", end ? { handle, end } : { handle }).toml;
  }

  number(of: NumberRequest): Measured {
    return this.simulator.call("number", { handle: this.opened.handle, ...of });
  }

  digest(): { digest: string; now: number; finished: boolean } {
    return this.simulator.call("digest", { handle: this.opened.handle });
  }
}
