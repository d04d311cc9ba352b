import { fromBase64Url } from "../share";

/** The module that is inside the page: compressed with gzip, in base64. */
export async function embedded(): Promise<WebAssembly.Module> {
  const text = document.getElementById("simulator")?.textContent?.trim();
  if (!text) throw new Error("This page was built without its simulator.");
  if (typeof DecompressionStream === "undefined" || typeof WebAssembly === "undefined")
    throw new Error(
      "This browser is too old to run the simulator: it needs WebAssembly and DecompressionStream.",
    );
  const stream = new Blob([fromBase64Url(text)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}
