"""The list of disciplines, and their reference pages."""

from __future__ import annotations

from . import _aqmkit
from .errors import ExperimentError

__all__ = ["describe", "disciplines"]


def disciplines() -> dict[str, str]:
    """One-line descriptions of all disciplines, by name.

    Examples
    --------
    >>> import aqmkit
    >>> aqmkit.disciplines()["red"]
    'random early detection'
    """
    return dict(_aqmkit.disciplines())


def describe(name: str) -> str:
    """The reference page of a discipline, in Markdown: law, parameters with units and defaults, deviations, evidence.

    Raises
    ------
    ExperimentError
        When there is no such discipline.
    """
    page = _aqmkit.page(name)
    if page is None:
        raise ExperimentError(f"there is no discipline {name!r}", "aqmkit.disciplines() lists them")
    return page
