/**
 * The picture of one queue: packets come in at the left, wait with the head at the right, and leave over the wire.
 * Distances along the queue are packets, so lengths (thresholds, averages) are drawn into it at their place.
 */
import type { Lane, Opened, QueueLook, Value } from "../simulator/contract";
import { DEPARTURE, DROP, MARK } from "../simulator/log";
import type { Frame, Happening } from "../simulator/session";
import { quantity } from "../units";
import { Colours, type Theme } from "./colours";
import { capacity, places, rows, ticks } from "./scale";

/** A packet on the wire, by when it began to leave. */
interface OnWire {
  time: number;
  flow: number;
  group: number;
  /** Transmission time, s. */
  takes: number;
  marked: boolean;
}

/** A drop or mark that is being shown. */
interface Incident extends Happening {
  /** When it happened at the speed of then, ms of the wall clock. */
  seen: number;
  /** Where along the drawing it starts, so that several can be told apart. */
  jitter: number;
}

/** Parameters that are delays which a discipline aims at. */
const DELAYS = ["target", "target_delay", "step"];
/** How long a drop falls and a mark rises, ms. */
const FALL = 900;
/** How long an arriving packet takes to its place, ms. */
const ENTER = 140;
/** Pixels per second of the wall clock that packets move on the wire at most. */
const FASTEST_MOVE = 700;
/** Drops and marks that can be told apart at the same time. */
const SHOWN_INCIDENTS = 40;
/** How far above the queue the lines of labels are, px. */
const LABEL_ROWS = [10, 22, 34];
/** Up to so many flows have a colour each. */
const FLOWS_OF_OWN_COLOUR = 7;

interface Layout {
  width: number;
  height: number;
  /** Left end, right end, top and height of the queue. */
  left: number;
  right: number;
  top: number;
  tall: number;
  wire: number;
}

export class Picture {
  private wire: OnWire[] = [];
  private incidents: Incident[] = [];
  private shown = 40;
  private last = Number.NEGATIVE_INFINITY;
  /** Transmission time of a packet of 1500 bytes, s. */
  private takes = 1e-3;
  private colours: Colours;
  private few = true;

  constructor(
    private opened: Opened,
    private theme: Theme,
  ) {
    this.colours = this.newColours();
  }

  private newColours(): Colours {
    return new Colours(this.theme.dark, this.opened.groups, this.few);
  }

  /** The colours of flows, for what stands beside the picture. */
  get palette(): Colours {
    return this.colours;
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    this.colours = this.newColours();
  }

  /** Takes in a new state; called once for every frame of the simulation, with the simulated seconds that pass in one. */
  take(opened: Opened, frame: Frame, speed: number): void {
    if (frame.now < this.last) this.clear();
    this.last = frame.now;
    const few =
      frame.look.flows_total <= FLOWS_OF_OWN_COLOUR && opened.groups.filter((g) => g.responsive).length === 1;
    if (opened !== this.opened || few !== this.few) {
      this.opened = opened;
      this.few = few;
      this.colours = this.newColours();
    }
    const rate = frame.look.queues[opened.watched]?.rate ?? 0;
    if (rate > 0) this.takes = 12_000 / rate;
    const marks = new Set<string>();
    for (const h of frame.happenings) {
      if (h.kind === MARK) marks.add(`${h.flow}/${h.time}`);
      if (h.kind !== MARK && h.kind !== DROP) continue;
      // What happened before is over: a run that was brought to an instant shows what is going on there.
      const since = ((frame.now - h.time) / speed) * 1000;
      if (since < FALL) this.incidents.push({ ...h, seen: performance.now() - since, jitter: Math.random() });
    }
    for (const h of frame.happenings) {
      if (h.kind !== DEPARTURE) continue;
      const takes = rate > 0 ? (h.bytes * 8) / rate : 0;
      this.wire.push({
        time: h.time,
        flow: h.flow,
        group: h.group,
        takes,
        marked: marks.has(`${h.flow}/${h.time}`),
      });
    }
    if (this.wire.length > 1500) this.wire.splice(0, this.wire.length - 1500);
    if (this.incidents.length > SHOWN_INCIDENTS)
      this.incidents.splice(0, this.incidents.length - SHOWN_INCIDENTS);
  }

