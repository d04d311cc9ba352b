"""What can go wrong."""

from __future__ import annotations

__all__ = ["ExperimentError", "Interrupted", "RunError"]


class ExperimentError(ValueError):
    """An experiment is wrong: what, where, and what would be right.

    Its text is what the command ``aqmkit`` shows, with the line that is wrong.

    Attributes
    ----------
    what : str
        What is wrong, in one sentence.
    help : str
        What would be right; empty where there is nothing to say.
    file, line, column : str or None, int or None, int or None
        Where it is: the file (``--set`` for a setting), and the place in it, counted from one.
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
    """A run failed. Runs that ended well are kept."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C: finished runs are kept, and the same call resumes."""
