/** The link and the traffic that are set up by hand, and the experiment that they make. */
import type { Discipline, Value } from "./simulator/contract";
import { rateText, timeText } from "./units";

/** Traffic that can be chosen by hand. */
export interface TrafficKind {
  kind: string;
  label: string;
  /** What is counted, in the plural. */
  counted: string;
  /** The parameter that holds the count. */
  count: string;
  most: number;
  /** Whether a congestion control is chosen for it. */
  controlled: boolean;
  /** Parameters apart from the count. */
  fixed: Record<string, Value>;
}

export const TRAFFIC: readonly TrafficKind[] = [
  {
    kind: "bulk",
    label: "Downloads",
    counted: "downloads",
    count: "flows",
    most: 500,
    controlled: true,
    fixed: { stagger: "1s" },
  },
  {
    kind: "pages",
    label: "Web users",
    counted: "users",
    count: "users",
    most: 200,
    controlled: true,
    fixed: {},
  },
  {
    kind: "dash",
    label: "Streamed video",
    counted: "viewers",
    count: "viewers",
    most: 50,
    controlled: true,
    fixed: {},
  },
  {
    kind: "call",
    label: "Video calls",
    counted: "calls",
    count: "calls",
    most: 50,
    controlled: false,
    fixed: {},
  },
  {
    kind: "voip",
    label: "Telephone calls",
    counted: "calls",
    count: "calls",
    most: 100,
    controlled: false,
    fixed: {},
  },
];

export interface GroupSetup {
  name: string;
  kind: string;
  count: number;
  /** Congestion control. */
  control: string;
}

export interface ColumnSetup {
  discipline: string;
  /** Parameters that differ from their defaults. */
  parameters: Record<string, Value>;
}

export interface Scenario {
  /** Of the bottleneck, bit/s. */
  rate: number;
  /** Of the bottleneck's wire, one way, s. */
  delay: number;
  ecn: boolean;
  groups: GroupSetup[];
  /** Unresponsive traffic at a constant rate, bit/s; 0 when it is off. */
  blast: number;
  columns: ColumnSetup[];
}

export const FIRST: Scenario = {
  rate: 10e6,
  delay: 0.02,
  ecn: false,
  groups: [{ name: "downloads", kind: "bulk", count: 4, control: "cubic" }],
  blast: 0,
  columns: [{ discipline: "red", parameters: {} }],
};

/** The profile of the hosts. */
export const HOSTS = "linux-6";

/** How long an experiment made by hand runs. */
const DURATION = "10min";

/** A value as TOML writes it. */
export function tomlValue(value: Value): string {
  if (value === null) return '""';
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "number")
    return Number.isInteger(value) ? value.toString() : value.toString().replace(/e\+?/, "e");
  if (typeof value === "boolean") return value ? "true" : "false";
  if (Array.isArray(value)) return `[${value.map(tomlValue).join(", ")}]`;
  const entries = Object.entries(value).map(([key, of]) => `${tomlKey(key)} = ${tomlValue(of)}`);
  return `{ ${entries.join(", ")} }`;
}

function tomlKey(key: string): string {
  return /^[A-Za-z0-9_-]+$/.test(key) ? key : JSON.stringify(key);
}

/** The discipline of a column with its parameters, and ECN where it can mark. */
function aqm(column: ColumnSetup, ecn: boolean, known: Discipline | undefined): Record<string, Value> {
  const marks = ecn && known?.parameters.some((p) => p.name === "ecn");
  return { name: column.discipline, ...(marks ? { ecn: true } : {}), ...column.parameters };
}

/** The experiment of one column. */
export function experiment(scenario: Scenario, index: number, disciplines: readonly Discipline[]): string {
  const column = scenario.columns[index] ?? { discipline: "fifo", parameters: {} };
  const known = disciplines.find((d) => d.name === column.discipline);
  const lines = [
    `title    = ${tomlValue(`${column.discipline} on a link of ${rateText(scenario.rate)}`)}`,
    `duration = "${DURATION}"`,
    "",
    "[topology]",
    `rate  = "${rateText(scenario.rate)}"`,
    `delay = "${timeText(scenario.delay)}"`,
    `aqm   = ${tomlValue(aqm(column, scenario.ecn, known))}`,
    "",
    "[transport]",
    `profile = ${tomlValue(HOSTS)}`,
    // Left out, a congestion control that needs ECN has it.
    ...(scenario.ecn ? ["ecn = true"] : []),
  ];
  for (const group of scenario.groups) lines.push("", ...traffic(group));
  lines.push(
    "",
    "[[traffic]]",
    'name  = "blast"',
    'kind  = "cbr"',
    `rate  = "${rateText(scenario.blast > 0 ? scenario.blast : 1.2 * scenario.rate)}"`,
    // A sender that is there from the start can be switched on at any time.
    ...(scenario.blast > 0 ? [] : ["active = false"]),
  );
  return `${lines.join("\n")}\n`;
}

function traffic(group: GroupSetup): string[] {
  const kind = TRAFFIC.find((k) => k.kind === group.kind);
  const lines = ["[[traffic]]", `name = ${tomlValue(group.name)}`, `kind = ${tomlValue(group.kind)}`];
  lines.push(`${kind?.count ?? "flows"} = ${group.count}`);
  for (const [key, value] of Object.entries(kind?.fixed ?? {})) lines.push(`${key} = ${tomlValue(value)}`);
  if (kind?.controlled) lines.push(`transport = { congestion = ${tomlValue(group.control)} }`);
  return lines;
}
