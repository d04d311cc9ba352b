"""Report cards and advice."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import aqmkit
import pytest
from aqmkit import __main__ as command
from aqmkit import _aqmkit

from .red import Red

#: Experiments of a card that end within seconds.
SHORT = ("tcp-friendly", "aggressive")


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A card of two experiments, each of some seconds."""
    whole = _aqmkit.card_plan

    def shortened(disciplines: Any, quick: bool) -> tuple[Path, list[tuple[str, str, str]]]:
        directory, planned = whole(disciplines, quick)
        kept = []
        for name, file, text in planned:
            if name in SHORT:
                keys = {**tomllib.loads(text), "duration": "2s", "warmup": "3s", "repeat": 1}
                keys.pop("quick", None)
                kept.append((name, file, _document(keys)))
        return directory, kept

    monkeypatch.setattr(_aqmkit, "card_plan", shortened)


def _document(keys: dict[str, Any]) -> str:
    from aqmkit import _toml

    return _toml.document(keys)


def test_a_card_has_disciplines_of_both_kinds(short: None) -> None:
    card = aqmkit.characterize([Red, "codel:target=10ms"], progress=False, out="card")
    assert card.disciplines == ["Red", "codel:target=10ms", "fifo", "fq-codel"]
    verdicts = card.verdicts["5.1.1"]
    assert set(verdicts) == set(card.disciplines)
    assert {"good", "mixed", "poor"} & set(verdicts.values())
    assert card.page == Path("card/card.html")
    assert "TCP-friendly sender" in card.page.read_text()
    html = card._repr_html_()
    assert "codel:target=10ms" in html
    assert "5.1.1 TCP-friendly sender" in html
    assert "report card: Red" in str(card)


def test_every_experiment_of_a_card_has_the_discipline() -> None:
    table = Red().as_table()
    _, planned = _aqmkit.card_plan([("Red", json.dumps(table))], True)
    for name, _, text in planned:
        if not name.startswith("parameters-"):
            entries = tomllib.loads(text)["sweep"]["aqm"]
            assert [entry["label"] for entry in entries] == ["Red", "fifo", "fq-codel"], name
            assert entries[0]["id"] == table["id"]


@pytest.mark.parametrize(
    ("disciplines", "error", "words"),
    [
        ("rde", ValueError, "did you mean red"),
        ([], ValueError, "disciplines is empty"),
        (3, TypeError, "disciplines cannot be 3"),
        ("red:mxa=3", ValueError, "max"),
    ],
)
def test_wrong_disciplines_are_named(disciplines: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        aqmkit.characterize(disciplines)


def test_the_command_finds_the_disciplines_of_a_file(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    body = "    def on_arrival(self, packet, queue, env):\n        return DROP if queue.packets > 9 else None\n"
    mine.write_text(f"from aqmkit import DROP, Aqm\n\nclass Mine(Aqm):\n{body}")
    found = command._load(mine)
    assert [one.__name__ for one in found] == ["Mine"]
    assert found[0]().name == "Mine"
    nothing = tmp_path / "nothing.py"
    nothing.write_text("x = 1\n")
    for wrong in (nothing, tmp_path / "absent.py"):
        done = subprocess.run(
            [sys.executable, "-m", "aqmkit", "characterize", str(wrong)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 2
        assert wrong.name in done.stderr


def test_an_advice_is_data_text_and_a_page() -> None:
    advice = aqmkit.advise(
        "p99 < 200ms; min delay, max goodput", rate="2mbit", rtt="20ms", traffic={"bulk": 2}, alone=True,
        among=["fifo", "codel", "pie"], budget=80, fresh=3, duration="2s", warmup="11s", out="advice", progress=False,
    )  # fmt: skip
    assert advice.discipline in {"fifo", "codel", "pie", "fq-codel", "cake"}
    assert advice.data["finalists"][0]["role"] == "choice"
    assert {"fifo", "fq-codel", "cake"} <= {finalist["discipline"] for finalist in advice.data["finalists"]}
    assert advice.meets == all(value["holds"] is not False for value in advice.data["finalists"][0]["values"])
    assert advice.commands[0].startswith("tc qdisc replace dev eth1")
    assert advice.page == Path("advice/advice.html")
    assert advice.commands[-1].split()[-1] in advice.page.read_text()
    assert "<table>" in advice._repr_html_()
    assert str(advice).startswith("Advice for 2mbit, round trips of 20ms")


def test_a_wrong_wish_is_told_with_what_is_near() -> None:
    with pytest.raises(aqmkit.ExperimentError, match="vidio") as error:
        aqmkit.advise("vidio")
    assert "did you mean video?" in str(error.value.help)
    with pytest.raises(ValueError, match="fresh cannot be 1"):
        aqmkit.advise("video", fresh=1)
