"""Loading, building and changing experiments."""

from __future__ import annotations

import pickle
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import aqmkit
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .conftest import small
from .red import Red


def test_every_experiment_loads() -> None:
    assert "cbt/blast" in aqmkit.experiments()
    for name in aqmkit.experiments():
        assert aqmkit.load(name, scale="quick").id == name


def test_an_experiment_in_python_is_the_file() -> None:
    text = """
title = "A small one"
duration = "4s"
warmup = "1s"
[topology]
rate = "5mbit"
delays = "40ms"
[sweep]
aqm = ["fifo", { name = "red", min = 5, max = 20, limit = 60 }]
[[traffic]]
kind = "bulk"
class = "tcp"
flows = 2
[[traffic]]
kind = "web"
class = "tcp"
sessions = 5
"""
    assert aqmkit.Experiment.parse(text).hash == small().hash
    Path("mine.toml").write_text(text)
    assert aqmkit.load("mine.toml").hash == small().hash
    assert [run.labels["aqm"] for run in small().plan] == ["fifo", "red"]


@pytest.mark.parametrize(
    ("keys", "what", "help"),
    [
        ({"duration": 5}, "duration", "a time needs a unit"),
        ({"topology": {"rat": "5mbit"}}, "rat is not", "did you mean rate"),
        ({"sweep": {"aqm": ["codle"]}}, "there is no discipline", "did you mean codel"),
        ({"sweep": {"aqm": [{"name": "red", "min": 50, "max": 5}]}}, "min of red cannot be 50", "max"),
    ],
)
def test_what_is_wrong_is_said_as_the_command_says_it(keys: dict[str, Any], what: str, help: str) -> None:
    with pytest.raises(aqmkit.ExperimentError) as caught:
        small(**keys)
    error = caught.value
    assert what in error.what
    assert help in error.help
    assert error.file == "experiment.toml"
    assert isinstance(error.line, int)
    assert error.what in str(error)


