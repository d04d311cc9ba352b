/** A cell of a published table or figure that a link asks to run again: which experiment and run it is, and how its number is taken. */
import { signal } from "@preact/signals";
import type { Measured, NumberRequest } from "./simulator/contract";

/** The longest text of a link that is shown. */
const LONGEST = 300;

export interface Cell {
  /** The experiment, by its id in the library. */
  experiment: string;
  /** The run, by its index in the plan of the experiment. */
  run: number;
  /** The row of the published values. */
  id: string;
  /** The quantity, in words. */
  what: string;
  /** The published value, as printed. */
  published: string;
  /** The value that is kept with the experiment, and over how many runs it is the mean. */
  stored: string;
  repeats: number;
  unit: string;
  /** The number among the results of a run. */
  number: NumberRequest;
  /** What the number is multiplied by to have the unit. */
  factor: number;
}

/** The cell that is shown. */
export const cell = signal<Cell | null>(null);
/** What this run has measured, at its end. */
export const measured = signal<Measured | null>(null);

/** A cell in the fragment of an address; null if there is none. */
export function readCell(asked: URLSearchParams): Cell | null {
  const experiment = asked.get("cell");
  if (experiment === null) return null;
  const text = (key: string) => (asked.get(key) ?? "").slice(0, LONGEST);
  const number = (key: string, otherwise: number) => {
    const value = Number(asked.get(key) ?? otherwise);
    return Number.isFinite(value) && value >= 0 ? value : otherwise;
  };
  const seconds = text("seconds");
  return {
    experiment: experiment.slice(0, LONGEST),
    run: Math.floor(number("run", 0)),
    id: text("id"),
    what: text("what"),
    published: text("published"),
    stored: text("stored"),
    repeats: Math.max(1, Math.floor(number("repeats", 1))),
    unit: text("unit"),
    number: { window: text("window"), metric: text("metric"), ...(seconds ? { seconds } : {}) },
    factor: number("factor", 1),
  };
}

/** A number with six digits at most, as the stored ones have. */
export function digits(value: number): string {
  return String(Number(value.toPrecision(6)));
}

/** What was measured, in the unit of the cell. */
export function measuredText(of: Cell, found: Measured): string {
  return found.value === null ? "none" : `${digits(found.value * of.factor)} ${of.unit}`.trim();
}
