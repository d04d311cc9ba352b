"""A network path for tests of transport stacks: a real bottleneck queue, without I/O and without a clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ._aqmkit import Arrival, NativePath, PathReport

__all__ = ["Path"]


class Path:
    """A path between the ends "a" and "b", with a bottleneck in each direction.

    ::

        path = aqmkit.Path("20mbit", "20ms", queue="codel", ecn=True, seed=1)
        path.send("a", b"hello", bytes=1500, now=0.0, ecn="ect0")
        while (now := path.deadline()) is not None:
            while arrival := path.poll(now):
                print(arrival.at, arrival.to, arrival.content, arrival.ecn)
        assert path.report("a").queue_delay.p99 < 0.03, str(path)

    Times are seconds since the start, and never run backwards. The same seed gives the same run.

    Args:
        rate: Rate of both directions, such as "20mbit". Not with `trace`.
        delay: One-way propagation delay, such as "15ms".
        queue: The discipline: "fifo", "codel", "fq_codel", "dualpi2", …
        loss: Losses on the wire: "1%", "every=100,burst=2", or "p=1%,r=25%".
        jitter: Additional delay, up to this: "5ms", or "5ms,overtaking".
        reorder: Late packets: "1%,5ms".
        overhead: Bytes of the link layer for each packet.
        trace: The contents of a trace of mahimahi, in place of `rate`.
        rate_at: Changes of the rate: `[(20.0, "2mbit")]`.
        delay_at: Changes of the delay.
        back: Another link from b to a, as a dictionary of these arguments.
        seed: What all random decisions derive from.
        parameters: Parameters of the discipline: `limit=100`, `target="5ms"`, `ecn=True`.

    Raises:
        ValueError: A value is wrong; the message says what would be right.
    """

    def __init__(
        self,
        rate: str | None = None,
        delay: str = "0ms",
        *,
        queue: str = "fifo",
        loss: str | None = None,
        jitter: str | None = None,
        reorder: str | None = None,
        overhead: int = 0,
        trace: str | None = None,
        rate_at: Sequence[tuple[float, str]] = (),
        delay_at: Sequence[tuple[float, str]] = (),
        back: Mapping[str, Any] | None = None,
        seed: int = 1,
        **parameters: Any,
    ) -> None:
        there = {
            "rate": rate,
            "delay": delay,
            "queue": queue,
            "loss": loss,
            "jitter": jitter,
            "reorder": reorder,
            "overhead": overhead,
            "trace": trace,
            "rate_at": list(rate_at),
            "delay_at": list(delay_at),
            **parameters,
        }
        self._path = NativePath(there, there if back is None else dict(back), seed)

    def send(self, end: str, content: Any, *, bytes: int, now: float, ecn: str = "not-ect", flow: int = 0) -> None:
        """Sends `content`, which may be anything, from an end as a datagram of `bytes` bytes, headers included.

        `ecn` is "not-ect", "ect0", "ect1" or "ce"; `flow` a number for disciplines that distinguish flows.
        """
        self._path.send(end, content, bytes, now, ecn, flow)

    def deadline(self) -> float | None:
        """When something happens next on the path: poll then. None if nothing is under way."""
        return self._path.deadline()

    def poll(self, now: float) -> Arrival | None:
        """The next datagram that has arrived at either end by `now`; None if there is no more."""
        return self._path.poll(now)

    def waiting(self, end: str) -> int:
        """Packets in the queue, of those that an end has sent."""
        return self._path.waiting(end)

    def report(self, end: str, window: tuple[float, float] | None = None) -> PathReport:
        """Delays, drops, marks and utilisation of what an end has sent, in all or from one time to another."""
        return self._path.report(end, window)

    def chart(self, end: str) -> str:
        """The queueing delay of what an end has sent over time, as text."""
        return self._path.chart(end)

    def svg(self, end: str) -> str:
        """The same as an SVG file."""
        return self._path.svg(end)

    def _repr_svg_(self) -> str:
        return self.svg("a")

    def digest(self) -> int:
        """A hash of all events so far: equal if two runs were alike."""
        return self._path.digest()

    def __str__(self) -> str:
        return str(self._path)
