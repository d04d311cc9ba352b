import { describe, expect, it } from "vitest";
import {
  quantity,
  rateText,
  short,
  showRate,
  showShare,
  showSize,
  showTime,
  timeText,
} from "../../src/units";

describe("quantities of experiment files", () => {
  it("are read with their units", () => {
    expect(quantity("15ms", "time")).toBeCloseTo(0.015, 12);
    expect(quantity(" 2 min ", "time")).toBe(120);
    expect(quantity("10mbit", "rate")).toBe(1e7);
    expect(quantity("1MBPS", "rate")).toBe(8e6);
    expect(quantity("64kb", "size")).toBe(65_536);
    expect(quantity("1e3us", "time")).toBeCloseTo(1e-3, 12);
  });

  it("are none without a unit, or with that of another dimension", () => {
    for (const text of ["15", "ms", "15mb", "-1ms", "1e999", "", "15 ms!"])
      expect(quantity(text, "time"), text).toSatisfy((v: number | null) => v === null);
  });

  it("are written so that they read back", () => {
    for (const value of [1e-9, 0.000_25, 0.02, 1, 90.5, 600])
      expect(quantity(timeText(value), "time")).toBeCloseTo(value, 12);
    for (const value of [1, 1000, 1.5e6, 1e7, 2.5e9])
      expect(quantity(rateText(value), "rate")).toBeCloseTo(value, 0);
    expect(timeText(0.02)).toBe("20ms");
    expect(rateText(1e7)).toBe("10mbit");
  });
});

describe("numbers for people", () => {
  it("have three digits", () => {
    expect(short(1234.5)).toBe("1230");
    expect(short(0.012345)).toBe("0.0123");
    expect(short(Number.NaN)).toBe("–");
    expect(showTime(0.0123)).toBe("12.3 ms");
    expect(showTime(null)).toBe("–");
    expect(showRate(9.876e6)).toBe("9.88 Mbit/s");
    expect(showSize(14_600)).toBe("14.6 kB");
    expect(showShare(0.0321)).toBe("3.21 %");
  });
});
