/** The worker of one column: it has a module of its own and one run in it. */
import type { ChangeSet, NumberRequest } from "./contract";
import { instantiate, Missing, type Program, Refusal, type Simulator } from "./module";
import { type Frame, Session, type Setup } from "./session";

/** What the page asks of the worker. */
export type Command =
  | { do: "load"; program: Program }
  | { do: "complete"; rest: WebAssembly.Module | null }
  | { do: "open"; setup: Setup; width: number }
  | { do: "advance"; until: number; budget: number; width: number }
  | { do: "step" }
  | { do: "restart" }
  | { do: "change"; set: ChangeSet }
  | { do: "experiment"; end?: "now" }
  | { do: "number"; of: NumberRequest }
  | { do: "digest" }
  | { do: "ask"; name: "catalogue" | "check"; request: Record<string, unknown> };

let program: Program | null = null;
let simulator: Simulator | null = null;
let session: Session | null = null;

/** Settled when the rest of the program is there, or known to be elsewhere. */
let complete: () => void;
const completed = new Promise<void>((resolve) => {
  complete = resolve;
});

async function obey(command: Command): Promise<unknown> {
  if (command.do === "load") {
    program = command.program;
    simulator = await instantiate(program);
    return null;
  }
  if (command.do === "complete") {
    if (program) program.rest ??= command.rest;
    complete();
    return null;
  }
  if (!simulator) throw new Error("the simulator has not been loaded");
  if (command.do === "ask") return simulator.call(command.name, command.request as never);
  if (command.do === "open") {
    const next = new Session(simulator, command.setup, command.width);
    session?.close();
    session = next;
    return { opened: session.opened, frame: session.frame(0) };
  }
  if (!session) throw new Error("no experiment is open");
  switch (command.do) {
    case "advance":
      return advance(session, command);
    case "step": {
      const event = session.step();
      return { frame: session.frame(0), event };
    }
    case "restart":
      session.restart();
      return session.frame(0);
    case "change":
      session.change(command.set);
      return { opened: session.opened, frame: session.frame(0) };
    case "experiment":
      return session.experiment(command.end);
    case "number":
      return session.number(command.of);
    case "digest":
      return session.digest();
  }
}

function advance(
  of: Session,
  { until, budget, width }: { until: number; budget: number; width: number },
): Frame {
  const begun = performance.now();
  of.setWidth(width);
  of.advance(until, budget);
  return of.frame(performance.now() - begun);
}

/** What may run before the rest of the program is there: it can be done again from the start. */
const EARLY: readonly Command["do"][] = ["load", "complete", "ask", "open", "advance"];

/** Obeys a command; once more with the rest of the program, if that was missing. */
async function answer(command: Command): Promise<unknown> {
  if (!EARLY.includes(command.do)) await completed;
  try {
    return await obey(command);
  } catch (e) {
    if (!(e instanceof Missing && program)) throw e;
    await completed;
    simulator = await instantiate(program);
    session = session && new Session(simulator, session.setup, 1);
    return obey(command);
  }
}

self.onmessage = async ({ data }: MessageEvent<{ id: number; command: Command }>) => {
  try {
    self.postMessage({ id: data.id, ok: await answer(data.command) });
  } catch (e) {
    const fault = e instanceof Refusal ? e.fault : { message: e instanceof Error ? e.message : String(e) };
    self.postMessage({ id: data.id, error: fault });
  }
};
