import { readFileSync } from "node:fs";
import { beforeAll, expect, it } from "vitest";
import type { Simulator } from "../../src/simulator/module";
import { simulator } from "./module";

let module: Simulator;
beforeAll(async () => {
  module = await simulator();
});

const NATIVE = new URL("../../../crates/experiment/tests/", import.meta.url);

/** The digests of the native simulator, by experiment and labels. */
function native(): Map<string, string> {
  const lines = readFileSync(new URL("digests.txt", NATIVE), "utf8").trimEnd().split("\n").slice(1);
  return new Map(lines.map((line) => line.split(": ") as [string, string]));
}

/** The digest of one run from its beginning to its end. */
function digest(toml: string, run: number): string {
  const { handle, end } = module.call("open", { toml, run });
  while (!module.call("advance", { handle, until: end + 1, events: 1_000_000 }).finished);
  const found = module.call("digest", { handle }).digest;
  module.call("close", { handle });
  return found;
}

it("every run ends as the native one does, to the bit", { timeout: 120_000 }, () => {
  const texts: Record<string, string> = JSON.parse(readFileSync(new URL("digests.json", NATIVE), "utf8"));
  const expected = native();
  const found = new Map<string, string>();
  for (const [name, toml] of Object.entries(texts))
    for (const { index, labels } of module.call("check", { toml }).runs) {
      const keys = Object.keys(labels).filter((key) => key !== "seed");
      const values = keys.sort().map((key) => labels[key]);
      found.set([name, ...values].join(" "), digest(toml, index));
    }
  const wrong = [...found].filter(([name, value]) => expected.get(name) !== value);
  expect(wrong).toEqual([]);
  expect(found.size).toBeGreaterThan(200);
});
