/** A published value beside the stored one and the one of this run. */
import { useEffect } from "preact/hooks";
import { type Cell, measured, measuredText } from "../cell";
import * as player from "../player";
import { showTime } from "../units";

export function CellPanel({ cell }: { cell: Cell }) {
  const column = player.columns.value[0];
  const finished = player.finished.value;
  const found = measured.value;
  useEffect(() => {
    if (finished && column && measured.value === null)
      player.number(column, cell.number).then((n) => {
        measured.value = n;
      }, player.complain);
  }, [finished, column, cell]);
  if (!column) return null;
  const { end } = column.opened;
  return (
    <article class="lesson cell" aria-labelledby="cell-title">
      <p class="small">
        A published value, <code>{cell.id}</code>
      </p>
      <h2 id="cell-title">{cell.what}</h2>
      <dl class="values">
        <dt>Published</dt>
        <dd>{cell.published}</dd>
        <dt>Stored</dt>
        <dd>
          {cell.stored}
          {cell.repeats > 1 ? <span class="small"> mean of {cell.repeats} runs</span> : null}
        </dd>
        <dt>This run</dt>
        <dd>
          <output>
            {finished && found ? measuredText(cell, found) : `at its end, after ${showTime(end)}`}
          </output>
        </dd>
      </dl>
      <p>
        This is run {cell.run + 1} of <code>{cell.experiment}</code>. Stored is what{" "}
        <code>aqmkit reproduce {cell.experiment} --scale full</code> measured. The number is{" "}
        <code>{cell.number.metric}</code>
        {cell.number.seconds ? (
          <>
            {" "}
            (<code>{cell.number.seconds}</code>)
          </>
        ) : null}{" "}
        in the window <code>{cell.number.window}</code>. Changes by hand change it.
      </p>
      <div class="pair">
        <button type="button" class="main" disabled={finished} onClick={() => player.toEnd()}>
          Simulate to the end
        </button>
      </div>
    </article>
  );
}
