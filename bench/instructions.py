#!/usr/bin/env python3
"""Counts the instructions and cache misses of a packet, and compares them with the recorded ones.

Runs `aqmkit bench` under valgrind's cachegrind, which simulates a processor with fixed caches: the counts do not depend on
the machine's speed or load. Each case runs twice, once longer, and the difference divided by the additional packets is free
of the start of the program. Fails if instructions are more than 2 % above the recorded ones, or misses more than 5 % and 0.05 of a packet.

    cargo build --release --locked -p aqmkit -p aqmkit-py --bin aqmkit --lib
    bench/instructions.py                # compares with bench/instructions.csv
    bench/instructions.py --record       # writes it

Needs valgrind. Counts of another compiler are printed, but not compared.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

RECORD = Path(__file__).with_suffix(".csv")

#: What is counted of a packet.
COUNTS = ("instructions", "d1_misses", "ll_misses")

#: A count may be larger than the recorded one by this share. Where the linker puts code and data moves misses by up to 3 %.
MARGINS = {"instructions": 0.02, "d1_misses": 0.05, "ll_misses": 0.05}

#: Misses a packet that may come on top, whatever is recorded: where the linker puts code and data moves those of the last level by so
#: much (with equal instructions, S2 had 0.039 and 0.054, S3 0.224 and 0.195).
SPREAD = {"instructions": 0.0, "d1_misses": 0.05, "ll_misses": 0.05}

#: First-level caches of 32 KiB and a last level of 8 MiB, whatever the processor has. That of data has one set: with eight ways, where allocator and stack
#: put things in a program decides a fifth of the misses.
CACHES = ("--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,512,64", "--LL=8388608,16,64")

#: Simulated seconds of the two runs of each scenario; flows start in the first second.
SCENARIOS = {"s1": (2, 10), "s2": (2, 3), "s3": (2, 10)}

#: Disciplines: one law, one with many queues, one with coupled queues; and the packets of the two runs.
DISCIPLINES = ("red", "fq-codel", "dualpi2")
PACKETS = (20_000, 120_000)


def measure(aqmkit: str, arguments: list[str]) -> tuple[list[int], dict]:
    """The counts of a run of `aqmkit bench`, and its output."""
    with tempfile.NamedTemporaryFile() as file:
        words = ["valgrind", "--tool=cachegrind", *CACHES, f"--cachegrind-out-file={file.name}", aqmkit]
        words += ["--quiet", "bench", "--json", *arguments]
        run = subprocess.run(words, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            sys.exit(f"{' '.join(words)}\n{run.stderr}")
        lines = Path(file.name).read_text().splitlines()
    events = next(line for line in lines if line.startswith("events: ")).split()[1:]
    summary = next(line for line in lines if line.startswith("summary: ")).split()[1:]
    of = dict(zip(events, map(int, summary), strict=True))
    counts = [of["Ir"], of["D1mr"] + of["D1mw"], of["ILmr"] + of["DLmr"] + of["DLmw"]]
    return counts, json.loads(run.stdout)


def per_packet(short: list[int], long: list[int], packets: int) -> list[float]:
    """The counts of one packet more."""
    # A longer run can have a few misses less.
    return [max(0.0, (more - less) / packets) for less, more in zip(short, long, strict=True)]


def scenario(aqmkit: str, name: str) -> list[float]:
    """The counts of a packet in a scenario of the engine."""
    runs = []
    for seconds in SCENARIOS[name]:
        words = ["--scenarios", name, "--duration", f"{seconds}s", "--disciplines", "fifo", "--packets", "16", "--flows", "1"]
        counts, output = measure(aqmkit, words)
        runs.append((counts, output["engine"]["packets"]))
    (short, fewer), (long, more) = runs
    return per_packet(short, long, more - fewer)


def discipline(aqmkit: str, name: str) -> list[float]:
    """The counts of a packet through a discipline, enqueued and dequeued, of 1000 flows."""
    words = ["--scenarios", "s3", "--duration", "100ms", "--disciplines", name, "--flows", "1000"]
    short, long = (measure(aqmkit, [*words, "--packets", str(packets)])[0] for packets in PACKETS)
    return per_packet(short, long, PACKETS[1] - PACKETS[0])


def too_many(now: float, recorded: float, count: str) -> bool:
    """Whether a count is above the recorded one by more than the margin."""
    return now > recorded * (1 + MARGINS[count]) + SPREAD[count]


def main() -> int:
    """Counts, prints a table, and compares or records it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--aqmkit", default="target/release/aqmkit")
    parser.add_argument("--record", action="store_true", help="write the counts to bench/instructions.csv")
    given = parser.parse_args()
    compiler = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    counted = {name: scenario(given.aqmkit, name) for name in SCENARIOS}
    counted |= {name: discipline(given.aqmkit, name) for name in DISCIPLINES}
    if given.record:
        with RECORD.open("w", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(["case", *COUNTS, "compiler"])
            for name, counts in counted.items():
                rows.writerow([name, *(f"{count:.3f}" for count in counts), compiler])
    with RECORD.open(newline="") as file:
        recorded = {row["case"]: row for row in csv.DictReader(file)}
    worse = []
    print(f"{'a packet of':12}" + "".join(f"{count:>16}{'recorded':>12}" for count in COUNTS))
    for name, counts in counted.items():
        row = recorded[name]
        print(f"{name:12}" + "".join(f"{now:16.3f}{float(row[count]):12.3f}" for now, count in zip(counts, COUNTS, strict=True)))
        worse += [
            f"{name}: {now:.3f} {count}, recorded are {row[count]}"
            for now, count in zip(counts, COUNTS, strict=True)
            if row["compiler"] == compiler and too_many(now, float(row[count]), count)
        ]
    others = {row["compiler"] for row in recorded.values()} - {compiler}
    if others:
        print(f"not compared: the record is of {', '.join(sorted(others))}, this is {compiler}")
    if worse:
        print("\n".join(worse), file=sys.stderr)
        print("error: above the record by more than the margin; make it cheaper, or run bench/instructions.py --record", file=sys.stderr)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
