//! The list of metrics.

use super::Better::{High, Low, Neither};
use super::{Better, Dimension, Metric, Panel, Ratio, Shown, Unit, Value};

const fn unit(name: &'static str, dimension: Dimension, scale: f64, shown: &'static str, factor: f64) -> Unit {
    Unit { name, dimension, scale, shown, factor, fine: 0.0 }
}

/// The unit with this smallest relevant difference.
const fn fine(fine: f64, unit: Unit) -> Unit {
    Unit { fine, ..unit }
}

const BPS: Unit = unit("bit/s", Dimension::Rate, 1.0, "Mbit/s", 1e-6);
const MS: Unit = fine(0.1, unit("ms", Dimension::Time, 1e-3, "ms", 1.0));
const SECONDS: Unit = unit("s", Dimension::Time, 1.0, "s", 1.0);
const BYTES: Unit = unit("bytes", Dimension::Size, 1.0, "bytes", 1.0);
const BYTES_PER_S: Unit = unit("bytes/s", Dimension::Rate, 8.0, "bytes/s", 1.0);
const SHARE: Unit = fine(0.005, unit("share", Dimension::Share, 1.0, "%", 100.0));
const RATIO: Unit = fine(0.005, unit("ratio", Dimension::Share, 1.0, "", 1.0));
const JAIN: Unit = fine(0.01, unit("index", Dimension::Share, 1.0, "Jain", 1.0));
const MOS: Unit = fine(0.05, unit("MOS", Dimension::Share, 1.0, "", 1.0));
const COUNT: Unit = fine(0.5, unit("count", Dimension::Count, 1.0, "", 1.0));
const PACKETS: Unit = fine(0.5, unit("packets", Dimension::Count, 1.0, "packets", 1.0));
const PACKETS_PER_S: Unit = fine(0.05, unit("packets/s", Dimension::PerSecond, 1.0, "pkt/s", 1.0));
const PER_S: Unit = fine(0.05, unit("1/s", Dimension::PerSecond, 1.0, "per s", 1.0));
const PER_MIN: Unit = fine(0.05, unit("1/min", Dimension::PerSecond, 1.0 / 60.0, "per min", 1.0));
const GAUGE: Unit = unit("", Dimension::Gauge, 1.0, "", 1.0);

/// The statistics of a distribution.
const DISTRIBUTION: &[&str] = &["mean", "p50", "p90", "p99", "max"];

/// A metric of windows with a single value and no column in tables.
const fn metric(path: &'static str, unit: Unit, label: &'static str, better: Better, meaning: &'static str) -> Metric {
    Metric {
        path,
        statistics: &[],
        unit,
        label,
        better,
        in_windows: true,
        in_series: false,
        panel: Panel::Asked,
        shown: &[],
        meaning,
        value: Value::Field,
    }
}

/// Computes the value as the sum of some counters of a traffic model over the sum of others, times a factor.
const fn ratio(metric: Metric, of: &'static [&'static str], over: &'static [&'static str], times: f64) -> Metric {
    Metric { value: Value::Traffic(Ratio { of, over, times }), ..metric }
}

/// Adds a column to the time series.
const fn over_time(metric: Metric) -> Metric {
    Metric { in_series: true, ..metric }
}

/// Adds a column to the time series, with a panel in these figures.
const fn plotted(panel: Panel, metric: Metric) -> Metric {
    Metric { in_series: true, panel, ..metric }
}

/// Makes it a distribution with these statistics.
const fn of(metric: Metric, statistics: &'static [&'static str]) -> Metric {
    Metric { statistics, ..metric }
}

/// Adds columns to the tables that compare runs.
const fn shown(metric: Metric, shown: &'static [Shown]) -> Metric {
    Metric { shown, ..metric }
}

const fn column(name: &'static str, head: &'static str, rank: u8, term: (&'static str, &'static str)) -> Shown {
    Shown { statistic: "", name, head, rank, zeros: true, together: false, term }
}

/// Hides the column if it is zero everywhere.
const fn unless_zero(column: Shown) -> Shown {
    Shown { zeros: false, ..column }
}

const fn statistic(statistic: &'static str, column: Shown) -> Shown {
    Shown { statistic, ..column }
}

