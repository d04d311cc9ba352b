"""Warnings that point to a line of the user's code."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

__all__ = ["warn"]

_PACKAGE = str(Path(__file__).parent)


def warn(text: str) -> None:
    """Issues a `UserWarning` for the innermost caller outside this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, stacklevel=level)
