"""The progress bar: in notebooks and on terminals, and nothing where output goes elsewhere."""

from __future__ import annotations

import sys
import warnings
from types import TracebackType
from typing import Any

__all__ = ["Bar"]


class Bar:
    """How far the runs are. Use it in a ``with`` statement.

    Parameters
    ----------
    total
        How many runs there are, as far as is known at the beginning.
    show
        False: show nothing.
    """

    def __init__(self, total: int, show: bool = True) -> None:
        self._bar: Any = None
        if not show:
            return
        with warnings.catch_warnings():
            # Without ipywidgets, tqdm.auto says so and draws with text, which is what we want then.
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm
        in_notebook = "ipykernel" in sys.modules
        form = "{desc}{percentage:3.0f}%|{bar}| {n:.1f} of {total_fmt} runs, {remaining} left"
        self._bar = tqdm(total=total, disable=False if in_notebook else None, bar_format=form, leave=False)

    def at(self, done: float, ended: int = 0, total: int = 0, why: str = "") -> None:
        """So many runs are done; a part of a run counts as a part.

        Parameters
        ----------
        total
            How many runs there are now; 0 if that has not changed.
        why
            What they are for: empty, or it ends with a comma and a space.
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
