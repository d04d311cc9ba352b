import { existsSync, readFileSync } from "node:fs";
import { XzReadableStream } from "xz-decompress";
import { instantiate, type Simulator } from "../../src/simulator/module";

/** The module of a build, or else the one inside the committed page. */
const BUILT = process.env.AQMKIT_WASM;
const PAGE = new URL("../../../crates/lab/assets/play.html", import.meta.url);

/** A block of the committed page. */
async function block(id: string): Promise<Uint8Array<ArrayBuffer> | null> {
  const found = new RegExp(`<script id="${id}"[^>]*>([^<]*)<`).exec(readFileSync(PAGE, "utf8"));
  if (!found) return null;
  const packed = new Blob([Buffer.from(found[1] ?? "", "base64url")]);
  return new Uint8Array(await new Response(new XzReadableStream(packed.stream())).arrayBuffer());
}

/** The first of the page's modules, or the only one. */
export async function bytes(): Promise<Uint8Array<ArrayBuffer>> {
  if (BUILT && existsSync(BUILT)) return new Uint8Array(readFileSync(BUILT));
  return (await block("simulator")) ?? new Uint8Array();
}

/** The simulator as the page has it. */
export async function simulator(): Promise<Simulator> {
  const rest = BUILT ? null : await block("rest");
  return instantiate({
    first: await WebAssembly.compile(await bytes()),
    rest: rest && (await WebAssembly.compile(rest)),
  });
}
