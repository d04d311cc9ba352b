"""The notebooks run from top to bottom."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
NAMES = ["first-steps", "reproducing-a-figure", "a-sweep-on-dask"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("default")
def test_it_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(Path.cwd())}}).execute()
    shown = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    assert not [out for out in shown if out.output_type == "error"]
    assert any("image/png" in out.get("data", {}) for out in shown), "it shows a figure"


@pytest.mark.parametrize("name", NAMES)
def test_readers_see_what_it_shows(name: str) -> None:
    kept = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    code = [cell for cell in kept.cells if cell.cell_type == "code"]
    shown = [out for cell in code for out in cell.outputs]
    assert any("image/png" in out.get("data", {}) for out in shown), "make notebooks keeps the figures"
    assert all(out.output_type != "error" and out.get("name") != "stderr" for out in shown)
    # The last expression of a cell is shown; an assignment is not.
    for cell in code:
        last = cell.source.splitlines()[-1]
        assert cell.outputs or "=" in last or ".close()" in last or ")" not in last, f"{last} was not run: make notebooks"
