/** The worker of one column: it has a module of its own and one run in it. */
import type { ChangeSet, NumberRequest } from "./contract";
import { instantiate, type Program, Refusal, type Simulator } from "./module";
import { type Frame, Session, type Setup } from "./session";

/** What the page asks of the worker. */
export type Command =
  | { do: "load"; program: Program }
  | { do: "open"; setup: Setup; width: number }
  | { do: "advance"; until: number; budget: number; width: number }
  | { do: "step" }
  | { do: "restart" }
  | { do: "change"; set: ChangeSet }
  | { do: "experiment"; end?: "now" }
  | { do: "number"; of: NumberRequest }
  | { do: "digest" }
  | { do: "ask"; name: "catalogue" | "check"; request: Record<string, unknown> };

let simulator: Simulator | null = null;
let session: Session | null = null;

async function obey(command: Command): Promise<unknown> {
  if (command.do === "load") {
    simulator = await instantiate(command.program);
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

self.onmessage = async ({ data }: MessageEvent<{ id: number; command: Command }>) => {
  try {
    self.postMessage({ id: data.id, ok: await obey(data.command) });
  } catch (e) {
    const fault = e instanceof Refusal ? e.fault : { message: e instanceof Error ? e.message : String(e) };
    self.postMessage({ id: data.id, error: fault });
  }
};
