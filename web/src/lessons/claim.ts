import type { Look } from "../simulator/contract";
import { DEPARTURE, DROP, MARK, NO_GROUP, type PacketEvent } from "../simulator/log";

/**
 * What is measured at the watched queue of one run, between two instants.
 *
 * - `delay.mean`, `delay.p99`, `delay.max`: of the packets that left, s
 * - `packets.mean`, `packets.max`, `packets.min`: length of the queue, looked at 100 times a second
 * - `used`: bytes that left over what the link could have sent, 0 to 1
 * - `dropped`, `marked`: share of the packets that arrived, 0 to 1
 * - `drops`, `marks`: packets
 * - `rate`: of a group, bit/s; `share`: of a group, of all bytes that left, 0 to 1
 * - `gauge.mean`, `gauge.max`, `gauge.min`: of the discipline's gauge named in `gauge`
 * - `flows.most`, `flows.least`: rate of the fastest and of the slowest flow of the group, bit/s
 */
export interface Measure {
  /** Index of the run: which of those side by side. */
  of: number;
  what:
    | "delay.mean"
    | "delay.p99"
    | "delay.max"
    | "packets.mean"
    | "packets.max"
    | "packets.min"
    | "used"
    | "dropped"
    | "marked"
    | "drops"
    | "marks"
    | "rate"
    | "share"
    | "gauge.mean"
    | "gauge.max"
    | "gauge.min"
    | "flows.most"
    | "flows.least";
  group?: string;
  gauge?: string;
  from: number;
  to: number;
}

/** A sentence of a lesson, as something that can be found wrong. */
export interface Claim {
  says: string;
  measure: Measure;
  /** The measured value is at least this. */
  least?: number;
  /** The measured value is at most this. */
  most?: number;
  /** The bounds are multiples of this measure instead of plain numbers. */
  times?: Measure;
}

/** A measure that is being taken of one run. */
export class Gathering {
  private sum = 0;
  private count = 0;
  private high = Number.NEGATIVE_INFINITY;
  private low = Number.POSITIVE_INFINITY;
  private part = 0;
  private readonly delays: number[] = [];
  private readonly flows = new Map<number, number>();
  private reached: number;
  private capacity = 0;

  constructor(
    readonly measure: Measure,
    private readonly queue: number,
    /** Index of the group that the measure names, or -1. */
    private readonly group: number,
  ) {
    this.reached = measure.from;
  }

  add(event: PacketEvent): void {
    const { from, to, what } = this.measure;
    if (event.queue !== this.queue || event.time < from || event.time >= to) return;
    const ours = this.group < 0 || event.group === this.group;
    switch (what) {
      case "delay.mean":
      case "delay.p99":
      case "delay.max":
        if (event.kind === DEPARTURE && ours) this.delays.push(event.delay);
        break;
      case "used":
      case "share":
      case "rate":
        if (event.kind !== DEPARTURE) break;
        this.sum += event.bytes;
        if (ours && event.group !== NO_GROUP) this.part += event.bytes;
        break;
      case "flows.most":
      case "flows.least":
        if (event.kind === DEPARTURE && ours)
          this.flows.set(event.flow, (this.flows.get(event.flow) ?? 0) + event.bytes);
        break;
      case "dropped":
      case "drops":
        if (ours && event.kind === DROP) this.part += 1;
        if (ours && (event.kind === DROP || event.kind === DEPARTURE)) this.sum += 1;
        break;
      case "marked":
      case "marks":
        if (ours && event.kind === MARK) this.part += 1;
        if (ours && (event.kind === DROP || event.kind === DEPARTURE)) this.sum += 1;
        break;
    }
  }

  /** Takes the state of the queue at an instant into account. */
  see(look: Look): void {
    const { from, to, what, gauge } = this.measure;
    const queue = look.queues[this.queue];
    if (!queue || look.now < from) return;
    const until = Math.min(look.now, to);
    if (until > this.reached) {
      this.capacity += (until - this.reached) * (queue.rate ?? 0);
      this.reached = until;
    }
    if (look.now > to) return;
    const value = what.startsWith("packets") ? queue.packets : queue.gauges[gauge ?? ""];
    if (value === undefined) return;
    this.sum += what.startsWith("packets") || what.startsWith("gauge") ? value : 0;
    this.count += 1;
    this.high = Math.max(this.high, value);
    this.low = Math.min(this.low, value);
  }

  /** Whether the run is past the end of what is measured. */
  get complete(): boolean {
    return this.reached >= this.measure.to - 1e-9;
  }

  value(): number | null {
    const span = this.reached - this.measure.from;
    if (span <= 0) return null;
    switch (this.measure.what) {
      case "delay.mean":
        return this.delays.length ? this.delays.reduce((a, b) => a + b, 0) / this.delays.length : null;
      case "delay.max":
        return this.delays.length ? this.delays.reduce((a, b) => Math.max(a, b), 0) : null;
      case "delay.p99": {
        const sorted = Float64Array.from(this.delays).sort();
        return sorted[Math.floor(0.99 * (sorted.length - 1))] ?? null;
      }
      case "packets.mean":
      case "gauge.mean":
        return this.count ? this.sum / this.count : null;
      case "packets.max":
      case "gauge.max":
        return this.count ? this.high : null;
      case "packets.min":
      case "gauge.min":
        return this.count ? this.low : null;
      case "used":
        return this.capacity ? (this.sum * 8) / this.capacity : null;
      case "share":
        return this.sum ? this.part / this.sum : null;
      case "rate":
        return (this.part * 8) / span;
      case "dropped":
      case "marked":
        return this.sum ? this.part / this.sum : null;
      case "drops":
      case "marks":
        return this.part;
      case "flows.most":
        return this.flows.size ? (Math.max(...this.flows.values()) * 8) / span : null;
      case "flows.least":
        return this.flows.size ? (Math.min(...this.flows.values()) * 8) / span : null;
    }
  }
}

/** Whether a claim is met by measured values: of its own measure, and of the one it is compared with. */
export function holds(claim: Claim, value: number | null, other: number | null): boolean {
  if (value === null || (claim.times && other === null)) return false;
  const unit = claim.times ? (other ?? 0) : 1;
  return (
    (claim.least === undefined || value >= claim.least * unit) &&
    (claim.most === undefined || value <= claim.most * unit)
  );
}

/** The measures that claims need of run `of`. */
export function measuresOf(claims: readonly Claim[], of: number): Measure[] {
  return claims.flatMap((c) => [c.measure, ...(c.times ? [c.times] : [])]).filter((m) => m.of === of);
}
