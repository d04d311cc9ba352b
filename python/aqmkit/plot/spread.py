"""Figures of distributions."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

from ._data import Floats, Measured, Where, groups, named, only_window, splits, values
from ._scale import delays, is_delay
from ._style import COLORS, COLUMN, DASHES, figure, legend, styled

__all__ = ["box", "ccdf", "cdf"]


def _pooled(rows: pa.Table, factor: float) -> tuple[Floats, Floats]:
    """The distribution over all runs of `rows`: values, and the share of samples at or below each.

    All runs have the same weight: the result is the mean of their distribution functions.
    """
    # The seeds remain Arrow scalars, because Arrow does not accept a Python integer above 2^63.
    runs = [rows.filter(pc.equal(rows.column("seed"), seed)) for seed in pc.unique(rows.column("seed"))]
    points = np.unique(values(rows, "value"))
    shares = [_step(values(run, "value"), values(run, "share"), points) for run in runs]
    return points * factor, np.mean(shares, axis=0)


def _step(at: Floats, share: Floats, points: Floats) -> Floats:
    """Evaluates a distribution at these points: a step function, zero before its first value."""
    order = np.argsort(at, kind="stable")
    place = np.searchsorted(at[order], points, side="right")
    padded: Floats = np.concatenate([[0.0], share[order]])
    return padded[place]


def _curves(
    measured: Measured,
    quantity: str,
    window: str | None,
    by: str | None,
    where: Where | None,
    size: tuple[float, float],
    complement: bool,
) -> Figure:
    """Draws the share of samples at or below each value or, for the complement, above it."""
    named_window = only_window(measured, window)
    table = measured.distributions
    table = table.filter(pc.and_(pc.equal(table.column("quantity"), quantity), pc.equal(table.column("window"), named_window)))
    if table.num_rows == 0:
        known = ", ".join(sorted(set(measured.distributions.column("quantity").to_pylist())))
        raise KeyError(f"there is no distribution of {quantity!r}; there are those of {known}")
    label, factor = named(quantity)
    made, axes = figure(1, 1, *size)
    cell = axes[0, 0]
    everywhere: list[Floats] = []
    for i, (name, rows) in enumerate(groups(measured, table, by, where).items()):
        at, share = _pooled(rows, factor)
        everywhere.append(at)
        looks = {"color": COLORS[i % len(COLORS)], "ls": DASHES[i % len(DASHES)], "label": name}
        cell.step(at, 1 - share if complement else share, where="post", **looks)
    cell.set_xlabel(label)
    if complement:
        cell.set_yscale("log")
        cell.set_ylabel("share of samples above")
        cell.set_ylim(top=1)
    else:
        cell.set_ylabel("share of samples")
        cell.set_ylim(0, 1)
    if is_delay(quantity):
        delays(cell, "x", np.concatenate(everywhere))
    cell.set_xlim(left=0)
    legend(made, cell)
    return made


@styled
def cdf(
    measured: Measured,
    quantity: str = "links.bottleneck.queue_delay_ms",
    *,
    window: str | None = None,
    by: str | None = None,
    where: Where | None = None,
    width: float = COLUMN,
    height: float = 2.3,
) -> Figure:
    """The cumulative distribution of a quantity over all its samples; repeats have the same weight.

    A delay axis is logarithmic, and linear below the shortest delays.

    Parameters
    ----------
    quantity
        One of ``measured.distributions.column("quantity")``: ``classes.tcp.queue_delay_ms``,
        ``apps.web.response_time_ms.page``.
    """
    return _curves(measured, quantity, window, by, where, (width, height), complement=False)


@styled
def ccdf(
    measured: Measured,
    quantity: str = "links.bottleneck.queue_delay_ms",
    *,
    window: str | None = None,
    by: str | None = None,
    where: Where | None = None,
    width: float = COLUMN,
    height: float = 2.3,
) -> Figure:
    """The complementary distribution of `cdf` on a logarithmic scale, which shows the tail."""
    return _curves(measured, quantity, window, by, where, (width, height), complement=True)


@styled
def box(
    measured: Measured,
    quantity: str = "links.bottleneck.queue_delay_ms.mean",
    *,
    along: str | None = None,
    by: str | None = None,
    window: str | None = None,
    where: Where | None = None,
    width: float = COLUMN,
    height: float = 2.3,
) -> Figure:
    """Box plots over a sweep, of the series inside the window, with one sample per interval and repeat.

    A box extends from the first to the third quartile with a line at the median, whiskers to the 5th and 95th percentiles.

    Parameters
    ----------
    quantity
        A column of the series.
    along
        The sweep axis to use as the horizontal axis; by default the first with more than one label.
    by
        Another sweep axis, whose labels are drawn side by side in different colours.
    """
    start, end = measured.windows[only_window(measured, window)]
    times = values(measured.series, "t_s")
    table = measured.series.filter(pa.array((times >= start) & (times < end)))
    label, factor = named(quantity)
    axis = splits(measured, along)
    positions = groups(measured, table, axis, where)
    beside = measured.axes[by] if by is not None else [""]
    made, axes = figure(1, 1, width, height)
    cell = axes[0, 0]
    room = 0.8 / len(beside)
    for place, rows in enumerate(positions.values()):
        inner = groups(measured, rows, by, None) if by is not None else {"": rows}
        for i, name in enumerate(beside):
            if name not in inner:
                continue
            cells = values(inner[name], quantity) * factor
            drawn = cell.boxplot(
                cells[~np.isnan(cells)],
                positions=[place + (i - (len(beside) - 1) / 2) * room],
                widths=0.8 * room,
                whis=(5, 95),
                showfliers=False,
                patch_artist=True,
                medianprops={"color": "black", "lw": 1},
                boxprops={"facecolor": COLORS[i % len(COLORS)], "alpha": 0.55, "lw": 0.6},
                whiskerprops={"lw": 0.6},
                capprops={"lw": 0.6},
            )
            if place == 0:
                drawn["boxes"][0].set_label(name)
    cell.set_xticks(range(len(positions)), list(positions))
    cell.set_xlabel(axis or "")
    cell.set_ylabel(label)
    cell.set_ylim(bottom=0)
    cell.grid(axis="x", visible=False)
    legend(made, cell)
    return made
