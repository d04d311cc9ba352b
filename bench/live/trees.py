"""Measures trees of the kernel and simulates the same: see trees.sh, which runs this."""

import json
import socket
import struct
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

BYTES = 1000  # An IP packet.
FRAME = BYTES + 14  # With its MAC header, as the kernel counts it.
WARMUP = 1.0
# Before the flows start, so that both ends are there.
LEAD = 0.5


@dataclass
class Flow:
    """Datagrams at a constant rate, in bits of frames per second. The port is that of its class."""

    name: str
    port: int
    rate: float


@dataclass
class Tree:
    """The lines of tc, and what `[topology.aqm]` has."""

    name: str
    lines: list[str]
    aqm: str
    flows: list[Flow]


def port(parent: str, number: int, flowid: str) -> str:
    return f"filter add dev l0 parent {parent} protocol ip u32 match ip dport {number} 0xffff flowid {flowid}"


def htb(name: str, leaves: list[tuple[str, str, str, int]], flows: list[Flow]) -> Tree:
    """A root of 10 Mbit/s; each leaf has a rate, a ceiling, other parameters, and a FIFO of so many packets."""
    lines = [
        "qdisc add dev l0 root handle 1: htb",
        "class add dev l0 parent 1: classid 1:1 htb rate 10mbit burst 6000b cburst 6000b",
    ]
    aqm = 'name = "htb"\n[[topology.aqm.class]]\nname = "all"\nrate = "10mbit"\nburst = "6000b"\ncburst = "6000b"\n'
    for (rate, ceil, more, limit), flow in zip(leaves, flows, strict=True):
        minor = f"1:{flow.port}"
        bursts = "burst 3000b cburst 3000b quantum 3000"
        lines.append(f"class add dev l0 parent 1:1 classid {minor} htb rate {rate} ceil {ceil} {bursts} {more}")
        lines.append(f"qdisc add dev l0 parent {minor} pfifo limit {limit}")
        lines.append(port("1:", flow.port, minor))
        keys = "".join(f"{key} = {value}\n" for key, value in zip(more.split()[::2], more.split()[1::2], strict=True))
        aqm += f'[[topology.aqm.class]]\nname = "{flow.name}"\nparent = "all"\nrate = "{rate}"\nceil = "{ceil}"\n{keys}'
        aqm += 'burst = "3000b"\ncburst = "3000b"\nquantum = "3000b"\n'
        aqm += f'aqm = {{ name = "fifo", limit = {limit} }}\n'
    return Tree(name, lines, aqm, flows)


def trees() -> list[Tree]:
    def flows(*rates: float) -> list[Flow]:
        return [Flow("abc"[i], 101 + i, rate * 1e6) for i, rate in enumerate(rates)]

    tbf = "qdisc add dev l0 root handle 1: tbf rate 10mbit burst 15000b"
    inner = 'name = "tbf"\nrate = "10mbit"\nburst = "15000b"\n'
    pfifo = 'aqm = { name = "fifo", limit = 40 }\n'
    prio = 'aqm = { name = "prio", class = [{ name = "a", aqm = { name = "fifo", limit = 40 } }, '
    prio += '{ name = "b", aqm = { name = "fifo", limit = 40 } }] }\n'
    ets = prio.replace('"prio"', '"ets", quanta = ["3000b", "1000b"]')
    bands = ["qdisc add dev l0 parent 2:1 pfifo limit 40", "qdisc add dev l0 parent 2:2 pfifo limit 40"]
    bands += [port("2:", 101, "2:1"), port("2:", 102, "2:2")]
    equal = ("5mbit", "10mbit", "", 50)
    return [
        Tree("tbf, limit", [f"{tbf} limit 60000b"], inner + 'limit = "60000b"\n', flows(14)),
        # One flow: which of two constant rates a full FIFO drops depends on their phase.
        Tree("tbf, latency", [f"{tbf} latency 30ms"], inner + 'latency = "30ms"\n', flows(12)),
        Tree("tbf, below its rate", [f"{tbf} limit 60000b"], inner + 'limit = "60000b"\n', flows(5)),
        Tree("tbf over pfifo", [f"{tbf} limit 60000b", "qdisc add dev l0 parent 1:1 pfifo limit 40"], inner + pfifo, flows(14)),
        Tree(
            "tbf over prio",
            [f"{tbf} limit 60000b", "qdisc add dev l0 parent 1:1 handle 2: prio", *bands],
            inner + prio,
            flows(4, 9),
        ),
        Tree(
            "tbf over ets",
            [f"{tbf} limit 60000b", "qdisc add dev l0 parent 1:1 handle 2: ets bands 2 quanta 3000 1000", *bands],
            inner + ets,
            flows(9, 9),
        ),
        htb("htb, rates", [("7mbit", "10mbit", "", 50), ("3mbit", "10mbit", "", 50)], flows(12, 12)),
        htb("htb, an idle class lends", [equal, equal], flows(2, 12)),
        htb("htb, a ceiling", [("2mbit", "4mbit", "", 50), ("2mbit", "10mbit", "", 50)], flows(12, 3)),
        htb("htb, priorities", [("1mbit", "10mbit", "prio 0", 50), ("1mbit", "10mbit", "prio 1", 50)], flows(5, 12)),
        htb("htb, three classes", [("5mbit", "10mbit", "", 50), ("2mbit", "3mbit", "", 50), ("1mbit", "10mbit", "", 50)], flows(12, 12, 12)),
    ]


