"""The JSON Schema that `aqmkit schema` prints, with which editors check experiment files."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

EXPERIMENTS = Path(__file__).parents[2] / "experiments"

START = """
title = "Mine"
[topology]
rate = "10mbit"
[params.red]
max = 40
[[traffic]]
kind = "bulk"
"""


@pytest.fixture(scope="module")
def schema() -> jsonschema.Draft7Validator:
    printed = subprocess.run([sys.executable, "-m", "aqmkit", "schema"], check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(printed.stdout)
    jsonschema.Draft7Validator.check_schema(found)
    return jsonschema.Draft7Validator(found)


def test_every_experiment_of_the_library_is_valid(schema: jsonschema.Draft7Validator) -> None:
    files = sorted(EXPERIMENTS.glob("*/*.toml"))
    assert len(files) > 60
    for file in files:
        found = [f"{file.name}: {error.message[:200]}" for error in schema.iter_errors(tomllib.loads(file.read_text()))]
        assert found == []


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("[topology]", "[topolgy]"),
        ('rate = "10mbit"', 'rate = "fast"'),
        ('rate = "10mbit"', "rate = 10"),
        ('rate = "10mbit"', 'rat = "10mbit"'),
        ("max = 40", "mxa = 40"),
        ('title = "Mine"', ""),
        ('kind = "bulk"', 'name = "bulk"'),
    ],
)
def test_mistakes_are_found(schema: jsonschema.Draft7Validator, right: str, wrong: str) -> None:
    assert schema.is_valid(tomllib.loads(START))
    assert not schema.is_valid(tomllib.loads(START.replace(right, wrong)))
