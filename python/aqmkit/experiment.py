"""Experiments: loaded by id or from a file, or built in Python."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from . import _aqmkit, _toml
from ._checks import check_whole
from ._progress import Bar
from ._warn import warn
from .discipline import Aqm
from .errors import RunError
from .results import Results

__all__ = ["Experiment", "Run", "compare", "comparison", "experiments", "load"]

Scale = Literal["quick", "full"]

#: The native module takes the number of parallel runs as a 16-bit integer.
_MOST_JOBS = 2**16 - 1


class Run(NamedTuple):
    """One run of a plan: one repeat of one combination of the sweep."""

    #: The label of the value on each axis; ``repeat``, from 1; and ``seed``.
    labels: dict[str, str]
    #: A hash of everything that determines the output, including the code of aqmkit.
    hash: str


class Experiment:
    """An experiment: topology, traffic, disciplines, windows.

    The keyword arguments are the keys of an experiment file, with the same names and units; tables are dictionaries. A
    quantity with a dimension is a string with its unit, as in ``tc``: ``"10mbit"``, ``"30ms"``, ``"1500b"``. Wherever a file
    would name a discipline, an instance of a subclass of `aqmkit.Aqm` is accepted too.

    Raises
    ------
    ExperimentError
        When a value is invalid; the message gives its location and the valid values.

    Examples
    --------
    >>> import aqmkit
    >>> experiment = aqmkit.Experiment(
    ...     title="Two queues",
    ...     duration="10s",
    ...     topology={"rate": "10mbit", "delays": "50ms"},
    ...     sweep={"aqm": ["fifo", {"name": "red", "min": 5, "max": 40}]},
    ...     traffic=[{"kind": "bulk", "class": "tcp", "flows": 5}],
    ... )
    >>> experiment.axes
    {'aqm': ['fifo', 'red']}
    >>> len(experiment.plan)
    2
    """

    def __init__(self, **keys: Any) -> None:
        aqms: dict[str, Aqm] = {}
        text = _toml.document(_toml.plain(keys, aqms))
        self._setup("experiment.toml", text, aqms, _Changes())

    @classmethod
    def _of(cls, file: str, text: str, aqms: dict[str, Aqm], changes: _Changes) -> Experiment:
        made = cls.__new__(cls)
        made._setup(file, text, aqms, changes)
        return made

    def _setup(self, file: str, text: str, aqms: dict[str, Aqm], changes: _Changes) -> None:
        check_whole(0, 2**64 - 1, seed=changes.seed)
        check_whole(1, 2**32 - 1, repeat=changes.repeat)
        self._file = file
        self._text = text
        self._aqms = aqms
        self._changes = changes
        self._plan = _aqmkit.Plan(file, text, list(aqms.items()), **changes._asdict())

    @classmethod
    def load(
        cls,
        name: str | os.PathLike[str],
        *,
        set: Mapping[str, Any] | None = None,
        seed: int | None = None,
        repeat: int | None = None,
        scale: Scale = "full",
    ) -> Experiment:
        """Loads an experiment by its id, such as ``cbt/blast``, or by the path of its file.

        An id is looked up in ``./experiments``, then in ``$AQMKIT_EXPERIMENTS``, then in the copy in the package.

        Parameters
        ----------
        set
            Values to override, by path: ``{"topology.rate": "20mbit", "params.red.max": 60}``.
        seed
            The seed from which those of the runs are derived.
        repeat
            Number of runs of each combination.
        scale
            ``"full"``: as published. ``"quick"``: shortened as specified in the file.
        """
        file, text = _aqmkit.find(os.fspath(name))
        return cls._of(file, text, {}, _Changes()).changed(set=set, seed=seed, repeat=repeat, scale=scale)

    @classmethod
    def parse(cls, text: str, file: str = "experiment.toml") -> Experiment:
        """Parses the text of an experiment file. `file` names it in messages; paths of data files are relative to it."""
        return cls._of(file, text, {}, _Changes())

    def changed(
        self,
        *,
        set: Mapping[str, Any] | None = None,
        seed: int | None = None,
        repeat: int | None = None,
        scale: Scale | None = None,
    ) -> Experiment:
        """Returns a copy of the experiment with other values; the arguments are those of `load`."""
        aqms = dict(self._aqms)
        settings = [f"{path}={_toml.literal(_toml.plain(value, aqms))}" for path, value in (set or {}).items()]
        old = self._changes
        changes = _Changes(
            set=old.set + settings,
            seed=old.seed if seed is None else seed,
            repeat=old.repeat if repeat is None else repeat,
            scale=scale or old.scale,
        )
        return self._of(self._file, self._text, aqms, changes)

    def swept(self, grid: Mapping[str, Sequence[Any]]) -> Experiment:
        """Returns a copy of the experiment with these sweep axes: lists of values, by path.

        They replace existing axes of the same name; other axes are kept.

        Examples
        --------
        >>> import aqmkit
        >>> aqmkit.load("cbt/blast").swept({"topology.rate": ["5mbit", "10mbit"]}).axes["topology.rate"]
        ['5mbit', '10mbit']
        """
        aqms = dict(self._aqms)
        keys = tomllib.loads(self._text)
        keys["sweep"] = {**keys.get("sweep", {}), **_toml.plain(grid, aqms)}
        return self._of(self._file, _toml.document(keys), aqms, self._changes)

    def run(self, out: str | os.PathLike[str] | None = None, *, jobs: int | None = None, progress: bool = True) -> Results:
        """Executes the missing runs, and writes tables and a report.

        The GIL is released during the runs. Ctrl-C raises `Interrupted` and keeps finished runs: the same call, or
        ``aqmkit run`` with the same directory, resumes from there.

        Parameters
        ----------
        out
            The directory for the results; by default ``results/<id>``, as for the command.
        jobs
            Number of parallel runs; by default one per core. Results do not depend on it.
        progress
            Whether to show a progress bar, in a notebook or on a terminal.

        Raises
        ------
        ExperimentError
            When the directory cannot be written to.
        RunError
            When a run fails; the others are kept.
        Interrupted
            When Ctrl-C was pressed.

        Warns
        -----
        UserWarning
            When no packet passed during the measured time of a run, so its results are meaningless.
        """
        check_whole(1, _MOST_JOBS, jobs=jobs)
        directory = Path("results") / self.id if out is None else Path(out)
        with Bar(len(self.plan), progress) as bar:
            return _results(self._plan.run(directory, jobs, bar.at))

    @property
    def id(self) -> str:
        """The path below ``experiments/`` without ``.toml``, or the name of the file."""
        return self._plan.about["experiment"]

    @property
    def title(self) -> str:
        """The title, for reports and lists."""
        return self._plan.about["title"]

    @property
    def source(self) -> str:
        """The publication or report that the experiment reproduces."""
        return self._plan.about["source"]

    @property
    def about(self) -> str:
        """A description for the report, in Markdown."""
        return self._plan.about["about"]

    @property
    def hash(self) -> str:
        """A hash of all inputs of the results."""
        return self._plan.about["hash"]

    @property
    def scale(self) -> str:
        """``quick`` or ``full``."""
        return self._plan.about["scale"]

    @property
    def seed(self) -> int:
        """The seed from which those of the runs are derived."""
        return self._plan.seed

    @property
    def repeat(self) -> int:
        """Number of runs of each combination."""
        return self._plan.repeat

    @property
    def axes(self) -> dict[str, list[str]]:
        """The sweep axes in order, each with the labels of its values."""
        return dict(self._plan.axes)

    @property
    def windows(self) -> dict[str, tuple[float, float]]:
        """The measurement windows: start and end, in seconds."""
        return self._plan.windows

    @property
    def plan(self) -> list[Run]:
        """All runs; the repeats of a combination are adjacent."""
        return [Run(labels, hash) for labels, hash in self._plan.runs]

    @property
    def text(self) -> str:
        """The text of the experiment file."""
        return self._text

    def __getstate__(self) -> tuple[str, str, dict[str, Aqm], _Changes]:
        return self._file, self._text, self._aqms, self._changes

    def __setstate__(self, state: tuple[str, str, dict[str, Aqm], _Changes]) -> None:
        self._setup(*state)

    def __repr__(self) -> str:
        return f"<Experiment {self.id}: {self.title!r}, {len(self.plan)} runs>"


def _results(outcome: _aqmkit.Outcome) -> Results:
    """Wraps an outcome in `Results`, and issues its warnings.

    Raises
    ------
    RunError
        When a run failed.
    """
    for warning in outcome.warnings:
        warn(warning)
    if outcome.failed:
        raise RunError("\n".join(outcome.failed))
    return Results(outcome)


class _Changes(NamedTuple):
    """Overrides of an experiment, named like the arguments of `_aqmkit.Plan`."""

    set: list[str] = []
    seed: int | None = None
    repeat: int | None = None
    scale: str = "full"


def load(
    name: str | os.PathLike[str],
    *,
    set: Mapping[str, Any] | None = None,
    seed: int | None = None,
    repeat: int | None = None,
    scale: Scale = "full",
) -> Experiment:
    """Loads an experiment; see `Experiment.load`.

    Examples
    --------
    >>> import aqmkit
    >>> experiment = aqmkit.load("cbt/blast", scale="quick")
    >>> experiment.axes["aqm"]
    ['fifo', 'red', 'fred', 'cbt', 'cbq']
    """
    return Experiment.load(name, set=set, seed=seed, repeat=repeat, scale=scale)


def experiments() -> dict[str, str]:
    """Titles of all experiments that can be loaded, by id."""
    return {id: title for id, title, _ in _aqmkit.catalogue()}


def comparison(
    disciplines: str | Aqm | type[Aqm] | Iterable[str | Aqm | type[Aqm]],
    *,
    rate: str | None = None,
    up: str | None = None,
    rtt: str | None = None,
    preset: str | None = None,
    bulk: int | None = None,
    upload: int | None = None,
    web: float | None = None,
    video: int | None = None,
    call: int | None = None,
    game: int | None = None,
    voip: int | None = None,
    http: float | None = None,
    cbr: str | None = None,
    mpeg: int | None = None,
    videoconf: int | None = None,
    cc: str | Iterable[str] | None = None,
    ecn: bool = False,
    sweep: Mapping[str, str | Iterable[object]] | None = None,
    duration: str | None = None,
    warmup: str | None = None,
    limit: int | str | None = None,
    transport: str | None = None,
    seed: int | None = None,
    repeat: int | None = None,
) -> Experiment:
    """Builds the experiment that `compare` runs, from the same arguments; `repeat` defaults to one run of each discipline."""
    wanted = _wanted(disciplines)
    named = [d for d in wanted if isinstance(d, str)]
    options = {
        "rate": rate, "up": up, "rtt": rtt, "preset": preset, "bulk": bulk, "upload": upload, "web": web, "video": video,
        "call": call, "game": game, "voip": voip, "http": http, "cbr": cbr, "mpeg": mpeg, "videoconf": videoconf,
        "cc": None if cc is None else _joined(cc), "duration": duration, "warmup": warmup, "limit": limit,
        "transport": transport,
    }  # fmt: skip
    given = [(name, str(value)) for name, value in options.items() if value is not None]
    swept = [f"{what}={_joined(values)}" for what, values in (sweep or {}).items()]
    # A comparison needs at least one built-in discipline; this one is replaced below.
    text = _aqmkit.comparison(named or ["fifo"], given, swept, ecn)
    aqms: dict[str, Aqm] = {}
    if len(named) < len(wanted):
        keys = tomllib.loads(text)
        written = keys["sweep"]["aqm"]
        # A discipline whose parameter is swept has an entry for each value, with the value in its label.
        entries = {d: [q for q in written if q["label"] == d or q["label"].startswith(f"{d} ")] for d in named}
        queues = [q for d in wanted for q in (entries[d] if isinstance(d, str) else [_toml.plain(d, aqms)])]
        keys["sweep"]["aqm"] = queues
        link = keys["title"].rsplit(" on a link of ", 1)[-1]
        keys["title"] = f"{', '.join(q['label'] for q in queues)} on a link of {link}"
        text = _toml.document(keys)
    return Experiment._of("compare", text, aqms, _Changes(seed=seed, repeat=repeat))


def _joined(values: str | Iterable[object]) -> str:
    """Formats a list for the command: ``"20,40"``."""
    return values if isinstance(values, str) else ",".join(str(value) for value in values)


def _wanted(disciplines: Any) -> list[str | Aqm | type[Aqm]]:
    """The disciplines as a list; a single discipline is accepted without one.

    Raises
    ------
    ValueError
        When the list is empty.
    TypeError
        When something is not a discipline.
    """
    right = 'write names such as "red" or "red:min=5,max=40", or objects of subclasses of aqmkit.Aqm'
    if _is_discipline(disciplines):
        return [disciplines]
    if not isinstance(disciplines, Iterable):
        raise TypeError(f"disciplines cannot be {disciplines!r}; {right}")
    wanted = list(disciplines)
    if not wanted:
        raise ValueError(f"disciplines is empty; {right}")
    for index, value in enumerate(wanted):
        if not _is_discipline(value):
            raise TypeError(f"disciplines[{index}] cannot be {value!r}; {right}")
    return wanted


def _is_discipline(value: object) -> bool:
    return isinstance(value, (str, Aqm)) or (isinstance(value, type) and issubclass(value, Aqm))


def compare(
    disciplines: str | Aqm | type[Aqm] | Iterable[str | Aqm | type[Aqm]],
    *,
    rate: str | None = None,
    up: str | None = None,
    rtt: str | None = None,
    preset: str | None = None,
    bulk: int | None = None,
    upload: int | None = None,
    web: float | None = None,
    video: int | None = None,
    call: int | None = None,
    game: int | None = None,
    voip: int | None = None,
    http: float | None = None,
    cbr: str | None = None,
    mpeg: int | None = None,
    videoconf: int | None = None,
    cc: str | Iterable[str] | None = None,
    ecn: bool = False,
    sweep: Mapping[str, str | Iterable[object]] | None = None,
    duration: str | None = None,
    warmup: str | None = None,
    limit: int | str | None = None,
    transport: str | None = None,
    seed: int | None = None,
    repeat: int | None = None,
    precision: float | str | None = None,
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    progress: bool = True,
) -> Results:
    """Compares disciplines on one link, like ``aqmkit compare``.

    Runs are repeated with further seeds until every mean in the table is known to ± 5 % or a budget of packets is spent;
    `Results.notes` then lists the means that are less precise. ``docs/statistics.md`` explains both. A packet through a Python
    discipline counts as 20 in the budget.

    Parameters
    ----------
    disciplines
        Names, optionally with parameters (``"red:min=5,max=40"``), or instances of subclasses of `aqmkit.Aqm`. A single
        discipline need not be in a list.
    rate
        Rate of the link (``"10mbit"``).
    up
        Rate of the reverse direction, which then has a queue as well; by default that direction is never congested.
    rtt
        Round-trip time without queueing (``"50ms"``).
    preset
        Rates and round trip of a type of access link: ``home-dsl``, ``cable``, ``fibre``, ``lte``, ``starlink`` or
        ``datacentre``.
    bulk, upload
        Number of endless TCP downloads, and of endless uploads. The latter need ``up`` or a ``preset``.
    web
        Present-day web traffic with this offered load, as a fraction of the link's rate.
    video, call, game, voip
        Number of viewers of adaptive streaming video; of video calls; of players of a game; of telephone calls.
    http
        Web traffic as of 1997 with this offered load, as a fraction of the link's rate.
    cbr
        An unresponsive UDP flow of this rate.
    mpeg, videoconf
        Number of MPEG video streams; of videoconferences as of 1997.
    cc
        TCP congestion control; the flows are divided among several (``["cubic", "prague"]``). By default ``"cubic"``, or
        that of `transport`.
    ecn
        Whether TCP negotiates ECN and disciplines mark.
    sweep
        Several values of a parameter, of the rate or of the round trip: ``{"red.max": [20, 40], "rtt": "10ms..50ms/5"}``.
    duration, warmup
        Measured time (``"60s"``), and the time before that (``"10s"``). Unless `warmup` or `repeat` is given, the warm-up is
        lengthened if the links have not reached a steady state by its end.
    limit
        Capacity of every queue: 100 (packets) or ``"90kb"``; by default 1000 packets, as in ``tc``.
    transport
        The TCP profile, one of ``aqmkit list transports``; by default ``"linux-6"``.
    seed
        The seed from which those of the runs are derived.
    repeat
        A fixed number of runs of each discipline, instead of as many as the means need.
    precision
        Precision of every mean, instead of 5 %: ``0.02`` or ``"2%"``. The budget is ten times as large.
    out, jobs, progress
        As in `Experiment.run`.

    Raises
    ------
    ValueError
        When there is no discipline, an argument is invalid (`ExperimentError`), or both `repeat` and `precision` are given.
    TypeError
        When something is not a discipline.

    Examples
    --------
    >>> import aqmkit, tempfile
    >>> results = aqmkit.compare(["fifo", "codel"], bulk=4, duration="5s", warmup="1s", repeat=2, out=tempfile.mkdtemp())
    >>> results.runs.column("aqm").to_pylist()
    ['fifo', 'fifo', 'codel', 'codel']
    """
    if repeat is not None and precision is not None:
        raise ValueError("repeat and precision cannot both be given; repeat fixes the number of runs, precision finds it")
    check_whole(1, _MOST_JOBS, jobs=jobs)
    experiment = comparison(
        disciplines, rate=rate, up=up, rtt=rtt, preset=preset, bulk=bulk, upload=upload, web=web, video=video, call=call,
        game=game, voip=voip, http=http, cbr=cbr, mpeg=mpeg, videoconf=videoconf, cc=cc, ecn=ecn, sweep=sweep,
        duration=duration, warmup=warmup, limit=limit, transport=transport, seed=seed, repeat=repeat,
    )  # fmt: skip
    if out is None:
        # Like the command: a directory named after the comparison, so that repeating it finds its finished runs.
        out = Path("results", "compare", _aqmkit.comparison_name(experiment.text))
    if repeat is not None:
        return experiment.run(out, jobs=jobs, progress=progress)
    wanted = None if precision is None else str(precision)
    with Bar(len(experiment.plan), progress) as bar:
        return _results(experiment._plan.run_until_known(Path(out), jobs, wanted, warmup is None, bar.at))
