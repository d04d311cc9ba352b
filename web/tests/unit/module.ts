import { existsSync, readFileSync } from "node:fs";
import { XzReadableStream } from "xz-decompress";
import { instantiate, type Simulator } from "../../src/simulator/module";
import { join } from "../../src/simulator/streams";

/** The module of a build, or else the one inside the committed page. */
const BUILT = process.env.AQMKIT_WASM;
const PAGE = new URL("../../../crates/lab/assets/play.html", import.meta.url);

export async function bytes(): Promise<Uint8Array<ArrayBuffer>> {
  if (BUILT && existsSync(BUILT)) return new Uint8Array(readFileSync(BUILT));
  const found = /<script id="simulator"[^>]*>([^<]*)</.exec(readFileSync(PAGE, "utf8"));
  const packed = new Blob([Buffer.from(found?.[1] ?? "", "base64url")]);
  return join(new Uint8Array(await new Response(new XzReadableStream(packed.stream())).arrayBuffer()));
}

/** The simulator as the page has it. */
export async function simulator(): Promise<Simulator> {
  return instantiate(await WebAssembly.compile(await bytes()));
}