  private clear(): void {
    this.wire = [];
    this.incidents = [];
  }

  draw(
    context: CanvasRenderingContext2D,
    width: number,
    height: number,
    frame: Frame,
    speed: number,
    runs: boolean,
  ): void {
    const queue = frame.look.queues[this.opened.watched];
    context.clearRect(0, 0, width, height);
    if (!queue) return;
    const layout = this.layout(width, height);
    const lengths = this.lengths(queue);
    const limit = this.limit(queue);
    this.shown = capacity(this.shown, queue.packets, [...lengths.map((l) => l.at)], limit);
    this.drawTrack(context, layout, limit, queue.packets);
    this.drawLanes(context, layout, queue, speed, runs);
    this.drawLengths(context, layout, lengths);
    this.drawWire(context, layout, frame, speed);
    this.drawIncidents(context, layout, queue, runs);
  }

  private layout(width: number, height: number): Layout {
    const narrow = width < 480;
    const left = narrow ? 26 : 44;
    const wire = Math.round(width * (narrow ? 0.2 : 0.24));
    return { width, height, left, right: width - wire, top: 46, tall: height - 46 - 52, wire };
  }

  /** The limit of the queue in packets. */
  private limit(queue: QueueLook): number | null {
    if (queue.limit_packets !== null) return queue.limit_packets;
    if (queue.limit_bytes === null) return null;
    return queue.limit_bytes / this.meanBytes(queue);
  }

  private meanBytes(queue: QueueLook): number {
    return queue.packets > 0 ? queue.bytes / queue.packets : 1500;
  }

  /** Lengths to draw into the queue, in packets: thresholds, and the averages that are held against them. */
  private lengths(queue: QueueLook): { name: string; at: number; moving: boolean }[] {
    const info = this.opened.queues[this.opened.watched];
    const found: { name: string; at: number; moving: boolean }[] = [];
    const named = new Set([...Object.keys(queue.thresholds), ...DELAYS]);
    for (const name of named) {
      const at = this.asLength(queue, info?.parameters[name], queue.thresholds[name]);
      if (at !== null) found.push({ name, at, moving: false });
    }
    for (const gauge of info?.gauges ?? []) {
      const value = queue.gauges[gauge.name];
      if (value === undefined || !/packet/.test(gauge.unit) || /\/s/.test(gauge.unit)) continue;
      found.push({ name: gauge.name, at: value, moving: true });
    }
    return found;
  }

  /** A length in packets: of a parameter that is a time, bytes, or packets as they are. */
  private asLength(queue: QueueLook, parameter: Value | undefined, known: number | undefined): number | null {
    if (typeof parameter === "string") {
      const seconds = quantity(parameter, "time");
      if (seconds !== null)
        return queue.rate === null ? null : (seconds * queue.rate) / 8 / this.meanBytes(queue);
      const bytes = quantity(parameter, "size");
      if (bytes !== null) return bytes / this.meanBytes(queue);
    }
    return known ?? null;
  }

  private x(layout: Layout, packets: number): number {
    return layout.right - (packets / this.shown) * (layout.right - layout.left);
  }

  private drawTrack(
    context: CanvasRenderingContext2D,
    l: Layout,
    limit: number | null,
    packets: number,
  ): void {
    const { theme } = this;
    context.fillStyle = theme.track;
    context.fillRect(l.left, l.top, l.right - l.left, l.tall);
    context.fillRect(l.right + 4, l.top + l.tall / 2 - 12, l.wire, 24);
    context.strokeStyle = theme.line;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(l.left, l.top + 0.5);
    context.lineTo(l.right, l.top + 0.5);
    context.moveTo(l.left, l.top + l.tall - 0.5);
    context.lineTo(l.right, l.top + l.tall - 0.5);
    context.stroke();
    context.fillStyle = theme.ink;
    context.fillRect(l.right, l.top, 3, l.tall);
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = theme.faint;
    context.textBaseline = "top";
    context.textAlign = "center";
    for (const tick of ticks(this.shown)) {
      const x = this.x(l, tick);
      if (x < l.left - 0.5) continue;
      context.fillRect(Math.round(x), l.top + l.tall, 1, 4);
      context.fillText(String(tick), x, l.top + l.tall + 6);
    }
    context.textAlign = "left";
    const full = limit !== null && limit <= this.shown;
    // Written here, so that it is the number of the blocks at every frame.
    const number = packets.toLocaleString("en");
    context.fillText(
      `${number} ${packets === 1 ? "packet" : "packets"} waiting`,
      l.left,
      l.top + l.tall + 20,
    );
    if (full) {
      context.fillStyle = theme.ink;
      context.fillRect(Math.round(this.x(l, limit)) - 1, l.top, 2, l.tall);
    }
    context.fillStyle = theme.faint;
    context.textAlign = "right";
    context.fillText("link", l.width - 6, l.top + l.tall / 2 + 16);
  }

