"""aqmkit: active queue management for congested links.

Run an experiment, and look at what it measured::

    import aqmkit

    results = aqmkit.compare(["fifo", "red", "codel", "pie", "fq-codel"], rate="10mbit", bulk=20, cbr="2mbit")
    print(results)
    aqmkit.plot.overview(results).savefig("five.pdf")

`load` has the experiments that come with aqmkit, `Experiment` makes one, `sweep` runs one over a grid on many machines, and
`Aqm` is a discipline of your own.
"""

from . import plot
from ._aqmkit import VERSION as __version__
from ._aqmkit import Env, Link, Packet, Queue, Verdict
from .catalogue import describe, disciplines
from .discipline import DROP, MARK, PASS, Aqm
from .errors import ExperimentError, Interrupted, RunError
from .experiment import Experiment, Run, compare, comparison, experiments, load
from .results import Results, read
from .sweeps import Sweep, read_sweep, sweep

__all__ = [
    "DROP",
    "MARK",
    "PASS",
    "Aqm",
    "Env",
    "Experiment",
    "ExperimentError",
    "Interrupted",
    "Link",
    "Packet",
    "Queue",
    "Results",
    "Run",
    "RunError",
    "Sweep",
    "Verdict",
    "__version__",
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
