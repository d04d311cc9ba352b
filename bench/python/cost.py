"""The CPU time of a packet through a discipline in Python, beside that through `fifo`.

    python bench/python/cost.py

For each discipline it prints the least of three runs of five TCP flows on 10 Mbit/s.
"""

from __future__ import annotations

import tempfile

import aqmkit


class OneHook(aqmkit.Aqm):
    """Lets everything through."""

    limit = 1000

    def on_arrival(self, packet: aqmkit.Packet, queue: aqmkit.Queue, env: aqmkit.Env) -> aqmkit.Verdict:
        """Looks at nothing."""
        return aqmkit.PASS


class TwoHooks(OneHook):
    """Also looks at the time that packets waited, as CoDel does."""

    def on_departure(self, packet: aqmkit.Packet, queue: aqmkit.Queue, env: aqmkit.Env) -> aqmkit.Verdict:
        """Drops what waited for more than a second."""
        return aqmkit.DROP if packet.sojourn_s > 1 else aqmkit.PASS


def cost(discipline: str | type[aqmkit.Aqm], seed: int) -> float:
    """Seconds of CPU time for a packet."""
    with tempfile.TemporaryDirectory() as directory:
        experiment = aqmkit.comparison(discipline, rate="10mbit", rtt="50ms", bulk=5, seed=seed)
        engine = experiment.run(directory, jobs=1, progress=False).json()["runs"][0]["engine"]
    return float(engine["cpu_s"]) / engine["packets"]


def main() -> None:
    """Prints a line for each discipline."""
    base = min(cost("fifo", seed) for seed in (1, 2, 3))
    print(f"fifo      {1e9 * base:6.0f} ns")
    for discipline in (OneHook, TwoHooks):
        least = min(cost(discipline, seed) for seed in (1, 2, 3))
        print(f"{discipline.__name__:9} {1e9 * least:6.0f} ns, {least / base:.0f} times")


if __name__ == "__main__":
    main()
