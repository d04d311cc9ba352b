/**
 * A WebAssembly module with its instructions taken apart: operations, local variables, offsets, constants and so on, each kind in a stream of
 * its own. A compressor finds more in streams of one kind: packed with xz, the simulator becomes a tenth smaller. {@link join} makes a module
 * of the streams again. What means nothing is not kept: superfluous bytes of numbers, and hints of alignment, of which the natural ones are written.
 */

/** Everything outside the bodies of functions, then the kinds of what is in them. */
const REST = 0;
const DECLARED = 1;
const CODE = 2;
const LOCAL = 3;
const LOAD = 4;
const STORE = 5;
const INT = 6;
const LONG = 7;
const CALL = 8;
const BRANCH = 9;
const FLOAT = 10;
const STREAMS = 11;

const CODE_SECTION = 10;
/** Bytes before the first section. */
const HEADER = 8;
/** Bytes of the longest number of 32 bits. */
const LONGEST = 5;

/** Natural alignments of the operations from `i32.load` (0x28) to `i64.store32` (0x3e), as powers of two. */
const ALIGNMENTS = [2, 3, 2, 3, 0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 2, 3, 2, 3, 0, 1, 0, 1, 2];

/** Moves parts of an instruction from one form of the module to the other. */
interface Mover {
  /** A number of variable length; its value, if it has no sign. */
  number(stream: number, signed?: boolean): number;
  /** The first of some bytes. */
  bytes(stream: number, count: number): number;
  alignment(natural: number): void;
}

/** Moves the body of a function: its variables, and its instructions up to the end that closes no block. */
function body(move: Mover): void {
  for (let groups = move.number(DECLARED); groups > 0; groups--) {
    move.number(DECLARED);
    move.bytes(DECLARED, 1);
  }
  for (let depth = 1; depth > 0; ) {
    const code = move.bytes(CODE, 1);
    if (code >= 0x02 && code <= 0x04) {
      move.number(CODE, true);
      depth++;
    } else if (code === 0x0b) depth--;
    else operands(code, move);
  }
}

function operands(code: number, move: Mover): void {
  if (code >= 0x20 && code <= 0x22) move.number(LOCAL);
  else if (code >= 0x28 && code <= 0x3e) {
    move.alignment(ALIGNMENTS[code - 0x28] ?? 0);
    move.number(code < 0x36 ? LOAD : STORE);
  } else if (code === 0x41) move.number(INT, true);
  else if (code === 0x42) move.number(LONG, true);
  else if (code === 0x43 || code === 0x44) move.bytes(FLOAT, code === 0x43 ? 4 : 8);
  else if (code === 0x0c || code === 0x0d) move.number(BRANCH);
  else if (code === 0x0e) for (let more = move.number(BRANCH); more >= 0; more--) move.number(BRANCH);
  else if (code === 0x10) move.number(CALL);
  else if (code === 0x11) {
    move.number(CALL);
    move.number(CODE);
  } else if (code === 0x23 || code === 0x24) move.number(CODE);
  else if (code === 0x3f || code === 0x40) move.bytes(CODE, 1);
  else if (code === 0xfc) {
    // Conversions that saturate, memory.copy and memory.fill.
    const which = move.number(CODE);
    if (which === 10 || which === 11) move.bytes(CODE, 12 - which);
    else if (which > 7) throw unknown(code, which);
  } else if (!without(code)) throw unknown(code);
}

/** Whether an operation has no operands. */
function without(code: number): boolean {
  if (code >= 0x45 && code <= 0xc4) return true;
  return code <= 0x01 || code === 0x05 || code === 0x0f || code === 0x1a || code === 0x1b;
}

function unknown(...codes: number[]): Error {
  return new Error(`the operation ${codes.map((code) => code.toString(16)).join(" ")} is not known here`);
}

/** Bytes that are read from their beginning. */
class Source {
  at = 0;

  constructor(readonly bytes: Uint8Array) {}

  next(): number {
    const byte = this.bytes[this.at++];
    if (byte === undefined) throw new Error("the module is cut off");
    return byte;
  }

  number(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.next();
      value |= (byte & 127) << shift;
      if (byte < 128) return value >>> 0;
    }
  }

  take(count: number): Uint8Array {
    this.at += count;
    if (this.at > this.bytes.length) throw new Error("the module is cut off");
    return this.bytes.subarray(this.at - count, this.at);
  }
}

/** Bytes that are written, no more than there is room for. */
class Sink {
  length = 0;
  readonly bytes: Uint8Array<ArrayBuffer>;

  constructor(room: number) {
    this.bytes = new Uint8Array(room);
  }

