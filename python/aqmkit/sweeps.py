"""Sweeps: an experiment over a grid, on local cores or on a cluster.

A sweep is a directory. As soon as a run ends, the process that executed it stores it under the hash of all its inputs. A sweep
that is killed, or loses a worker, therefore never repeats a finished run.

``manifest.json`` describes the sweep: the version of aqmkit, the hash of the experiment, its seed, and every run.
``tables/<table>/<axis>=<label>/…/<run>.parquet`` are the tables, a Parquet data set with Hive partitioning: pyarrow, Polars,
DuckDB and Spark read it as one table, and derive the columns for the axes from the directories. ``runs/`` holds the raw runs.
"""

from __future__ import annotations

import errno
import functools
import json
import os
import pickle
import tempfile
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from . import _aqmkit
from ._checks import check_whole
from ._parquet import read_table
from ._progress import Bar
from .errors import ExperimentError, Interrupted, RunError
from .experiment import _MOST_JOBS, Experiment

__all__ = ["Sweep", "read_sweep", "sweep"]

TABLES = ("runs", "series", "flows", "exchanges", "distributions")

#: Columns left out of the tables, because they differ between executions of the same run.
_COST = ("engine.cpu_s", "engine.wall_s", "engine.peak_rss_bytes")

#: The remedy for a damaged table.
_TABLES_ANEW = "delete tables/ and sweep once more into this directory: finished runs are kept, and their tables are written anew"

#: The maximum size of a manifest in bytes; that of a million runs has 200 MB.
_MOST_BYTES = 1 << 30


def _read_manifest(file: Path) -> dict[str, Any]:
    """Reads a manifest. A file that is too large or not text is rejected before it is read into memory."""
    right = "sweep once more into this directory: finished runs are kept, and the manifest is written anew"
    with file.open("rb") as opened:
        size = os.fstat(opened.fileno()).st_size
        if size > _MOST_BYTES:
            raise ExperimentError(f"{file}: it has {size} bytes, and a manifest has {_MOST_BYTES} at most", right)
        # A file of zeros, such as a sparse one, is rejected by its first block.
        head = opened.read(1 << 16)
        if b"\0" in head:
            raise ExperimentError(f"{file}: it contains a zero byte, so it is not text", right)
        try:
            manifest = json.loads(head + opened.read())
        except (ValueError, RecursionError) as error:
            raise ExperimentError(f"{file}: {error}", right) from None
    if not isinstance(manifest, dict) or not {"axes", "windows", "title", "runs"} <= manifest.keys():
        raise ExperimentError(f"{file}: it is no manifest of a sweep", right)
    return manifest


