import { describe, expect, it } from "vitest";
import { type Claim, Gathering, holds, type Measure } from "../../src/lessons/claim";
import type { Look } from "../../src/simulator/contract";
import { DEPARTURE, DROP, type PacketEvent } from "../../src/simulator/log";

function event(time: number, kind: number, group: number, delay = 0): PacketEvent {
  return { time, kind, group, delay, flow: group, bytes: 1000, queue: 0 };
}

function look(now: number, packets: number): Look {
  const queue = { name: "bottleneck", rate: 16_000, packets, gauges: { avg: packets / 2 } };
  return { now, queues: [queue] } as unknown as Look;
}

/** Two packets of group 0 and one of group 1 leave between 1 and 3 s, and one of group 1 is dropped. */
function gathered(what: Measure["what"], more: Partial<Measure> = {}, group = -1): number | null {
  const gathering = new Gathering({ of: 0, what, from: 1, to: 3, ...more }, 0, group);
  gathering.see(look(0.5, 90));
  gathering.add(event(0.5, DEPARTURE, 0, 9));
  gathering.add(event(1, DEPARTURE, 0, 0.1));
  gathering.see(look(1, 4));
  gathering.add(event(1.5, DROP, 1));
  gathering.add(event(2, DEPARTURE, 0, 0.3));
  gathering.see(look(2, 8));
  gathering.add(event(2.5, DEPARTURE, 1, 0.2));
  gathering.see(look(3, 6));
  gathering.add(event(3, DEPARTURE, 1, 9));
  expect(gathering.complete).toBe(true);
  return gathering.value();
}

describe("a measure", () => {
  it("takes the delays of packets that leave in its span", () => {
    expect(gathered("delay.mean")).toBeCloseTo(0.2, 9);
    expect(gathered("delay.max")).toBe(0.3);
    expect(gathered("delay.mean", {}, 1)).toBeCloseTo(0.2, 9);
  });

  it("counts bytes of a group and of the link", () => {
    expect(gathered("rate", {}, 0)).toBe(8000);
    expect(gathered("share", {}, 0)).toBeCloseTo(2 / 3, 9);
    expect(gathered("used")).toBeCloseTo(24_000 / 32_000, 9);
    expect(gathered("flows.most")).toBe(8000);
    expect(gathered("flows.least")).toBe(4000);
  });

  it("counts drops among the packets of a group", () => {
    expect(gathered("drops")).toBe(1);
    expect(gathered("dropped", {}, 1)).toBe(0.5);
    expect(gathered("dropped", {}, 0)).toBe(0);
  });

  it("looks at the queue and at gauges", () => {
    expect(gathered("packets.mean")).toBe(6);
    expect(gathered("packets.max")).toBe(8);
    expect(gathered("gauge.min", { gauge: "avg" })).toBe(2);
    expect(gathered("gauge.max", { gauge: "nothing" })).toBeNull();
  });
});

describe("a claim", () => {
  const measure: Measure = { of: 0, what: "drops", from: 0, to: 1 };
  const claim: Claim = { says: "", measure, least: 2, most: 3 };

  it("holds within its bounds, both included", () => {
    expect([1.9, 2, 3, 3.1, null].map((v) => holds(claim, v, null))).toEqual([
      false,
      true,
      true,
      false,
      false,
    ]);
  });

  it("may be in multiples of another value", () => {
    const relative = { ...claim, times: measure };
    expect([10, 20, 30, 40].map((v) => holds(relative, v, 10))).toEqual([false, true, true, false]);
    expect(holds(relative, 20, null)).toBe(false);
  });
});
