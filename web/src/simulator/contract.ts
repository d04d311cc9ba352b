/**
 * What the simulator module answers. Times in seconds, rates in bit/s, sizes in bytes; a parameter is what an
 * experiment file would have: a number, or a text with a unit such as "15ms".
 */

export type Value = number | string | boolean | null | Value[] | { [key: string]: Value };

/** What a field holds; a number of `time`, `rate`, `size` is written with its unit. */
export type Kind =
  | "number"
  | "integer"
  | "bool"
  | "choice"
  | "time"
  | "rate"
  | "size"
  | "queue"
  | "text"
  | "table";

/** A parameter of a discipline, or a field of a traffic model. Bounds in s, bit/s, bytes, packets or 1. */
export interface Parameter {
  name: string;
  kind: Kind;
  unit: string;
  default: Value;
  min: number | null;
  max: number | null;
  choices?: string[] | null;
  help: string;
  /** Whether it can change while packets are queued. */
  live: boolean;
}

export interface Gauge {
  name: string;
  unit: string;
  label: string;
}

export interface Discipline {
  name: string;
  title: string;
  summary: string;
  page?: string;
  parameters: Parameter[];
  gauges: Gauge[];
  thresholds: string[];
}

export interface Named {
  name: string;
  title: string;
}

/** An experiment of the project, which the page carries. */
export interface LibraryExperiment {
  id: string;
  title: string;
  toml: string;
}

export interface Catalogue {
  version: string;
  simulator: string | number;
  digest: string;
  disciplines: Discipline[];
  controls: Named[];
  profiles: Named[];
  traffic: (Named & { fields: Parameter[] })[];
}

export interface PlannedRun {
  index: number;
  name: string;
  discipline: string;
  /** What distinguishes it, by axis. */
  labels: Record<string, string>;
}

export interface Checked {
  title: string;
  duration: number;
  runs: PlannedRun[];
  warnings: string[];
}

export interface QueueInfo {
  name: string;
  discipline: string;
  rate: number | null;
  delay: number;
  ecn: boolean | null;
  parameters: Record<string, Value>;
  thresholds: string[];
  gauges: Gauge[];
}

export interface Group {
  name: string;
  kind: string;
  class: string;
  transport: string;
  count: number;
  /** The key under which the count changes; null if it cannot. */
  counted: string | null;
  /** Rate of a group that does not respond to drops. */
  rate: number | null;
  responsive: boolean;
  ecn: boolean;
  /** Of its kind, on a light and on a dark background; the same as in reports. */
  colour: { light: string; dark: string };
}

export interface Opened {
  handle: number;
  title: string;
  start: number;
  end: number;
  run: PlannedRun & { seed: number };
  watched: number;
  queues: QueueInfo[];
  groups: Group[];
  warnings: string[];
}

export interface Advanced {
  now: number;
  finished: boolean;
  events: number;
}

export type EventKind = "arrival" | "departure" | "drop" | "mark";

export interface Stepped {
  now: number;
  finished: boolean;
  event: { kind: EventKind; flow: number; bytes: number; queue: number; delay: number | null } | null;
}

/** ECN field: 0 not ECN-capable, 1 ECT(1), 2 ECT(0), 3 congestion experienced. */
export type QueuedPacket = [flow: number, bytes: number, ecn: number, age: number];

export interface Lane {
  name: string;
  /** Head first. */
  packets: QueuedPacket[];
  /** Packets that were left out at the tail. */
  more: number;
}

export interface Counters {
  arrived: number;
  departed: number;
  dropped: number;
  marked: number;
  bytes_departed: number;
  utilisation: number | null;
}

export interface QueueLook {
  name: string;
  rate: number | null;
  packets: number;
  bytes: number;
  delay: number;
  limit_packets: number | null;
  limit_bytes: number | null;
  gauges: Record<string, number>;
  thresholds: Record<string, number>;
  lanes: Lane[];
  counters: Counters;
}

export interface FlowLook {
  id: number;
  group: number;
  transport: string;
  window: number | null;
  rate: number | null;
  rtt: number | null;
  in_flight: number | null;
  state: string;
  delivered: number;
}

export interface Look {
  now: number;
  finished: boolean;
  queues: QueueLook[];
  flows: FlowLook[];
  flows_total: number;
  groups: { count: number; rate: number | null; delivered: number }[];
  lost_records?: number;
}

/** Changes of a running simulation, effective now. */
export interface ChangeSet {
  parameters?: Record<string, Value>;
  rate?: string;
  delay?: string;
  count?: Record<string, number>;
  blast?: Record<string, string>;
  ecn?: boolean;
}

export interface Changed {
  now: number;
  queues: QueueInfo[];
  groups: Group[];
}

export interface Digest {
  digest: string;
  now: number;
  finished: boolean;
}

/** A number among the results of a run: its window, its metric (docs/metrics.md), and a statistic of its values over time. */
export interface NumberRequest {
  window: string;
  metric: string;
  seconds?: string;
}

export interface Measured {
  /** Null where nothing was measured, or something that never happened. */
  value: number | null;
  now: number;
  finished: boolean;
}

/** Every request and what a good answer to it holds. */
export interface Requests {
  catalogue: [Record<never, never>, Catalogue];
  check: [{ toml: string; set?: string[] }, Checked];
  open: [{ toml: string; run?: number; set?: string[]; seed?: number }, Opened];
  close: [{ handle: number }, unknown];
  restart: [{ handle: number }, Opened];
  advance: [{ handle: number; until: number; events?: number }, Advanced];
  step: [{ handle: number }, Stepped];
  look: [{ handle: number; packets?: number; flows?: number }, Look];
  change: [{ handle: number; set: ChangeSet }, Changed];
  experiment: [{ handle: number; end?: "now" }, { toml: string }];
  number: [{ handle: number } & NumberRequest, Measured];
  digest: [{ handle: number }, Digest];
}

/** What is wrong, and what would be right. */
export interface Fault {
  message: string;
  line?: number | null;
  column?: number | null;
  hint?: string | null;
}
