import type { Look } from "./simulator/contract";

interface Sample {
  time: number;
  delivered: number;
}

/** Rates of flows over the last moments, from what their receivers have got. */
export class Rates {
  private readonly samples = new Map<number, { older: Sample; newer: Sample }>();

  /** Takes in the flows that are seen at an instant; `span` is how far back a rate looks, s. */
  see(look: Look, span: number): void {
    const seen = new Set<number>();
    for (const { id, delivered } of look.flows) {
      seen.add(id);
      const sample = { time: look.now, delivered };
      const known = this.samples.get(id);
      if (!known || look.now < known.newer.time) this.samples.set(id, { older: sample, newer: sample });
      else if (look.now - known.newer.time >= span / 2)
        this.samples.set(id, { older: known.newer, newer: sample });
    }
    for (const id of this.samples.keys()) if (!seen.has(id)) this.samples.delete(id);
  }

  /** bit/s of a flow now; null before there is anything to compare with. */
  of(id: number, now: number, delivered: number): number | null {
    const known = this.samples.get(id);
    if (!known || now <= known.older.time) return null;
    return (Math.max(0, delivered - known.older.delivered) * 8) / (now - known.older.time);
  }
}
