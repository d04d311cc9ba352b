import { XzReadableStream } from "xz-decompress";
import { fromBase64Url } from "../share";
import type { LibraryExperiment } from "./contract";
import type { Program } from "./module";

/** What a data block of the page holds: compressed with xz, in base64. */
function unpacked(id: string): Response {
  const text = document.getElementById(id)?.textContent?.trim();
  if (!text) throw new Error(`This page was built without its ${id}.`);
  if (typeof WebAssembly === "undefined")
    throw new Error("This browser is too old to run the simulator: it needs WebAssembly.");
  return new Response(new XzReadableStream(new Blob([fromBase64Url(text)]).stream()));
}

/** The part of the simulator inside the page that a first look runs. A site has the rest in a file beside the page, which names it. */
export async function embedded(): Promise<Program> {
  const beside = document.getElementById("rest")?.dataset.src;
  return {
    first: await WebAssembly.compile(await unpacked("simulator").arrayBuffer()),
    rest: beside ? new URL(beside, document.baseURI).href : null,
  };
}

/** The rest of the simulator inside the page; null if it is not there. */
export async function embeddedRest(): Promise<WebAssembly.Module | null> {
  const inside = document.getElementById("rest")?.textContent;
  return inside ? WebAssembly.compile(await unpacked("rest").arrayBuffer()) : null;
}

/** The experiments that are inside the page: those of the project that need no other file. */
export async function library(): Promise<LibraryExperiment[]> {
  return (await unpacked("library").json()) as LibraryExperiment[];
}
