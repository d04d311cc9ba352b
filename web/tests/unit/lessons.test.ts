import { beforeAll, describe, expect, it } from "vitest";
import { LESSONS } from "../../src/lessons";
import { holds, measuresOf } from "../../src/lessons/claim";
import type { Lesson } from "../../src/lessons/lesson";
import type { Simulator } from "../../src/simulator/module";
import { Session } from "../../src/simulator/session";
import { simulator } from "./module";

let module: Simulator;
beforeAll(async () => {
  module = await simulator();
});

/** What each run of a lesson measures, once all its claims are decided. */
function measured(lesson: Lesson) {
  return lesson.runs.map((run, of) => {
    const measures = measuresOf(lesson.claims, of);
    const session = new Session(module, { toml: run.toml, run: 0, set: [], measures }, 0.1);
    session.advance(Math.max(0, ...measures.map((m) => m.to)) + 0.01, 60_000);
    const { measured } = session.frame(0);
    session.close();
    return new Map(measures.map((measure, i) => [measure, measured[i]]));
  });
}

describe("every sentence of a lesson is so in its runs", () => {
  for (const lesson of LESSONS)
    it(lesson.id, { timeout: 60_000 }, () => {
      const values = measured(lesson);
      const wrong = lesson.claims.flatMap((claim) => {
        const own = values[claim.measure.of]?.get(claim.measure);
        const other = claim.times ? values[claim.times.of]?.get(claim.times) : undefined;
        const met = own?.complete === true && holds(claim, own.value, other?.value ?? null);
        return met ? [] : [`${claim.says} Measured: ${own?.value} and ${other?.value}`];
      });
      expect(wrong).toEqual([]);
    });
});

describe("lessons", () => {
  it("are eight to twelve, with different names", () => {
    expect(LESSONS.length).toBeGreaterThanOrEqual(8);
    expect(LESSONS.length).toBeLessThanOrEqual(12);
    expect(new Set(LESSONS.map((l) => l.id)).size).toBe(LESSONS.length);
  });

  it("show every claim once, and claim something that can fail", () => {
    for (const lesson of LESSONS) {
      const shown = lesson.body.flatMap((block) => ("claim" in block ? [block.claim] : []));
      expect(shown, lesson.id).toEqual(lesson.claims.map((_, i) => i));
      for (const claim of lesson.claims) expect(claim.least ?? claim.most, claim.says).toBeDefined();
    }
  });

  it("try only what the simulator takes", () => {
    for (const lesson of LESSONS)
      for (const block of lesson.body) {
        if (!("tries" in block)) continue;
        const { of = 0, set } = block.tries;
        const toml = lesson.runs[of]?.toml ?? "";
        const session = new Session(module, { toml, run: 0, set: [], measures: [] }, 0.1);
        session.advance(1, 10_000);
        session.change(set);
        session.close();
      }
  });
});
