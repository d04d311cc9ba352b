/** A bottleneck of real packets, as `aqmkit ctl play` tells it: its state ten times a second, and changes that are sent back. */
import { signal } from "@preact/signals";
import type { Value } from "./simulator/contract";

/** States that are kept: two minutes. */
const KEPT = 1200;

/** A direction of the bottleneck. Counters count from its start; times are in seconds. */
export interface Direction {
  name: string;
  discipline: string;
  parameters: Record<string, Value>;
  /** bit/s */
  rate: number;
  packets: number;
  bytes: number;
  arrived: number;
  sent: number;
  sent_bytes: number;
  dropped: number;
  marked: number;
  /** Packets that the kernel dropped before the discipline because the process was too slow. */
  overrun: number;
  /** Of the packets that left within the last second: median and 99th percentile. */
  delay: number | null;
  delay_p99: number | null;
  gauges: Record<string, number>;
}

export interface State {
  kind: string;
  name: string;
  /** Since the start, s. */
  at: number;
  writable: boolean;
  late: number | null;
  directions: Direction[];
}

/** The states of the last two minutes, the newest last; null if the page shows a simulation. */
export const states = signal<State[] | null>(null);
/** Why there are no more states. */
export const ended = signal<string | null>(null);
/** Why the last change was refused. */
export const refused = signal<string | null>(null);

/** The token in a fragment that asks for a running bottleneck; null if it does not. */
export function tokenOf(hash: string): string | null {
  const token = new URLSearchParams(hash.replace(/^#/, "")).get("live");
  return token !== null && /^[0-9a-f]{32}$/.test(token) ? token : null;
}

/** The states with a new one. Another start of the bottleneck begins anew. */
export function appended(before: State[], state: State): State[] {
  const last = before[before.length - 1];
  return last && state.at < last.at ? [state] : [...before.slice(-KEPT + 1), state];
}

let token = "";

/** Follows the bottleneck that gave the page. */
export function follow(of: string): void {
  token = of;
  states.value = [];
  const source = new EventSource(`live?token=${token}`);
  source.onmessage = ({ data }) => {
    ended.value = null;
    states.value = appended(states.value ?? [], JSON.parse(data));
  };
  source.addEventListener("end", ({ data }) => {
    source.close();
    ended.value = String(data);
  });
  source.onerror = () => {
    if (source.readyState === EventSource.CLOSED) ended.value ??= "The address is not valid any more.";
  };
}

/** A change of a direction, as `aqmkit ctl set` makes it. */
export interface LiveChange {
  rate_bps?: number;
  /** A discipline that replaces the present one. */
  aqm?: string;
  parameters?: Record<string, Value>;
}

export async function change(direction: string, what: LiveChange): Promise<void> {
  try {
    const answer = await fetch(`change?token=${token}`, {
      method: "POST",
      body: JSON.stringify({ direction, ...what }),
    });
    refused.value = answer.ok ? null : (await answer.text()).trim();
  } catch {
    refused.value = "The bottleneck does not answer.";
  }
}

/** A counter's increase per second between two states. */
export function perSecond(now: number, before: number, span: number): number {
  return span > 0 ? Math.max(0, now - before) / span : 0;
}
