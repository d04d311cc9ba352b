"""Tables that aqmkit left in files of Parquet."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from .errors import ExperimentError

__all__ = ["read_table"]


def read_table(file: Path, right: str) -> pa.Table:
    """The table in a file; a file that is damaged is told by its name, with what would be right."""
    try:
        # As it is: names of directories above it are no columns.
        return pq.read_table(file, partitioning=None)
    except (pa.ArrowException, OSError) as error:
        raise ExperimentError(f"{file} is damaged: {error}", right) from None
