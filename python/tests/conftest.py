"""What the tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aqmkit
import matplotlib as mpl
import pytest

mpl.use("agg")


def small(**changes: Any) -> aqmkit.Experiment:
    """Two TCP flows for a few seconds over a slow link."""
    keys: dict[str, Any] = {
        "title": "A small one",
        "duration": "4s",
        "warmup": "1s",
        "topology": {"rate": "5mbit", "delays": "40ms"},
        "traffic": [{"kind": "bulk", "class": "tcp", "flows": 2}, {"kind": "web", "class": "tcp", "sessions": 5}],
        "sweep": {"aqm": ["fifo", {"name": "red", "min": 5, "max": 20, "limit": 60}]},
    }
    return aqmkit.Experiment(**{**keys, **changes})


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path) -> Iterator[None]:
    """Every test has a directory of its own, where ``results/`` goes."""
    before = Path.cwd()
    os.chdir(tmp_path)
    yield
    os.chdir(before)


@pytest.fixture(scope="session")
def five(tmp_path_factory: pytest.TempPathFactory) -> aqmkit.Results:
    """A comparison of five disciplines with web pages, that many tests look at."""
    return aqmkit.compare(
        ["fifo", "red", "codel", "pie", "fq-codel"],
        rate="5mbit", rtt="40ms", bulk=4, http=0.4, cbr="500kbit", duration="12s", warmup="2s", repeat=2,
        out=tmp_path_factory.mktemp("five"), progress=False,
    )  # fmt: skip
