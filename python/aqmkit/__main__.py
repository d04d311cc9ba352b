"""The command ``aqmkit``; also ``python -m aqmkit``."""

from __future__ import annotations

import argparse
import importlib.util
import signal
import sys
from pathlib import Path

from . import _aqmkit

__all__ = ["main"]


def main() -> int:
    """Runs the command with the arguments of the process, and returns its exit code."""
    words = sys.argv[1:]
    if "characterize" in words[:1] and any(word.endswith(".py") for word in words):
        return _characterize(words[1:])
    # The command handles Ctrl-C itself; Python's handler would run only after the command has returned.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _aqmkit.main(["aqmkit", *words])


def _characterize(words: list[str]) -> int:
    """``aqmkit characterize`` for disciplines written in Python."""
    import json

    from .cards import characterize
    from .errors import ExperimentError, Interrupted, RunError

    parser = argparse.ArgumentParser(
        "aqmkit characterize", description="A report card of disciplines, also of those in files of Python"
    )
    parser.add_argument("disciplines", nargs="+", help="disciplines, each a name, NAME:PARAMETER=VALUE,… or FILE.py")
    parser.add_argument("--quick", action="store_true", help="runs of a minute, five of each kind")
    parser.add_argument("--card", help="where the card goes")
    parser.add_argument("--out", help="where results go")
    parser.add_argument("--seed", type=int, help="another seed")
    parser.add_argument("--repeat", type=int, help="runs of every combination")
    parser.add_argument("--jobs", type=int, help="parallel runs (default: all cores)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print the card only")
    args = parser.parse_args(words)
    try:
        wanted = [d for name in args.disciplines for d in ([name] if not name.endswith(".py") else _load(Path(name)))]
        card = characterize(
            wanted, quick=args.quick, seed=args.seed, repeat=args.repeat, out=args.out, card=args.card, jobs=args.jobs,
            progress=not args.quiet,
        )  # fmt: skip
    except Interrupted as stopped:
        print(stopped, file=sys.stderr)
        return 130
    except RunError as failed:
        print(f"error: {failed}", file=sys.stderr)
        return 1
    except (ExperimentError, OSError, TypeError, ValueError) as wrong:
        print(f"error: {wrong}", file=sys.stderr)
        return 2
    print(json.dumps(card.data, indent=2) if args.json else f"{card}\nCard: {card.page}")
    return 0


def _load(file: Path) -> list[type]:
    """Loads the disciplines that a Python file defines.

    Raises
    ------
    ValueError
        When it cannot be read, or defines no discipline.
    """
    from .discipline import Aqm

    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None or not file.is_file():
        raise ValueError(f"{file} cannot be read: it must be a file of Python")
    module = importlib.util.module_from_spec(spec)
    # `pickle` and `dataclass` look up a class's module in `sys.modules`.
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    found = [c for c in vars(module).values() if isinstance(c, type) and issubclass(c, Aqm) and c.__module__ == file.stem]
    if not found:
        raise ValueError(f"{file} defines no discipline: it must have a subclass of aqmkit.Aqm")
    return found


if __name__ == "__main__":
    sys.exit(main())
