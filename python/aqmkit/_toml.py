"""Converts Python values to the text of an experiment."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import tomli_w

from .discipline import Aqm

__all__ = ["document", "literal", "plain"]


def plain(value: Any, aqms: dict[str, Aqm]) -> Any:
    """Converts a value to types that TOML supports. Adds Python disciplines to `aqms` by id; leaves out None."""
    if isinstance(value, Aqm):
        table = value.as_table()
        aqms[table["id"]] = value
        return table
    if isinstance(value, type) and issubclass(value, Aqm):
        return plain(value(), aqms)
    if isinstance(value, Mapping):
        return {str(key): plain(inner, aqms) for key, inner in value.items() if inner is not None}
    if isinstance(value, (list, tuple)):
        return [plain(inner, aqms) for inner in value]
    # NumPy scalars convert themselves to Python numbers.
    return value.item() if hasattr(value, "item") else value


def document(keys: Mapping[str, Any]) -> str:
    """A TOML document with these keys, in this order."""
    return tomli_w.dumps(keys)


def literal(value: Any) -> str:
    """Formats a value on one line, for ``--set``."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(k)} = {literal(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(literal(inner) for inner in value) + "]"
    return json.dumps(value, ensure_ascii=False)
