"""Figures that can go into a paper as they are.

Every function takes `aqmkit.Results` or `aqmkit.Sweep` and returns a `matplotlib.figure.Figure`;
``figure.savefig("name.pdf")`` (or ``.svg``, ``.png``) writes it. Sizes are in inches, as wide as one column of a two-column page
unless told otherwise. Colours can be told apart with any colour vision, and lines and markers in print without colour. Text in
PDF and SVG stays text.

Common arguments
----------------
by
    The axis of the sweep whose labels are told apart: the first that has more than one label when None.
where
    Which runs: labels by axis, one or a list, such as ``{"mix": "BULK+MPEG", "repeat": 1}``. Of what is left out, all.
window
    The window: the only one when None.
width, height
    The size in inches.
"""

from ._style import COLUMN, PAGE, style
from .plane import completion, ellipses
from .spread import box, ccdf, cdf
from .time import overview, series

__all__ = ["COLUMN", "PAGE", "box", "ccdf", "cdf", "completion", "ellipses", "overview", "series", "style"]
