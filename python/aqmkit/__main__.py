"""The command ``aqmkit``; also ``python -m aqmkit``."""

from __future__ import annotations

import signal
import sys

from . import _aqmkit

__all__ = ["main"]


def main() -> int:
    """Runs the command with the arguments of the process, and gives its exit code."""
    # The command answers to Ctrl-C itself; Python's handler would wait for it to end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _aqmkit.main(["aqmkit", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
