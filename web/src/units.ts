/** Reading and writing of quantities as experiment files have them. */

const TIMES: Record<string, number> = { ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1, min: 60 };
const RATES: Record<string, number> = {
  bit: 1,
  kbit: 1e3,
  mbit: 1e6,
  gbit: 1e9,
  tbit: 1e12,
  kibit: 1024,
  mibit: 1024 ** 2,
  gibit: 1024 ** 3,
  bps: 8,
  kbps: 8e3,
  mbps: 8e6,
  gbps: 8e9,
};
const SIZES: Record<string, number> = {
  b: 1,
  kb: 1024,
  mb: 1024 ** 2,
  gb: 1024 ** 3,
  kib: 1024,
  mib: 1024 ** 2,
  gib: 1024 ** 3,
  bit: 1 / 8,
  kbit: 125,
  mbit: 125_000,
};

export type Dimension = "time" | "rate" | "size";
const UNITS: Record<Dimension, Record<string, number>> = { time: TIMES, rate: RATES, size: SIZES };

/** The quantity of a text such as "15ms" in s, bit/s or bytes; null if it is none. */
export function quantity(text: string, dimension: Dimension): number | null {
  const found = /^\s*([0-9]*\.?[0-9]+(?:e[+-]?[0-9]+)?)\s*([a-z]+)\s*$/i.exec(text);
  if (!found) return null;
  const unit = UNITS[dimension][(found[2] ?? "").toLowerCase()];
  const value = Number(found[1]);
  return unit === undefined || !Number.isFinite(value) ? null : value * unit;
}

/** At most `digits` significant digits, without trailing zeros and without an exponent. */
export function short(value: number, digits = 3): string {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const rounded = Number(value.toPrecision(digits));
  if (Math.abs(rounded) >= 1e6 || Math.abs(rounded) < 1e-6) return rounded.toExponential().replace("e+", "e");
  return rounded.toLocaleString("en", { maximumFractionDigits: 9, useGrouping: Math.abs(rounded) >= 10_000 });
}

const PLAIN = new Intl.NumberFormat("en", { maximumSignificantDigits: 6, useGrouping: false });

function written(value: number, units: [string, number][]): string {
  const [name, unit] = units.find(([, size]) => Math.abs(value) >= size * 0.9999) ??
    units[units.length - 1] ?? ["", 1];
  return `${PLAIN.format(value / unit)}${name}`;
}

/** As experiment files write it: `0.015` is "15ms". */
export function timeText(seconds: number): string {
  if (seconds === 0) return "0s";
  return written(seconds, [
    ["s", 1],
    ["ms", 1e-3],
    ["us", 1e-6],
    ["ns", 1e-9],
  ]);
}

/** As experiment files write it: `1e7` is "10mbit". */
export function rateText(bits: number): string {
  return written(Math.round(bits), [
    ["gbit", 1e9],
    ["mbit", 1e6],
    ["kbit", 1e3],
    ["bit", 1],
  ]);
}

/** As experiment files write it, in bytes. */
export function sizeText(bytes: number): string {
  return `${Math.round(bytes)}b`;
}

export function quantityText(value: number, dimension: Dimension): string {
  return dimension === "time" ? timeText(value) : dimension === "rate" ? rateText(value) : sizeText(value);
}

/** For people: 12.3 ms. */
export function showTime(seconds: number | null, digits = 3): string {
  if (seconds === null) return "–";
  const size = Math.abs(seconds);
  if (size === 0) return "0 ms";
  if (size >= 1) return `${short(seconds, digits)} s`;
  if (size >= 1e-3) return `${short(seconds * 1e3, digits)} ms`;
  return `${short(seconds * 1e6, digits)} µs`;
}

/** For people: 9.87 Mbit/s. */
export function showRate(bits: number | null, digits = 3): string {
  if (bits === null) return "–";
  const size = Math.abs(bits);
  if (size >= 1e9) return `${short(bits / 1e9, digits)} Gbit/s`;
  if (size >= 1e6) return `${short(bits / 1e6, digits)} Mbit/s`;
  if (size >= 1e3) return `${short(bits / 1e3, digits)} kbit/s`;
  return `${short(bits, digits)} bit/s`;
}

/** For people: 14.6 kB. */
export function showSize(bytes: number | null): string {
  if (bytes === null) return "–";
  if (bytes >= 1e6) return `${short(bytes / 1e6)} MB`;
  if (bytes >= 1e3) return `${short(bytes / 1e3)} kB`;
  return `${short(bytes)} B`;
}

/** For people: 3.2 %. */
export function showShare(share: number | null): string {
  return share === null ? "–" : `${short(share * 100)} %`;
}
