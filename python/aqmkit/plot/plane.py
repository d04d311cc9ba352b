"""Figures of one quantity against another."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon

from ._data import Floats, Measured, Where, groups, named, only_window, values
from ._scale import LEAST_FACTOR, SHORTEST, is_delay, natural, plain
from ._style import COLORS, COLUMN, MARKERS, figure, legend, styled

__all__ = ["completion", "ellipses"]


@styled
def ellipses(
    measured: Measured,
    x: str = "links.bottleneck.queue_delay_ms.mean",
    y: str = "links.bottleneck.throughput_bps",
    *,
    window: str | None = None,
    by: str | None = None,
    where: Where | None = None,
    width: float = COLUMN,
    height: float = 2.6,
) -> Figure:
    """Throughput against delay: for each label, the mean over all intervals and an ellipse of one standard deviation.

    The delay axis is logarithmic and runs from right to left, so that better is up and to the right; mean and ellipse are those
    of the logarithm. Both axes have a minimum range, so that random variation does not look large.

    Parameters
    ----------
    x, y
        Columns of the series.
    """
    start, end = measured.windows[only_window(measured, window)]
    times = values(measured.series, "t_s")
    table = measured.series.filter(pa.array((times >= start) & (times < end)))
    (x_label, x_factor), (y_label, y_factor) = named(x), named(y)
    logarithmic = is_delay(x)
    made, axes = figure(1, 1, width, height)
    cell = axes[0, 0]
    reached: list[Floats] = []
    for i, (name, rows) in enumerate(groups(measured, table, by, where).items()):
        across = values(rows, x) * x_factor
        across = np.log10(np.maximum(across, SHORTEST)) if logarithmic else across
        points = np.column_stack([across, values(rows, y) * y_factor])
        points = points[~np.isnan(points).any(axis=1)]
        if len(points) == 0:
            continue
        color = COLORS[i % len(COLORS)]
        edge = _ellipse(points)
        if logarithmic:
            edge[:, 0] = 10 ** edge[:, 0]
        centre = points.mean(axis=0)
        at = 10 ** centre[0] if logarithmic else centre[0]
        cell.plot(at, centre[1], MARKERS[i % len(MARKERS)], color=color, label=name, zorder=3)
        cell.add_patch(Polygon(edge, fc=color, ec=color, alpha=0.25, lw=0.8))
        reached.append(edge)
    _limits(cell, np.concatenate(reached) if reached else np.empty((0, 2)), logarithmic)
    cell.invert_xaxis()
    cell.set_xlabel(x_label)
    cell.set_ylabel(y_label)
    legend(made, cell)
    return made


def _limits(cell: Axes, reached: Floats, logarithmic: bool) -> None:
    """Sets limits that include all ellipses, with the minimum ranges."""
    if len(reached) == 0:
        return
    (left, bottom), (right, top) = reached.min(axis=0), reached.max(axis=0)
    if logarithmic:
        space = max(1.3, float(np.sqrt(LEAST_FACTOR / (right / left))))
        cell.set_xscale("log")
        plain(cell.xaxis)
        cell.set_xlim(left / space, right * space)
    else:
        cell.set_xlim(*natural(left, right))
    cell.set_ylim(*natural(bottom, top))


def _ellipse(points: Floats) -> Floats:
    """The outline of the one-standard-deviation ellipse of the points."""
    centre = points.mean(axis=0)
    if len(points) < 3:
        return np.array([centre])
    sizes, directions = np.linalg.eigh(np.cov(points.T))
    angles = np.linspace(0, 2 * np.pi, 73)
    circle = np.column_stack([np.cos(angles), np.sin(angles)]) * np.sqrt(np.maximum(sizes, 0))
    edge: Floats = centre + circle @ directions.T
    return edge


@styled
def completion(
    measured: Measured,
    *,
    kind: str | None = None,
    by: str | None = None,
    where: Where | None = None,
    width: float = COLUMN,
    height: float = 2.6,
) -> Figure:
    """Completion time against size: the median in each of twelve size ranges; the interquartile range is shaded.

    Parameters
    ----------
    kind
        The kind of exchange, such as ``"page"``; by default all.
    """
    table = measured.exchanges
    wanted = {**(where or {}), **({"kind": kind} if kind is not None else {})}
    if table.num_rows == 0:
        raise ValueError("there is no exchange to draw; web traffic (http=0.5) has them")
    found = groups(measured, table, by, wanted)
    sizes = np.concatenate([values(rows, "bytes") for rows in found.values()])
    sizes = sizes[sizes > 0]
    edges = np.unique(np.quantile(sizes, np.linspace(0, 1, 13)))
    made, axes = figure(1, 1, width, height)
    cell = axes[0, 0]
    for i, (name, rows) in enumerate(found.items()):
        at, quartiles = _by_size(values(rows, "bytes"), values(rows, "duration_ms"), edges)
        color = COLORS[i % len(COLORS)]
        cell.plot(at, quartiles[:, 1], marker=MARKERS[i % len(MARKERS)], color=color, label=name)
        cell.fill_between(at, quartiles[:, 0], quartiles[:, 2], color=color, alpha=0.15, lw=0)
    cell.set_xscale("log")
    cell.set_yscale("log")
    cell.set_xlabel(named("bytes")[0])
    cell.set_ylabel(named("duration_ms")[0])
    legend(made, cell)
    return made


def _by_size(size: Floats, duration: Floats, edges: Floats) -> tuple[Floats, Floats]:
    """The median size and the quartiles of the durations in each non-empty size range."""
    place = np.clip(np.searchsorted(edges, size, side="right") - 1, 0, max(len(edges) - 2, 0))
    there = [i for i in range(max(len(edges) - 1, 1)) if np.any((place == i) & (size > 0))]
    at = [np.median(size[(place == i) & (size > 0)]) for i in there]
    quartiles = [np.quantile(duration[(place == i) & (size > 0)], [0.25, 0.5, 0.75]) for i in there]
    return np.array(at), np.array(quartiles)
