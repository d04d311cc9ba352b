import type { Look } from "./contract";
import { DEPARTURE, DROP, MARK, type PacketEvent } from "./log";

/** One interval of the plots. */
export interface Point {
  /** Its end, s. */
  time: number;
  width: number;
  /** Mean and largest delay of the packets that left; null when none did. */
  delay: number | null;
  delayMax: number | null;
  /** Packets in the queue at the end. */
  packets: number;
  drops: number;
  marks: number;
  /** bit/s of each group, in the order of `Opened.groups`. */
  rates: number[];
  gauges: Record<string, number>;
}

/** Sums what happens at one queue into intervals for the plots. */
export class Series {
  private bytes: number[];
  private delaySum = 0;
  private delayMax = 0;
  private departed = 0;
  private drops = 0;
  private marks = 0;
  private begun: number;

  constructor(
    readonly queue: number,
    groups: number,
    start: number,
    /** Length of an interval, s. */
    public width: number,
  ) {
    this.bytes = new Array(groups).fill(0);
    this.begun = start;
  }

  add(event: PacketEvent): void {
    if (event.queue !== this.queue) return;
    if (event.kind === DEPARTURE) {
      this.departed += 1;
      this.delaySum += event.delay;
      this.delayMax = Math.max(this.delayMax, event.delay);
      if (event.group < this.bytes.length)
        this.bytes[event.group] = (this.bytes[event.group] ?? 0) + event.bytes;
    } else if (event.kind === DROP) this.drops += 1;
    else if (event.kind === MARK) this.marks += 1;
  }

  /** When the interval that is open ends, s. */
  due(): number {
    return this.begun + this.width;
  }

  /** The interval that ends at `look`, if it is long enough. */
  close(look: Look): Point | null {
    const width = look.now - this.begun;
    // Times have rounding errors of a nanosecond.
    if (width <= 0 || width < this.width * (1 - 1e-6)) return null;
    const queue = look.queues[this.queue];
    const point: Point = {
      time: look.now,
      width,
      delay: this.departed ? this.delaySum / this.departed : null,
      delayMax: this.departed ? this.delayMax : null,
      packets: queue?.packets ?? 0,
      drops: this.drops,
      marks: this.marks,
      rates: this.bytes.map((bytes) => (bytes * 8) / width),
      gauges: queue?.gauges ?? {},
    };
    this.bytes.fill(0);
    this.delaySum = this.delayMax = this.departed = this.drops = this.marks = 0;
    this.begun = look.now;
    return point;
  }
}
