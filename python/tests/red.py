"""RED in Python, as in the guide."""

from __future__ import annotations

import aqmkit
from aqmkit import DROP, PASS


class Red(aqmkit.Aqm):
    """Random early detection (Floyd and Jacobson 1993)."""

    def __init__(self, limit: int = 60, min_th: float = 5, max_th: float = 20, weight: float = 1 / 512, max_p: float = 0.1):
        self.limit, self.min_th, self.max_th, self.weight, self.max_p = limit, min_th, max_th, weight, max_p
        self.avg, self.count, self.early, self.idle_since_ns = 0.0, -1, False, 0

    def on_start(self, link: aqmkit.Link) -> None:
        self.drain_rate = link.rate_bps / 8 / link.mean_packet_bytes

    def on_arrival(self, packet: aqmkit.Packet, queue: aqmkit.Queue, env: aqmkit.Env) -> aqmkit.Verdict:
        if queue.packets > 0:
            self.avg = (1 - self.weight) * self.avg + self.weight * queue.packets
        else:
            zeros = int((env.now_ns - self.idle_since_ns) / 1e9 * self.drain_rate - 1)
            self.avg *= (1 - self.weight) ** max(zeros, 0)
            self.idle_since_ns = env.now_ns
        if queue.full:
            self.count = 0
            return DROP
        self.count += 1
        if self.avg <= self.min_th or queue.packets <= 1:
            self.early = False
            return PASS
        if self.avg <= self.max_th:
            if not self.early:
                self.count, self.early = 1, True
                return PASS
            p_b = self.max_p * (self.avg - self.min_th) / (self.max_th - self.min_th)
            room = 1 - self.count * p_b
            if env.random() >= (p_b / room if room > p_b else 1):
                return PASS
        self.count = 0
        return DROP

    def on_departure(self, packet: aqmkit.Packet, queue: aqmkit.Queue, env: aqmkit.Env) -> aqmkit.Verdict:
        if queue.packets == 0:
            self.idle_since_ns = env.now_ns
        return PASS

    def gauges(self) -> dict[str, float]:
        return {"avg": self.avg}
