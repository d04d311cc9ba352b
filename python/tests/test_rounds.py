"""Comparisons under as many seeds as the means need, as on the command line."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from itertools import pairwise
from typing import Any

import aqmkit
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from aqmkit._progress import Bar

from .red import Red

#: A comparison of a few seconds whose means vary with the seed.
BUSY: dict[str, Any] = {"rate": "2mbit", "bulk": 1, "web": 0.3, "duration": "6s"}


def seeds(results: aqmkit.Results) -> int:
    return len(set(results.runs["seed"].to_pylist()))


def measured(table: pa.Table) -> pa.Table:
    """What was measured, without what the runs cost."""
    kept = table.drop_columns([name for name in table.column_names if name.startswith("engine.")])
    if "metric" in kept.column_names:
        kept = kept.filter(pc.invert(pc.starts_with(kept["metric"], "engine.")))
    return kept


def compared_by_the_command(*words: str) -> tuple[aqmkit.Results, str]:
    line = [sys.executable, "-m", "aqmkit", "compare", *words, "--out", "there"]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    return aqmkit.read("there"), done.stdout


def test_a_comparison_has_the_seeds_and_numbers_of_the_command() -> None:
    words = "fifo pie --rate 2mbit --bulk 1 --web 0.3 --duration 6s --warmup 4s"
    told, text = compared_by_the_command(*words.split())
    results = aqmkit.compare(["fifo", "pie"], **BUSY, warmup="4s", progress=False)
    assert seeds(results) == seeds(told) > 10
    assert results.hash == told.hash
    for name in ("runs", "means", "series", "exchanges"):
        assert measured(getattr(results, name)).equals(measured(getattr(told, name))), name
    assert results.notes
    as_in_python = re.sub(r"--precision (\d+)%", lambda share: f"precision={int(share[1]) / 100}", "\n".join(told.notes))
    assert "\n".join(results.notes) == as_in_python.replace("--repeat ", "repeat=").replace("--", "")
    assert " ".join(told.notes[0].split()) in " ".join(text.split())
    assert " ".join(results.notes[0].split()) in " ".join(str(results).split())


def test_a_warm_up_is_lengthened_as_by_the_command() -> None:
    words = "fifo --rate 1mbit --bulk 1 --limit 300 --duration 60s"
    told, _ = compared_by_the_command(*words.split())
    slow: dict[str, Any] = {"rate": "1mbit", "bulk": 1, "limit": 300, "duration": "60s", "progress": False}
    results = aqmkit.compare("fifo", **slow)
    assert results.notes[0].startswith("The warm-up is ")
    assert results.notes[0].endswith("before, the links had not settled (warmup sets it).")
    assert (results.hash, results.windows) == (told.hash, told.windows)
    assert measured(results.runs).equals(measured(told.runs))
    given = aqmkit.compare("fifo", **slow, warmup="10s")
    assert "A longer warmup or duration helps." in given.notes[0]


def test_repeat_fixes_the_number_of_seeds() -> None:
    results = aqmkit.compare(["fifo", "pie"], **BUSY, repeat=3, progress=False)
    assert seeds(results) == 3
    assert results.planned == results.done == 6
    assert not [note for note in results.notes if "seeds" in note]


def test_a_precision_is_a_share() -> None:
    flows: dict[str, Any] = {"rate": "2mbit", "bulk": 3, "duration": "6s", "progress": False}
    usual = aqmkit.compare("fifo", **flows)
    loose = aqmkit.compare("fifo", **flows, precision="60%")
    assert seeds(loose) < seeds(usual)
    assert seeds(aqmkit.compare("fifo", **flows, precision=0.6)) == seeds(loose)
    assert not [note for note in loose.notes if "seeds" in note]
    for wrong in (0, -0.1, 2, "5 parts"):
        with pytest.raises(aqmkit.ExperimentError, match=f'precision cannot be "{wrong}"'):
            aqmkit.compare(["fifo"], precision=wrong)
    with pytest.raises(ValueError, match="repeat and precision cannot both be given"):
        aqmkit.compare(["fifo"], repeat=3, precision=0.1)


def test_a_discipline_in_python_costs_more_of_the_budget() -> None:
    # The budget counts the packets that the link could carry: 0.8 million in a run. In Python they count as 17 million.
    link: dict[str, Any] = {"rate": "10gbit", "cbr": "1mbit", "duration": "800ms", "warmup": "200ms", "progress": False}
    assert seeds(aqmkit.compare("fifo", **link)) == 10
    assert seeds(aqmkit.compare(Red, **link)) == 3


def test_progress_says_what_a_round_is_for() -> None:
    told: list[tuple[float, int, int, str]] = []
    experiment = aqmkit.comparison(["fifo", "pie"], **BUSY)
    experiment._plan.run_until_known("out", None, None, False, lambda *at: told.append(at))
    rounds = list(dict.fromkeys((total, why) for _, _, total, why in told if total))
    assert rounds[0] == (20, "")
    assert all(re.fullmatch(r".* of (fifo|pie) is .* \(aim ±5 %\), ", why) for _, why in rounds[1:])
    assert [total for total, _ in rounds] == sorted({total for total, _ in rounds})
    assert all(before <= after for before, after in pairwise(told) if before[2:] == after[2:])
    assert told[-1][:3] == (rounds[-1][0], rounds[-1][0], rounds[-1][0])


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_takes_the_number_of_runs_from_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    with Bar(0) as bar:
        bar.at(0.0, 0, 0, "")
        bar.at(4.0, 4, 16, "")
        assert "4.0 of 16 runs" in str(bar._bar)


def test_the_bar_follows_the_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    with Bar(2) as bar:
        bar.at(2.0, 2, 2, "")
        assert str(bar._bar).startswith("100%|")
        bar.at(5.0, 5, 8, "drops of pie is 2 ±1 % (aim ±5 %), ")
        assert str(bar._bar).startswith("drops of pie is 2 ±1 % (aim ±5 %),  62%|")
        assert "5.0 of 8 runs" in str(bar._bar)
