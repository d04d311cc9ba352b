"""Figures of quantities over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ._data import Floats, Measured, Where, groups, named, splits, together, values
from ._scale import delays
from ._style import COLORS, COLUMN, DASHES, PAGE, figure, legend, styled

__all__ = ["overview", "series"]


def _curve(rows: pa.Table, column: str, factor: float) -> tuple[Floats, Floats]:
    """Times in seconds, and the mean over the runs at each time."""
    times, place = np.unique(values(rows, "t_s"), return_inverse=True)
    cells = values(rows, column) * factor
    there = ~np.isnan(cells)
    count = np.bincount(place[there], minlength=len(times))
    total = np.bincount(place[there], weights=cells[there], minlength=len(times))
    with np.errstate(invalid="ignore"):
        return times, total / count


def _shade(axes: Axes, windows: dict[str, tuple[float, float]], end: float) -> None:
    """Shades the windows that do not cover the whole run."""
    for start, stop in windows.values():
        if start > 0 or stop < end - 1:
            axes.axvspan(start, stop, color="#f2f2f2", lw=0, zorder=0)


@styled
def series(
    measured: Measured,
    quantities: str | Sequence[str] = ("links.bottleneck.throughput_bps", "links.bottleneck.queue_delay_ms.mean"),
    *,
    by: str | None = None,
    where: Where | None = None,
    width: float = COLUMN,
    height: float | None = None,
) -> Figure:
    r"""Quantities over time, averaged over the repeats, in panels that share the time axis. Windows are shaded.

    Parameters
    ----------
    quantities
        Columns of the series, from top to bottom. A single column need not be in a list.

    Raises
    ------
    ValueError
        When there is no quantity, or nothing is left to draw.
    KeyError
        When there is no such column.

    Examples
    --------
    >>> import aqmkit, tempfile
    >>> results = aqmkit.compare(["fifo", "pie"], bulk=2, duration="5s", warmup="1s", out=tempfile.mkdtemp())
    >>> figure = aqmkit.plot.series(results, ["classes.tcp.throughput_bps", "links.bottleneck.queue_delay_ms.mean"])
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['tcp throughput\n(Mbit/s)', 'queue delay\n(ms)']
    """
    quantities = [quantities] if isinstance(quantities, str) else list(quantities)
    if not quantities:
        raise ValueError("quantities is empty; name columns of the series, such as links.bottleneck.queue_delay_ms.mean")
    made, axes = figure(len(quantities), 1, width, height or 0.5 + 1.1 * len(quantities), sharex=True)
    found = groups(measured, measured.series, by, where)
    for quantity, cell in zip(quantities, axes[:, 0], strict=True):
        label, factor = named(quantity)
        for i, (name, rows) in enumerate(found.items()):
            times, curve = _curve(rows, quantity, factor)
            cell.plot(times, curve, color=COLORS[i % len(COLORS)], ls=DASHES[i % len(DASHES)], label=name)
            _shade(cell, measured.windows if i == 0 else {}, times[-1])
        cell.set_ylabel(label.replace(" (", "\n("))
        cell.set_ylim(bottom=0)
        cell.margins(x=0)
    axes[-1, 0].set_xlabel("time (s)")
    made.align_ylabels()
    legend(made, axes[0, 0])
    return made


@styled
def overview(
    measured: Measured,
    *,
    by: str | None = None,
    where: Where | None = None,
    width: float = PAGE,
    height: float | None = None,
) -> Figure:
    """Small plots over time, with a column for each label of `by`: throughput of the classes, queue delay, drops and marks.

    Each row has a common scale, so that columns can be compared. The delay scale is logarithmic, and linear below the shortest
    delays. For a class whose data does not cross the measured link, such as an upload, goodput replaces throughput.
    """
    found = groups(measured, measured.series, by, where)
    classes = sorted({c.split(".")[1] for c in measured.series.column_names if c.startswith("classes.")})
    link = _measured_link(measured.series)
    delay = f"links.{link}.queue_delay_ms.mean"
    shares = [f"links.{link}.drop_rate", f"links.{link}.mark_rate"]
    lines: list[list[tuple[str, str]]] = [
        [(_rate(measured.series, c), c) for c in classes],
        [(delay, "")],
        [(quantity, together([quantity]).split(" (")[0]) for quantity in shares],
    ]
    made, axes = figure(len(lines), len(found), width, height or 1.3 * len(lines) + 0.4, sharex=True, sharey="row")
    for column, (name, rows) in enumerate(found.items()):
        axes[0, column].set_title(name)
        for row, curves in enumerate(lines):
            _small(axes[row, column], rows, curves, measured.windows)
        axes[-1, column].set_xlabel("time (s)")
    for row, curves in enumerate(lines):
        axes[row, 0].set_ylabel(together([quantity for quantity, _ in curves]))
        if curves[0][0] == delay:
            for cell in axes[row]:
                delays(cell, "y", np.concatenate([values(rows, delay) for rows in found.values()]))
        # After all drawing, because setting one limit disables autoscaling of the other.
        axes[row, 0].set_ylim(bottom=0)
        if len(curves) > 1:
            axes[row, 0].legend(loc="best", borderpad=0.1, labelspacing=0.2)
    made.align_ylabels()
    if splits(measured, by) is None:
        axes[0, 0].set_title("")
    return made


def _rate(table: pa.Table, name: str) -> str:
    """The column with the rate of a class: throughput, or goodput if only its acknowledgements cross the measured link."""
    throughput, goodput = (f"classes.{name}.{rate}" for rate in ("throughput_bps", "goodput_bps"))
    if goodput not in table.column_names:
        return throughput
    return goodput if np.nansum(values(table, goodput)) > 1.05 * np.nansum(values(table, throughput)) else throughput


def _small(cell: Axes, rows: pa.Table, curves: list[tuple[str, str]], windows: dict[str, Any]) -> None:
    for i, (quantity, label) in enumerate(curves):
        times, curve = _curve(rows, quantity, named(quantity)[1])
        cell.plot(times, curve, color=COLORS[i % len(COLORS)], ls=DASHES[i % len(DASHES)], label=label, lw=0.8)
        _shade(cell, windows if i == 0 else {}, times[-1])
    cell.margins(x=0)


def _measured_link(table: pa.Table) -> str:
    """The link whose discipline is under study: `bottleneck`, or else the first link in the table."""
    links = [c.split(".")[1] for c in table.column_names if c.startswith("links.")]
    return "bottleneck" if "bottleneck" in links or not links else links[0]
