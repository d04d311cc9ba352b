#!/usr/bin/env python3
"""Which of the web users' distributions decides the order of DCN, PI with ECN and drop-tail.

The built-in users of `http-unc` are written as files and read back as `data`; then one of their distributions loses its
tail, and the others stay: responses of at most 50 MB in place of 718 MB, at most 25 objects a page in place of 45,110,
think times of at most 6 minutes in place of an hour. The number of users is set anew each time, so that they offer as much
to the uncongested network as 16,200 of the first do. Prints a table: mean response time up to 2 s by scheme and seed.

    cargo build --release -p aqmkit --bin aqmkit
    bench/users/run.py [--out results/users] [--aqmkit target/release/aqmkit]

40 runs of 30 minutes with 100 Mb/s in both directions. Finished runs are kept in --out, so that the same command goes on
after an interruption. The distributions are those of crates/traffic, fitted to what was published of UNC's.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import statistics
import subprocess
from dataclasses import dataclass
from pathlib import Path

#: Users in each direction with the built-in distributions.
USERS = 16_200


@dataclass(frozen=True)
class LogNormal:
    """A share of a mixture with this median and the standard deviation of its logarithm."""

    weight: float
    median: float
    sigma: float

    def above(self, x: float) -> float:
        """The probability of a larger value."""
        return 0.5 * math.erfc(math.log(x / self.median) / self.sigma / math.sqrt(2))


@dataclass(frozen=True)
class Pareto:
    """A share of a mixture with this least value and exponent."""

    weight: float
    least: float
    alpha: float

    def above(self, x: float) -> float:
        """The probability of a larger value."""
        return 1.0 if x <= self.least else (self.least / x) ** self.alpha


@dataclass(frozen=True)
class Mixture:
    """A mixture, each part of which ends at `most`."""

    parts: tuple[LogNormal | Pareto, ...]
    most: float

    def above(self, x: float) -> float:
        """The probability of a larger value."""
        total = sum(part.weight for part in self.parts)
        cut = ((part.weight, part.above(x), part.above(self.most)) for part in self.parts)
        return sum(weight * (here - end) / (1 - end) for weight, here, end in cut) / total

    def quantile(self, above: float) -> float:
        """The value that is exceeded with this probability, by bisection of its logarithm."""
        low, high = 1e-3, self.most
        for _ in range(80):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if self.above(middle) > above else (low, middle)
        return high

    def write(self, path: Path, unit: int) -> None:
        """Write values (times `unit`, whole) and their cumulative probabilities, dense in the tail."""
        body = [1 - 0.002 * i for i in range(1, 496)]
        tail = [0.01 * 10 ** (-i / 40) for i in range(1, 280)]
        with path.open("w") as file:
            for above in [*body, *tail, 0.0]:
                value = self.most if above == 0 else self.quantile(above)
                file.write(f"{max(1, round(value * unit))} {1 - above:.10f}\n")


BUILT_IN = {
    "top_responses": Mixture(
        (
            LogNormal(0.265, 364, 0.156),
            LogNormal(0.569, 832, 1.68),
            LogNormal(0.164, 23_500, 0.751),
            Pareto(0.00269, 697_000, 1.25),
        ),
        718e6,
    ),
    "embedded_responses": Mixture(
        (
            LogNormal(0.426, 214, 0.385),
            LogNormal(0.44, 1540, 0.88),
            LogNormal(0.127, 10_700, 0.732),
            Pareto(0.00642, 45_000, 1.24),
            Pareto(0.000392, 1.03e6, 1.32),
        ),
        681e6,
    ),
    "top_requests": Mixture(
        (
            LogNormal(0.502, 326, 0.218),
            LogNormal(0.495, 580, 0.628),
            LogNormal(0.000844, 6970, 0.206),
            Pareto(0.00278, 379, 0.714),
        ),
        76e6,
    ),
    "embedded_requests": Mixture(
        (
            LogNormal(0.427, 376, 0.2),
            LogNormal(0.542, 516, 0.477),
            LogNormal(0.0314, 1020, 0.833),
            Pareto(0.0000771, 28_100, 1.05),
        ),
        34.5e6,
    ),
    "objects": Mixture(
        (
            LogNormal(0.609, 1.07, 0.506),
            LogNormal(0.247, 3.64, 0.447),
            LogNormal(0.139, 18.6, 0.783),
            Pareto(0.00496, 16.7, 1.28),
        ),
        45_110,
    ),
    "think_times": Mixture(
        (
            LogNormal(0.545, 3.36, 0.872),
            LogNormal(0.352, 29.4, 0.24),
            LogNormal(0.0568, 214, 0.225),
            LogNormal(0.0468, 791, 0.443),
        ),
        3656,
    ),
}


def shortened(name: str, most: float) -> Mixture:
    """The built-in distribution with another end."""
    return Mixture(BUILT_IN[name].parts, most)


USERS_OF = {
    "built in": {},
    "responses up to 50 MB": {name: shortened(name, 50e6) for name in ("top_responses", "embedded_responses")},
    "pages up to 25 objects": {"objects": shortened("objects", 25)},
    "think times up to 6 minutes": {"think_times": shortened("think_times", 360)},
}

EXPERIMENT = """
title    = "Web users with one distribution changed"
duration = "20min"
warmup   = "10min"
interval = "10s"
repeat   = 2

