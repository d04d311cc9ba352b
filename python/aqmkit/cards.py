"""Report cards of disciplines by RFC 7928, and advice for a link."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from . import _aqmkit
from ._checks import check_whole
from ._progress import Bar
from .discipline import Aqm
from .errors import RunError
from .experiment import _MOST_JOBS, Experiment, _Changes, _joined, _wanted

__all__ = ["Advice", "Card", "advise", "characterize"]

#: Signs of the verdicts of a card.
_SIGNS = {"good": "✓", "mixed": "~", "poor": "✗", "cannot-tell": "?", "not-applicable": ""}


class Card:
    """A report card: disciplines judged section by section.

    ``str(card)`` is what the command prints; in a notebook, a table of the verdicts stands for it.
    """

    def __init__(self, data: str, text: str, page: Path) -> None:
        self._data = data
        self._text = text
        #: The page with all rules, numbers and pictures: one HTML file that opens without a network.
        self.page = page

    @cached_property
    def data(self) -> dict[str, Any]:
        """Everything on the card: ``disciplines``, of which the first ``subjects`` are characterised, ``sections`` with
        their ``rules`` and a row for each discipline, ``facts``.
        """
        data: dict[str, Any] = json.loads(self._data)
        return data

    @property
    def disciplines(self) -> list[str]:
        """The disciplines, those that are characterised first."""
        return list(self.data["disciplines"])

    @property
    def verdicts(self) -> dict[str, dict[str, str]]:
        """The verdict on each discipline (``good``, ``mixed``, ``poor``, ``cannot-tell`` or ``not-applicable``), by the
        number of the section.
        """
        return {
            section["number"]: {name: row["verdict"] for name, row in zip(self.disciplines, section["rows"], strict=False)}
            for section in self.data["sections"]
        }

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<Card of {', '.join(self.disciplines[: self.data['subjects']])}: {str(self.page)!r}>"

    def _repr_html_(self) -> str:
        heads = "".join(f"<th>{escape(name)}</th>" for name in self.disciplines)
        rows = []
        for section in self.data["sections"]:
            cells = "".join(
                f'<td style="text-align:center" title="{escape(row["note"])}">{_SIGNS[row["verdict"]]}</td>'
                for row in section["rows"]
            )
            name = f"{section['number']} {section['title']}"
            rows.append(f'<tr><th style="text-align:left" title="{escape(section["asks"])}">{escape(name)}</th>{cells}</tr>')
        source = escape(self.data["source"])
        return f"<table><thead><tr><th>{source}</th>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


class Advice:
    """An advice: which discipline serves a wish on a link best, and the evidence.

    ``str(advice)`` is what the command prints; in a notebook, the answer and a table of the last comparison stand for it.
    """

    def __init__(self, data: str, text: str, page: Path) -> None:
        self._data = data
        self._text = text
        #: The page with the pictures: one HTML file that opens without a network.
        self.page = page

    @cached_property
    def data(self) -> dict[str, Any]:
        """Everything: ``goals``, ``finalists`` with their values and factors, ``tried``, ``install``, ``rounds``, ``facts``."""
        data: dict[str, Any] = json.loads(self._data)
        return data

    @property
    def meets(self) -> bool:
        """Whether the advised discipline meets every bound of the wish, in the mean over the fresh seeds."""
        return bool(self.data["meets"])

    @property
    def discipline(self) -> str:
        """The advised discipline."""
        return str(self.data["finalists"][0]["discipline"])

    @property
    def parameters(self) -> dict[str, str]:
        """Its parameters that differ from the defaults."""
        return dict(self.data["finalists"][0]["parameters"])

    @property
    def commands(self) -> list[str]:
        """The lines to type."""
        return list(self.data["install"]["lines"])

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<Advice for {self.data['link']}: {self.data['finalists'][0]['label']}>"

    def _repr_html_(self) -> str:
        data = self.data
        finalists = data["finalists"]
        heads = "".join(f"<th>{escape(f['discipline'])}<br><small>{escape(f['role'])}</small></th>" for f in finalists)
        rows = []
        for place, goal in enumerate(data["goals"]):
            name = " ".join(filter(None, [goal["words"], goal["bound"], goal["unit"]]))
            cells = "".join(f"<td>{_number(f['values'][place]['mean'])}</td>" for f in finalists)
            rows.append(f'<tr><th style="text-align:left">{escape(name)}</th>{cells}</tr>')
        worse = "".join(f"<td>{_number(f['worse']['mean'] if f['worse'] else 1.0)}</td>" for f in finalists)
        rows.append(f'<tr><th style="text-align:left">times worse</th>{worse}</tr>')
        lines = escape("\n".join(self.commands))
        table = f"<table><thead><tr><th></th>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        return f"<p>{escape(data['summary'][0])}</p>{table}<pre>{lines}</pre>"


def _number(value: float | None) -> str:
    """A number in three digits."""
    return "" if value is None else f"{value:.3g}"


def characterize(
    disciplines: str | Aqm | type[Aqm] | Iterable[str | Aqm | type[Aqm]],
    *,
    quick: bool = False,
    seed: int | None = None,
    repeat: int | None = None,
    out: str | os.PathLike[str] | None = None,
    card: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    progress: bool = True,
) -> Card:
    """Characterises disciplines as RFC 7928 asks, section by section, as ``aqmkit characterize`` does.

    Parameters
    ----------
    disciplines
        Names, each with parameters after a colon where it has any (``"pie:target=5ms"``), or objects of subclasses of
        `aqmkit.Aqm`. ``fifo`` and ``fq-codel`` are run as well, to compare with.
    quick
        Runs of a minute, five of each kind, instead of three to five of five minutes.
    seed, repeat
        The seed, and the number of runs of each combination.
    out
        The directory of the results; finished runs there are not repeated.
    card
        Where the page goes; ``card.html`` in that directory when None.
    jobs, progress
        As in `Experiment.run`.

    Raises
    ------
    ValueError
        When there is no discipline, or an argument is invalid (`ExperimentError`).
    TypeError
        When something is not a discipline.
    RunError
        When a run fails.
    """
    check_whole(1, _MOST_JOBS, jobs=jobs)
    aqms: dict[str, Aqm] = {}
    named: list[tuple[str, str | None]] = []
    for wanted in _wanted(disciplines):
        if isinstance(wanted, str):
            named.append((wanted, None))
        else:
            aqm = wanted() if isinstance(wanted, type) else wanted
            table = aqm.as_table()
            aqms[table["id"]] = aqm
            named.append((aqm.name, json.dumps(table)))
    usual, planned = _aqmkit.card_plan(named, quick)
    directory = usual if out is None else Path(out)
    changes = _Changes(seed=seed, repeat=repeat, scale="quick" if quick else "full")
    all_of_them = [(name, Experiment._of(file, text, aqms, changes)) for name, file, text in planned]
    for name, experiment in all_of_them:
        experiment.run(directory / name, jobs=jobs, progress=progress)
    page = directory / "card.html" if card is None else Path(card)
    data, text = _aqmkit.card(named, [name for name, _ in all_of_them], directory, page)
    return Card(data, text, page)


def advise(
    want: str,
    *,
    rate: str | None = None,
    rtt: str | None = None,
    preset: str | None = None,
    traffic: Mapping[str, object] | None = None,
    alone: bool = False,
    cc: str | Iterable[str] | None = None,
    ecn: bool = False,
    transport: str | None = None,
    among: str | Iterable[str] | None = None,
    budget: int | None = None,
    fresh: int | None = None,
    limit: int | str | None = None,
    duration: str | None = None,
    warmup: str | None = None,
    seed: int | None = None,
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    progress: bool = True,
) -> Advice:
    """Advises which discipline, with which parameters, serves a wish on a link best, as ``aqmkit advise`` does.

    Parameters
    ----------
    want
        The wish: traffic, bounds and aims (``"video, web; p99 < 20ms"``); ``docs/guide/advise.md`` has its grammar.
    rate
        Rate of the link (``"50mbit"``), or of both directions (``"50mbit/10mbit"``).
    rtt
        Round-trip time without queueing, or a range (``"15ms..120ms"``).
    preset
        Rates and round trip of a kind of access, as in `compare`.
    traffic
        More traffic, by the names of the options of `compare`: ``{"bulk": 8, "web": 0.3}``.
    alone
        No traffic but that of the wish and of `traffic`; else that of today is added where `traffic` is not given.
    cc, ecn, transport
        As in `compare`.
    among
        The disciplines to choose from: names, or ``"linux"`` (those of ``tc``, the default; the best of the others is shown
        beside it), ``"kernel"``, ``"all"``.
    budget, fresh
        How many runs the search may take, and under how many fresh seeds the best are compared.
    limit, duration, warmup
        Capacity of every queue; measured time of a run, and the time before that.
    seed, out, jobs, progress
        The seed of the search, and as in `Experiment.run`.

    Raises
    ------
    ValueError
        When the wish or an argument is invalid (`ExperimentError`).
    RunError
        When a run fails.
    Interrupted
        When Ctrl-C was pressed; finished runs are kept, and the same call goes on from there.
    """
    check_whole(0, 2**64 - 1, seed=seed)
    check_whole(1, _MOST_JOBS, jobs=jobs)
    check_whole(1, 2**32 - 1, budget=budget)
    check_whole(2, 1000, fresh=fresh)
    options: dict[str, object] = {
        "rate": rate, "rtt": rtt, "preset": preset, "cc": None if cc is None else _joined(cc),
        "transport": transport, "among": None if among is None else _joined(among), "budget": budget, "fresh": fresh,
        "limit": limit, "duration": duration, "warmup": warmup, "seed": seed, "out": None if out is None else os.fspath(out),
        **(traffic or {}),
    }  # fmt: skip
    given = [(name, str(value)) for name, value in options.items() if value is not None]
    # What the command takes where these are left out.
    with Bar((budget or 600) + 14 * (fresh or 12), progress) as bar:
        data, text, page, failed = _aqmkit.advise(want, given, alone=alone, ecn=ecn, jobs=jobs, progress=bar.at)
    if failed:
        raise RunError("\n".join(failed))
    return Advice(data, text, page)
