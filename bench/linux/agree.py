#!/usr/bin/env python3
"""Puts what a kernel measured beside what the simulator says, as a Markdown table, and counts the values within the rule.

    bench/linux/agree.py MEASURED SUMMARY

MEASURED has the lines of agree.guest, SUMMARY is summary.csv of agree.toml's results. The rule is that of the testbed (experiments/testbed), chosen before
the first run: rates within 10 %, delays within 20 % or 1 ms, drops and marks within 25 %. A cell is `kernel / aqmkit`; bold ones are outside the rule.
"""

from __future__ import annotations

import csv
import re
import sys
from pathlib import Path

LINE = re.compile(
    r"(?P<case>\S+) (?P<flows>bulk|scalable|sparse) (?P<rate>[\d.]+) Mbit/s, delay mean (?P<mean>[\d.]+) p50 \S+ p90 \S+ p99 (?P<p99>[\d.]+) ms, "
    r"lost (?P<lost>[\d.]+) %, marked (?P<marked>[\d.]+) %"
)

#: A quantity of a line, its metric here, the factor to the unit of the line, its digits, and the rule: a share, or an amount in the unit of the line.
QUANTITIES = {
    "rate": ("throughput_bps", 1e-6, 2, 0.10, 0.0),
    "mean": ("queue_delay_ms.mean", 1, 2, 0.20, 1.0),
    "p99": ("queue_delay_ms.p99", 1, 2, 0.20, 1.0),
    "lost": ("drop_rate", 100, 2, 0.25, 0.0),
    "marked": ("mark_rate", 100, 2, 0.25, 0.0),
}


def judged(case: str, flows: str) -> tuple[str, ...]:
    """The quantities of a class that are judged: of a sparse flow, which loses next to nothing, only its delays."""
    if flows == "sparse":
        return ("mean", "p99")
    marks = flows == "scalable" or case.endswith("+ecn")
    return ("rate", "mean", "p99", "marked" if marks else "lost")


def main() -> None:
    """Prints the table and the count."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    here: dict[tuple[str, str], float] = {}
    with Path(sys.argv[2]).open() as file:
        for row in csv.DictReader(file):
            if row["window"] == "all" and row["mean"]:
                here[row["case"], row["metric"]] = float(row["mean"])

    print("| case | flows | rate, Mbit/s | delay, mean, ms | delay, p99, ms | dropped or marked, % |")
    print("|---|---|---|---|---|---|")
    within = values = 0
    for line in Path(sys.argv[1]).read_text().splitlines():
        found = LINE.match(line)
        if not found:
            continue
        case, flows = found["case"], found["flows"]
        cells = {}
        for name in judged(case, flows):
            metric, factor, digits, share, amount = QUANTITIES[name]
            kernel = float(found[name])
            simulated = here[case, f"classes.{flows}.{metric}"] * factor
            agrees = abs(simulated - kernel) <= max(share * kernel, amount)
            values += 1
            within += agrees
            cells[name] = f"{kernel:.{digits}f} / {simulated:.{digits}f}"
            if not agrees:
                cells[name] = f"**{cells[name]}**"
        cells["decided"] = cells.get("lost", cells.get("marked", "–"))
        print(f"| `{case}` | {flows} | " + " | ".join(cells.get(name, "–") for name in ("rate", "mean", "p99", "decided")) + " |")
    print(f"\n{within} of {values} values within the rule")
    if not values:
        sys.exit("error: no line of a measurement was found")


if __name__ == "__main__":
    main()
