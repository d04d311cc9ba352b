"""The package as a whole: the command, documentation, stubs, examples."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import aqmkit
import pytest
from aqmkit import _aqmkit

ROOT = Path(__file__).parents[2]


def modules() -> list[str]:
    found = pkgutil.walk_packages(aqmkit.__path__, "aqmkit.")
    return ["aqmkit", *(m.name for m in found if m.name not in ("aqmkit.__main__", "aqmkit._aqmkit"))]


@pytest.mark.parametrize("name", modules())
def test_examples_do_what_they_say(name: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert failed == 0


def test_everything_public_says_what_it_is() -> None:
    for name in aqmkit.__all__:
        thing = getattr(aqmkit, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert inspect.getdoc(thing), name
        if inspect.isclass(thing):
            for member, value in vars(thing).items():
                if not member.startswith("_") and (callable(value) or inspect.isdatadescriptor(value)):
                    assert inspect.getdoc(value), f"{name}.{member}"
    for name in aqmkit.plot.__all__:
        assert name.isupper() or inspect.getdoc(getattr(aqmkit.plot, name)), name


def test_the_stubs_are_the_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "aqmkit._aqmkit", "--ignore-disjoint-bases"],
        capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_command_is_there() -> None:
    done = subprocess.run([sys.executable, "-m", "aqmkit", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["aqmkit", aqmkit.__version__]
    done = subprocess.run([sys.executable, "-m", "aqmkit", "run", "no/such"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no experiment is called" in done.stderr
    assert _aqmkit.main(["aqmkit", "describe", "red"]) == 0


def test_disciplines_have_pages() -> None:
    assert len(aqmkit.disciplines()) >= 38
    assert "## Law" in aqmkit.describe("red")
    with pytest.raises(aqmkit.ExperimentError, match="rde"):
        aqmkit.describe("rde")


def test_the_red_of_the_guide_is_the_one_that_is_tested() -> None:
    guide = (ROOT / "docs" / "guide" / "python.md").read_text()
    source = (ROOT / "python" / "tests" / "red.py").read_text()
    body = source[source.index("class Red") :]
    assert body in guide
    assert len(body.splitlines()) <= 45


def test_the_ten_lines_of_the_guide() -> None:
    guide = (ROOT / "docs" / "guide" / "python.md").read_text()
    code = guide.split("```python\n", 1)[1].split("```", 1)[0]
    assert len(code.splitlines()) <= 10
    subprocess.run([sys.executable, "-c", code.replace("60s", "6s")], check=True, capture_output=True)
    assert Path("five.pdf").read_bytes().startswith(b"%PDF")


def test_the_guide_runs_as_it_is_printed() -> None:
    guide = (ROOT / "docs" / "guide" / "python.md").read_text()
    blocks = [part.split("```", 1)[0] for part in guide.split("```python\n")[1:]]
    here = [block for block in blocks if "Cluster" not in block and "Client" not in block]
    assert len(here) == len(blocks) - 3, "three are for clusters"
    code = "\n".join(here)
    shorter = {
        "60s": "6s",
        "1gbit": "12mbit",
        "100mbit": "11mbit",
        "repeat=5": "repeat=2",
        "http=0.9)": "http=0.9, duration='6s')",
    }
    for long, short in shorter.items():
        code = code.replace(long, short)
    # Comparisons have their seeds, under which short runs are enough.
    begin = "import functools, aqmkit\naqmkit.compare = functools.partial(aqmkit.compare, duration='6s')\n"
    check = """
rows = {}
for row in results.runs.drop_columns([c for c in results.runs.column_names if ".drops." in c or ".aqm." in c]).to_pylist():
    rows.setdefault(row["aqm"], []).append([row[k] for k in row if k.startswith("links.")])
built_in, written, codel = rows.values()
assert built_in == written != codel, "drop by drop"
assert len(codel) >= 10
assert duckdb.sql("select count(*) from exchanges").fetchall()[0][0] > 0
"""
    done = subprocess.run([sys.executable, "-c", begin + code + check], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "fq-codel" in done.stdout


def test_an_import_does_not_load_what_figures_need() -> None:
    code = "import sys, aqmkit; assert 'matplotlib' not in sys.modules; aqmkit.plot; assert 'matplotlib' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no attribute 'plott'"):
        aqmkit.plott  # noqa: B018
