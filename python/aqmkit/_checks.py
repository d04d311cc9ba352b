"""Checks of arguments before they reach the native module, whose messages would name other types."""

from __future__ import annotations

import operator
from typing import Any

__all__ = ["check_whole"]


def check_whole(low: int, high: int, **named: Any) -> None:
    """Raises unless every named argument is None or a whole number from `low` to `high`.

    >>> check_whole(1, 9, jobs=3, repeat=None)
    >>> check_whole(1, 9, jobs=0)
    Traceback (most recent call last):
    ...
    ValueError: jobs cannot be 0; it must be a whole number from 1 to 9
    """
    for name, value in named.items():
        right = f"it must be a whole number from {low} to {high}"
        if value is None:
            continue
        try:
            number = operator.index(value)
        except TypeError:
            raise TypeError(f"{name} cannot be {value!r}; {right}") from None
        if not low <= number <= high:
            raise ValueError(f"{name} cannot be {value!r}; {right}")
