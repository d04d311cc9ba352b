import { existsSync, readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { instantiate, type Simulator } from "../../src/simulator/module";

/** The module of a build, or else the one inside the committed page. */
const BUILT = process.env.AQMKIT_WASM;
const PAGE = new URL("../../../crates/lab/assets/play.html", import.meta.url);

function bytes(): Uint8Array<ArrayBuffer> {
  if (BUILT && existsSync(BUILT)) return new Uint8Array(readFileSync(BUILT));
  const found = /<script id="simulator"[^>]*>([^<]*)</.exec(readFileSync(PAGE, "utf8"));
  return new Uint8Array(gunzipSync(Buffer.from(found?.[1] ?? "", "base64url")));
}

/** The simulator as the page has it. */
export async function simulator(): Promise<Simulator> {
  return instantiate(await WebAssembly.compile(bytes()));
}
