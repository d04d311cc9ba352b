"""Exceptions."""

from __future__ import annotations

__all__ = ["ExperimentError", "Interrupted", "RunError"]


class ExperimentError(ValueError):
    """An experiment is invalid.

    ``str(error)`` is the report that the command ``aqmkit`` prints, with the offending line.

    Attributes
    ----------
    what : str
        The problem, in one sentence.
    help : str
        How to correct it; may be empty.
    file, line, column : str or None, int or None, int or None
        The location of the problem: the file (``--set`` for a setting), and line and column, counted from one.
    """

    def __init__(
        self,
        what: str,
        help: str = "",
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        text: str = "",
    ) -> None:
        super().__init__(what, help, file, line, column, text)
        self.what = what
        self.help = help
        self.file = file
        self.line = line
        self.column = column
        self.text = text

    def __str__(self) -> str:
        return self.text or "\n  ".join(filter(None, (self.what, self.help)))


class RunError(RuntimeError):
    """A run failed. Successful runs are kept."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C was pressed. Finished runs are kept; repeat the call to resume."""
