"""Loading, building and changing experiments."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import aqmkit
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .conftest import small


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
        ({"sweep": {"aqm": ["codle"]}}, "no discipline is called", "did you mean codel"),
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