[topology]
measured = "east"
servers  = 20
clients  = 20
delays   = { uniform = ["10ms", "150ms"] }
overhead = "38b"
[[topology.links]]
name = "east"
rate = "100mbit"
[[topology.links]]
name = "west"
rate = "100mbit"

[transport]
profile = "freebsd45"
syn     = ["6s", "24s", "45s"]
syn_ack = ["6s", "24s", "45s"]

[[sweep.scheme]]
label = "uncongested"
"topology.uncongested" = true
[[sweep.scheme]]
label = "DCN"
"topology.aqm" = { name = "dcn", q_ref = "24000b", limit = "2400000b", avpkt = "1000b" }
[[sweep.scheme]]
label = "PI with ECN"
"transport.ecn" = true
"topology.aqm.name"  = "pi"
"topology.aqm.q_ref" = "24000b"
"topology.aqm.limit" = "2400000b"
"topology.aqm.avpkt" = "1000b"
"topology.aqm.byte_mode" = true
"topology.aqm.a"     = 1.822e-5
"topology.aqm.b"     = 1.816e-5
"topology.aqm.w"     = 170
"topology.aqm.ecn"   = true
[[sweep.scheme]]
label = "drop-tail"
"topology.aqm" = { name = "fifo", limit = 240 }
"""

TRAFFIC = """
[[traffic]]
name   = "{name}"
kind   = "http-unc"
users  = {users}
data   = {data}
access = "100mbit"
path   = ["{path}"]
reverse = ["{reverse}"]
"""

#: The metric that shows the load that users offer.
OFFERED = "links.east.throughput_bps"


def run(args: argparse.Namespace, name: str, users: int, scheme: str | None) -> list[dict[str, str]]:
    """Run one file of users; its rows of runs.csv."""
    folder = args.out / name.replace(" ", "-") / str(users)
    data = (folder.parent / "data").resolve()
    data.mkdir(parents=True, exist_ok=True)
    for part, mixture in {**BUILT_IN, **USERS_OF[name]}.items():
        mixture.write(data / f"{part}.cdf", 1000 if part == "think_times" else 1)
    both = (("web", "east", "west"), ("web-west", "west", "east"))
    traffic = (
        TRAFFIC.format(name=kind, users=users, data=json.dumps(str(data)), path=path, reverse=back) for kind, path, back in both
    )
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "users.toml"
    file.write_text(EXPERIMENT + "".join(traffic))
    out = folder / (scheme or "all")
    only = ["--set", f"scheme={scheme}"] if scheme else []
    subprocess.run([args.aqmkit, "run", file, "--out", out, "--quiet", *only], check=True, stdout=subprocess.DEVNULL)
    with (out / "runs.csv").open() as rows:
        return list(csv.DictReader(rows))


def offered(rows: list[dict[str, str]]) -> list[float]:
    """Mb/s that the users offer to the uncongested eastern link, by seed."""
    return [float(row[OFFERED]) / 1e6 for row in rows if row["scheme"] == "uncongested"]


def main() -> None:
    """Find the number of users for each changed distribution, run all schemes, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/users"))
    parser.add_argument("--aqmkit", default="target/release/aqmkit")
    args = parser.parse_args()
    first = {name: statistics.mean(offered(run(args, name, USERS, "uncongested"))) for name in USERS_OF}
    print("| users | their number | offered, Mb/s | DCN | PI with ECN | drop-tail |")
    print("|---|---|---|---|---|---|")
    for name, rate in first.items():
        users = round(USERS * first["built in"] / rate)
        rows = run(args, name, users, None)
        cells = [", ".join(f"{mbit:.1f}" for mbit in offered(rows))]
        for scheme in ("DCN", "PI with ECN", "drop-tail"):
            means = responses(args.out / name.replace(" ", "-") / str(users) / "all", scheme)
            cells.append(", ".join(f"{ms:.0f}" for ms in means))
        print(f"| {name} | {users} | {' | '.join(cells)} |", flush=True)


def responses(folder: Path, scheme: str) -> list[float]:
    """Mean response time up to 2 s of a scheme's requests in ms, by seed."""
    import pyarrow.parquet as parquet

    table = parquet.read_table(folder / "responses.parquet").to_pandas()
    table = table[(table.scheme == scheme) & (table.traffic == "web") & (table.kind == "request")]
    return [
        float((rows.duration_ms.clip(upper=2000) * rows["count"]).sum() / rows["count"].sum())
        for _, rows in table.groupby("repeat")
    ]


if __name__ == "__main__":
    main()