  push(byte: number): void {
    this.bytes[this.length++] = byte;
  }

  append(bytes: Uint8Array): void {
    this.bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  number(value: number): void {
    let rest = value;
    for (; rest > 127; rest >>>= 7) this.push((rest & 127) | 128);
    this.push(rest);
  }

  /** Writes the length of what was written from here on in front of it. */
  measured(start: number): void {
    const end = this.length;
    this.length = start;
    this.number(end - start - LONGEST);
    this.bytes.copyWithin(this.length, start + LONGEST, end);
    this.length += end - start - LONGEST;
  }

  written(): Uint8Array<ArrayBuffer> {
    return this.bytes.subarray(0, this.length);
  }
}

/** From a module to streams. */
class Separator implements Mover {
  readonly to: Sink[];

  constructor(readonly from: Source) {
    this.to = Array.from({ length: STREAMS }, () => new Sink(from.bytes.length));
  }

  number(stream: number, signed = false): number {
    const start = this.from.at;
    const value = this.from.number();
    const bytes = [...this.from.bytes.subarray(start, this.from.at)];
    // Linkers leave room in numbers, to change them.
    for (let last = bytes.length - 1; last > 0; last--) {
      const before = bytes[last - 1] ?? 0;
      if (bytes[last] !== (signed && before & 0x40 ? 0x7f : 0)) break;
      bytes.pop();
      bytes[last - 1] = before & 0x7f;
    }
    this.to[stream]?.append(Uint8Array.from(bytes));
    return value;
  }

  bytes(stream: number, count: number): number {
    const taken = this.from.take(count);
    this.to[stream]?.append(taken);
    return taken[0] ?? 0;
  }

  alignment(): void {
    this.from.number();
  }
}

/** Takes a module apart. */
export function separate(module: Uint8Array): Uint8Array<ArrayBuffer> {
  const from = new Source(module);
  const separator = new Separator(from);
  const rest = separator.to[REST] as Sink;
  rest.append(from.take(HEADER));
  while (from.at < module.length) {
    const section = from.next();
    const size = from.number();
    rest.push(section);
    if (section !== CODE_SECTION) {
      rest.number(size);
      rest.append(from.take(size));
      continue;
    }
    // Of this section, the number of functions stands in the place of the size.
    const functions = from.number();
    rest.number(functions);
    for (let i = 0; i < functions; i++) {
      const length = from.number();
      const end = from.at + length;
      body(separator);
      if (from.at !== end) throw new Error(`function ${i} of the module ends elsewhere than it says`);
    }
  }
  const all = new Sink(module.length + LONGEST * STREAMS);
  for (const stream of separator.to) all.number(stream.length);
  for (const stream of separator.to) all.append(stream.written());
  return all.written();
}

/** From streams to a module. */
class Joiner implements Mover {
  constructor(
    readonly from: Source[],
    readonly to: Sink,
  ) {}

  number(stream: number): number {
    const from = this.from[stream] as Source;
    const to = this.to;
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = from.next();
      to.push(byte);
      value |= (byte & 127) << shift;
      if (byte < 128) return value >>> 0;
    }
  }

  bytes(stream: number, count: number): number {
    const from = this.from[stream] as Source;
    const first = from.next();
    this.to.push(first);
    for (let i = 1; i < count; i++) this.to.push(from.next());
    return first;
  }

  alignment(natural: number): void {
    this.to.push(natural);
  }
}

/** Makes a module of what {@link separate} has made. */
export function join(separated: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Source(separated);
  const lengths = Array.from({ length: STREAMS }, () => all.number());
  const from = lengths.map((length) => new Source(all.take(length)));
  const rest = from[REST] as Source;
  // The streams, an alignment for each of their loads and stores, and lengths of functions, each of which declares at least a byte.
  const module = new Sink(
    separated.length +
      [LOAD, STORE].reduce((sum, i) => sum + (lengths[i] ?? 0), LONGEST * (lengths[DECLARED] ?? 0)) +
      64,
  );
  const joiner = new Joiner(from, module);
  module.append(rest.take(HEADER));
  while (rest.at < rest.bytes.length) {
    const section = rest.next();
    const size = rest.number();
    module.push(section);
    if (section !== CODE_SECTION) {
      module.number(size);
      module.append(rest.take(size));
      continue;
    }
    const start = module.length;
    module.length += LONGEST;
    module.number(size);
    for (let i = 0; i < size; i++) {
      const begun = module.length;
      module.length += LONGEST;
      body(joiner);
      module.measured(begun);
    }
    module.measured(start);
  }
  return module.written();
}
