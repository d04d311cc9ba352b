"""What figures know of metrics; written from `crates/measure/src/metric/table.rs` by `make pages`."""

#: The last part of a metric's path, what a figure calls it, its unit there, and the factor to it.
METRICS: dict[str, tuple[str, str, float]] = {
    "utilization": ("utilisation", "%", 100.0),
    "queue_delay_ms": ("queue delay", "ms", 1.0),
    "drop_rate": ("drops", "%", 100.0),
    "mark_rate": ("marks", "%", 100.0),
    "throughput_bps": ("throughput", "Mbit/s", 1e-6),
    "offered_bps": ("offered load", "Mbit/s", 1e-6),
    "packets_per_s": ("packets", "packets/s", 1.0),
    "drops": ("drops by reason", "packets", 1.0),
    "queue_packets": ("queue", "packets", 1.0),
    "goodput_bps": ("goodput", "Mbit/s", 1e-6),
    "loss_rate_pps": ("losses per flow", "packets/s", 1.0),
    "latency_ms": ("latency", "ms", 1.0),
    "packet_bytes": ("packet size", "bytes", 1.0),
    "efficiency": ("efficiency", "ratio", 1.0),
    "frame_rate": ("frames", "1/s", 1.0),
    "playable_frame_rate": ("playable frames", "1/s", 1.0),
    "response_time_ms": ("response time", "ms", 1.0),
    "completed": ("completed exchanges", "count", 1.0),
    "retransmission_rate": ("retransmissions", "%", 100.0),
    "timeouts_per_s": ("timeouts", "1/s", 1.0),
    "connections": ("connections", "count", 1.0),
    "population": ("population", "count", 1.0),
}
