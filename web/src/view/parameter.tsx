import type { Parameter, Value } from "../simulator/contract";
import { type Dimension, quantity, quantityText, short } from "../units";
import { Choice, NumberField, Toggle } from "./field";

interface Properties {
  parameter: Parameter;
  /** As the simulator has it now. */
  value: Value;
  onChange: (value: Value) => unknown;
}

/** How a value of a parameter is read and written as a number. */
interface Reading {
  number: number;
  show: (value: number) => string;
  read: (text: string) => number | null;
  write: (value: number) => Value;
}

function plain(text: string): number | null {
  const value = Number(text);
  return text.trim() !== "" && Number.isFinite(value) ? value : null;
}

/** Writes numbers of a range of magnitudes as a file can have them. */
function written(value: number): string {
  return value !== 0 && Math.abs(value) < 1e-3
    ? value.toExponential(3).replace(/\.?0+e/, "e")
    : short(value, 4).replace(/,/g, "");
}

function asQuantity(value: Value, dimension: Dimension): Reading | null {
  const number =
    typeof value === "string" ? quantity(value, dimension) : typeof value === "number" ? value : null;
  if (number === null) return null;
  return {
    number,
    show: (v) => quantityText(v, dimension),
    read: (text) => quantity(text, dimension),
    write: (v) => quantityText(v, dimension),
  };
}

/** The way to move this value by a slider; null if it has to be typed. */
export function reading(kind: Parameter["kind"], value: Value): Reading | null {
  if (kind === "time" || kind === "rate" || kind === "size") return asQuantity(value, kind);
  // A length of the queue is packets, as a number or as "60p", or bytes with a unit.
  if (kind === "queue" && typeof value === "string") {
    const packets = /^([\d.]+)p$/.exec(value);
    return packets ? reading(kind, Number(packets[1])) : asQuantity(value, "size");
  }
  if (typeof value !== "number") return null;
  return { number: value, show: written, read: plain, write: (v) => v };
}

/** The usual range around a value: two decades, within what is allowed. */
export function range(value: number, min: number | null, max: number | null): [number, number] {
  const lowest = min ?? 0;
  if (value <= 0) return [lowest, max !== null && max <= 1e4 ? max : Math.max(1, lowest * 2)];
  if (max !== null && min !== null && max / Math.max(min, max / 1e3) <= 1e3 && max <= 1000 * value)
    return [min, max];
  const from = Math.max(lowest, value / 20);
  const to = Math.min(max ?? Number.POSITIVE_INFINITY, value * 20);
  return [from, Math.max(to, from)];
}

/** A field for a parameter of a discipline, by its kind. */
export function ParameterField({ parameter: p, value, onChange }: Properties) {
  // Whether a switch or a choice needs a new queue is known only once it was tried.
  const measured = p.min !== null || p.max !== null;
  const note = p.live || !measured ? undefined : "starts anew";
  const help = p.help;
  if (p.kind === "bool" || typeof value === "boolean")
    return (
      <Toggle
        label={p.name}
        value={value === true}
        help={help}
        {...(note ? { note } : {})}
        onChange={onChange}
      />
    );
  if (p.kind === "choice" && p.choices)
    return (
      <Choice
        label={p.name}
        value={String(value)}
        options={p.choices.map((c) => ({ value: c, label: c }))}
        onChange={onChange}
      />
    );
  const read = reading(p.kind, value);
  if (!read) return <TextValue parameter={p} value={value} onChange={onChange} />;
  const around = reading(p.kind, p.default)?.number ?? read.number;
  const [usualFrom, usualTo] = range(around > 0 ? around : read.number, p.min, p.max);
  const from = Math.min(usualFrom, read.number);
  const to = Math.max(usualTo, read.number);
  return (
    <NumberField
      label={p.name}
      value={read.number}
      min={from}
      max={to}
      whole={p.kind === "integer" || p.kind === "queue"}
      logarithmic={from > 0 && to / from > 20}
      show={read.show}
      read={read.read}
      help={help}
      {...(note ? { note } : {})}
      onChange={(v) => onChange(read.write(v))}
    />
  );
}

/** A parameter that is not set, or a list: as an experiment file writes it. */
function TextValue({ parameter: p, value, onChange }: Properties) {
  const fixed = p.kind === "table" || (typeof value === "object" && value !== null);
  return (
    <div class="field">
      <label>
        {p.name}
        <input
          type="text"
          class="typed wide"
          readOnly={fixed}
          placeholder={p.default === null ? "not set" : String(p.default)}
          value={value === null || value === undefined ? "" : fixed ? JSON.stringify(value) : String(value)}
          onChange={(e) => {
            const text = e.currentTarget.value.trim();
            if (text !== "") onChange(plain(text) ?? text);
          }}
        />
      </label>
      <p class="help">{p.help}</p>
    </div>
  );
}
