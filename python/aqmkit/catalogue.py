"""What there is: the disciplines, and their pages."""

from __future__ import annotations

from . import _aqmkit
from .errors import ExperimentError

__all__ = ["describe", "disciplines"]


def disciplines() -> dict[str, str]:
    """Every discipline: what it is in one line, by name.

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
        When there is none of this name.
    """
    page = _aqmkit.page(name)
    if page is None:
        raise ExperimentError(f"there is no discipline {name!r}", "aqmkit.disciplines() lists them")
    return page
