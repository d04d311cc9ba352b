import { expect, it } from "vitest";
import { join, separate } from "../../src/simulator/streams";
import { bytes } from "./module";

/** A module with one function, of these instructions after no variables. */
function module(...instructions: number[]): Uint8Array {
  const body = [0, ...instructions, 0x0b];
  const code = [1, body.length, ...body];
  return Uint8Array.from([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...[1, 5, 1, 0x60, 0, 1, 0x7f],
    ...[3, 2, 1, 0],
    ...[5, 3, 1, 0, 1],
    ...[7, 5, 1, 1, 0x66, 0, 0],
    ...[10, code.length, ...code],
  ]);
}

async function answer(of: Uint8Array<ArrayBuffer>): Promise<number> {
  const { instance } = await WebAssembly.instantiate(of, {});
  return (instance.exports.f as () => number)();
}

it("the simulator is the same after it was taken apart and joined", async () => {
  const simulator = await bytes();
  expect(WebAssembly.validate(simulator)).toBe(true);
  expect(Buffer.from(join(separate(simulator))).equals(Buffer.from(simulator))).toBe(true);
});

it("numbers become as short as they can be and keep their values", async () => {
  // Constants as a linker writes them, in five bytes, around the borders of one and two bytes.
  for (const value of [0, 1, 63, 64, -1, -64, -65, 8191, 8192, -8192, -8193, 1 << 30, -(2 ** 31)]) {
    const padded = [0, 7, 14, 21, 28].map((shift) => ((value >> shift) & 127) | (shift < 28 ? 128 : 0));
    const joined = join(separate(module(0x41, ...padded)));
    expect(await answer(joined)).toBe(value);
    const bits = 33 - Math.clz32(value < 0 ? ~value : value);
    expect(joined.length).toBe(module(0x41).length + Math.ceil(bits / 7));
  }
});

it("loads and stores get their natural alignments", async () => {
  // i32.store offset=8 of 7 at 4, i32.load8_u offset=12 of 0: unaligned to aligned, with an offset in two bytes.
  const joined = join(separate(module(0x41, 4, 0x41, 7, 0x36, 0, 8, 0x41, 0, 0x2d, 0, 0x8c, 0)));
  expect(await answer(joined)).toBe(7);
  expect([...joined]).toEqual([...module(0x41, 4, 0x41, 7, 0x36, 2, 8, 0x41, 0, 0x2d, 0, 12)]);
});

it("every form of operand is moved", async () => {
  const forms = module(
    ...[0x02, 0x40, 0x41, 1, 0x0e, 1, 0, 0, 0x0b],
    ...[
      0x42, 0x80, 0x7f, 0x1a, 0x43, 0, 0, 0x80, 0x3f, 0x1a, 0x44, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0xfc, 2, 0x1a,
    ],
    ...[0x3f, 0, 0x1a, 0x41, 0, 0x41, 0, 0x41, 0, 0xfc, 10, 0, 0, 0x41, 0, 0x41, 0, 0x41, 0, 0xfc, 11, 0],
    ...[0x41, 1, 0x04, 0x7f, 0x41, 5, 0x05, 0x41, 6, 0x0b],
  );
  expect(WebAssembly.validate(forms as Uint8Array<ArrayBuffer>)).toBe(true);
  const joined = join(separate(forms));
  expect([...joined]).toEqual([...forms]);
  expect(await answer(joined)).toBe(5);
});

it("what is not known or cut off is refused", () => {
  expect(() => separate(module(0xfd, 0))).toThrow("the operation fd is not known here");
  expect(() => separate(module(0xfc, 8, 0, 0))).toThrow("the operation fc 8 is not known here");
  expect(() => separate(module(0x0b))).toThrow("function 0 of the module ends elsewhere than it says");
  const streams = separate(module(0x41, 7));
  for (let length = 0; length < streams.length; length++)
    expect(() => join(streams.subarray(0, length))).toThrow("the module is cut off");
});
