import { describe, expect, it } from "vitest";
import { Colours } from "../../src/draw/colours";
import { capacity, rows, ticks } from "../../src/draw/scale";
import { position, valueAt } from "../../src/view/field";
import { range, reading } from "../../src/view/parameter";

describe("the scale of the queue", () => {
  it("has room for the packets and the thresholds", () => {
    expect(capacity(40, 35, [], 1000)).toBe(40);
    expect(capacity(40, 90, [], 1000)).toBe(160);
    expect(capacity(20, 3, [60], 240)).toBe(80);
  });

  it("ends at the limit, and does not flicker", () => {
    expect(capacity(40, 250, [], 250)).toBe(250);
    expect(capacity(160, 70, [], 1000)).toBe(160);
    expect(capacity(640, 5, [], 1000)).toBe(20);
    expect(capacity(240, 5, [], 100)).toBe(20);
    expect(capacity(40, 5, [Number.NaN, 1e9], 100)).toBe(40);
  });

  it("stacks packets that would be too narrow", () => {
    expect(rows(40, 600, 100)).toBe(1);
    expect(rows(1000, 600, 100)).toBe(10);
    expect(rows(1e6, 600, 100)).toBe(33);
  });

  it("has a few round marks", () => {
    expect(ticks(40)).toEqual([0, 10, 20, 30, 40]);
    for (const size of [1, 25, 160, 1280]) expect(ticks(size).length).toBeLessThan(9);
  });
});

describe("colours", () => {
  it("are different for a few flows, and kept", () => {
    const colours = new Colours(false, [true, false], true);
    const seen = Array.from({ length: 7 }, (_, i) => colours.flow(100 + i, 0));
    expect(new Set(seen).size).toBe(7);
    expect(colours.flow(100, 0)).toBe(seen[0]);
    expect(seen).not.toContain(colours.flow(3, 1));
  });
});

describe("sliders", () => {
  it("come back to their value", () => {
    for (const [min, max, logarithmic] of [
      [1, 100, false],
      [1e5, 1e9, true],
      [0, 1, false],
    ] as const)
      for (const place of [0, 100, 250, 400]) {
        const value = valueAt(place, min, max, logarithmic, false);
        expect(position(value, min, max, logarithmic)).toBeCloseTo(place, -0.5);
      }
  });

  it("cover the usual values of a parameter", () => {
    expect(range(0.1, 0, 1)).toEqual([0, 1]);
    const [from, to] = range(0.005, 0.0001, null);
    expect(from).toBeLessThan(0.005);
    expect(to).toBeGreaterThan(0.05);
    expect(range(0, 0, null)).toEqual([0, 1]);
  });

  it("read and write what a file has", () => {
    expect(reading("time", "15ms")?.number).toBeCloseTo(0.015, 12);
    expect(reading("time", "15ms")?.write(0.02)).toBe("20ms");
    expect(reading("queue", 60)?.write(61)).toBe(61);
    expect(reading("queue", "240p")?.number).toBe(240);
    expect(reading("queue", "90kb")?.number).toBe(92_160);
    expect(reading("text", "none")).toBeNull();
  });
});
