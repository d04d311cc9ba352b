"""Disciplines written in Python, for teaching and prototypes."""

from __future__ import annotations

import difflib
import enum
import hashlib
import secrets
from numbers import Integral
from typing import TYPE_CHECKING, Any

from ._aqmkit import Verdict
from ._warn import warn

if TYPE_CHECKING:
    from ._aqmkit import Env, Link, Packet, Queue

__all__ = ["DROP", "MARK", "PASS", "Aqm"]

PASS = Verdict.PASS
MARK = Verdict.MARK
DROP = Verdict.DROP

#: The methods that a queue calls. Any other method named ``on_…`` is probably a typing error.
_HOOKS = ("on_start", "on_arrival", "on_departure", "on_discard", "on_empty", "on_tick", "gauges")


class Aqm:
    """An algorithm that decides which packets of one FIFO to drop or mark, written in Python.

    Write a subclass with the hooks that the algorithm needs, and use an instance wherever an experiment names a
    discipline, alongside built-in ones. It is slow: each call into Python costs about a microsecond, whereas a built-in
    discipline takes ten nanoseconds per packet. It runs in the simulator only.

    `MARK` lets a packet through with Congestion Experienced set. A packet that is not ECN-capable is dropped instead, and
    no packet is ECN-capable unless the transport uses ECN (``transport={"ecn": True}`` in `Experiment`): without it, a
    discipline that only marks is one that only drops.

    Each queue of each run gets a copy (`copy.deepcopy`) of the instance, whose `on_start` is called first. Finished runs
    are reused, after an interruption or in another experiment, only if the class has a `version`: they are then stored
    under the class name, the version and the instance attributes. Increase the version whenever the behaviour changes.

    Attributes
    ----------
    limit : int or str
        Capacity of the queue: packets (``60``) or bytes (``"90kb"``).
    tick : str or None
        The period of `on_tick`, such as ``"10ms"``.
    label : str or None
        The name in results; by default the name of the class.
    version : int or str or None
        The version of all the code that determines the behaviour: the hooks, and the functions and globals that they use.
        With None, finished runs are not reused.

    Examples
    --------
    >>> class Half(Aqm):
    ...     '''Drops every packet that arrives when the queue is more than half full.'''
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
    version: int | str | None = None

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Warns about methods that look like hooks but would never be called."""
        super().__init_subclass__(**keywords)
        own = [base for base in cls.__mro__ if base is cls or not issubclass(base, Aqm)]
        for name in dict.fromkeys(name for base in own for name in vars(base)):
            if name.startswith("on_") and name not in _HOOKS and callable(getattr(cls, name)):
                near = difflib.get_close_matches(name, _HOOKS, n=1)
                meant = f"did you mean {near[0]}? " if near else ""
                warn(f"{cls.__name__}.{name} is not a hook, and no queue calls it; {meant}Hooks are {', '.join(_HOOKS)}")

    def on_start(self, link: Link) -> None:
        """Called when the queue is created. Derive values that depend on the link's rate here."""

    def on_arrival(self, packet: Packet, queue: Queue, env: Env) -> Verdict | None:
        """Called when a packet arrives; `queue` does not include it. Return `PASS` (or None), `MARK` or `DROP`.

        Anything else is a TypeError, which ends the run. `MARK` drops a packet that is not ECN-capable.
        """
        return None

    def on_departure(self, packet: Packet, queue: Queue, env: Env) -> Verdict | None:
        """Called when the head packet is dequeued; `queue` is the rest. After `DROP` the next packet is dequeued.

        The return values are those of `on_arrival`.
        """
        return None

    def on_discard(self, packet: Packet, queue: Queue, now_ns: int) -> None:
        """Called when a packet that `on_arrival` passed does not fit and is dropped."""

    def on_empty(self, now_ns: int) -> None:
        """Called when the link is ready for a packet and the queue is empty."""

    def on_tick(self, queue: Queue, now_ns: int) -> None:
        """Called once every `tick`."""

    def gauges(self) -> dict[str, float]:
        """Internal state to record in the time series, by name: columns ``links.<link>.aqm.<name>``."""
        return {}

    @property
    def name(self) -> str:
        """The name in results: the label, or else the name of the class."""
        return self.label or type(self).__name__

    def identity(self) -> str | None:
        """The key under which runs are stored: a hash of the class name, `version` and the attributes; None without a version.

        Raises
        ------
        TypeError
            When there is a version, and an attribute is not a number, string, enumeration, or list, tuple, set or dict of these.
        """
        if self.version is None:
            return None
        who = f"{type(self).__module__}.{type(self).__qualname__}"
        # Unlike `vars`, this includes slots.
        attributes = _written(object.__getstate__(self), type(self).__name__)  # type: ignore[attr-defined, unused-ignore]
        text = "\n".join([who, repr(self.version), attributes])
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    def as_table(self) -> dict[str, Any]:
        """The entry for the discipline in an experiment. Without a version, each call returns a different ``id``.

        Raises
        ------
        TypeError
            When `limit`, `tick`, `label` or `version` is of the wrong type, or `identity` raises it.
        """
        self._check()
        key = self.identity() or secrets.token_hex(16)
        table: dict[str, Any] = {"name": "custom", "label": self.name, "id": key, "limit": self._limit()}
        if self.tick is not None:
            table["tick"] = self.tick
        return table

    def _limit(self) -> int | float | str:
        """Checks `limit` and converts it for the experiment file."""
        limit: Any = self.limit
        if isinstance(limit, bool) or not isinstance(limit, (Integral, float, str)):
            raise TypeError(f'{type(self).__name__}: limit cannot be {limit!r}; it must be packets (60) or bytes ("90kb")')
        # The TOML writer does not accept NumPy integers.
        return int(limit) if isinstance(limit, Integral) else limit

    def _check(self) -> None:
        """Rejects attributes of a wrong type; warns about hooks that no queue would call, and if there are no hooks."""
        who = type(self).__name__
        if not isinstance(self.tick, (str, type(None))):
            raise TypeError(f'{who}: tick cannot be {self.tick!r}; it must be a time with its unit ("10ms"), or None')
        if not isinstance(self.label, (str, type(None))):
            raise TypeError(f"{who}: label cannot be {self.label!r}; it must be a text, or None")
        if isinstance(self.version, bool) or not isinstance(self.version, (int, str, type(None))):
            raise TypeError(f"{who}: version cannot be {self.version!r}; it must be a number (1), a text, or None")
        inherited = [hook for hook in _HOOKS if getattr(type(self), hook) is getattr(Aqm, hook)]
        for hook in inherited:
            if hook in vars(self):
                warn(f"{who}: {hook} is an attribute of the object, and no queue calls it; define it in the class")
        if len(inherited) == len(_HOOKS):
            warn(f"{who} has no hook, and so is a plain FIFO; hooks are {', '.join(_HOOKS)}")


def _written(value: Any, where: str) -> str:
    """Formats an attribute identically in every process; `where` is its name in error messages."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_written(inner, where) for inner in value)}]"
    if isinstance(value, (set, frozenset)):
        return f"{{{', '.join(sorted(_written(inner, where) for inner in value))}}}"
    if isinstance(value, dict):
        items = ((_written(key, where), _written(inner, f"{where}.{key}")) for key, inner in value.items())
        return f"{{{', '.join(f'{key}: {inner}' for key, inner in items)}}}"
    if isinstance(value, enum.Enum):
        return f"{type(value).__qualname__}.{value.name}"
    if type(value) in (type(None), bool, int, float, str, bytes, Verdict):
        return repr(value)
    # NumPy scalars.
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        return _written(value.item(), where)
    raise TypeError(
        f"{where} is a {type(value).__name__}, which a version does not cover: runs of one could be taken for those of another; "
        "make it a number, a text, or a list or dict of these, or leave out version, and no runs are reused"
    )
