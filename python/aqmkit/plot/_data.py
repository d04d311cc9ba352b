"""Data for figures: selected rows of tables, and axis labels with units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ._metrics import METRICS

__all__ = ["Floats", "Measured", "Where", "groups", "named", "only_window", "select", "splits", "together", "values"]

Floats = npt.NDArray[np.float64]
#: A selection of rows: for each axis a label, or a list of labels.
Where = Mapping[str, Any]


class Measured(Protocol):
    """The common interface of `aqmkit.Results` and `aqmkit.Sweep`."""

    @property
    def axes(self) -> dict[str, list[str]]: ...
    @property
    def windows(self) -> dict[str, tuple[float, float]]: ...
    @property
    def runs(self) -> pa.Table: ...
    @property
    def series(self) -> pa.Table: ...
    @property
    def exchanges(self) -> pa.Table: ...
    @property
    def distributions(self) -> pa.Table: ...


#: By the last part of a quantity's name: its name in figures, its unit there, and the conversion factor.
_UNITS = {**METRICS, "duration_ms": ("completion time", "ms", 1.0), "bytes": ("size", "bytes", 1.0)}
_STATISTICS = {"mean": "mean", "p50": "median", "p90": "90th percentile", "p99": "99th percentile", "max": "largest"}


def named(quantity: str, *, owner: bool = True) -> tuple[str, float]:
    """The axis label of a quantity, with its unit, and the factor that converts to that unit.

    >>> named("classes.tcp.throughput_bps")
    ('tcp throughput (Mbit/s)', 1e-06)
    >>> named("links.bottleneck.queue_delay_ms.p99", owner=False)
    ('queue delay, 99th percentile (ms)', 1.0)
    """
    parts = quantity.split(".")
    place = next((i for i, part in enumerate(parts) if part in _UNITS), None)
    if place is None:
        return ".".join(parts[2:]) if len(parts) > 2 else quantity, 1.0
    word, unit, factor = _UNITS[parts[place]]
    rest = [_STATISTICS.get(part, part) for part in parts[place + 1 :] if part != "mean"]
    who = f"{'.'.join(parts[1:place])} " if owner and place > 1 and parts[0] != "links" else ""
    return f"{who}{', '.join([word, *rest])} ({unit})", factor


def together(quantities: Sequence[str]) -> str:
    """The axis label for several quantities with the same unit, without their owners.

    >>> together(["links.bottleneck.drop_rate", "links.bottleneck.mark_rate"])
    'drops, marks (%)'
    >>> together(["classes.tcp.throughput_bps", "classes.udp.throughput_bps"])
    'throughput (Mbit/s)'
    """
    labels = [named(quantity, owner=False)[0].rpartition(" (") for quantity in quantities]
    words = dict.fromkeys(word for word, *_ in labels)
    return f"{', '.join(words)} ({labels[0][2]}" if labels else ""


def select(measured: Measured, table: pa.Table, where: Where | None) -> pa.Table:
    """The rows that match `where`.

    Raises
    ------
    KeyError
        When there is no such axis or column.
    ValueError
        When an axis does not have a label, or no row matches.
    """
    left = table
    for name, wanted in (where or {}).items():
        if name not in table.column_names:
            raise KeyError(f"there is no axis {name!r}; columns are {', '.join(table.column_names)}")
        several = isinstance(wanted, Sequence) and not isinstance(wanted, str)
        labels = [str(w) for w in (wanted if several else [wanted])]
        _check_labels(measured, table, name, labels)
        left = left.filter(pc.is_in(left.column(name).cast(pa.string()), pa.array(labels, pa.string())))
    if not left.num_rows:
        raise ValueError(
            f"where={dict(where)!r} leaves nothing to draw" if where else "there is nothing to draw: no run has a row"
        )
    return left


def _check_labels(measured: Measured, table: pa.Table, name: str, labels: list[str]) -> None:
    # A label is valid even if its runs have no row in this table (no exchange, for instance).
    there = pc.unique(table.column(name).cast(pa.string())).to_pylist()
    known = dict.fromkeys([*measured.axes.get(name, []), *there])
    for label in labels:
        if label not in known:
            raise ValueError(f"where: {name} cannot be {label!r}; there are {', '.join(map(str, known)) or 'none'}")


def splits(measured: Measured, by: str | None) -> str | None:
    """The axis to distinguish by colour: `by`, or else the first with more than one label."""
    if by is not None:
        if by not in measured.axes and by != "repeat":
            raise KeyError(f"there is no axis {by!r}; there are {', '.join(measured.axes) or 'none'}")
        return by
    return next((name for name, labels in measured.axes.items() if len(labels) > 1), None)


def groups(measured: Measured, table: pa.Table, by: str | None, where: Where | None) -> dict[str, pa.Table]:
    """The rows that match `where`, grouped by the labels of `by`, in the order of that axis."""
    table = select(measured, table, where)
    axis = splits(measured, by)
    if axis is None:
        return {"": table}
    # An axis with the same name as another column of the table is prefixed there.
    column = table.column(f"axis.{axis}" if f"axis.{axis}" in table.column_names else axis).cast(pa.string())
    labels = measured.axes.get(axis) or sorted(set(column.to_pylist()))
    found = {label: table.filter(pc.equal(column, label)) for label in labels}
    return {label: rows for label, rows in found.items() if rows.num_rows}


def values(table: pa.Table, column: str) -> Floats:
    """A column as an array; nulls become NaN."""
    if column not in table.column_names:
        raise KeyError(f"there is no column {column!r}; columns are {', '.join(table.column_names)}")
    made: Floats = table.column(column).cast(pa.float64()).to_numpy(zero_copy_only=False)
    return made


def only_window(measured: Measured, window: str | None) -> str:
    """Checks the name of a window; None is the only window."""
    names = list(measured.windows)
    if window is None and len(names) == 1:
        return names[0]
    if window not in names:
        raise KeyError(f"which window? There are {', '.join(names)}")
    return window
