import type {
  Catalogue,
  ChangeSet,
  Checked,
  Digest,
  Measured,
  NumberRequest,
  Opened,
  Stepped,
} from "./contract";
import { type Program, Refusal } from "./module";
import type { Frame, Setup } from "./session";
import type { Command } from "./worker";
import SimulatorWorker from "./worker?worker&inline";

/** An answer that takes longer than this comes from a simulator that hangs, ms. */
const PATIENCE = 20_000;

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
  timer: ReturnType<typeof setTimeout>;
}

/** A simulator in a worker, seen from the page. */
export class Remote {
  private readonly worker = new SimulatorWorker();
  private readonly waiting = new Map<number, Waiting>();
  private last = 0;

  constructor(program: Program, rest: Promise<WebAssembly.Module | null>) {
    this.worker.onmessage = ({ data }) => {
      const waiting = this.waiting.get(data.id);
      if (!waiting) return;
      this.waiting.delete(data.id);
      clearTimeout(waiting.timer);
      if (data.error) waiting.reject(new Refusal(data.error));
      else waiting.resolve(data.ok);
    };
    this.worker.onerror = (e) => this.fail(e.message || "the simulator stopped");
    const failed = (e: unknown) => this.fail(String(e));
    this.send({ do: "load", program }).catch(failed);
    rest.then((module) => this.send({ do: "complete", rest: module })).catch(failed);
  }

  private send<T>(command: Command): Promise<T> {
    const id = ++this.last;
    return new Promise<T>((resolve, reject) => {
      const timer = setTimeout(() => this.fail("the simulator does not answer"), PATIENCE);
      this.waiting.set(id, { resolve: resolve as (value: unknown) => void, reject, timer });
      this.worker.postMessage({ id, command });
    });
  }

  /** Ends the worker; whoever waits for it is told why. */
  private fail(why: string): void {
    this.worker.terminate();
    for (const { reject, timer } of this.waiting.values()) {
      clearTimeout(timer);
      reject(new Refusal({ message: why, hint: "Reload the page, or open a smaller experiment." }));
    }
    this.waiting.clear();
  }

  end(): void {
    this.fail("closed");
  }

  catalogue(): Promise<Catalogue> {
    return this.send({ do: "ask", name: "catalogue", request: {} });
  }

  check(toml: string, set: string[] = []): Promise<Checked> {
    return this.send({ do: "ask", name: "check", request: { toml, set } });
  }

  open(setup: Setup, width: number): Promise<{ opened: Opened; frame: Frame }> {
    return this.send({ do: "open", setup, width });
  }

  advance(until: number, budget: number, width: number): Promise<Frame> {
    return this.send({ do: "advance", until, budget, width });
  }

  step(): Promise<{ frame: Frame; event: Stepped["event"] }> {
    return this.send({ do: "step" });
  }

  restart(): Promise<Frame> {
    return this.send({ do: "restart" });
  }

  change(set: ChangeSet): Promise<{ opened: Opened; frame: Frame }> {
    return this.send({ do: "change", set });
  }

  experiment(end?: "now"): Promise<string> {
    return this.send(end ? { do: "experiment", end } : { do: "experiment" });
  }

  number(of: NumberRequest): Promise<Measured> {
    return this.send({ do: "number", of });
  }

  digest(): Promise<Digest> {
    return this.send({ do: "digest" });
  }
}
