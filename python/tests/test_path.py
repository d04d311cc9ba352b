"""Paths for tests of transport stacks."""

from __future__ import annotations

import aqmkit
import pytest


def drain(path: aqmkit.Path) -> list[tuple[float, str, object, str]]:
    arrived = []
    while (now := path.deadline()) is not None:
        while arrival := path.poll(now):
            arrived.append((arrival.at, arrival.to, arrival.content, arrival.ecn))
    return arrived


def test_a_datagram_takes_its_transmission_and_the_delay() -> None:
    path = aqmkit.Path("8mbit", "10ms", back={"rate": "4mbit", "delay": "20ms"})
    path.send("a", {"any": "thing"}, bytes=1000, now=0.003)
    path.send("b", b"back", bytes=1000, now=0.003)
    assert drain(path) == [(0.014, "b", {"any": "thing"}, "not-ect"), (0.025, "a", b"back", "not-ect")]


def test_marks_drops_and_their_reasons_are_reported() -> None:
    def run(ecn: str, seed: int = 1) -> aqmkit.Path:
        path = aqmkit.Path("8mbit", "10ms", queue="codel", limit=1000, ecn=True, loss="1%", seed=seed)
        for n in range(3000):
            path.send("a", n, bytes=1000, now=n * 0.0009, ecn=ecn)
        drain(path)
        return path

    marked, dropped = run("ect0"), run("not-ect")
    report = marked.report("a")
    assert report.marked > 10
    assert report.dropped == {}
    assert report.lost > 5
    assert report.offered == 3000 == report.arrived + report.lost
    assert dropped.report("a").dropped["sojourn"] > 10
    part = marked.report("a", (1.0, 2.0))
    assert part.utilization == pytest.approx(1.0, abs=1e-6)
    assert 0.003 < part.queue_delay.mean <= part.queue_delay.max < 1.0
    assert part.transit.median > 0.011
    assert marked.digest() == run("ect0").digest() != run("ect0", seed=2).digest()
    assert "█" in marked.chart("a")
    assert "A to B: codel" in str(marked)
    assert marked.svg("a").startswith("<svg ")


def test_a_fair_queue_tells_flows_apart() -> None:
    path = aqmkit.Path("8mbit", "10ms", queue="fq_codel")
    for _ in range(100):
        path.send("a", "long", bytes=1000, now=0.0, flow=1)
    path.send("a", "short", bytes=100, now=0.0, flow=2)
    assert [content for _, _, content, _ in drain(path)].index("short") <= 2


def test_a_rate_changes_while_packets_wait() -> None:
    path = aqmkit.Path("8mbit", "10ms", limit=200, rate_at=[(0.05, "800kbit")])
    for n in range(100):
        path.send("a", n, bytes=1000, now=0.0)
    # 50 packets are sent by then, and 50 take 10 ms each.
    assert drain(path)[-1][0] == pytest.approx(0.05 + 0.5 + 0.01)


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"rate": "20"}, ["rate", "10mbit"]),
        ({"queue": "codle"}, ["is not a discipline", "codel"]),
        ({"queue": "codel", "tarket": "5ms"}, ["tarket is not a parameter of codel", "target"]),
        ({"limit": [1]}, ["limit is a list", "number"]),
    ],
)
def test_errors_say_what_would_be_right(keywords: dict[str, object], words: list[str]) -> None:
    with pytest.raises(ValueError, match=words[0]) as error:
        aqmkit.Path(**{"rate": "20mbit", "delay": "10ms", **keywords})  # type: ignore[arg-type]
    assert words[1] in str(error.value)


def test_wrong_ends_times_and_codepoints_are_refused() -> None:
    path = aqmkit.Path("8mbit", "10ms")
    for call, words in [
        (lambda: path.send("c", 0, bytes=1, now=0.0), 'write "a" or "b"'),
        (lambda: path.send("a", 0, bytes=1, now=-1.0), "seconds since the start"),
        (lambda: path.send("a", 0, bytes=1, now=0.0, ecn="ect"), '"ect0"'),
    ]:
        with pytest.raises(ValueError, match=words):
            call()
