/** Named numbers, as a list. */

import { showShare } from "../units";

/** A name and its value as text. */
export type Item = [name: string, value: string];

export function NumberList({ items }: { items: Item[] }) {
  return (
    <dl class="numbers">
      {items.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Packets that were dropped and, if there are any, marked: how many, and their share of those that arrived. */
export function losses(counters: { arrived: number; dropped: number; marked: number }): Item[] {
  const of = (count: number) =>
    `${count.toLocaleString("en")} (${showShare(count / Math.max(1, counters.arrived))})`;
  const dropped: Item = ["dropped", of(counters.dropped)];
  return counters.marked > 0 ? [dropped, ["marked", of(counters.marked)]] : [dropped];
}
