"""The style of the figures."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

__all__ = ["COLORS", "COLUMN", "DASHES", "MARKERS", "PAGE", "figure", "legend", "style", "styled"]

#: The width of one column of a two-column page, in inches.
COLUMN = 3.5
#: The width of both columns.
PAGE = 7.16

#: The colour-blind-safe palette of Okabe and Ito, without yellow, which is hard to see on paper.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1, 1)), (0, (6, 1.5, 1, 1.5)), (0, (3, 1, 1, 1, 1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

_RC: Any = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "legend.fontsize": 7,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.linewidth": 0.4,
    "grid.color": "#dddddd",
    "lines.linewidth": 1.0,
    "lines.markersize": 3.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.frameon": False,
    "legend.handlelength": 2.2,
    "figure.dpi": 150,
    "savefig.dpi": 300,
    "savefig.bbox": "tight",
    "savefig.pad_inches": 0.02,
    # Text as text: Type 42 fonts, which publishers require, and searchable SVG.
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.fonttype": "none",
    # Makes SVG files reproducible.
    "svg.hashsalt": "aqmkit",
}


@contextmanager
def style(**changes: Any) -> Iterator[None]:
    """Applies the style of aqmkit's figures to your own, in a ``with`` statement; `changes` are matplotlib settings."""
    settings: Any = {**_RC, **changes}
    with mpl.rc_context(settings):
        yield


P = ParamSpec("P")


class _Figure(Figure):
    """A figure that keeps the style when it is saved outside of `style`."""

    def savefig(self, fname: Any, *args: Any, **kwargs: Any) -> None:
        with style():
            super().savefig(fname, *args, **kwargs)

    def _repr_png_(self) -> bytes:
        """Renders the figure for a notebook."""
        drawn = io.BytesIO()
        self.savefig(drawn, format="png", dpi=150)
        return drawn.getvalue()


def styled(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Decorates a function to draw in aqmkit's style, whatever matplotlib's settings are."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> Figure:
        with style():
            return draw(*args, **kwargs)

    return drawn


def figure(rows: int, columns: int, width: float, height: float, **kwargs: Any) -> tuple[Figure, Any]:
    """Creates a figure, and its axes as an array of (rows, columns)."""
    made = _Figure(figsize=(width, height), layout="constrained")
    return made, made.subplots(rows, columns, squeeze=False, **kwargs)


def legend(made: Figure, axes: Axes) -> None:
    """Adds a legend above the figure if there is more than one curve."""
    handles, labels = axes.get_legend_handles_labels()
    if len(labels) > 1:
        made.legend(handles, labels, loc="outside upper center", ncols=min(len(labels), 5), columnspacing=1.2)