def send(flows: list[Flow], start: float, end: float) -> None:
    """Sends every flow; a datagram has the time when it was sent."""
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    # What the queue drops must not come back as a full buffer of the sender.
    out.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8 << 20)
    rest = bytes(BYTES - 28 - 8)
    due = [(start + i * 3e-4, 8 * FRAME / flow.rate, flow.port) for i, flow in enumerate(flows)]
    while True:
        at, gap, number = min(due)
        if at >= end:
            return
        while (wait := at - time.monotonic()) > 0:
            time.sleep(min(wait, 2e-4))
        out.sendto(struct.pack("d", time.monotonic()) + rest, ("10.7.0.2", number))
        due[due.index((at, gap, number))] = (at + gap, gap, number)


def receive(flows: list[Flow], start: float, end: float) -> None:
    """Prints the rate and the mean delay of every flow, of what arrives between the times."""
    import selectors

    waiting = selectors.DefaultSelector()
    found = {flow.name: [0, 0.0] for flow in flows}
    for flow in flows:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        sock.bind(("10.7.0.2", flow.port))
        waiting.register(sock, selectors.EVENT_READ, flow.name)
    while (now := time.monotonic()) < end:
        for key, _ in waiting.select(end - now):
            data = key.fileobj.recv(2048)
            came = time.monotonic()
            if start <= came < end:
                found[key.data][0] += 1
                found[key.data][1] += came - struct.unpack_from("d", data)[0]
    seconds = end - start
    rates = {name: [8 * FRAME * n / seconds, 1e3 * delay / max(n, 1)] for name, (n, delay) in found.items()}
    print(json.dumps(rates))


def inside(namespace: str, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["ip", "netns", "exec", namespace, *command], capture_output=True, text=True, check=False)


def live(tree: Tree, left: str, right: str, seconds: float) -> dict[str, list[float]] | str:
    """What arrives, or what this kernel lacks."""
    inside(left, "tc", "qdisc", "del", "dev", "l0", "root")
    for line in tree.lines:
        done = inside(left, "tc", *line.split())
        if done.returncode:
            return f"tc {line}: {done.stderr.splitlines()[0]}"
    start = time.monotonic() + LEAD
    flows = json.dumps([vars(flow) for flow in tree.flows])

    def part(namespace: str, role: str, begin: float) -> subprocess.Popen[str]:
        command = [sys.executable, __file__, role, flows, str(begin), str(start + WARMUP + seconds)]
        return subprocess.Popen(["ip", "netns", "exec", namespace, *command], stdout=subprocess.PIPE, text=True)

    receiver = part(right, "receive", start + WARMUP)
    sender = part(left, "send", start)
    output = receiver.communicate()[0]
    sender.wait()
    return json.loads(output)


def simulated(tree: Tree, aqmkit: str, work: Path, seconds: float) -> dict[str, list[float]]:
    file = work / "tree.toml"
    text = f'title = "tree"\nduration = "{seconds}s"\nwarmup = "{WARMUP}s"\n[topology]\nrate = "10gbit"\n'
    text += f"[topology.aqm]\n{tree.aqm}"
    for flow in tree.flows:
        text += f'[[traffic]]\nname = "{flow.name}"\nkind = "cbr"\npacket = "{FRAME}b"\nrate = "{flow.rate:.0f}bit"\n'
    file.write_text(text)
    done = subprocess.run(
        [aqmkit, "-q", "run", str(file), "--out", str(work / "out"), "--json"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{tree.name}: {done.stderr}")
    classes = json.loads(done.stdout)["runs"][0]["classes"]
    of = {name: (found["throughput_bps"], found["latency_ms"]["mean"]) for name, found in classes.items()}
    return {name: [rate, delay] for name, (rate, delay) in of.items()}


def main(aqmkit: str, left: str, right: str, work: str, seconds: float, word: str) -> int:
    agree = compared = 0
    print(f"{'tree':26} {'flow':4} {'offered':>8} {'kernel':>8} {'aqmkit':>8} Mbit/s {'kernel':>8} {'aqmkit':>8} ms")
    for tree in (tree for tree in trees() if word in tree.name):
        kernel = live(tree, left, right, seconds)
        if isinstance(kernel, str):
            print(f"{tree.name:26} left out: {kernel}")
            continue
        ours = simulated(tree, aqmkit, Path(work), seconds)
        for flow in tree.flows:
            (rate, delay), (our_rate, our_delay) = kernel[flow.name], ours[flow.name]
            good = abs(our_rate - rate) <= 0.1 * rate and abs(our_delay - delay) <= max(0.2 * delay, 1)
            compared += 1
            agree += good
            rates = f"{flow.rate / 1e6:8.2f} {rate / 1e6:8.2f} {our_rate / 1e6:8.2f}"
            print(f"{tree.name:26} {flow.name:4} {rates}        {delay:8.2f} {our_delay:8.2f}{'' if good else '  differs'}")
    print(f"{agree} of {compared} flows agree: rates to 10 %, delays to 20 % or 1 ms")
    return 0 if agree == compared else 1


if __name__ == "__main__":
    if sys.argv[1] in ("send", "receive"):
        given = [Flow(**flow) for flow in json.loads(sys.argv[2])]
        {"send": send, "receive": receive}[sys.argv[1]](given, float(sys.argv[3]), float(sys.argv[4]))
    else:
        sys.exit(main(*sys.argv[1:5], float(sys.argv[5]), sys.argv[6]))