const DELAY: (&str, &str) = ("delay", "sojourn time in the queue; 1 % of the packets wait longer than p99");
const FRAMES: (&str, &str) = ("frames", "complete video frames per second and flow; playable: decodable");
const RESPONSE: (&str, &str) = ("p50, p99", "median and 99th percentile of the response time");

/// All metrics. Tables show the columns of links, classes and applications in this order. If a path matches several
/// patterns, the first one applies.
pub const METRICS: &[Metric] = &[
    over_time(Metric {
        in_windows: false,
        ..metric("links.*.aqm.*", GAUGE, "gauge", Neither, "A gauge of the discipline; `aqmkit describe` lists them.")
    }),
    shown(
        metric("links.*.utilization", SHARE, "utilisation", High, "Throughput over the rate of the link."),
        &[column("link used", "link\nused", 1, ("link used", "fraction of the link's capacity in use"))],
    ),
    shown(
        plotted(
            Panel::Runs,
            of(
                metric(
                    "links.*.queue_delay_ms",
                    MS,
                    "queue delay",
                    Low,
                    "Time in the queue, without transmission, of packets that left.",
                ),
                DISTRIBUTION,
            ),
        ),
        &[
            statistic("mean", column("queue delay, mean", "delay\nmean", 1, DELAY)),
            statistic("p99", column("queue delay, p99", "delay\np99", 2, DELAY)),
        ],
    ),
    shown(
        plotted(
            Panel::Runs,
            metric(
                "links.*.drop_rate",
                SHARE,
                "drops",
                Low,
                "The share of the arriving packets that the queue dropped, then or later.",
            ),
        ),
        &[column("drops", "drops", 3, ("drops", "fraction of arriving packets that were dropped"))],
    ),
    shown(
        over_time(metric(
            "links.*.mark_rate",
            SHARE,
            "marks",
            Neither,
            "The share of the arriving packets that the queue marked (ECN), then or later.",
        )),
        &[unless_zero(column("marks", "marks", 4, ("marks", "fraction of packets that were ECN-marked")))],
    ),
    over_time(metric(
        "links.*.throughput_bps",
        BPS,
        "throughput",
        Neither,
        "Bits that passed, with headers: of a packet in transmission at an edge, the part on this side.",
    )),
    over_time(metric("links.*.offered_bps", BPS, "offered load", Neither, "Bits that arrived, with headers.")),
    metric("links.*.packets_per_s", PACKETS_PER_S, "packets", Neither, "Packets that left."),
    metric("links.*.drops.*", PACKETS, "drops by reason", Low, "Packets that arrived and were dropped for one reason."),
    over_time(of(
        metric("links.*.queue_packets", PACKETS, "queue", Neither, "Packets waiting, over time."),
        &["mean", "p99"],
    )),
    shown(
        plotted(
            Panel::RunsAndClasses,
            metric(
                "classes.*.throughput_bps",
                BPS,
                "throughput",
                Neither,
                "Bits that passed the link, with headers, as for links.",
            ),
        ),
        &[Shown {
            together: true,
            ..column("throughput", "rate", 3, ("rate", "throughput: bits that left the link, including headers"))
        }],
    ),
    shown(
        over_time(metric(
            "classes.*.goodput_bps",
            BPS,
            "goodput",
            High,
            "Data received, without headers, each byte once, when it first arrives (TCP on a live link: when it is read).",
        )),
        &[column("goodput", "good", 6, ("good", "goodput: data received, each byte counted once"))],
    ),
    shown(
        over_time(metric(
            "classes.*.loss_rate_pps",
            PACKETS_PER_S,
            "losses per flow",
            Low,
            "Packets that one flow loses, on average over the class's flows.",
        )),
        &[unless_zero(column("lost per flow", "lost", 4, ("lost", "packets lost per second and flow of the class")))],
    ),
    shown(
        over_time(of(
            metric(
                "classes.*.latency_ms",
                MS,
                "latency",
                Low,
                "Time from sender to receiver; on a live link, of datagrams.",
            ),
            DISTRIBUTION,
        )),
        &[statistic("mean", column("latency, mean", "latency", 4, ("latency", "mean time from sender to receiver")))],
    ),
    over_time(metric(
        "classes.*.offered_bps",
        BPS,
        "offered load",
        Neither,
        "Bits that arrived at the link, with headers.",
    )),
    plotted(
        Panel::Classes,
        of(
            metric(
                "classes.*.queue_delay_ms",
                MS,
                "queue delay",
                Low,
                "Time in the queue, without transmission, of packets that left.",
            ),
            DISTRIBUTION,
        ),
    ),
    plotted(
        Panel::Classes,
        metric(
            "classes.*.drop_rate",
            SHARE,
            "drops",
            Low,
            "The share of the arriving packets that the queue dropped, then or later.",
        ),
    ),
    over_time(metric(
        "classes.*.mark_rate",
        SHARE,
        "marks",
        Neither,
        "The share of the arriving packets that the queue marked (ECN), then or later.",
    )),
    over_time(metric(
        "classes.*.drops.*",
        PACKETS,
        "drops by reason",
        Low,
        "Packets that arrived and were dropped for one reason.",
    )),
    metric("classes.*.packet_bytes", BYTES, "packet size", Neither, "Mean size of an arriving packet, with headers."),
    metric(
        "classes.*.efficiency",
        RATIO,
        "efficiency",
        High,
        "Data received over data that arrived at the link, both without headers: what was not sent twice or lost. At most 1, also where a queue drains.",
    ),
    shown(
        plotted(
            Panel::Runs,
            metric("apps.*.frame_rate", PER_S, "frames", High, "Complete video frames received per second and flow."),
        ),
        &[column("frames", "frames", 4, FRAMES)],
    ),
    shown(
        plotted(
            Panel::Runs,
            metric(
                "apps.*.playable_frame_rate",
                PER_S,
                "playable frames",
                High,
                "Video frames per second and flow that could be decoded.",
            ),
        ),
        &[column("playable frames", "playable", 4, FRAMES)],
    ),
    shown(
        over_time(ratio(
            metric(
                "apps.*.mos",
                MOS,
                "MOS",
                High,
                "Mean opinion score of calls by the E-model of ITU-T G.107: 1 (bad) to 4.5 (excellent).",
            ),
            &["mos_sum"],
            &["mos_intervals"],
            1.0,
        )),
        &[column("MOS", "MOS", 1, ("MOS", "mean opinion score of a call: 1 (bad) to 4.5 (excellent)"))],
    ),
    shown(
        over_time(ratio(
            metric(
                "apps.*.missed",
                SHARE,
                "missed packets",
                Low,
                "Packets of the application that were lost, or came too late to be of use, over packets due.",
            ),
            &["packets_missed"],
            &["packets_due"],
            1.0,
        )),
        &[column("missed packets", "missed", 5, ("missed", "share of packets that were lost or came too late"))],
    ),
    shown(
        over_time(ratio(
            metric(
                "apps.*.video_rate_bps",
                BPS,
                "video bit rate",
                High,
                "Mean bit rate of the video received, as it was encoded, without headers.",
            ),
            &["video_bits"],
            &["video_s"],
            1.0,
        )),
        &[column("video bit rate", "video", 4, ("video", "mean bit rate of the video received"))],
    ),
    shown(
        over_time(ratio(
            metric(
                "apps.*.stalled",
                SHARE,
                "stalled",
                Low,
                "Share of the playing time in which the video stalled: waiting for data, or frozen.",
            ),
            &["stalled_s"],
            &["played_s", "stalled_s"],
            1.0,
        )),
        &[column("stalled", "stalled", 2, ("stalled", "share of the playing time in which the video stalled"))],
    ),
    over_time(ratio(
        metric("apps.*.stalls_per_min", PER_MIN, "stalls", Low, "Number of stalls of the video, per minute and flow."),
        &["stalls"],
        &["played_s", "stalled_s"],
        60.0,
    )),
    over_time(ratio(
        metric(
            "apps.*.switches_per_min",
            PER_MIN,
            "switches",
            Low,
            "Changes of the bit rate from one segment to the next, per minute of video.",
        ),
        &["switches"],
        &["video_s"],
        60.0,
    )),
    shown(
        of(
            metric("apps.*.response_time_ms.*", MS, "response time", Low, "Response time of one kind of exchange."),
            DISTRIBUTION,
        ),
        &[
            statistic("p50", column("response time, p50", "p50", 2, RESPONSE)),
            statistic("p99", column("response time, p99", "p99", 5, RESPONSE)),
        ],
    ),
    shown(
        over_time(metric(
            "apps.*.completed.*",
            COUNT,
            "completed exchanges",
            High,
            "Exchanges of one kind that ended: requests, pages, segments of a video, each by itself.",
        )),
        &[unless_zero(column("ended", "ended", 7, ("ended", "exchanges that ended in the window")))],
    ),
    shown(
        metric(
            "apps.*.retransmission_rate",
            SHARE,
            "retransmissions",
            Low,
            "Retransmitted segments over data segments sent.",
        ),
        &[unless_zero(column(
            "sent again",
            "resent",
            7,
            ("resent", "fraction of TCP data segments that were retransmissions"),
        ))],
    ),
    shown(
        metric(
            "apps.*.jain",
            JAIN,
            "fairness",
            High,
            "Jain's index of the throughputs of those that sent data, for two or more that send all the time: 1 if all are equal.",
        ),
        &[column(
            "fairness",
            "fair-\nness",
            5,
            ("fairness", "of the throughputs of one kind of flows: 1 if all are equal, 1/n if one flow has all"),
        )],
    ),
    metric("apps.*.timeouts_per_s", PER_S, "timeouts", Low, "Retransmission timeouts."),
    metric(
        "apps.*.limits.application",
        SHARE,
        "application-limited",
        Neither,
        "Share of the time of open TCP connections in which everything written was sent.",
    ),
    metric(
        "apps.*.limits.congestion_window",
        SHARE,
        "cwnd-limited",
        Neither,
        "Share of the time of open TCP connections in which the congestion window, or pacing, limited the sender.",
    ),
    metric(
        "apps.*.limits.receive_window",
        SHARE,
        "rwnd-limited",
        Neither,
        "Share of the time of open TCP connections in which the receive window limited the sender, as Linux's `tcpi_rwnd_limited`.",
    ),
    metric(
        "apps.*.limits.send_buffer",
        SHARE,
        "sndbuf-limited",
        Neither,
        "Share of the time of open TCP connections in which the send buffer limited the sender, as Linux's `tcpi_sndbuf_limited`.",
    ),
    metric(
        "apps.*.limits.window_bytes",
        BYTES,
        "limiting window",
        Neither,
        "Mean receive window or send buffer while it limited the sender.",
    ),
    metric(
        "apps.*.limits.window_bps",
        BPS,
        "limiting window over round trip",
        Neither,
        "Mean of the same over the round-trip time: the most that a flow can send.",
    ),
    metric(
        "apps.*.limits.late",
        COUNT,
        "late flows",
        Neither,
        "Flows without end that opened their first connection within the measured time.",
    ),
    metric(
        "apps.*.limits.slow_start",
        COUNT,
        "in slow start",
        Neither,
        "Flows without end in their first slow start when the measured time began.",
    ),
    metric("apps.*.connections", COUNT, "connections", Neither, "Connections opened."),
    metric("apps.*.population", COUNT, "population", Neither, "Applications: users, sources, flows."),
    metric("apps.*.counters.*_bytes_per_frame", BYTES, "bytes per frame", Neither, "Mean size of a frame of one type."),
    metric(
        "apps.*.counters.*_packets_per_frame",
        PACKETS,
        "packets per frame",
        Neither,
        "Mean number of packets of a frame of one type.",
    ),
    metric(
        "apps.*.counters.*_bytes",
        BYTES_PER_S,
        "counter",
        Neither,
        "A counter of the model that counts bytes, per second and flow.",
    ),
    metric("apps.*.counters.*", PER_S, "counter", Neither, "A counter of the model, per second and flow."),
    metric(
        "flows.jain",
        JAIN,
        "fairness",
        High,
        "Jain's index of the throughputs of all applications that sent data, of whatever kind: 1 if all are equal.",
    ),
    metric("flows.count", COUNT, "flows", Neither, "Applications that sent data."),
    of(
        metric("flows.throughput_bps", BPS, "throughput of flows", Neither, "Data received by one application."),
        &["min", "mean", "max"],
    ),
    metric("engine.packets", PACKETS, "packets", Neither, "Packets that left the measured link in the whole run."),
    metric("engine.events", COUNT, "events", Neither, "Events of the simulator."),
    metric("engine.cpu_s", SECONDS, "CPU time", Low, "CPU time of the run's thread."),
    metric("engine.wall_s", SECONDS, "wall time", Low, "Elapsed wall time of the run."),
    metric("engine.peak_rss_bytes", BYTES, "memory", Low, "Largest resident size of the process so far."),
];
