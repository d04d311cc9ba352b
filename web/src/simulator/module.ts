import type { Fault, Requests } from "./contract";

/** An answer that says what is wrong with the request. */
export class Refusal extends Error {
  constructor(readonly fault: Fault) {
    super(fault.message);
    this.name = "Refusal";
  }
}

/** Answers one request, or throws a {@link Refusal}. */
export interface Simulator {
  call<N extends keyof Requests>(name: N, request: Requests[N][0]): Requests[N][1];
  /** What happened at the queues since the last call; valid until the next call of anything. */
  log(handle: number): DataView;
}

/** Bytes of one record of the log. */
export const RECORD = 24;

interface Exports {
  memory: WebAssembly.Memory;
  aq_alloc(len: number): number;
  aq_free(ptr: number, len: number): void;
  aq_call(ptr: number, len: number): bigint;
  aq_log(handle: number): bigint;
}

const LOW = 0xffff_ffffn;

/** A pointer and a length, as the module packs them into one number. */
function unpack(packed: bigint): [pointer: number, length: number] {
  return [Number((packed >> 32n) & LOW), Number(packed & LOW)];
}

/** The simulator as compiled code. */
export interface Program {
  /** What a first look runs. */
  first: WebAssembly.Module;
  /** All other functions, or the address of the file that has them; null if `first` has everything, or the rest is not there yet. */
  rest: WebAssembly.Module | string | null;
}

/** A function of the rest was called before the rest was there. The instance is of no use any more. */
export class Missing extends Error {}

/** A file of WebAssembly. It is waited for, because the function that needs it cannot be continued later; only a worker may do that. */
function fetched(address: string): WebAssembly.Module {
  const request = new XMLHttpRequest();
  request.open("GET", address, false);
  request.responseType = "arraybuffer";
  try {
    request.send();
  } catch {
    // An answer of zero bytes is told below.
  }
  if (request.status !== 200 || !request.response)
    throw new Error(
      "A part of the simulator could not be loaded: reload the page when there is a connection.",
    );
  return new WebAssembly.Module(request.response);
}

/**
 * What stands in the table for functions of the rest. The first one that is called loads the rest, which puts its functions in their places:
 * so the tool wasm-split of Binaryen divides a module. The name of an import is its place.
 */
function placeholders(program: Program, exports: () => WebAssembly.Exports): WebAssembly.Imports {
  const load = () => {
    const { rest } = program;
    if (rest === null) throw new Missing("a part of the simulator is missing");
    new WebAssembly.Instance(typeof rest === "string" ? fetched(rest) : rest, { primary: exports() });
  };
  const imports: Record<string, WebAssembly.ModuleImports> = {};
  for (const { module, name } of WebAssembly.Module.imports(program.first)) {
    imports[module] ??= {};
    imports[module][name] = (...values: unknown[]) => {
      load();
      const table = Object.values(exports()).find((of) => of instanceof WebAssembly.Table);
      return table?.get(Number(name))(...values);
    };
  }
  return imports;
}

/** The simulator: the same in a page, a worker and Node. The rest of the program may be added later. */
export async function instantiate(program: Program): Promise<Simulator> {
  const imports = placeholders(program, () => instance.exports);
  const instance = await WebAssembly.instantiate(program.first, imports);
  return simulatorOf(instance.exports);
}

/** The simulator that has these exports. */
export function simulatorOf(of: WebAssembly.Exports): Simulator {
  const exports = of as unknown as Exports;
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();

  function call(name: string, request: object): unknown {
    const text = encoder.encode(JSON.stringify({ do: name, ...request }));
    const pointer = exports.aq_alloc(text.length);
    new Uint8Array(exports.memory.buffer, pointer, text.length).set(text);
    const [at, length] = unpack(exports.aq_call(pointer, text.length));
    exports.aq_free(pointer, text.length);
    const answer = JSON.parse(decoder.decode(new Uint8Array(exports.memory.buffer, at, length)));
    exports.aq_free(at, length);
    if (answer.error) throw new Refusal(answer.error);
    return answer.ok;
  }

  function log(handle: number): DataView {
    const [at, count] = unpack(exports.aq_log(handle));
    return new DataView(exports.memory.buffer, at, count * RECORD);
  }

  return { call: call as Simulator["call"], log };
}
