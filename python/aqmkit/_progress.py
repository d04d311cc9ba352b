"""The progress bar, shown in notebooks and on terminals only."""

from __future__ import annotations

import sys
import warnings
from types import TracebackType
from typing import Any

__all__ = ["Bar"]


class Bar:
    """Shows the progress of runs. Use it in a ``with`` statement.

    Parameters
    ----------
    total
        Number of runs; 0 if only `at` will know.
    show
        Whether to show the bar.
    """

    def __init__(self, total: int, show: bool = True) -> None:
        self._bar: Any = None
        if not show:
            return
        with warnings.catch_warnings():
            # Without ipywidgets, tqdm.auto warns and falls back to text, which is fine.
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm
        in_notebook = "ipykernel" in sys.modules
        form = "{desc}{percentage:3.0f}%|{bar}| {n:.1f} of {total_fmt} runs, {remaining} left"
        self._bar = tqdm(total=total, disable=False if in_notebook else None, bar_format=form, leave=False)

    def at(self, done: float, ended: int = 0, total: int = 0, why: str = "") -> None:
        """Updates the bar.

        Parameters
        ----------
        done
            Completed work in runs, including fractions of unfinished ones.
        ended
            Number of runs that have ended.
        total
            Number of runs; 0 if it has not changed.
        why
            Purpose of the runs: empty, or a text that ends in a comma and a space.
        """
        if self._bar is None or self._bar.disable:
            return
        if total and total != self._bar.total:
            self._bar.reset(total)
        if why != self._bar.desc:
            self._bar.set_description_str(why)
        if done > self._bar.n:
            self._bar.update(min(done, self._bar.total) - self._bar.n)

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.close()
