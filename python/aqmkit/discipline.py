"""Disciplines written in Python, for teaching and for trying an idea."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._aqmkit import Verdict
from ._identity import identity

if TYPE_CHECKING:
    from ._aqmkit import Env, Link, Packet, Queue

__all__ = ["DROP", "MARK", "PASS", "Aqm"]

PASS = Verdict.PASS
MARK = Verdict.MARK
DROP = Verdict.DROP


class Aqm:
    """An algorithm that decides which packets of one FIFO to drop or mark, written in Python.

    Write a subclass with the hooks that the algorithm needs, and use an object of it wherever an experiment names a
    discipline, beside built-in ones. It is slow: a call into Python for each packet costs about a microsecond, where a built-in
    discipline takes ten nanoseconds. It runs in the simulator only.

    Each queue of each run gets a copy (`copy.deepcopy`) of the object, then `on_start`. Results of runs are kept under
    the code of its class, its attributes, and every function, closure and global of your own that these refer to, as they
    are when the experiment is made; of installed packages the version counts. What is imported inside a hook, looked up
    by a text, or read from a file is not looked at, so give `version` another value when that changes.

    Attributes
    ----------
    limit : int or str
        What the queue may hold: packets (``60``) or bytes (``"90kb"``).
    tick : str or None
        The period of `on_tick`, such as ``"10ms"``.
    label : str or None
        What results call it; the name of its class when None.
    version : str
        Part of what names the code.

    Examples
    --------
    >>> class Half(Aqm):
    ...     '''Drops every packet that finds more than half of the queue taken.'''
    ...
    ...     limit = 100
    ...
    ...     def on_arrival(self, packet, queue, env):
    ...         return DROP if queue.packets > 50 else PASS
    >>> Half().name
    'Half'
    """

    limit: int | str = 60
    tick: str | None = None
    label: str | None = None
    version: str = ""

    def on_start(self, link: Link) -> None:
        """The queue is made, at this link. Derive here what depends on the link's rate."""

    def on_arrival(self, packet: Packet, queue: Queue, env: Env) -> Verdict | None:
        """A packet arrives at a queue that looks like `queue` without it: `PASS` (or None), `MARK` or `DROP`."""
        return None

    def on_departure(self, packet: Packet, queue: Queue, env: Env) -> Verdict | None:
        """The packet at the head has been taken out; `queue` is what remains. After `DROP` the next packet is taken."""
        return None

    def on_discard(self, packet: Packet, queue: Queue, now_ns: int) -> None:
        """A packet that was passed on arrival did not fit, and is dropped."""

    def on_empty(self, now_ns: int) -> None:
        """The link asked for a packet and there was none."""

    def on_tick(self, queue: Queue, now_ns: int) -> None:
        """One period of `tick` has passed."""

    def gauges(self) -> dict[str, float]:
        """Numbers of the internal state, for the time series: columns ``links.<link>.aqm.<name>``."""
        return {}

    @property
    def name(self) -> str:
        """What results call it."""
        return self.label or type(self).__name__

    def identity(self) -> str:
        """A hash of everything that decides what it does: what its results are kept under.

        Raises
        ------
        TypeError
            When it refers to something whose state cannot be seen, such as a lock or an open file.
        """
        return identity(self)

    def as_table(self) -> dict[str, Any]:
        """What stands for it in the text of an experiment."""
        table: dict[str, Any] = {"name": "custom", "label": self.name, "id": self.identity(), "limit": self.limit}
        if self.tick is not None:
            table["tick"] = self.tick
        return table
