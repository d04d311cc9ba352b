/**
 * Divides the simulator into what a first look at the page runs and all else, so that a browser need not load everything before a queue moves.
 * The tool is wasm-split of Binaryen (Debian package binaryen).
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LESSONS } from "./src/lessons";
import { measuresOf } from "./src/lessons/claim";
import { experiment, FIRST } from "./src/scenario";
import { type Simulator, simulatorOf } from "./src/simulator/module";
import { Session, type Setup } from "./src/simulator/session";

/** What the compiler of the module may use, and the tool must be told. */
const FEATURES = [
  "bulk-memory",
  "multivalue",
  "mutable-globals",
  "nontrapping-float-to-int",
  "reference-types",
  "sign-ext",
].map((feature) => `--enable-${feature}`);

/** What the instrumented module has besides: a function that writes the profile into the memory, if there is room, and returns its length. */
interface Profiler {
  memory: WebAssembly.Memory;
  __write_profile(at: number, room: number): number;
}

const PAGE = 65_536;

/** Simulated seconds of a run, and its frames in one. */
const SECONDS = 8;
const FRAMES = 10;

/** A run as somebody sees it who moves one control. */
function look(simulator: Simulator, setup: Setup): void {
  const session = new Session(simulator, setup, 0.1);
  for (let frame = 1; frame <= SECONDS * FRAMES; frame++) {
    session.advance(frame / FRAMES, 60_000);
    session.frame(0);
  }
  session.change({ rate: "20mbit" });
  session.step();
  session.restart();
  session.close();
}

/** What the page does when it is opened: the first link with each discipline, and the lessons. */
function firstLook(simulator: Simulator): void {
  const { disciplines } = simulator.call("catalogue", {});
  for (const { name } of disciplines) {
    const scenario = { ...FIRST, columns: [{ discipline: name, parameters: {} }] };
    look(simulator, { toml: experiment(scenario, 0, disciplines), run: 0, set: [], measures: [] });
  }
  for (const { runs, claims } of LESSONS)
    for (const [of, { toml }] of runs.entries())
      look(simulator, { toml, run: 0, set: [], measures: measuresOf(claims, of) });
}

/** The module with a profile of its own run: which functions were called. */
async function profile(instrumented: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const { instance } = await WebAssembly.instantiate(instrumented, {});
  firstLook(simulatorOf(instance.exports));
  const profiler = instance.exports as unknown as Profiler;
  const length = profiler.__write_profile(0, 0);
  const at = PAGE * profiler.memory.grow(Math.ceil(length / PAGE));
  profiler.__write_profile(at, length);
  return new Uint8Array(profiler.memory.buffer, at, length);
}

/** Two modules that make one together; null where there is no wasm-split. */
export async function split(module: string): Promise<{ first: Buffer; rest: Buffer } | null> {
  const directory = mkdtempSync(join(tmpdir(), "aqmkit-split-"));
  const file = (name: string) => join(directory, name);
  const run = (...options: string[]) => execFileSync("wasm-split", [...FEATURES, module, ...options]);
  try {
    run("--instrument", "-o", file("instrumented"));
    writeFileSync(file("profile"), await profile(new Uint8Array(readFileSync(file("instrumented")))));
    run(`--profile=${file("profile")}`, "-o1", file("first"), "-o2", file("rest"));
    return { first: readFileSync(file("first")), rest: readFileSync(file("rest")) };
  } catch (e) {
    if ((e as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw e;
  } finally {
    rmSync(directory, { recursive: true });
  }
}
