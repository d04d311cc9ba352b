import "uplot/dist/uPlot.min.css";
import "./style.css";
import { effect } from "@preact/signals";
import { render } from "preact";
import { App } from "./app";
import { LESSONS } from "./lessons";
import * as live from "./live";
import * as player from "./player";
import { embedded, embeddedRest } from "./simulator/embedded";
import * as source from "./source";
import { LiveView } from "./view/live";

/** What `aqmkit play … --save` has written into the page, as an address has it. */
function inside(): string {
  return document.querySelector<HTMLMetaElement>('meta[name="aqmkit-open"]')?.content ?? "";
}

/** Opens what the address asks for, or the first link. */
async function start(): Promise<void> {
  const asked = await source.openAddress(location.hash || inside(), LESSONS);
  const problem = player.problem.value;
  if (!asked && (await source.openFirst())) player.problem.value = problem;
  // A file that was opened stands still until its reader starts it.
  player.playing.value =
    !(asked && source.file.value) && !matchMedia("(prefers-reduced-motion: reduce)").matches;
}

async function main(): Promise<void> {
  const host = document.getElementById("app");
  if (!host) return;
  const token = live.tokenOf(location.hash);
  if (token !== null) {
    render(<LiveView />, host);
    live.follow(token);
    // The simulator knows the parameters.
    player.load(await embedded(), embeddedRest).catch(player.complain);
    return;
  }
  render(<App />, host);
  player.begin();
  try {
    await player.load(await embedded(), embeddedRest);
    await start();
  } catch (e) {
    player.complain(e);
  }
  addEventListener("hashchange", () => source.openAddress(location.hash, LESSONS));
  // For measurements and tests: how far the page is.
  effect(() => {
    document.documentElement.dataset.ready = String(player.columns.value.length);
    document.documentElement.dataset.changes = String(player.changes.value);
  });
}

main();
