"""Draws every value of the testbed beside the simulated one.

aqmkit reproduce testbed --scale full --out results
python experiments/testbed/figure.py results/testbed/dualpi2eval/results.json docs/testbed.png
"""

import json
import sys
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt


class Panel(NamedTuple):
    """The values of one unit, and their tolerance: a share, or so many units where that is more."""

    title: str
    unit: str
    share: float
    units: float
    ends: tuple[float, float]
    ticks: tuple[float, ...]


PANELS = {
    "rate": Panel("rates", "Mbit/s", 0.1, 0.0, (4.5, 45.0), (5, 10, 20, 40)),
    "delay": Panel("delays in the queue", "ms", 0.2, 1.0, (0.08, 45.0), (0.1, 1, 10)),
    "share": Panel("packets marked or dropped", "%", 0.25, 0.0, (0.003, 12.0), (0.01, 0.1, 1, 10)),
}
SCHEMES = {
    "dualpi2": ("DualPI2", "#d55e00", "o"),
    "pie": ("PIE", "#0072b2", "s"),
    "fq-codel": ("FQ-CoDel", "#009e73", "^"),
}


def panel_of(row: str) -> str | None:
    """The panel of a row of `published.csv`; the use of the link, which is always near 100 %, has none."""
    kinds = {"rate": "rate", "delay": "delay", "marks": "share", "drops": "share"}
    return next((panel for word, panel in kinds.items() if f"-{word}-" in row), None)


def main(results: Path, picture: Path) -> None:
    """Writes the picture of these results."""
    rows = json.loads(results.read_text())["expectations"]
    figure, axes = plt.subplots(1, len(PANELS), figsize=(10.5, 3.6), layout="constrained")
    for axis, (name, panel) in zip(axes, PANELS.items(), strict=True):
        low, high = panel.ends
        line = [low * (high / low) ** (i / 200) for i in range(201)]
        margin = [max(panel.share * x, panel.units) for x in line]
        below = [max(x - m, low / 10) for x, m in zip(line, margin, strict=True)]
        above = [x + m for x, m in zip(line, margin, strict=True)]
        axis.fill_between(line, below, above, color="#dddddd", linewidth=0)
        axis.plot(line, line, color="#888888", linewidth=0.8)
        for scheme, (label, colour, marker) in SCHEMES.items():
            found = [r for r in rows if panel_of(r["id"]) == name and f"-{scheme}-" in r["id"]]
            measured = [float(r["published"].split()[0]) for r in found]
            simulated = [r["measured"] for r in found]
            axis.plot(measured, simulated, marker, color=colour, label=label, markersize=4, alpha=0.75, linestyle="")
        axis.set(xscale="log", yscale="log", xlim=panel.ends, ylim=panel.ends, title=f"{panel.title}, {panel.unit}")
        labels = [f"{tick:g}" for tick in panel.ticks]
        axis.set_xticks(panel.ticks, labels)
        axis.set_yticks(panel.ticks, labels)
        axis.minorticks_off()
        axis.set_xlabel("measured")
    axes[0].set_ylabel("simulated")
    axes[0].legend(frameon=False)
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
