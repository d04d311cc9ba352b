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

/** The module, which imports nothing: the same in a page, a worker and Node. */
export async function instantiate(module: WebAssembly.Module): Promise<Simulator> {
  const instance = await WebAssembly.instantiate(module, {});
  const exports = instance.exports as unknown as Exports;
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
