import { describe, expect, it } from "vitest";
import { appended, perSecond, type State, tokenOf } from "../../src/live";

const at = (seconds: number): State => ({
  kind: "link",
  name: "link",
  at: seconds,
  writable: false,
  late: null,
  directions: [],
});

describe("a bottleneck of real packets", () => {
  it("is asked for by a token", () => {
    const token = "0123456789abcdef".repeat(2);
    expect(tokenOf(`#live=${token}`)).toBe(token);
    for (const hash of ["", "#live=", "#live=x", `#live=${token}0`, `#d=${token}`])
      expect(tokenOf(hash)).toBeNull();
  });

  it("has the states of two minutes, and begins anew with another start", () => {
    let states: State[] = [];
    for (let i = 0; i < 1500; i++) states = appended(states, at(i / 10));
    expect([states.length, states[0]?.at, states.at(-1)?.at]).toEqual([1200, 30, 149.9]);
    expect(appended(states, at(0.1))).toEqual([at(0.1)]);
  });

  it("has rates of counters that do not fall", () => {
    expect(perSecond(30, 10, 0.5)).toBe(40);
    expect(perSecond(10, 30, 0.5)).toBe(0);
    expect(perSecond(10, 0, 0)).toBe(0);
  });
});
