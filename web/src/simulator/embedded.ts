import { XzReadableStream } from "xz-decompress";
import { fromBase64Url } from "../share";
import type { LibraryExperiment } from "./contract";
import type { Program } from "./module";
import { join } from "./streams";

/** What a data block of the page holds: compressed with xz, in base64. */
function unpacked(id: string): Response {
  const text = document.getElementById(id)?.textContent?.trim();
  if (!text) throw new Error(`This page was built without its ${id}.`);
  if (typeof WebAssembly === "undefined")
    throw new Error("This browser is too old to run the simulator: it needs WebAssembly.");
  return new Response(new XzReadableStream(new Blob([fromBase64Url(text)]).stream()));
}

/** The simulator that is inside the page. A site has its rest in a file beside the page, which names it. */
export async function embedded(): Promise<Program> {
  const block = document.getElementById("rest");
  const beside = block?.dataset.src;
  const [streams, rest] = await Promise.all([
    unpacked("simulator").arrayBuffer(),
    block && !beside ? unpacked("rest").arrayBuffer().then(WebAssembly.compile) : null,
  ]);
  const first = await WebAssembly.compile(join(new Uint8Array(streams)));
  return { first, rest: beside ? new URL(beside, document.baseURI).href : rest };
}

/** The experiments that are inside the page: those of the project that need no other file. */
export async function library(): Promise<LibraryExperiment[]> {
  return (await unpacked("library").json()) as LibraryExperiment[];
}
