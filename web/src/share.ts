/** Experiments in the fragment of an address: `#e=…&e=…&speed=0.1`, each deflated and in base64url; of a single one with several runs,
 * `run=3` chooses one, and `set=topology.rate%3D3mbit` changes it as `--set` of the command. Shorter ones name a lesson (`#lesson=red`),
 * disciplines (`#d=red,codel`), or a cell of a published table (`#cell=cbt/blast&run=3&…`). */
import { type Cell, readCell } from "./cell";

/** An experiment larger than this is refused, whether it was pasted or came in a link. */
export const LONGEST = 256 * 1024;
/** Runs side by side. */
export const MOST_COLUMNS = 3;
/** Settings of a link, and letters of one. */
const MOST_SETTINGS = 50;
const LONGEST_SETTING = 10_000;

export interface Shared {
  experiments: string[];
  /** The run of a single experiment, by its index in the plan, and settings on top of it. */
  run: number;
  set: string[];
  /** Simulated seconds per second. */
  speed: number | null;
  lesson: string | null;
  /** Disciplines to set up on the first link. */
  disciplines: string[];
  cell: Cell | null;
  /** Whether the server that gave the page has an experiment beside it. */
  beside: boolean;
  /** Simulated up to here before it is shown, s. */
  at: number | null;
}

async function through(
  bytes: Uint8Array<ArrayBuffer>,
  stream: GenericTransformStream,
  most: number,
): Promise<Uint8Array> {
  const reader = new Blob([bytes])
    .stream()
    .pipeThrough(stream as TransformStream)
    .getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > most) {
      await reader.cancel().catch(() => undefined);
      throw new Error(`The experiment in this link is longer than ${most / 1024} KiB.`);
    }
    parts.push(value);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export function toBase64Url(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000)
    text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

export function fromBase64Url(text: string): Uint8Array<ArrayBuffer> {
  const plain = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
  const bytes = new Uint8Array(plain.length);
  for (let i = 0; i < plain.length; i++) bytes[i] = plain.charCodeAt(i);
  return bytes;
}

export async function pack(text: string): Promise<string> {
  const bytes = new TextEncoder().encode(text) as Uint8Array<ArrayBuffer>;
  return toBase64Url(await through(bytes, new CompressionStream("deflate-raw"), LONGEST));
}

export async function unpack(packed: string): Promise<string> {
  if (packed.length > 2 * LONGEST) throw new Error(`This link is longer than ${(2 * LONGEST) / 1024} KiB.`);
  let inflated: Uint8Array;
  try {
    inflated = await through(fromBase64Url(packed), new DecompressionStream("deflate-raw"), LONGEST);
  } catch (e) {
    if (e instanceof Error && e.message.startsWith("The experiment")) throw e;
    throw new Error("The experiment in this link is damaged. It may have been cut off where it was copied.");
  }
  return new TextDecoder().decode(inflated);
}

/** The fragment of a link to these experiments. */
export async function fragment(
  experiments: string[],
  speed: number | null,
  at: number | null,
): Promise<string> {
  const parts = await Promise.all(experiments.map(async (text) => `e=${await pack(text)}`));
  if (speed !== null) parts.push(`speed=${speed}`);
  if (at !== null) parts.push(`at=${at}`);
  return `#${parts.join("&")}`;
}

/** A positive number of the fragment; null where it is missing or none. */
function positive(text: string | null, most: number): number | null {
  if (text === null) return null;
  const value = Number(text);
  return Number.isFinite(value) && value > 0 ? Math.min(value, most) : null;
}

/** What a fragment asks for; null if it asks for nothing. */
export async function read(hash: string): Promise<Shared | null> {
  const asked = new URLSearchParams(hash.replace(/^#/, ""));
  const packed = asked.getAll("e");
  const lesson = asked.get("lesson");
  const beside = asked.has("file");
  const disciplines = (asked.get("d") ?? "").split(",").filter(Boolean).slice(0, MOST_COLUMNS);
  const cell = readCell(asked);
  if (packed.length === 0 && lesson === null && cell === null && !beside && disciplines.length === 0)
    return null;
  if (packed.length > MOST_COLUMNS)
    throw new Error(
      `This link has ${packed.length} experiments; at most ${MOST_COLUMNS} can run side by side.`,
    );
  const set = asked.getAll("set");
  if (set.length > MOST_SETTINGS || set.some((setting) => setting.length > LONGEST_SETTING))
    throw new Error(`This link has more settings, or longer ones, than ${MOST_SETTINGS} that can be read.`);
  return {
    run: Math.floor(positive(asked.get("run"), 1e6) ?? 0),
    set,
    experiments: await Promise.all(packed.map(unpack)),
    speed: positive(asked.get("speed"), 1000),
    lesson,
    beside,
    disciplines,
    cell,
    at: positive(asked.get("at"), 3600),
  };
}
