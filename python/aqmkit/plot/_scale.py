"""Axis scales that resolve short delays, and do not magnify random variation."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FuncFormatter

from ._data import Floats

__all__ = ["LEAST_FACTOR", "SHORTEST", "delays", "is_delay", "natural", "plain"]

#: Delays below this many milliseconds are negligible.
SHORTEST = 0.01
#: The minimum range of a linear axis, as a share of the largest value, and of a logarithmic axis, as a factor.
LEAST = 0.2
LEAST_FACTOR = 10.0


def is_delay(quantity: str) -> bool:
    """Whether a quantity spans orders of magnitude: delays and response times."""
    return any(part.endswith("_ms") for part in quantity.split("."))


def delays(cell: Axes, which: str, values: Floats) -> None:
    """Makes the axis `which` of `cell` logarithmic above the shortest of these values, and linear below.

    A linear axis could not resolve short delays beside a long one, and a logarithmic one has no zero.
    """
    there = values[np.isfinite(values) & (values > 0)]
    if there.size == 0:
        return
    low = min(float(np.quantile(there, 0.01)), float(there.max()) / LEAST_FACTOR)
    threshold = 10.0 ** np.floor(np.log10(max(low, SHORTEST)))
    setter = cell.set_xscale if which == "x" else cell.set_yscale
    setter("symlog", linthresh=threshold, linscale=0.4)
    plain(cell.xaxis if which == "x" else cell.yaxis)


def plain(axis: Axis) -> None:
    """Formats tick labels as plain numbers instead of powers of ten."""
    axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))


def natural(low: float, high: float) -> tuple[float, float]:
    """The limits of a linear axis for values from `low` to `high`, at least `LEAST` times the largest value apart."""
    wanted = max(1.2 * (high - low), LEAST * abs(high))
    top = high + 0.08 * wanted
    bottom = top - wanted
    return (max(bottom, 0.0) if low >= 0 else bottom), top
