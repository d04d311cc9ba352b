"""Disciplines written in Python."""

from __future__ import annotations

import collections
import copy
import enum
import functools
import os
import random
import subprocess
import sys
import threading
import types
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aqmkit
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from aqmkit import DROP, MARK, PASS

from .conftest import small
from .red import Red


def columns(table: pa.Table, label: str) -> pa.Table:
    rows = table.filter(pc.equal(table["aqm"], label))
    left_out = ("engine.", ".drops.", ".aqm.")
    keep = [c for c in rows.column_names if c != "aqm" and not any(part in c for part in left_out)]
    return rows.select(keep)


def columns_of_avg(table: pa.Table) -> dict[str, list[float]]:
    rows = {label: table.filter(pc.equal(table["aqm"], label)) for label in ("red", "Red")}
    return {label: part["links.bottleneck.aqm.avg"].to_pylist() for label, part in rows.items()}


def test_red_in_python_decides_as_the_built_in_one() -> None:
    # The queue's stream of random numbers is the same for every discipline, so equal decisions are equal tables.
    built_in = {"name": "red", "limit": 60, "min": 5, "max": 20}
    results = small(sweep={"aqm": [built_in, Red()]}, repeat=2, duration="20s").run(progress=False)
    assert results.axes == {"aqm": ["red", "Red"]}
    for name in ("runs", "series", "flows", "exchanges"):
        table = getattr(results, name)
        assert columns(table, "red").equals(columns(table, "Red")), name
    averages = columns_of_avg(results.series)
    # The idle decay is a power, whose last bit differs between mathematical libraries.
    np.testing.assert_allclose(averages["Red"], averages["red"], rtol=1e-12)
    drops = results.runs["links.bottleneck.drop_rate"].to_pylist()
    assert min(drops) > 0.001, "without drops there is nothing to compare"


def test_another_weight_decides_otherwise() -> None:
    results = small(sweep={"aqm": [{"name": "red", "limit": 60, "min": 5, "max": 20}, Red(weight=0.02)]}).run(progress=False)
    assert not columns(results.series, "red").equals(columns(results.series, "Red"))


class Probe(aqmkit.Aqm):
    """Looks at everything, and notes what is not as promised."""

    limit = 20
    tick = "100ms"

    def __init__(self) -> None:
        self.wrong = 0.0
        self.ticks = 0.0
        self.empty = 0.0
        self.discarded = 0.0
        self.last_ns = 0

    def on_start(self, link: aqmkit.Link) -> None:
        assert link.rate_bps == 5_000_000
        assert link.classes == ["tcp"]

    def look(self, packet: aqmkit.Packet, queue: aqmkit.Queue, now_ns: int) -> None:
        good = (
            packet.traffic_class == "tcp"
            and 40 <= packet.bytes <= 1500
            and queue.packets <= 20
            and queue.bytes <= 20 * 1500
            and now_ns >= self.last_ns
        )
        self.wrong += not good
        self.last_ns = now_ns

    def on_arrival(self, packet: aqmkit.Packet, queue: aqmkit.Queue, env: aqmkit.Env) -> None:
        self.look(packet, queue, env.now_ns)
        self.wrong += packet.sojourn_s != 0 or not 0 <= env.random() < 1 or env.now_s != env.now_ns / 1e9

    def on_departure(self, packet: aqmkit.Packet, queue: aqmkit.Queue, env: aqmkit.Env) -> None:
        self.look(packet, queue, env.now_ns)
        self.wrong += not 0 <= packet.sojourn_s < 1 or queue.full

    def on_discard(self, packet: aqmkit.Packet, queue: aqmkit.Queue, now_ns: int) -> None:
        self.discarded += 1

    def on_empty(self, now_ns: int) -> None:
        self.empty += 1

    def on_tick(self, queue: aqmkit.Queue, now_ns: int) -> None:
        self.ticks += 1
        self.wrong += now_ns % 100_000_000 != 0

    def gauges(self) -> dict[str, float]:
        return {"wrong": self.wrong, "ticks": self.ticks, "empty": self.empty, "discarded": self.discarded}


def test_hooks_are_called_with_what_they_promise() -> None:
    series = small(sweep={"aqm": [Probe]}).run(progress=False).series
    last = {c.rpartition(".")[2]: series[c].to_pylist()[-1] for c in series.column_names if ".aqm." in c}
    assert last["wrong"] == 0
    assert 35 <= last["ticks"] <= 50
    assert last["empty"] > 0
    assert last["discarded"] > 0


class Marker(aqmkit.Aqm):
    """Marks every fiftieth packet."""

    def __init__(self, verdict: aqmkit.Verdict = MARK) -> None:
        self.limit = 100
        self.verdict = verdict
        self.seen = 0

    def on_departure(self, packet: aqmkit.Packet, queue: aqmkit.Queue, env: aqmkit.Env) -> aqmkit.Verdict:
        self.seen += 1
        return self.verdict if self.seen % 50 == 0 else PASS


