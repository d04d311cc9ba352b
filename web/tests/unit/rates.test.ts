import { describe, expect, it } from "vitest";
import { Rates } from "../../src/rates";
import type { Look } from "../../src/simulator/contract";

function look(now: number, delivered: number): Look {
  return { now, flows: [{ id: 7, delivered }] } as unknown as Look;
}

describe("the rate of a flow", () => {
  it("is what was delivered over the last moments", () => {
    const rates = new Rates();
    for (let i = 0; i <= 40; i++) rates.see(look(i / 10, i * 1000), 1);
    expect(rates.of(7, 4, 40_000)).toBeCloseTo(80_000, 3);
    expect(rates.of(8, 4, 0)).toBeNull();
  });

  it("begins anew when the run does, and forgets flows that are gone", () => {
    const rates = new Rates();
    rates.see(look(5, 1000), 1);
    rates.see(look(0, 0), 1);
    expect(rates.of(7, 0, 0)).toBeNull();
    expect(rates.of(7, 1, 500)).toBe(4000);
    rates.see({ now: 2, flows: [] } as unknown as Look, 1);
    expect(rates.of(7, 3, 900)).toBeNull();
  });
});
