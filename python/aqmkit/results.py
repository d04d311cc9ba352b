"""Measurements as tables."""

from __future__ import annotations

import json
import os
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from . import _aqmkit
from ._parquet import read_table
from ._warn import warn

__all__ = ["Results", "read"]

#: The files to read tables from if the directory has no runs to compute them from.
_FILES = {"series": "series.parquet", "flows": "flows.parquet", "exchanges": "responses.parquet"}


class Results:
    """The measurements of the runs of an experiment.

    The tables are of type `pyarrow.Table`: ``results.runs.to_pandas()``, ``polars.from_arrow(results.series)``; DuckDB queries
    them by variable name. They share memory with the native module instead of copying it. All begin with the labels of the run:
    one column for each axis of the sweep (text), ``repeat`` and ``seed`` (whole numbers).

    Rates are in bits per second, delays in milliseconds, shares are fractions of 1. Missing values are null.
    """

    def __init__(self, outcome: _aqmkit.Outcome) -> None:
        self._outcome = outcome

    def _table(self, name: str) -> pa.Table:
        file = self.dir / _FILES.get(name, "")
        if not self._outcome.done and name in _FILES and file.is_file():
            return read_table(file, "repeat the command that made it to write it again")
        return pa.table(self._outcome.table(name))

    @cached_property
    def runs(self) -> pa.Table:
        """A row for each run and window, and a column for every metric, named by its path in ``results.json``.

        Shape (runs x windows, labels + metrics). Columns such as ``links.bottleneck.utilization``,
        ``links.bottleneck.queue_delay_ms.p99``, ``classes.tcp.goodput_bps``, ``flows.jain``,
        ``apps.web.response_time_ms.page.p50``; ``docs/metrics.md`` lists all with their units.
        """
        return self._table("runs")

    @cached_property
    def means(self) -> pa.Table:
        """A row for each combination of the sweep, window and metric: ``metric`` (a column name of `runs`), ``mean`` over the
        runs, ``low`` and ``high`` (its 95 % confidence interval; null for a single run) and ``runs``.

        Shape (combinations x windows x metrics, labels + 5), without ``repeat`` and ``seed``.
        """
        return self._table("means")

    @cached_property
    def series(self) -> pa.Table:
        """A row for each run and interval; ``t_s`` is the start of the interval, in seconds.

        Shape (runs x intervals, labels + 1 + quantities). Columns such as ``classes.tcp.throughput_bps``,
        ``links.bottleneck.queue_delay_ms.mean``, and the gauges of the discipline: ``links.bottleneck.aqm.avg``.
        """
        return self._table("series")

    @cached_property
    def flows(self) -> pa.Table:
        """A row for each application: ``traffic``, ``index``, ``class``, ``delivered_bytes.<window>``, ``connections``,
        ``packets``, ``retransmissions``, ``timeouts``, ``drops``.

        Shape (runs x applications, labels + 8 + windows).
        """
        return self._table("flows")

    @cached_property
    def exchanges(self) -> pa.Table:
        """A row for each finished exchange, the first 200,000 of a run: ``traffic``, ``kind`` (``request``, ``page``),
        ``started_s`` (seconds), ``duration_ms`` (milliseconds), ``bytes``.

        Shape (exchanges, labels + 5).
        """
        return self._table("exchanges")

    @cached_property
    def distributions(self) -> pa.Table:
        """Histograms of every sample, as cumulative distributions: ``window``, ``quantity`` (such as
        ``classes.tcp.queue_delay_ms``), ``value`` in the unit of the quantity, ``share`` of the samples at or below it.

        Shape (points, labels + 4). Empty when `read` found tables but no runs.
        """
        return self._table("distributions")

    @cached_property
    def verdicts(self) -> pa.Table:
        """A row for each published value that the experiment claims: ``id``, ``source``, ``what``, ``kind``, ``published``,
        ``measured``, ``low``, ``high``, ``unit``, ``spread`` (standard deviation over the repeats), ``pass``,
        ``standing`` (how much the row proves: ``measured``, ``does not discriminate``, ``no scheme``,
        ``not null-tested``, ``input``, ``calculation``, ``by hand``), ``cells_held`` of ``cells`` (null for a claim
        about a single cell), ``detail``.

        Shape (values, 15). ``measured`` is null for an ordering, ``pass`` if the runs are missing.
        """
        return self._table("verdicts")

    @property
    def dir(self) -> Path:
        """The directory with ``results.json``, ``report.html``, ``summary.csv``, ``runs.csv`` and Parquet tables."""
        return Path(self._outcome.dir)

    @property
    def report(self) -> Path:
        """The report: a self-contained HTML file."""
        return self.dir / "report.html"

    @property
    def experiment(self) -> str:
        """The id of the experiment."""
        return self._outcome.about["experiment"]

    @property
    def title(self) -> str:
        """The title of the experiment."""
        return self._outcome.about["title"]

    @property
    def version(self) -> str:
        """The version of aqmkit that made the runs."""
        return self._outcome.about["version"]

    @property
    def hash(self) -> str:
        """A hash of all inputs of the results."""
        return self._outcome.about["hash"]

    @property
    def setting(self) -> dict[str, str]:
        """The experiment's settings, as in its report: ``link``, ``round trip``, ``buffer``, ``traffic``, ``hosts``,
        ``congestion control``, ``ECN``, ``time``. A setting that differs between runs lists all its values.
        """
        return dict(self._outcome.setting)

    @property
    def axes(self) -> dict[str, list[str]]:
        """The axes of the sweep with the labels of their values, in order."""
        return dict(self._outcome.axes)

    @cached_property
    def windows(self) -> dict[str, tuple[float, float]]:
        """The windows of the runs: start and end, in seconds."""
        return self._outcome.windows

    @property
    def planned(self) -> int:
        """Number of planned runs; larger than `done` if the experiment was interrupted."""
        return self._outcome.planned

    @property
    def done(self) -> int:
        """Number of finished runs."""
        return self._outcome.done

    @property
    def notes(self) -> list[str]:
        """Caveats, in sentences: means that are less precise than requested, a warm-up that was lengthened or is too short, and
        factors other than the queue that decided the results. The command and ``print(results)`` show them below the table.
        """
        return list(self._outcome.notes)

    def json(self) -> Any:
        """The content of ``results.json``."""
        return json.loads(self._outcome.json())

    def summary(self, width: int = 100) -> str:
        """The comparison as a table of text, as the command prints it."""
        return self._outcome.summary(width)

    def __str__(self) -> str:
        claims = f"\n{self._outcome.verdicts(100)}" if self.verdicts.num_rows else ""
        return self.summary() + self._outcome.notes_text(100) + claims

    def __repr__(self) -> str:
        return f"<Results of {self.experiment}: {self.done} of {self.planned} runs in {str(self.dir)!r}>"

    def _repr_html_(self) -> str:
        return self._outcome.html()


def read(directory: str | os.PathLike[str]) -> Results:
    """Reads the results that ``aqmkit run``, ``compare`` or ``reproduce``, or `Experiment.run`, wrote to a directory.

    Raises
    ------
    ExperimentError
        When the directory holds no results.

    Warns
    -----
    UserWarning
        When ``results.json`` was changed after it was written, or a run in it is damaged.
    """
    outcome = _aqmkit.Outcome.read(Path(directory))
    for warning in outcome.warnings:
        warn(warning)
    return Results(outcome)