@pytest.mark.parametrize("ecn", [True, False])
def test_a_mark_on_a_packet_that_cannot_carry_it_is_a_drop(ecn: bool) -> None:
    runs = small(sweep={"aqm": [Marker()]}, transport={"ecn": ecn}).run(progress=False).runs
    marked, dropped = (runs[f"links.bottleneck.{rate}_rate"][0].as_py() for rate in ("mark", "drop"))
    assert (marked > 0.005) == ecn
    assert (dropped > 0.005) == (not ecn)


class Broken(aqmkit.Aqm):
    def on_arrival(self, packet: aqmkit.Packet, queue: aqmkit.Queue, env: aqmkit.Env) -> aqmkit.Verdict:
        raise LookupError("not today")


class Confused(aqmkit.Aqm):
    def on_arrival(self, packet: aqmkit.Packet, queue: aqmkit.Queue, env: aqmkit.Env) -> aqmkit.Verdict:
        return "drop"  # type: ignore[return-value]


def test_an_exception_in_a_hook_ends_the_run_and_is_raised() -> None:
    with pytest.raises(LookupError, match="not today") as caught:
        small(sweep={"aqm": [Broken()]}).run(progress=False)
    assert caught.traceback[-1].name == "on_arrival"
    with pytest.raises(TypeError, match="Verdict"):
        small(sweep={"aqm": [Confused()]}).run(progress=False)


def test_what_a_broken_discipline_let_pass_is_not_kept() -> None:
    experiment = small(sweep={"aqm": ["fifo", Broken()]})
    with pytest.raises(LookupError):
        experiment.run("out", progress=False, jobs=1)
    assert aqmkit.read("out").runs["aqm"].to_pylist() in (["fifo"], [])


def test_results_are_kept_under_the_code_and_the_parameters() -> None:
    assert Red().identity() == Red().identity()
    assert Red(max_p=0.2).identity() != Red().identity()

    class Other(Red):
        def gauges(self) -> dict[str, float]:
            return {"avg": 2 * self.avg}

    assert Other().identity() != Red().identity()
    assert small(sweep={"aqm": [Red()]}).hash == small(sweep={"aqm": [Red()]}).hash
    assert small(sweep={"aqm": [Red()]}).hash != small(sweep={"aqm": [Red(max_p=0.2)]}).hash


def capped(limit: int) -> aqmkit.Aqm:
    class Cap(aqmkit.Aqm):
        """Holds as many packets as the function says that made it."""

        def on_arrival(self, packet: aqmkit.Packet, queue: aqmkit.Queue, env: aqmkit.Env) -> aqmkit.Verdict:
            return DROP if queue.packets > limit else PASS

    return Cap()


class Asking(aqmkit.Aqm):
    """Asks whatever it was given."""

    def __init__(self, ask: object) -> None:
        self.ask = ask

    def on_arrival(self, packet: aqmkit.Packet, queue: aqmkit.Queue, env: aqmkit.Env) -> aqmkit.Verdict:
        return PASS


def above(limit: int) -> Callable[[int], bool]:
    return lambda packets: packets > limit


def test_a_closure_is_part_of_what_results_are_kept_under() -> None:
    delays = [
        aqmkit.compare([capped(n)], rate="5mbit", bulk=3, duration="4s", warmup="10s", out="one place", progress=False)
        .runs["links.bottleneck.queue_delay_ms.mean"][0].as_py()
        for n in (5, 40)
    ]  # fmt: skip
    assert delays[1] > 2 * delays[0]
    assert capped(5).identity() == capped(5).identity()
    assert Asking(above(1)).identity() == Asking(above(1)).identity()
    assert Asking(above(1)).identity() != Asking(above(2)).identity()
    assert Asking([{"deep": above(1)}]).identity() != Asking([{"deep": above(2)}]).identity()
    assert Asking(functools.partial(above, 1)).identity() != Asking(functools.partial(above, 2)).identity()


THRESHOLD = 10


def over_threshold(packets: int) -> bool:
    return packets > THRESHOLD


def test_globals_and_what_they_lead_to_are_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asking = Asking(over_threshold)
    before = asking.identity()
    monkeypatch.setitem(globals(), "THRESHOLD", 20)
    assert asking.identity() != before
    helpers = types.ModuleType("helpers_of_mine")
    vars(helpers)["threshold"] = 10
    code: dict[str, Any] = {"helpers": helpers}
    exec("def ask(packets): return packets > helpers.threshold", code)
    before = Asking(code["ask"]).identity()
    vars(helpers)["unused"] = 1
    assert Asking(code["ask"]).identity() == before
    vars(helpers)["threshold"] = 20
    assert Asking(code["ask"]).identity() != before


def test_code_that_claims_to_be_installed_is_looked_at_all_the_same() -> None:
    found = []
    for limit in (10, 20):
        # Without a name, `exec` makes functions of the module builtins.
        code: dict[str, Any] = {}
        exec(f"class Ask:\n    def over(self, packets): return packets > {limit}", code)
        assert code["Ask"].__module__ == "builtins"
        found.append(Asking(code["Ask"]()).identity())
    assert found[0] != found[1]


