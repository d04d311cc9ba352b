import { describe, expect, it } from "vitest";
import { Colours, type Theme } from "../../src/draw/colours";
import { Picture } from "../../src/draw/picture";
import { capacity, places, rows, ticks } from "../../src/draw/scale";
import type { Opened } from "../../src/simulator/contract";
import type { Frame } from "../../src/simulator/session";
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

  it("shows every packet at every instant, also those on their way to their place", () => {
    const [cell, left, right] = [20, 44, 844];
    for (const [ages, high] of [
      [[0, 0, 0, 0], 1],
      [[9, 0.004, 0.003, 0.003, 0.001, 0], 1],
      // A queue that is not first in, first out.
      [[0, 3, 0.001, 3, 0.002, 0, 0.004, 0], 2],
      [Array.from({ length: 40 }, (_, i) => (40 - i) / 10_000), 1],
    ] as const) {
      const at = places(ages, 0.005, high, cell, left, right);
      expect(Math.min(...at)).toBeGreaterThanOrEqual(left);
      expect(Math.max(...at)).toBeLessThanOrEqual(right - cell);
      at.slice(high).forEach((x, i) => {
        expect((at[i] ?? 0) - x).toBeGreaterThanOrEqual(cell - 1e-9);
      });
    }
    expect(places([1, 1, 1], 0.005, 2, cell, left, right)).toEqual([824, 824, 804]);
    expect(places([0, 0, 0], 0, 2, cell, left, right)).toEqual([824, 824, 804]);
  });

  it("has a few round marks", () => {
    expect(ticks(40)).toEqual([0, 10, 20, 30, 40]);
    for (const size of [1, 25, 160, 1280]) expect(ticks(size).length).toBeLessThan(9);
  });
});

/** A canvas that notes the rectangles that are filled, and the crosses of drops. */
function canvas(theme: Theme) {
  const drawn = {
    blocks: [] as { x: number; wide: number; colour: string }[],
    crosses: 0,
    texts: [] as string[],
  };
  const context = {
    fillStyle: "",
    strokeStyle: "",
    fillRect(x: number, _y: number, wide: number, tall: number) {
      if (tall > 30 && wide > 3) drawn.blocks.push({ x, wide, colour: this.fillStyle });
    },
    stroke() {
      if (this.strokeStyle === theme.drop) drawn.crosses += 1;
    },
    fillText(text: string) {
      drawn.texts.push(text);
    },
    measureText: () => ({ width: 20 }),
  };
  const nothing = () => undefined;
  const methods = ["clearRect", "beginPath", "moveTo", "lineTo", "fill", "setLineDash"];
  Object.assign(context, Object.fromEntries(methods.map((name) => [name, nothing])));
  return { context: context as unknown as CanvasRenderingContext2D, drawn };
}

describe("the picture", () => {
  const theme: Theme = {
    dark: false,
    ink: "ink",
    faint: "faint",
    line: "line",
    track: "track",
    surface: "surface",
    drop: "drop",
    mark: "mark",
  };
  const opened = {
    watched: 0,
    groups: [{ name: "downloads", responsive: true }],
    queues: [{ gauges: [], parameters: {} }],
  } as unknown as Opened;
  /** A run at 5 s, whose drops were at these times, with packets that have waited for so long. */
  function frame(drops: number[], ages: number[]): Frame {
    const packets = ages.map((age, flow) => [flow % 3, 1500, 0, age]);
    const queue = {
      packets: ages.length,
      bytes: 1500 * ages.length,
      rate: 1e7,
      limit_packets: 240,
      limit_bytes: null,
      thresholds: {},
      gauges: {},
      lanes: [{ name: "", packets }],
    };
    const happenings = drops.map((time) => ({ time, kind: 2, flow: 1, group: 0, bytes: 1500, delay: 0 }));
    return { now: 5, look: { queues: [queue], flows: [], flows_total: 3 }, happenings } as unknown as Frame;
  }

  it("shows the drops of its moment, and none that were before", () => {
    const picture = new Picture(opened, theme);
    const long = Array.from({ length: 40 }, (_, i) => i / 10);
    const shown = frame([...long, 4.97, 4.99], []);
    picture.take(opened, shown, 0.05);
    const { context, drawn } = canvas(theme);
    picture.draw(context, 900, 210, shown, 0.05, true);
    expect(drawn.crosses).toBe(2);
  });

  it("shows as many packets as it says are waiting, also while they come in", () => {
    for (const ages of [[0, 0, 0, 0], [0.004, 0.001, 0.001, 0], [1, 0.5, 0.2], []]) {
      const picture = new Picture(opened, theme);
      const shown = frame([], ages);
      picture.take(opened, shown, 0.05);
      const { context, drawn } = canvas(theme);
      picture.draw(context, 900, 210, shown, 0.05, true);
      const blocks = drawn.blocks.filter(({ colour }) => colour !== theme.track && colour !== theme.ink);
      expect(blocks).toHaveLength(ages.length);
      blocks.slice(1).forEach(({ x, wide }, i) => {
        expect(x + wide).toBeLessThanOrEqual((blocks[i]?.x ?? 0) + 1e-9);
      });
      expect(drawn.texts).toContain(`${ages.length} packets waiting`);
    }
  });
});

/** A group with the colour of its kind. */
function group(kind: keyof typeof KINDS, responsive: boolean) {
  return { responsive, colour: { light: KINDS[kind], dark: KINDS[kind] } };
}
const KINDS = { bulk: "#0072b2", blast: "#d55e00", voip: "#e69f00" };

describe("colours", () => {
  it("of groups are those of their kinds, and no flow beside them has one", () => {
    const colours = new Colours(
      false,
      [group("bulk", true), group("voip", false), group("blast", false)],
      true,
    );
    expect(colours.group(1)).toBe("#e69f00");
    expect(colours.group(2)).toBe("#d55e00");
    const flows = Array.from({ length: 6 }, (_, i) => colours.flow(100 + i, 0));
    expect(new Set(flows).size).toBe(6);
    expect(flows).not.toContain("#e69f00");
    expect(colours.flow(7, 1)).toBe("#e69f00");
  });

  it("are different for a few flows, and kept", () => {
    const colours = new Colours(false, [group("bulk", true), group("blast", false)], true);
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