class Sweep:
    """The results of a sweep: the same tables as in `aqmkit.Results`, read from its directory.

    Rows are in the order of the plan, not in that in which the runs ended, so the tables do not depend on where the sweep
    was run. Columns about the cost of a run (CPU seconds, memory) are left out, because they are not reproducible.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.dir = Path(directory)
        try:
            self.manifest: dict[str, Any] = _read_manifest(self.dir / "manifest.json")
        except FileNotFoundError:
            raise ExperimentError(f"{self.dir} holds no sweep", "give a directory with a manifest.json of aqmkit.sweep") from None

    @property
    def axes(self) -> dict[str, list[str]]:
        """The sweep axes in order, each with the labels of its values."""
        return {name: list(labels) for name, labels in self.manifest["axes"]}

    @property
    def windows(self) -> dict[str, tuple[float, float]]:
        """The measurement windows: start and end, in seconds."""
        return {name: (start, end) for name, (start, end) in self.manifest["windows"].items()}

    @property
    def title(self) -> str:
        """The title of the experiment."""
        return str(self.manifest["title"])

    @property
    def planned(self) -> int:
        """Number of planned runs."""
        return len(self.manifest["runs"])

    @property
    def done(self) -> int:
        """Number of finished runs."""
        return sum(_is_done(self.dir, self._names, run) for run in self.manifest["runs"])

    @property
    def complete(self) -> bool:
        """Whether all runs are finished."""
        return self.done == self.planned

    @cached_property
    def runs(self) -> pa.Table:
        """As `aqmkit.Results.runs`."""
        return self._read("runs")

    @cached_property
    def series(self) -> pa.Table:
        """As `aqmkit.Results.series`."""
        return self._read("series")

    @cached_property
    def flows(self) -> pa.Table:
        """As `aqmkit.Results.flows`."""
        return self._read("flows")

    @cached_property
    def exchanges(self) -> pa.Table:
        """As `aqmkit.Results.exchanges`."""
        return self._read("exchanges")

    @cached_property
    def distributions(self) -> pa.Table:
        """As `aqmkit.Results.distributions`."""
        return self._read("distributions")

    @property
    def _names(self) -> list[str]:
        return list(self.axes)

    def _read(self, table: str) -> pa.Table:
        parts = []
        for run in self.manifest["runs"]:
            file = _file(self.dir, table, self._names, run)
            if file.is_file():
                part = read_table(file, _TABLES_ANEW)
                for place, axis in enumerate(self._names):
                    part = part.add_column(
                        place, _label(axis, part), pa.array([run["labels"][axis]] * part.num_rows, pa.string())
                    )
                parts.append(part)
        return pa.concat_tables(parts, promote_options="default") if parts else pa.table({})

    def __repr__(self) -> str:
        return f"<Sweep of {self.manifest['experiment']}: {self.done} of {self.planned} runs in {str(self.dir)!r}>"


def sweep(
    experiment: Experiment,
    grid: Mapping[str, Sequence[Any]] | None = None,
    *,
    out: str | os.PathLike[str],
    executor: Any = None,
    jobs: int | None = None,
    progress: bool = True,
) -> Sweep:
    """Runs an experiment over a grid. Repeat an interrupted call with the same directory to resume it.

    Parameters
    ----------
    experiment
        The experiment to run.
    grid
        Values by path, as in `Experiment.swept`. Every combination is run as many times as the experiment specifies.
    out
        The directory for the results. All workers must see it under this path; on a cluster use a shared file system.
    executor
        None for the cores of this machine; a ``dask.distributed.Client``; or any `concurrent.futures.Executor`.
    jobs
        Number of parallel runs on this machine; by default one per core.
    progress
        Whether to show a progress bar.

    Raises
    ------
    RunError
        When runs fail, or a cluster abandons them; the others are completed and kept.
    Interrupted
        When Ctrl-C was pressed; finished runs are kept.

    Examples
    --------
    >>> import aqmkit, tempfile
    >>> experiment = aqmkit.Experiment(
    ...     title="One flow", duration="2s", topology={"rate": "10mbit", "delays": "20ms"}, traffic=[{"kind": "bulk", "flows": 1}]
    ... )
    >>> swept = aqmkit.sweep(experiment, {"aqm": ["fifo", "pie"], "topology.rate": ["5mbit", "10mbit"]}, out=tempfile.mkdtemp())
    >>> swept.runs.select(["aqm", "topology.rate"]).to_pylist()[1]
    {'aqm': 'fifo', 'topology.rate': '10mbit'}
    """
    check_whole(1, _MOST_JOBS, jobs=jobs)
    whole = experiment.swept(grid) if grid else experiment
    directory = Path(out).absolute()
    directory.mkdir(parents=True, exist_ok=True)
    manifest = _manifest(whole)
    _replace(directory / "manifest.json", lambda file: file.write_text(json.dumps(manifest, indent=1)))
    names = list(whole.axes)
    missing = [i for i, run in enumerate(manifest["runs"]) if not _is_done(directory, names, run)]
    whole._plan.calibrate(directory)
    failed: list[str] = []
    with Bar(len(manifest["runs"]), progress) as bar, _executor(executor, jobs) as (pool, cancel):
        done = len(manifest["runs"]) - len(missing)
        bar.at(done)
        job = _Job(whole, directory)
        futures = [pool.submit(_run, job.dumped, index, cancel) for index in missing]
        try:
            for future in as_completed(futures):
                done += 1
                bar.at(done)
                failed += _failure(future)
        except KeyboardInterrupt:
            if cancel is not None:
                cancel.set()
            for future in futures:
                future.cancel()
            raise Interrupted(f"Stopped. Finished runs are kept in {directory}; the same call resumes.") from None
    if failed:
        raise RunError("\n".join(failed))
    return Sweep(directory)


def read_sweep(directory: str | os.PathLike[str]) -> Sweep:
    """Reads the results of a sweep, complete or not, from its directory.

    Raises
    ------
    ExperimentError
        When the directory holds no sweep.
    """
    return Sweep(directory)


class _Job:
    """The experiment and the directory, pickled once for all runs."""

    def __init__(self, experiment: Experiment, directory: Path) -> None:
        try:
            import cloudpickle

            # Unlike pickle, it can send classes defined in a notebook to other processes.
            self.dumped: bytes = cloudpickle.dumps((experiment, directory))
        except ImportError:
            self.dumped = pickle.dumps((experiment, directory))


@functools.lru_cache(maxsize=4)
def _unpacked(dumped: bytes) -> tuple[Experiment, Path, list[dict[str, Any]]]:
    """Unpickles `_Job.dumped`, once per process."""
    experiment, directory = pickle.loads(dumped)
    return experiment, directory, _manifest(experiment)["runs"]


def _run(dumped: bytes, index: int, cancel: _aqmkit.Cancel | None) -> None:
    """Executes one run on a worker, and stores it and its tables. The table `runs` is last, as it marks the run as done."""
    experiment, directory, runs = _unpacked(dumped)
    names = list(experiment.axes)
    outcome, _ = experiment._plan.run_one(index, directory, cancel)
    for name in (*TABLES[1:], TABLES[0]):
        table = pa.table(outcome.table(name))
        labels = [_column(axis, table) for axis in names]
        table = table.drop_columns([c for c in (*labels, *_COST) if c in table.column_names])
        file = _file(directory, name, names, runs[index])
        file.parent.mkdir(parents=True, exist_ok=True)
        _replace(file, functools.partial(pq.write_table, table, compression="zstd"))


def _failure(future: Future[None]) -> list[str]:
    """The error message of a run, in a list; empty if the run succeeded."""
    try:
        future.result()
    except KeyboardInterrupt:
        raise
    except Exception as error:  # Clusters report lost workers with exceptions of their own.
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return [
                f"{error}; free space on that disk and repeat the call: finished runs are stored, and it continues from there"
            ]
        return [f"{type(error).__name__}: {error}"]
    return []


@contextmanager
def _executor(executor: Any, jobs: int | None) -> Iterator[tuple[Executor, _aqmkit.Cancel | None]]:
    """The executor for the runs, and a flag that cancels local ones."""
    if executor is None:
        # Threads suffice, because a run releases the GIL.
        with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
            yield pool, _aqmkit.Cancel()
    elif hasattr(executor, "get_executor"):
        # A Dask client. Without `pure=False`, it could skip a run by reusing the cached result of the task.
        yield executor.get_executor(pure=False), None
    else:
        yield executor, None


def _manifest(experiment: Experiment) -> dict[str, Any]:
    return {
        "aqmkit": _aqmkit.VERSION,
        "experiment": experiment.id,
        "title": experiment.title,
        "hash": experiment.hash,
        "seed": experiment.seed,
        "repeat": experiment.repeat,
        "scale": experiment.scale,
        "axes": list(experiment.axes.items()),
        "windows": experiment.windows,
        "runs": [{"labels": run.labels, "hash": run.hash} for run in experiment.plan],
    }


def _file(directory: Path, table: str, axes: Sequence[str], run: Mapping[str, Any]) -> Path:
    """Path of the file with one table of one run."""
    parts = [f"{_quoted(axis)}={_quoted(run['labels'][axis])}" for axis in axes]
    return Path(directory, "tables", table, *parts, f"{run['hash'][:32]}.parquet")


def _column(axis: str, table: pa.Table) -> str:
    """The name of an axis's column in a table that has it: prefixed if another column has the name of the axis."""
    return f"axis.{axis}" if f"axis.{axis}" in table.column_names else axis


def _label(axis: str, table: pa.Table) -> str:
    """The name to give an axis's column in a table that does not have it yet."""
    return f"axis.{axis}" if axis in table.column_names else axis


def _quoted(text: str) -> str:
    return urllib.parse.quote(text, safe=" +.,:@()[]{}'")


def _is_done(directory: Path, axes: Sequence[str], run: Mapping[str, Any]) -> bool:
    """Whether a run and all its tables are stored."""
    return _file(directory, TABLES[0], axes, run).is_file()


def _replace(file: Path, write: Any) -> None:
    """Writes a file atomically."""
    handle, name = tempfile.mkstemp(prefix=".aqmkit-", dir=file.parent)
    os.close(handle)
    try:
        write(Path(name))
        os.chmod(name, 0o644)
        os.replace(name, file)
    except BaseException:
        os.unlink(name)
        raise