class Slotted:
    __slots__ = ("limit",)

    def __init__(self, limit: int) -> None:
        self.limit = limit


class Level(enum.Enum):
    LOW = 1
    HIGH = 2


@pytest.mark.parametrize(
    "make",
    [Slotted, random.Random, np.random.default_rng, np.arange, lambda n: {n, "a", "b"}, lambda n: frozenset({(n, Level.LOW)}),
     Level, lambda n: Fraction(n, 7), lambda n: bytearray([n]), lambda n: collections.deque([1, 2, 3], maxlen=n + 2)],
)  # fmt: skip
def test_state_that_attributes_do_not_show_is_part_of_it(make: Callable[[int], object]) -> None:
    assert Asking(make(1)).identity() == Asking(make(1)).identity()
    assert Asking(make(1)).identity() != Asking(make(2)).identity()


def test_cycles_and_empty_cells_end() -> None:
    def knot(start: int) -> Callable[[int], int]:
        def factorial(n: int) -> int:
            return start if n < 2 else n * factorial(n - 1)

        return factorial

    def late() -> Callable[[], int]:
        def ask() -> int:
            return missing

        if not TYPE_CHECKING:
            return ask
        missing = 1
        return ask

    around: list[object] = []
    around.append(around)
    for make in (lambda: knot(1), late, lambda: around):
        assert Asking(make()).identity() == Asking(make()).identity()
    assert Asking(knot(1)).identity() != Asking(knot(2)).identity()
    asking = Asking(None)
    asking.ask = asking
    assert asking.identity() == asking.identity()


def test_copying_and_other_processes_change_nothing() -> None:
    code = "from tests.test_discipline import *; print(Asking([{'a', 'b'}, Level.LOW, above(1), Slotted(1)]).identity())"
    found = set()
    for seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[1])}
        found.add(subprocess.run([sys.executable, "-c", code], env=env, check=True, capture_output=True, text=True).stdout)
    assert len(found) == 1
    asking = Asking(Slotted(1))
    assert copy.deepcopy(asking).identity() == asking.identity()


def iter_of_nothing() -> Iterator[int]:
    yield from ()


def test_what_cannot_be_seen_is_refused() -> None:
    for hidden in (threading.Lock(), iter_of_nothing()):
        with pytest.raises(TypeError, match=r"Asking\.ask is a .*whose state cannot be inspected.*identity\(\)"):
            small(sweep={"aqm": [Asking(hidden)]})

    def ask() -> bool:
        return lock.locked()

    lock = threading.Lock()
    with pytest.raises(TypeError, match=r"lock in Asking\.ask is a lock"):
        Asking(ask).identity()


def test_a_method_that_is_no_hook_is_warned_of() -> None:
    with pytest.warns(UserWarning, match=r"Slip\.on_arival is not a hook.*did you mean on_arrival\?") as caught:

        class Slip(aqmkit.Aqm):
            def on_arival(self, packet: aqmkit.Packet, queue: aqmkit.Queue, env: aqmkit.Env) -> aqmkit.Verdict:
                return DROP

    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="Slip has no hook, and so is a plain FIFO") as caught:
        small(sweep={"aqm": [Slip()]})
    assert caught[0].filename == __file__.replace("test_discipline", "conftest"), "where the experiment is made"
    lone = Asking(None)
    vars(lone)["on_departure"] = lambda packet, queue, env: DROP
    with pytest.warns(UserWarning, match="on_departure is an attribute of the object"):
        lone.as_table()


def test_a_helper_and_an_heir_are_not_warned_of() -> None:
    class Heir(Red):
        ready = True

        def off_peak(self) -> bool:
            return True

        def _on_peak(self) -> bool:
            return False

    assert small(sweep={"aqm": [Heir()]}).axes == {"aqm": ["Heir"]}


@pytest.mark.parametrize(
    ("attribute", "value", "right"),
    [("limit", None, "packets"), ("limit", True, "packets"), ("tick", 0.01, "time with its unit"), ("label", 7, "a text")],
)
def test_attributes_that_no_queue_can_use_are_refused(attribute: str, value: object, right: str) -> None:
    red = Red()
    setattr(red, attribute, value)
    with pytest.raises(TypeError, match=f"Red: {attribute} cannot be {value!r}; it must be .*{right}"):
        small(sweep={"aqm": [red]})


def test_a_limit_may_be_a_number_of_numpy() -> None:
    red = Red()
    vars(red)["limit"] = np.int64(30)
    assert red.as_table()["limit"] == 30
    assert len(small(sweep={"aqm": [red]}).plan) == 1


def test_it_stands_beside_built_in_ones() -> None:
    results = aqmkit.compare(["fifo", Red(), "pie"], rate="5mbit", bulk=2, duration="3s", warmup="10s", progress=False)
    assert results.axes["aqm"] == ["fifo", "Red", "pie"]
    assert DROP != PASS
