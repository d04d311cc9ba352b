"""aqmkit: active queue management for congested links.

Run an experiment, and look at what it measured::

    import aqmkit

    results = aqmkit.compare(["fifo", "red", "codel", "pie", "fq-codel"], rate="10mbit", bulk=20, cbr="2mbit")
    print(results)
    aqmkit.plot.overview(results).savefig("five.pdf")

`load` finds the experiments that come with aqmkit, `Experiment` builds a new one, `sweep` runs one over a grid on many machines,
and subclasses of `Aqm` are disciplines of your own.
"""

from typing import TYPE_CHECKING, Any

from ._aqmkit import VERSION as __version__
from ._aqmkit import Arrival, Env, Link, Packet, PathReport, Queue, Verdict
from .cards import Advice, Card, advise, characterize
from .catalogue import describe, disciplines
from .discipline import DROP, MARK, PASS, Aqm
from .errors import ExperimentError, Interrupted, RunError
from .experiment import Experiment, Run, compare, comparison, experiments, load
from .path import Path
from .results import Results, read
from .sweeps import Sweep, read_sweep, sweep

if TYPE_CHECKING:
    from . import plot

__all__ = [
    "DROP",
    "MARK",
    "PASS",
    "Advice",
    "Aqm",
    "Arrival",
    "Card",
    "Env",
    "Experiment",
    "ExperimentError",
    "Interrupted",
    "Link",
    "Packet",
    "Path",
    "PathReport",
    "Queue",
    "Results",
    "Run",
    "RunError",
    "Sweep",
    "Verdict",
    "__version__",
    "advise",
    "characterize",
    "compare",
    "comparison",
    "describe",
    "disciplines",
    "experiments",
    "load",
    "plot",
    "read",
    "read_sweep",
    "sweep",
]


def __getattr__(name: str) -> Any:
    # Lazy, because importing matplotlib takes longer than importing everything else.
    if name == "plot":
        import importlib

        return importlib.import_module(".plot", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
