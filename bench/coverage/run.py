#!/usr/bin/env python3
"""How often the intervals of `aqmkit compare` hold the truth.

Runs random comparisons as a user gets them, in rounds until the means are known, and each of them again under other
seeds, whose means are taken for the truth. No two comparisons share a seed, so that they are independent. Prints the
share of means whose 95 % interval holds the truth, by quantity and by the number of runs that the rounds made. The truth
is itself known within an interval only; both widths are added as those of independent means are. What is the same under
every seed (a link used to 100.0 %) is not counted; an interval of no width beside a truth that varies is.

    cargo build --release -p aqmkit --bin aqmkit
    bench/coverage/run.py [--comparisons 200] [--seeds 100] [--aqmkit target/release/aqmkit]

Finished runs are kept in --out, so that the same command goes on after an interruption.
"""

from __future__ import annotations

import argparse
import collections
import json
import math
import random
import subprocess
from pathlib import Path

#: The quantities of the columns that a comparison shows, by the end of their path.
QUANTITIES = (
    "utilization",
    "queue_delay_ms.mean",
    "queue_delay_ms.p99",
    "drop_rate",
    "throughput_bps",
    "goodput_bps",
    "jain",
    "mos",
    "stalled",
    "response_time_ms.page.p50",
)
#: The numbers of runs that the rounds come to, up to a number each.
ROUNDS = ((10, "at most 10 runs"), (39, "11 to 39 runs"), (math.inf, "40 runs"))
#: Seeds of one comparison: the first half for its rounds, the second for the truth.
SPAN = 20_000
DISCIPLINES = ("fifo", "red", "codel", "pie", "fq-codel", "cake", "dualpi2", "sfq", "blue", "choke")


def arguments(rng: random.Random) -> list[str]:
    """A comparison of two disciplines on a small link, with one of four kinds of traffic."""
    rate = rng.choice([2, 4, 8, 16])
    traffic = rng.choice(
        [
            ["--bulk", str(rng.randint(1, 8)), "--cc", rng.choice(["cubic", "bbr", "newreno"])],
            ["--bulk", "2", "--voip", "1"],
            ["--web", str(rng.choice([0.3, 0.6]))],
            ["--bulk", "1", "--video", "1", "--web", "0.2", "--up", f"{rate / 4}mbit", "--upload", "1"],
        ]
    )
    where = ["--rate", f"{rate}mbit", "--rtt", f"{rng.choice([10, 30, 80, 150])}ms"]
    return [*rng.sample(DISCIPLINES, 2), *where, *traffic, "--duration", "20s", "--warmup", "15s"]


def means(aqmkit: str, words: list[str], out: Path) -> dict[tuple[str, str], dict[str, float]]:
    """The means of a comparison by discipline and path."""
    command = [aqmkit, "--quiet", "compare", *words, "--json", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    entries = json.loads(done.stdout)["means"]
    return {
        (entry["labels"]["aqm"], path): mean
        for entry in entries
        for path, mean in entry["metrics"].items()
        if path.endswith(QUANTITIES)
    }


def half(mean: dict[str, float]) -> float:
    """Half the width of the interval of a mean; 0 if one run alone has it."""
    return (mean.get("high", 0.0) - mean.get("low", 0.0)) / 2


def main() -> None:
    """Runs the comparisons and prints the shares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--comparisons", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=100, help="runs whose means are taken for the truth")
    parser.add_argument("--aqmkit", default="target/release/aqmkit")
    parser.add_argument("--out", type=Path, default=Path("results/coverage"))
    given = parser.parse_args()
    held: collections.Counter[str] = collections.Counter()
    counted: collections.Counter[str] = collections.Counter()
    for number in range(given.comparisons):
        words = arguments(random.Random(number))
        place = given.out / str(number)
        ours = means(given.aqmkit, [*words, "--seed", str(SPAN * (number + 1))], place / "rounds")
        others = ["--seed", str(SPAN * (number + 1) + SPAN // 2), "--repeat", str(given.seeds)]
        truth = means(given.aqmkit, [*words, *others], place / "truth")
        runs = max(mean["runs"] for mean in ours.values())
        rounds = next(text for most, text in ROUNDS if runs <= most)
        for key, mean in ours.items():
            if key not in truth or half(mean) + half(truth[key]) <= 0.0:
                continue
            holds = abs(mean["mean"] - truth[key]["mean"]) <= math.hypot(half(mean), half(truth[key]))
            for row in (next(end for end in QUANTITIES if key[1].endswith(end)), rounds, "all"):
                counted[row] += 1
                held[row] += holds
        print(f"{number + 1} comparisons: {held['all']} of {counted['all']} intervals hold the truth", flush=True)
    print("\n| intervals of | number | hold the truth |\n|---|---|---|")
    for row in [*QUANTITIES, *(text for _, text in ROUNDS), "all"]:
        if counted[row]:
            print(f"| {row} | {counted[row]} | {100 * held[row] / counted[row]:.1f} % |")


if __name__ == "__main__":
    main()
