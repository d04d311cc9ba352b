"""Tables, and reading back what the command wrote."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import aqmkit
import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from aqmkit import _aqmkit

from .conftest import small

TABLES = ("runs", "means", "series", "flows", "exchanges", "distributions", "verdicts")


def test_tables_have_the_shapes_they_promise(five: aqmkit.Results) -> None:
    assert five.runs.num_rows == 5 * 2
    assert five.series.num_rows == 5 * 2 * 12
    assert five.windows == {"all": (0.0, 12.0)}
    assert set(five.flows["traffic"].to_pylist()) == {"bulk", "http-mah", "cbr"}
    assert five.exchanges.num_rows > 50
    assert "classes.tcp.queue_delay_ms" in five.distributions["quantity"].to_pylist()
    assert five.verdicts.num_rows == 0
    for name in TABLES[:-1]:
        table = getattr(five, name)
        assert table.schema.field("aqm").type == pa.string()
        if name == "means":
            continue
        assert table.schema.field("repeat").type == table.schema.field("seed").type == pa.uint64()


def test_the_numbers_are_those_of_results_json(five: aqmkit.Results) -> None:
    entries = json.loads((five.dir / "results.json").read_text())["runs"]
    assert five.json()["runs"] == entries
    utilization = [entry["links"]["bottleneck"]["utilization"] for entry in entries]
    assert five.runs["links.bottleneck.utilization"].to_pylist() == utilization
    assert five.runs["aqm"].to_pylist() == [entry["labels"]["aqm"] for entry in entries]


def test_the_setting_names_what_was_run(five: aqmkit.Results) -> None:
    assert (five.setting["link"], five.setting["round trip"]) == ("5mbit", "40ms")
    assert (five.setting["hosts"], five.setting["congestion control"], five.setting["ECN"]) == ("linux-6", "cubic", "off")
    assert five.setting["time"] == "12s after a warm-up of 2s"
    assert five.setting["traffic"].startswith("bulk: 4 flows")
    # 1000 packets of 1500 bytes are 12 Mbit.
    assert five.setting["buffer"] == "1000p (2.4s)"


def test_means_are_those_of_the_runs(five: aqmkit.Results) -> None:
    means = five.means.filter(pc.equal(five.means["metric"], "flows.jain"))
    assert means.column_names[-5:] == ["metric", "mean", "low", "high", "runs"]
    assert means.num_rows == 5
    for row in means.to_pylist():
        of_label = five.runs.filter(pc.equal(five.runs["aqm"], row["aqm"]))["flows.jain"].to_pylist()
        assert row["runs"] == len(of_label) == 2
        assert row["mean"] == pytest.approx(sum(of_label) / 2)
        # Two values: Student's quantile of one degree of freedom is 12.7062, the standard error half their distance.
        half = 12.7062 * abs(of_label[0] - of_label[1]) / 2
        assert row["high"] - row["mean"] == pytest.approx(half, rel=1e-4, abs=1e-12)
        assert row["mean"] - row["low"] == pytest.approx(half, rel=1e-4, abs=1e-12)


def test_pandas_polars_and_duckdb_read_them(five: aqmkit.Results) -> None:
    series = five.series
    mean = pd.DataFrame(series.to_pandas())["classes.tcp.throughput_bps"].mean()
    assert pl.DataFrame(series)["classes.tcp.throughput_bps"].mean() == pytest.approx(mean)
    asked = duckdb.execute('select avg("classes.tcp.throughput_bps") from series').fetchone()
    assert asked is not None
    assert asked[0] == pytest.approx(mean)


def test_nothing_is_copied(five: aqmkit.Results) -> None:
    table = five._outcome.table("series")
    addresses = [
        [chunk.buffers()[1].address for chunk in pa.table(table)["t_s"].chunks]
        for _ in range(2)
    ]  # fmt: skip
    assert addresses[0] == addresses[1]
    assert pl.DataFrame(table).height == table.num_rows == pa.table(table).num_rows


def test_what_was_written_reads_back(five: aqmkit.Results) -> None:
    again = aqmkit.read(five.dir)
    for name in TABLES:
        assert getattr(again, name).equals(getattr(five, name)), name
    assert (again.axes, again.windows, again.title, again.hash) == (five.axes, five.windows, five.title, five.hash)
    assert str(again) == str(five)


def test_the_files_hold_the_same_tables(five: aqmkit.Results) -> None:
    for name, file in {"series": "series", "flows": "flows", "exchanges": "responses"}.items():
        assert pq.read_table(five.dir / f"{file}.parquet").cast(getattr(five, name).schema).equals(getattr(five, name))


def test_a_directory_without_the_runs_still_has_its_files(five: aqmkit.Results) -> None:
    shutil.copytree(five.dir, "copied", ignore=shutil.ignore_patterns("runs"))
    again = aqmkit.read("copied")
    assert again.runs.equals(five.runs)
    assert again.series.num_rows == five.series.num_rows


def test_what_the_command_writes_reads_back() -> None:
    line = "compare fifo pie --bulk 2 --duration 3s --warmup 10s --rate 2mbit --repeat 2 --out there"
    subprocess.run([sys.executable, "-m", "aqmkit", *line.split()], check=True, capture_output=True)
    results = aqmkit.read("there")
    compared = aqmkit.compare(["fifo", "pie"], bulk=2, duration="3s", warmup="10s", rate="2mbit", repeat=2, progress=False)
    assert results.hash == compared.hash
    assert results.series.equals(compared.series)
    assert results.report.read_text().startswith("<!")


def test_verdicts_on_published_values() -> None:
    results = aqmkit.load("cbt/equations").run(progress=False)
    passed = results.verdicts["pass"].to_pylist()
    assert len(passed) > 50
    assert sum(p is True for p in passed) > 0.9 * len(passed)
    assert "published" in str(results)


def test_a_directory_without_results_is_refused() -> None:
    with pytest.raises(aqmkit.ExperimentError, match=r"results\.json"):
        aqmkit.read("nowhere")


def test_the_number_of_jobs_changes_nothing() -> None:
    one = small().run("one", jobs=1, progress=False)
    two = small().run("two", jobs=2, progress=False)
    assert one.series.equals(two.series)
    assert one.exchanges.equals(two.exchanges)


def test_ctrl_c_keeps_finished_runs() -> None:
    experiment = small(topology={"rate": "200mbit", "delays": "40ms"}, duration="40s", repeat=8)
    kept = Path("out", "runs")

    def press() -> None:
        while len(list(kept.glob("*.zst"))) < 2:
            threading.Event().wait(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    with pytest.raises(aqmkit.Interrupted, match="stored in out; the same call resumes"):
        experiment.run("out", progress=False)
    before = {file.name: file.stat().st_mtime_ns for file in kept.glob("*.zst")}
    assert 2 <= len(before) < len(experiment.plan)
    assert aqmkit.read("out").done == len(before)
    assert experiment.run("out", progress=False).done == len(experiment.plan)
    after = {file.name: file.stat().st_mtime_ns for file in kept.glob("*.zst")}
    assert before.items() <= after.items(), "finished runs are not done again"


def test_progress_is_told() -> None:
    told: list[tuple[float, int, int, str]] = []
    small()._plan.run("out", None, lambda *at: told.append(at))
    assert told[-1] == (2.0, 2, 2, "")
    assert told == sorted(told)


def test_an_error_while_telling_stops_it() -> None:
    def tell(*_: object) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        small()._plan.run("out", None, tell)


def test_no_table_of_another_name() -> None:
    outcome = small()._plan.run("out", None, None)
    assert isinstance(outcome, _aqmkit.Outcome)
    with pytest.raises(KeyError, match="seconds"):
        outcome.table("seconds")


def test_results_that_were_changed_are_read_with_a_warning() -> None:
    small().run(out="out", progress=False)
    file = Path("out", "results.json")
    whole = file.read_text()
    assert len(json.loads(whole)["checksum"]) == 64
    file.write_text(whole.replace('"planned"', '"planned" ', 1))
    with pytest.warns(UserWarning, match="was changed after aqmkit wrote it"):
        assert aqmkit.read("out").done > 0


def test_a_damaged_run_is_named() -> None:
    done = small().run(out="out", progress=False).done
    next(Path("out", "runs").glob("*.zst")).write_bytes(b"no zstd")
    with pytest.warns(UserWarning, match="is damaged"):
        assert aqmkit.read("out").done == done - 1


def test_a_notebook_shows_tables(five: aqmkit.Results) -> None:
    shown = five._repr_html_()
    assert "<table>" in shown
    assert "<pre" not in shown
    for label in five.axes["aqm"]:
        assert f">{label}</th>" in shown


def test_fairness_is_that_of_one_kind_of_flows(five: aqmkit.Results) -> None:
    fair = five.runs.to_pandas()["apps.bulk.jain"]
    assert ((fair > 1 / 4) & (fair <= 1)).all()
    assert not [name for name in five.runs.column_names if name in ("apps.http-unc.jain", "apps.cbr.jain")]
