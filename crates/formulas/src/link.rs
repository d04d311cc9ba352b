//! Links, queues and loads.

use aqmkit_base::{BitRate, Bytes, Duration};

use super::{count, formula, per_second, probability, rate, share, size, table, time};

table![
    QueueLatency,
    QueueBytes,
    PacketsPerSecond,
    PacketLoad,
    DropsPerSecond,
    WithHeaders,
    Aggregate,
    RateShare,
    EqualShare,
    MeanTime,
    BandwidthDelay,
    WindowRate,
    FlowsToFill,
    BrowsersToLoad,
    TransferTime,
];

fn bps(r: BitRate) -> f64 {
    r.as_bps() as f64
}

formula! {
    /// The time to transmit a queue of `q` packets: `q P / C`.
    "queue-latency", "Parris 2001, eqs B.1, B.3",
    QueueLatency { queue: f64, packet: Bytes, rate: BitRate },
    |a| time(a.queue * a.packet.as_f64() / a.rate.bytes_per_sec())
}

formula! {
    /// The bytes of a queue of this many packets.
    "queue-bytes", "Parris 2001, section VI 5.1.1",
    QueueBytes { queue: f64, packet: Bytes },
    |a| size(a.queue * a.packet.as_f64())
}

formula! {
    /// The number of packets of this size that a link carries per second.
    "packets-per-second", "arithmetic",
    PacketsPerSecond { rate: BitRate, packet: Bytes },
    |a| per_second(a.rate.bytes_per_sec() / a.packet.as_f64())
}

formula! {
    /// The load of a number of packets of this size per second.
    "packet-load", "arithmetic",
    PacketLoad { packets_per_s: f64, packet: Bytes },
    |a| rate(a.packets_per_s * a.packet.as_f64() * 8.0)
}

formula! {
    /// The packets that a flow with this rate loses per second.
    "drops-per-second", "Parris 2001, section III 2.2.4",
    DropsPerSecond { packets_per_s: f64, loss: f64 },
    |a| per_second(a.packets_per_s * probability("loss", a.loss)?)
}

formula! {
    /// The size of a packet with its headers.
    "with-headers", "Parris 2001, Table 4.1",
    WithHeaders { payload: Bytes, header: Bytes },
    |a| size(a.payload.as_f64() + a.header.as_f64())
}

formula! {
    /// The total load of a number of equal flows.
    "aggregate", "arithmetic",
    Aggregate { flows: f64, rate: BitRate },
    |a| rate(a.flows * bps(a.rate))
}

formula! {
    /// One rate over another.
    "rate-share", "arithmetic",
    RateShare { part: BitRate, whole: BitRate },
    |a| share(bps(a.part) / bps(a.whole))
}

formula! {
    /// The equal share of each flow of a link, times a factor.
    "equal-share", "DualQ section 7",
    EqualShare { rate: BitRate, flows: f64, factor: f64 = 1.0 },
    |a| rate(a.factor * bps(a.rate) / a.flows)
}

formula! {
    /// The mean of some times.
    "mean-time", "Parris 2001, Table A.1",
    MeanTime { times: Vec<Duration> },
    |a| time(a.times.iter().map(|t| t.as_secs_f64()).sum::<f64>() / a.times.len() as f64)
}

formula! {
    /// The bytes in flight on a full path.
    "bandwidth-delay", "arithmetic",
    BandwidthDelay { rate: BitRate, rtt: Duration },
    |a| size(a.rate.bytes_per_sec() * a.rtt.as_secs_f64())
}

formula! {
    /// The rate of a connection that is limited by its window.
    "window-rate", "Parris 2001, appendix A 3.4",
    WindowRate { window: Bytes, rtt: Duration },
    |a| rate(a.window.as_f64() * 8.0 / a.rtt.as_secs_f64())
}

formula! {
    /// Number of window-limited connections that fill a link: `C R / W`.
    "flows-to-fill", "Parris 2001, appendix A 3.4.2",
    FlowsToFill { rate: BitRate, rtt: Duration, window: Bytes },
    |a| count(a.rate.bytes_per_sec() * a.rtt.as_secs_f64() / a.window.as_f64())
}

formula! {
    /// The load of a number of browsers by linear regression: `slope * browsers - less`.
    "browsers-to-load", "Parris 2001, appendix A 3.4.1",
    BrowsersToLoad { browsers: f64, slope: BitRate, less: Option<BitRate> = None },
    |a| rate(a.browsers * bps(a.slope) - a.less.map_or(0.0, bps))
}

formula! {
    /// The time of a transfer without competition: some round trips, and its transmission.
    "transfer-time", "DualQ section 7.2",
    TransferTime { size: Bytes, rate: BitRate, rtt: Duration, round_trips: f64 = 2.0 },
    |a| time(a.round_trips * a.rtt.as_secs_f64() + a.size.as_f64() / a.rate.bytes_per_sec())
}