def test_the_text_of_an_error_is_the_command_s() -> None:
    text = small().text.replace('rate = "5mbit"', "rate = 5")
    Path("wrong.toml").write_text(text)
    done = subprocess.run([sys.executable, "-m", "aqmkit", "run", "wrong.toml"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    with pytest.raises(aqmkit.ExperimentError) as caught:
        aqmkit.load("wrong.toml")
    # Word by word: the command breaks lines at the width of its terminal.
    assert str(caught.value).split() == done.stderr.split()


def test_changes_are_those_of_set() -> None:
    experiment = aqmkit.load("cbt/blast", set={"topology.rate": "20mbit", "aqm": "red"}, seed=7, repeat=2, scale="quick")
    assert experiment.axes["aqm"] == ["red"]
    assert (experiment.seed, experiment.repeat, experiment.scale) == (7, 2, "quick")
    again = experiment.changed(seed=8)
    assert (again.seed, again.axes) == (8, experiment.axes)
    with pytest.raises(aqmkit.ExperimentError, match="rat"):
        aqmkit.load("cbt/blast", set={"topology.rat": "20mbit"})


def test_a_grid_becomes_axes() -> None:
    swept = small().swept({"aqm": ["pie"], "topology.rate": ["2mbit", "4mbit"]})
    assert swept.axes == {"aqm": ["pie"], "topology.rate": ["2mbit", "4mbit"]}
    assert len(swept.plan) == 2


def test_an_experiment_can_be_pickled() -> None:
    experiment = small().changed(seed=3)
    again = pickle.loads(pickle.dumps(experiment))
    assert (again.hash, again.seed, again.text) == (experiment.hash, 3, experiment.text)


@given(
    rate=st.integers(1, 10_000).map(lambda n: f"{n}kbit"),
    limit=st.integers(1, 1000),
    max_p=st.floats(0, 1, exclude_min=True),
    seed=st.integers(0, 2**62),
    title=st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=30),
)
@settings(max_examples=60, deadline=None)
def test_values_arrive_as_they_are_written(rate: str, limit: int, max_p: float, seed: int, title: str) -> None:
    red = {"name": "red", "limit": limit, "max_p": max_p}
    experiment = small(title=title, topology={"rate": rate, "delays": "40ms"}, sweep={"aqm": [red]}, seed=seed)
    assert (experiment.title, experiment.seed) == (title, seed)
    other = small().swept({"aqm": [red]}).changed(set={"topology.rate": rate, "title": title}, seed=seed)
    assert (other.title, other.hash) == (title, experiment.hash)


@pytest.mark.parametrize(
    ("disciplines", "error", "message"),
    [
        ([], ValueError, "disciplines is empty.*write names"),
        ([None], TypeError, r"disciplines\[0\] cannot be None; write names"),
        (["fifo", {"name": "red"}], TypeError, r"disciplines\[1\] cannot be {'name': 'red'}"),
        (None, TypeError, "disciplines cannot be None; write names"),
        ("rde", aqmkit.ExperimentError, 'there is no discipline "rde"'),
        (["--help"], aqmkit.ExperimentError, 'there is no discipline "--help"'),
    ],
)
def test_what_cannot_be_compared_is_refused(disciplines: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        aqmkit.compare(disciplines)


class Versioned(Red):
    version = 1


def test_a_single_discipline_need_not_be_in_a_list() -> None:
    assert aqmkit.comparison("red:max=40").hash == aqmkit.comparison(["red:max=40"]).hash
    assert aqmkit.comparison(Versioned()).hash == aqmkit.comparison([Versioned()]).hash
    assert aqmkit.comparison(Red).axes == {"aqm": ["Red"]}


@pytest.mark.parametrize(
    ("arguments", "what", "help"),
    [
        ({"rate": "10mb"}, 'rate cannot be "10mb"', "mbit"),
        ({"rtt": 50}, 'rtt cannot be "50"', "needs a unit"),
        ({"bulk": 2.5}, 'bulk cannot be "2.5"', "digit"),
        ({"bulk": -1}, 'bulk cannot be "-1"', ""),
        ({"limit": "many"}, 'limit cannot be "many"', "90kb"),
        ({"http": 90}, "http=90 is not a load", "fraction"),
        ({"transport": "linux9"}, "linux9", "linux"),
    ],
)
def test_arguments_are_called_as_in_python(arguments: dict[str, Any], what: str, help: str) -> None:
    with pytest.raises(aqmkit.ExperimentError) as caught:
        aqmkit.compare(["fifo"], **arguments)
    error = caught.value
    assert what in error.what
    assert help in error.help
    assert "--" not in str(error)


def test_a_directory_that_cannot_be_written_to_is_called_as_in_python() -> None:
    Path("taken").write_text("")
    with pytest.raises(aqmkit.ExperimentError, match="taken") as caught:
        small().run("taken", progress=False)
    assert caught.value.help == "choose another directory with out="
    assert "--" not in str(caught.value)


def test_numbers_that_cannot_be_are_refused() -> None:
    for jobs in (-1, 0, 70_000):
        with pytest.raises(ValueError, match=f"jobs cannot be {jobs}; it must be a whole number from 1 to 65535"):
            aqmkit.compare(["fifo"], jobs=jobs)
        with pytest.raises(ValueError, match=f"jobs cannot be {jobs}"):
            aqmkit.sweep(small(), out="out", jobs=jobs)
    with pytest.raises(TypeError, match=r"jobs cannot be 1\.5"):
        small().run(jobs=1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="seed cannot be -1"):
        aqmkit.load("cbt/blast", seed=-1)
    with pytest.raises(ValueError, match="repeat cannot be 0"):
        aqmkit.compare(["fifo"], repeat=0)


def test_a_run_that_no_packet_passed_is_warned_of() -> None:
    with pytest.warns(UserWarning, match=r"no packet passed.* of 2 of 2 runs.*longer warmup") as caught:
        aqmkit.compare(["fifo", Red()], bulk=1, rtt="2s", duration="200ms", warmup="100ms", repeat=1, progress=False)
    assert caught[0].filename == __file__
    line = "compare fifo --bulk 1 --rtt 2s --duration 200ms --warmup 100ms --out told"
    done = subprocess.run([sys.executable, "-m", "aqmkit", *line.split()], capture_output=True, text=True, check=True)
    assert "warning: no packet passed" in done.stderr


def test_a_home_link_is_compared_as_on_the_command_line() -> None:
    made = aqmkit.comparison(
        ["fifo", "red", Red()], rate="20mbit", up="5mbit", rtt="30ms", bulk=4, upload=1, cc=["cubic"],
        ecn=True, sweep={"red.max": [20, 40]},
    )  # fmt: skip
    assert made.axes["aqm"][:3] == ["fifo", "red max=20", "red max=40"]
    assert len(made.axes["aqm"]) == 4
    keys = tomllib.loads(made.text)
    assert [link["name"] for link in keys["topology"]["links"]] == ["down", "up"]
    assert keys["transport"] == {"profile": "linux-6", "congestion": "cubic", "ecn": True}
    assert all(queue["limit"] == "1000p" for queue in keys["sweep"]["aqm"][:3])


def test_each_comparison_has_its_own_directory() -> None:
    for bulk in (1, 2):
        aqmkit.compare(["fifo"], rate="1mbit", bulk=bulk, duration="1s", warmup="10s", progress=False)
    places = sorted(Path("results/compare").iterdir())
    assert len(places) == 2
    assert all(place.name.startswith("fifo-") for place in places)
