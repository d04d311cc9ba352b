"""Sweeps: the same tables wherever they are run, and nothing lost or done twice."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import aqmkit
import duckdb
import polars as pl
import pyarrow.dataset as ds
import pytest
from aqmkit._parquet import read_table
from aqmkit.sweeps import _failure
from distributed import Client, LocalCluster

from .conftest import small
from .red import Red

GRID = {"aqm": ["fifo", "pie", "codel"], "topology.rate": ["2mbit", "4mbit"]}
TABLES = ("runs", "series", "flows", "exchanges", "distributions")


def kept(directory: str) -> dict[str, tuple[int, int]]:
    """The runs that are done: file by file, what would change if one were done again."""
    files = Path(directory, "runs").glob("*.zst")
    return {file.name: (file.stat().st_ino, file.stat().st_mtime_ns) for file in files}


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def long(runs: int) -> aqmkit.Experiment:
    """Runs that take long enough to be killed in."""
    return small(topology={"rate": "200mbit", "delays": "40ms"}, duration="30s", repeat=runs, sweep={"aqm": ["fifo"]})


@pytest.fixture(scope="module")
def client() -> object:
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        yield client


def test_one_core_two_cores_processes_and_dask_give_identical_tables(client: Client) -> None:
    experiment = small(repeat=2)
    one = aqmkit.sweep(experiment, GRID, out="one", jobs=1, progress=False)
    two = aqmkit.sweep(experiment, GRID, out="two", jobs=2, progress=False)
    dask = aqmkit.sweep(experiment, GRID, out="dask", executor=client, progress=False)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        processes = aqmkit.sweep(experiment, GRID, out="processes", executor=pool, progress=False)
    assert one.complete
    assert one.runs.num_rows == 12
    for other in (two, dask, processes):
        assert other.manifest == one.manifest
        for name in TABLES:
            assert getattr(other, name).equals(getattr(one, name)), name


def test_it_is_what_run_gives() -> None:
    swept = aqmkit.sweep(small(), {"aqm": ["fifo", "pie"]}, out="swept", progress=False)
    run = small().swept({"aqm": ["fifo", "pie"]}).run("run", progress=False)
    for name in TABLES[1:]:
        table = getattr(run, name)
        assert getattr(swept, name).select(table.column_names).cast(table.schema).equals(table), name


def test_a_worker_dies_and_nothing_is_lost_or_done_twice(client: Client) -> None:
    experiment = long(16)
    before: dict[str, tuple[int, int]] = {}
    killed: list[int] = []

    def kill() -> None:
        wait_for(lambda: len(kept("out")) >= 4)
        pids = list(client.run(os.getpid).values())
        before.update(kept("out"))
        os.kill(pids[0], signal.SIGKILL)
        killed.append(pids[0])

    killer = threading.Thread(target=kill)
    killer.start()
    swept = aqmkit.sweep(experiment, out="out", executor=client, progress=False)
    killer.join()
    assert killed
    assert 4 <= len(before) < 16, "it has to die in mid-sweep"
    assert swept.complete
    assert len(kept("out")) == 16
    assert before.items() <= kept("out").items(), "what was done when the worker died is not done again"
    alone = aqmkit.sweep(experiment, out="alone", jobs=2, progress=False)
    for name in TABLES:
        assert getattr(swept, name).equals(getattr(alone, name)), name


def test_a_sweep_that_is_killed_goes_on() -> None:
    experiment = long(8)
    Path("long.toml").write_text(experiment.text)
    code = "import aqmkit; aqmkit.sweep(aqmkit.load('long.toml'), out='out', jobs=2, progress=False)"
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        wait_for(lambda: len(kept("out")) >= 2)
        process.kill()
    before = kept("out")
    assert 2 <= len(before) < 8
    part = aqmkit.read_sweep("out")
    assert not part.complete
    swept = aqmkit.sweep(aqmkit.load("long.toml"), out="out", progress=False)
    assert swept.complete
    assert before.items() <= kept("out").items()
    assert len(kept("out")) == 8
    again = kept("out")
    aqmkit.sweep(aqmkit.load("long.toml"), out="out", progress=False)
    assert kept("out") == again


def test_a_grid_that_grows_keeps_what_is_done() -> None:
    aqmkit.sweep(small(), {"aqm": ["fifo"]}, out="out", progress=False)
    before = kept("out")
    assert aqmkit.sweep(small(), {"aqm": ["fifo", "pie"]}, out="out", progress=False).runs.num_rows == 2
    assert before.items() <= kept("out").items()


def test_the_directory_is_a_data_set_that_others_read() -> None:
    swept = aqmkit.sweep(small(), GRID, out="out", progress=False)
    manifest = json.loads(Path("out", "manifest.json").read_text())
    assert manifest["aqmkit"] == aqmkit.__version__
    assert (manifest["hash"], manifest["seed"]) == (small().swept(GRID).hash, 1)
    table = ds.dataset("out/tables/runs", partitioning="hive").to_table()
    assert table.num_rows == swept.runs.num_rows == 6
    assert sorted(set(table["aqm"].to_pylist())) == ["codel", "fifo", "pie"]
    assert pl.scan_parquet("out/tables/flows/**/*.parquet", hive_partitioning=True).collect().height == swept.flows.num_rows
    rows = duckdb.execute(
        "select count(*) from read_parquet('out/tables/flows/**/*.parquet', hive_partitioning = true)"
    ).fetchone()
    assert rows == (swept.flows.num_rows,)


def test_a_discipline_in_python_travels_to_the_workers(client: Client) -> None:
    swept = aqmkit.sweep(small(), {"aqm": [Red(), {"name": "red", "limit": 60, "min": 5, "max": 20}]}, out="out", executor=client)
    delay = swept.runs["links.bottleneck.queue_delay_ms.mean"].to_pylist()
    assert delay[0] == delay[1]


class Broken(aqmkit.Aqm):
    def on_empty(self, now_ns: int) -> None:
        raise LookupError("not today")


def test_a_run_that_fails_leaves_the_others() -> None:
    with pytest.raises(aqmkit.RunError, match="not today"):
        aqmkit.sweep(small(), {"aqm": ["fifo", Broken()]}, out="out", progress=False)
    assert aqmkit.read_sweep("out").done == 1


def test_ctrl_c_keeps_finished_runs() -> None:
    def press() -> None:
        wait_for(lambda: len(kept("out")) >= 1)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    with pytest.raises(aqmkit.Interrupted):
        aqmkit.sweep(long(16), out="out", progress=False)
    assert 1 <= len(kept("out")) < 16


def test_a_directory_without_a_sweep_is_refused() -> None:
    with pytest.raises(aqmkit.ExperimentError, match="holds no sweep"):
        aqmkit.read_sweep(".")


@pytest.mark.parametrize(
    ("text", "why"),
    [(b'{"axes": []}', "no manifest of a sweep"), (b'{"axes"', "Expecting"), (b"\xff", "utf-8"), (b"\0" * 99, "not text")],
)
def test_a_manifest_that_is_none_is_refused_with_its_file(text: bytes, why: str) -> None:
    Path("manifest.json").write_bytes(text)
    with pytest.raises(aqmkit.ExperimentError, match=f"manifest.json: .*{why}"):
        aqmkit.read_sweep(".")


def test_a_manifest_that_is_too_large_is_not_read() -> None:
    with Path("manifest.json").open("wb") as file:
        file.truncate((1 << 30) + 1)
    with pytest.raises(aqmkit.ExperimentError, match="a manifest has 1073741824 at most"):
        aqmkit.read_sweep(".")


def test_a_damaged_table_is_named_with_what_mends_it(tmp_path: Path) -> None:
    file = tmp_path / "series.parquet"
    with file.open("wb") as opened:
        opened.truncate(1 << 30)
    with pytest.raises(aqmkit.ExperimentError, match=r"series\.parquet is damaged(.|\n)*once more"):
        read_table(file, "sweep once more")


def test_a_full_disk_says_what_to_do() -> None:
    future: Future[None] = Future()
    future.set_exception(OSError(errno.ENOSPC, "No space left on device"))
    assert "free space on that disk" in _failure(future)[0]
