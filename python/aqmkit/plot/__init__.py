"""Publication-ready figures.

Every function takes `aqmkit.Results` or `aqmkit.Sweep` and returns a `matplotlib.figure.Figure`;
``figure.savefig("name.pdf")`` (or ``.svg``, ``.png``) writes it. Sizes are in inches; the default width is one column of a
two-column page. Colours are distinguishable with any colour vision, lines and markers also in black and white. PDF and SVG files
contain text as text.

Common arguments
----------------
by
    The axis of the sweep to distinguish by colour; by default the first with more than one label.
where
    The runs to draw: a label or a list of labels for each axis, such as ``{"mix": "BULK+MPEG", "repeat": 1}``. Axes that are
    left out are not restricted.
window
    The measurement window. May be left out if there is only one.
width, height
    The size in inches.
"""

from ._style import COLUMN, PAGE, style
from .plane import completion, ellipses
from .spread import box, ccdf, cdf
from .time import overview, series

__all__ = ["COLUMN", "PAGE", "box", "ccdf", "cdf", "completion", "ellipses", "overview", "series", "style"]
