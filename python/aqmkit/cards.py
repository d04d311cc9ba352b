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

#: Symbols for the verdicts on a card.
_SIGNS = {"good": "✓", "mixed": "~", "poor": "✗", "cannot-tell": "?", "not-applicable": ""}


class Card:
    """A report card: disciplines judged section by section.

    ``str(card)`` is the text that the command prints; a notebook shows a table of the verdicts.
    """

    def __init__(self, data: str, text: str, page: Path) -> None:
        self._data = data
        self._text = text
        #: The page with all rules, numbers and figures: a self-contained HTML file.
        self.page = page

    @cached_property
    def data(self) -> dict[str, Any]:
        """Everything on the card: ``disciplines``, whose first ``subjects`` are characterised and the others are references;
        ``sections`` with their ``rules`` and a row for each discipline; and ``facts``.
        """
        data: dict[str, Any] = json.loads(self._data)
        return data

    @property
    def disciplines(self) -> list[str]:
        """The disciplines: first the characterised ones, then the references."""
        return list(self.data["disciplines"])

    @property
    def verdicts(self) -> dict[str, dict[str, str]]:
        """By section number, the verdict on each discipline: ``good``, ``mixed``, ``poor``, ``cannot-tell`` or
        ``not-applicable``.
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
    """Advice on which discipline best serves a wish on a link, with the evidence.

    ``str(advice)`` is the text that the command prints; a notebook shows the answer and a table of the final comparison.
    """

    def __init__(self, data: str, text: str, page: Path) -> None:
        self._data = data
        self._text = text
        #: The page with the figures: a self-contained HTML file.
        self.page = page

    @cached_property
    def data(self) -> dict[str, Any]:
        """Everything: ``goals``, ``finalists`` with their values and factors, ``tried``, ``install``, ``rounds``, ``facts``."""
        data: dict[str, Any] = json.loads(self._data)
        return data

    @property
    def meets(self) -> bool:
        """Whether the advised discipline meets every bound of the wish, on average over the fresh seeds."""
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
        """The shell commands that install the discipline."""
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
    """Formats a number with three significant digits."""
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
    """Characterises disciplines section by section as RFC 7928 specifies, like ``aqmkit characterize``.

    Parameters
    ----------
    disciplines
        Names, optionally with parameters (``"pie:target=5ms"``), or instances of subclasses of `aqmkit.Aqm`. ``fifo`` and
        ``fq-codel`` are run too, as references.
    quick
        Five runs of a minute for each scenario, instead of three to five runs of five minutes.
    seed, repeat
        The seed, and the number of runs of each combination.
    out
        The directory for the results; finished runs there are not repeated.
    card
        The file for the page; by default ``card.html`` in that directory.
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
    experiments = [(name, Experiment._of(file, text, aqms, changes)) for name, file, text in planned]
    for name, experiment in experiments:
        experiment.run(directory / name, jobs=jobs, progress=progress)
    page = directory / "card.html" if card is None else Path(card)
    data, text = _aqmkit.card(named, [name for name, _ in experiments], directory, page)
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
    """Finds the discipline and parameters that best serve a wish on a link, like ``aqmkit advise``.

    Parameters
    ----------
    want
        The wish: traffic, bounds and aims (``"video, web; p99 < 20ms"``); its grammar is in ``docs/guide/advise.md``.
    rate
        Rate of the link (``"50mbit"``), or of both directions (``"50mbit/10mbit"``).
    rtt
        Round-trip time without queueing, or a range (``"15ms..120ms"``).
    preset
        Rates and round trip of a type of access link, as in `compare`.
    traffic
        Additional traffic, named like the arguments of `compare`: ``{"bulk": 8, "web": 0.3}``.
    alone
        Whether to run only the traffic of the wish and of `traffic`. Otherwise, unless `traffic` is given, a mix of present-day
        traffic is added.
    cc, ecn, transport
        As in `compare`.
    among
        The disciplines to choose from: names, ``"linux"`` (those of ``tc``, the default; the best of the others is shown
        beside the answer), ``"kernel"`` or ``"all"``.
    budget, fresh
        Maximum number of runs of the search, and number of fresh seeds for the final comparison.
    limit, duration, warmup
        Capacity of every queue; measured time of a run, and the time before that.
    seed, out, jobs, progress
        The seed of the search; the others as in `Experiment.run`.

    Raises
    ------
    ValueError
        When the wish or an argument is invalid (`ExperimentError`).
    RunError
        When a run fails.
    Interrupted
        When Ctrl-C was pressed; finished runs are kept, and the same call resumes.
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
    with Bar(0, progress) as bar:
        data, text, page, failed = _aqmkit.advise(want, given, alone=alone, ecn=ecn, jobs=jobs, progress=bar.at)
    if failed:
        raise RunError("\n".join(failed))
    return Advice(data, text, page)
