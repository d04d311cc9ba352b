"""Reads Parquet files that aqmkit wrote."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from .errors import ExperimentError

__all__ = ["read_table"]


def read_table(file: Path, right: str) -> pa.Table:
    """Reads a table. The error for a damaged file names the file and gives `right` as the remedy."""
    try:
        # Without `partitioning=None`, directories named `axis=label` would become columns.
        return pq.read_table(file, partitioning=None)
    except (pa.ArrowException, OSError) as error:
        raise ExperimentError(f"{file} is damaged: {error}", right) from None