  private drawLanes(
    context: CanvasRenderingContext2D,
    l: Layout,
    queue: QueueLook,
    speed: number,
    runs: boolean,
  ): void {
    const lanes = queue.lanes.filter((lane) => lane.packets.length > 0 || queue.lanes.length <= 3);
    if (lanes.length <= 1) {
      if (lanes[0]) this.drawLane(context, l, lanes[0], l.top + 3, l.tall - 6, speed, runs);
      return;
    }
    const visible = lanes.slice(0, Math.max(1, Math.floor((l.tall - 6) / 5)));
    const tall = (l.tall - 6) / visible.length;
    visible.forEach((lane, i) => {
      this.drawLane(context, l, lane, l.top + 3 + i * tall, tall - (tall > 8 ? 2 : 1), speed, runs);
    });
    if (tall < 12) return;
    context.font = "10px system-ui, sans-serif";
    context.textAlign = "right";
    context.textBaseline = "middle";
    context.fillStyle = this.theme.faint;
    visible.forEach((lane, i) => {
      context.fillText(lane.name.slice(0, 8), l.left - 4, l.top + 3 + (i + 0.5) * tall);
    });
  }

  private drawLane(
    context: CanvasRenderingContext2D,
    l: Layout,
    lane: Lane,
    top: number,
    tall: number,
    speed: number,
    runs: boolean,
  ): void {
    const high = rows(this.shown, l.right - l.left, tall);
    const cell = ((l.right - l.left) / this.shown) * high;
    const deep = tall / high;
    const gap = cell > 5 ? 1 : cell > 2.5 ? 0.5 : 0;
    // A packet that has just come is on its way to its place, for no longer than a few others take to leave.
    const entry = Math.min((ENTER / 1000) * speed, 2 * this.takes);
    const ages = lane.packets.map(([, , , age]) => age);
    const from = places(ages, runs && speed < 0.5 ? entry : 0, high, cell, l.left, l.right);
    lane.packets.forEach(([flow, , ecn], i) => {
      const x = from[i] ?? l.left;
      if (x < l.left - cell) return;
      const y = top + (i % high) * deep;
      context.fillStyle = this.colours.flow(flow, this.groupOf(flow));
      context.fillRect(x, y, Math.max(1, cell - gap), Math.max(1, deep - (deep > 4 ? 1 : 0)));
      if (ecn === 3) this.drawNotch(context, x, y, cell - gap, deep);
    });
  }

  /** A mark on a packet: a light notch at its top. */
  private drawNotch(
    context: CanvasRenderingContext2D,
    x: number,
    y: number,
    wide: number,
    tall: number,
  ): void {
    context.fillStyle = this.theme.surface;
    const size = Math.max(1.5, Math.min(wide * 0.6, tall * 0.4, 8));
    context.beginPath();
    context.moveTo(x + wide / 2 - size, y);
    context.lineTo(x + wide / 2 + size, y);
    context.lineTo(x + wide / 2, y + size * 1.4);
    context.fill();
  }

  private groups = new Map<number, number>();

  /** Which group a flow belongs to, from the flows and packets seen. */
  private groupOf(flow: number): number {
    return this.groups.get(flow) ?? 0;
  }

  /** Learns the groups of flows. */
  learn(frame: Frame): void {
    if (this.groups.size > 50_000) this.groups.clear();
    for (const flow of frame.look.flows) this.groups.set(flow.id, flow.group);
    for (const h of frame.happenings) this.groups.set(h.flow, h.group);
  }

