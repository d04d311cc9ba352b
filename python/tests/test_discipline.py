"""Disciplines written in Python."""

from __future__ import annotations

import copy
import enum
import os
import subprocess
import sys
import threading
from pathlib import Path

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


class Cap(aqmkit.Aqm):
    """Holds as many packets as a global says, which its version stands for."""

    limit = 100
    version: int | str | None = 1

    def __init__(self, parameter: object = None) -> None:
        self.parameter = parameter

    def on_arrival(self, packet: aqmkit.Packet, queue: aqmkit.Queue, env: aqmkit.Env) -> aqmkit.Verdict:
        return DROP if queue.packets > THRESHOLD else PASS


class Unversioned(Cap):
    version = None


class Second(Cap):
    version = 2


THRESHOLD = 5


def delay_of(discipline: aqmkit.Aqm) -> float:
    """The mean queueing delay, from runs in one place."""
    results = aqmkit.compare([discipline], rate="5mbit", bulk=3, duration="4s", warmup="10s", repeat=1, out="one", progress=False)
    return float(results.runs["links.bottleneck.queue_delay_ms.mean"][0].as_py())


def test_without_a_version_changed_code_runs_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Unversioned().identity() is None
    before = delay_of(Unversioned())
    monkeypatch.setitem(globals(), "THRESHOLD", 40)
    assert delay_of(Unversioned()) > 2 * before


def test_with_a_version_runs_are_reused_until_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    before = delay_of(Cap())
    monkeypatch.setitem(globals(), "THRESHOLD", 40)
    assert delay_of(Cap()) == before, "from the store: the version says that nothing changed"
    assert delay_of(Second()) > 2 * before


class Level(enum.Enum):
    LOW = 1
    HIGH = 2


PARAMETERS = [1, 2, 1.5, "1", b"1", True, None, [1, 2], [2, 1], {"a": 1}, {"a": 2}, {1, 2}, Level.LOW, Level.HIGH, MARK, DROP]


def test_parameters_are_part_of_what_versioned_runs_are_kept_under() -> None:
    names = [Cap(parameter).identity() for parameter in PARAMETERS]
    assert len(set(names)) == len(PARAMETERS)
    assert names == [Cap(copy.deepcopy(parameter)).identity() for parameter in PARAMETERS]
    assert Cap(np.float64(1.5)).identity() == Cap(1.5).identity()
    assert Cap().identity() != Second().identity()
    assert small(sweep={"aqm": [Cap(1)]}).hash == small(sweep={"aqm": [Cap(1)]}).hash
    assert small(sweep={"aqm": [Cap(1)]}).hash != small(sweep={"aqm": [Cap(2)]}).hash


class Slotted(Cap):
    __slots__ = ("hidden",)

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden


def test_parameters_in_slots_count() -> None:
    assert Slotted(1).identity() == Slotted(1).identity()
    assert Slotted(1).identity() != Slotted(2).identity()


def test_other_processes_find_the_same_runs() -> None:
    code = "from tests.test_discipline import *; print(Cap([{'a', 'b'}, Level.LOW]).identity())"
    found = set()
    for seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[1])}
        found.add(subprocess.run([sys.executable, "-c", code], env=env, check=True, capture_output=True, text=True).stdout)
    assert len(found) == 1


@pytest.mark.parametrize("hidden", [threading.Lock(), lambda: 5, np.arange(3), {"deep": [object()]}])
def test_a_version_does_not_cover_what_is_no_plain_value(hidden: object) -> None:
    with pytest.raises(TypeError, match=r"Cap\.parameter.* is a .*, which a version does not cover.*leave out version"):
        small(sweep={"aqm": [Cap(hidden)]})


def test_a_version_is_a_number_or_a_text() -> None:
    wrong = Cap()
    wrong.version = True
    with pytest.raises(TypeError, match="version cannot be True; it must be a number"):
        wrong.as_table()


class Asking(aqmkit.Aqm):
    """Asks whatever it was given."""

    def __init__(self, ask: object) -> None:
        self.ask = ask

    def on_arrival(self, packet: aqmkit.Packet, queue: aqmkit.Queue, env: aqmkit.Env) -> aqmkit.Verdict:
        return PASS


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
