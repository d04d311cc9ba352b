/** The scale of the queue's picture, in packets from the head at the right. */

const STEPS = [20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10_240, 102_400, 1_048_576];

/** Packets that the picture has room for: it grows at once, and shrinks when a quarter would do. */
export function capacity(
  before: number,
  packets: number,
  thresholds: readonly number[],
  limit: number | null,
): number {
  // A threshold far beyond the queue's limit says nothing.
  const seen = thresholds.filter((t) => Number.isFinite(t) && t <= (limit ?? Number.POSITIVE_INFINITY));
  const wanted = Math.max(packets, ...seen.map((t) => t * 1.1), 1);
  const most = STEPS[STEPS.length - 1] ?? 1;
  const fitting = STEPS.find((s) => s >= wanted) ?? most;
  const bounded = limit !== null && limit >= 1 ? Math.min(fitting, Math.ceil(limit)) : fitting;
  if (before >= wanted && before <= bounded * 4 && (limit === null || before <= limit)) return before;
  return bounded;
}

/** How many packets lie above each other, so that each is at least `least` pixels wide. */
export function rows(capacity: number, pixels: number, height: number, least = 6): number {
  const needed = Math.ceil((capacity * least) / Math.max(1, pixels));
  return Math.max(1, Math.min(needed, Math.floor(height / 3)));
}

/** Marks on the axis: three to five round numbers. */
export function ticks(capacity: number): number[] {
  const rough = capacity / 4;
  const size = 10 ** Math.floor(Math.log10(Math.max(1, rough)));
  const step = [1, 2, 5, 10].map((m) => m * size).find((s) => s >= rough) ?? rough;
  const marks: number[] = [];
  for (let at = 0; at <= capacity + 1e-9; at += step) marks.push(at);
  return marks;
}

/**
 * The left edges of the packets of a lane, the head first. A packet that has just come is on its way from the left end to its place, where
 * it is after `entry` seconds. All of them are seen at every instant: none overtakes the one before it, and each starts behind it.
 */
export function places(
  ages: readonly number[],
  entry: number,
  high: number,
  cell: number,
  left: number,
  right: number,
): number[] {
  const columns = Math.ceil(ages.length / high);
  let entered = 1;
  return ages.map((age, i) => {
    const column = Math.floor(i / high);
    const place = right - (column + 1) * cell;
    if (entry > 0) entered = Math.min(entered, age / entry);
    const from = Math.min(place, left + (columns - 1 - column) * cell);
    return from + (place - from) * entered * (2 - entered);
  });
}