  private drawLengths(
    context: CanvasRenderingContext2D,
    l: Layout,
    lengths: { name: string; at: number; moving: boolean }[],
  ): void {
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "bottom";
    const taken: [from: number, to: number, row: number][] = [];
    for (const { name, at, moving } of lengths) {
      const x = this.x(l, at);
      if (x < l.left - 1 || x > l.right + 1) continue;
      context.strokeStyle = context.fillStyle = this.theme.ink;
      context.setLineDash(moving ? [] : [4, 3]);
      context.lineWidth = moving ? 2 : 1.25;
      context.beginPath();
      context.moveTo(x, l.top - 4);
      context.lineTo(x, l.top + l.tall + 2);
      context.stroke();
      context.setLineDash([]);
      if (moving) {
        context.beginPath();
        context.moveTo(x - 5, l.top - 9);
        context.lineTo(x + 5, l.top - 9);
        context.lineTo(x, l.top - 2);
        context.fill();
      }
      const half = context.measureText(name).width / 2 + 3;
      const middle = Math.min(Math.max(x, l.left + half), l.width - half);
      // A line further up for a label that would lie over another.
      const row = LABEL_ROWS.findIndex((_, i) =>
        taken.every(([from, to, of]) => of !== i || middle + half <= from || middle - half >= to),
      );
      if (row < 0) continue;
      context.fillText(name, middle, l.top - (LABEL_ROWS[row] ?? 0));
      taken.push([middle - half, middle + half, row]);
    }
  }

  private drawWire(context: CanvasRenderingContext2D, l: Layout, frame: Frame, speed: number): void {
    const cell = Math.max(6, (l.right - l.left) / this.shown);
    const move = Math.min(cell / this.takes, FASTEST_MOVE / speed);
    const from = l.right + 4;
    const y = l.top + l.tall / 2 - 9;
    this.wire = this.wire.filter((p) => (frame.now - p.time - p.takes) * move < l.wire);
    for (const packet of this.wire) {
      const front = from + (frame.now - packet.time) * move;
      const back = Math.max(from, front - packet.takes * move);
      if (back >= l.width) continue;
      context.fillStyle = this.colours.flow(packet.flow, packet.group);
      const wide = Math.max(1, Math.min(front, l.width) - back - (packet.takes * move > 5 ? 1 : 0));
      context.fillRect(back, y, wide, 18);
      if (packet.marked) this.drawNotch(context, back, y, wide, 18);
    }
  }

  private drawIncidents(context: CanvasRenderingContext2D, l: Layout, queue: QueueLook, runs: boolean): void {
    const at = performance.now();
    // While the simulation stands still, the last ones stay where they can be seen.
    this.incidents = this.incidents.filter((i) => !runs || at - i.seen < FALL);
    const tail = Math.max(l.left, this.x(l, Math.min(queue.packets, this.shown)));
    for (const incident of this.incidents) {
      const part = runs
        ? Math.min(1, (at - incident.seen) / FALL)
        : Math.min(0.45, (at - incident.seen) / FALL);
      const within = incident.delay > 1e-9;
      const x = (within ? l.right - 8 : Math.max(l.left + 4, tail - 8)) + (incident.jitter - 0.5) * 44;
      context.globalAlpha = 1 - part * part;
      if (incident.kind === DROP) this.drawDrop(context, incident, x, l.top + l.tall - 6 + part * 46);
      else this.drawMark(context, x, l.top - 2 - part * 26);
      context.globalAlpha = 1;
    }
  }

  private drawDrop(context: CanvasRenderingContext2D, incident: Incident, x: number, y: number): void {
    context.fillStyle = this.colours.flow(incident.flow, incident.group);
    context.fillRect(x - 4, y - 6, 8, 12);
    context.strokeStyle = this.theme.drop;
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(x - 6, y - 7);
    context.lineTo(x + 6, y + 7);
    context.moveTo(x + 6, y - 7);
    context.lineTo(x - 6, y + 7);
    context.stroke();
  }

  private drawMark(context: CanvasRenderingContext2D, x: number, y: number): void {
    context.fillStyle = this.theme.mark;
    context.beginPath();
    context.moveTo(x, y - 7);
    context.lineTo(x + 6, y);
    context.lineTo(x, y + 7);
    context.lineTo(x - 6, y);
    context.fill();
  }
}
