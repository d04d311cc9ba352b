//! RFC 7928: the sections of the card of a discipline, each with question, experiment, rules and plot.

use crate::evidence::{ALL, at, during};
use crate::guide::{Guide, Section, Source};
use crate::pictures::Drawing;
use crate::quantities::{
    PHASES, apart, applicable, delay, extremes, mbps, needs_drops, needs_marks, rtt_unfairness, rtt_use, used,
};
use crate::rule::{Bound, rule};

/// Characterization Guidelines for Active Queue Management: the card of a discipline.
pub static GUIDE: Guide = Guide {
    source: "RFC 7928",
    study: "rfc7928",
    axis: "aqm",
    subjects: "disciplines",
    reference: "fifo",
    references: &["fifo", "fq-codel"],
    about: "Characterization Guidelines for Active Queue Management, section by section. The RFC sets no bounds: the rules are those of aqmkit, and each \
            stands beside its number.",
    path: "10 Mbit/s, 100 ms and a buffer of 83 packets, unless a section says otherwise",
    sections: SECTIONS,
    elsewhere: ELSEWHERE,
    not_for_stacks: &[],
};

/// Minimum utilisation, in percent, of a single `NewReno` transfer without any buffer: the mean of a sawtooth between
/// half and full capacity.
const OF_NEWRENO: f64 = 75.0;
/// The same for CUBIC, whose sawtooth starts at 0.7 of the capacity.
const OF_CUBIC: f64 = 85.0;
/// Utilisation, in percent, that many transfers reach unless the queue is too short.
const OF_MANY: f64 = 90.0;
/// Mean opinion score that a call should reach: "satisfied" or better (ITU-T G.107, annex B, R of 80).
const SATISFIED: f64 = 4.0;
/// Transmission time of an 84-byte packet (including preamble and gap) at 10 Gbit/s, in nanoseconds.
const SMALLEST_AT_TEN_GIGABIT: f64 = 67.2;

/// The rules of the sections on levels of congestion.
macro_rules! congestion {
    ($level:literal) => {
        &[
            rule("link used", "%", Bound::AtLeast(OF_MANY), |e, d| used(e, d, "bottleneck", at(&[("level", $level)]))),
            rule("queue delay", "ms", Bound::OfReference(0.5), |e, d| delay(e, d, at(&[("level", $level)]))),
            rule("fairness (Jain)", "", Bound::AtLeast(0.9), |e, d| e.mean(d, at(&[("level", $level)]), "flows.jain")),
        ]
    };
}

/// All sections, in the order of the RFC.
pub(crate) const SECTIONS: &[Section] = &[
    Section {
        number: "4.4",
        title: "Packet sizes",
        asks: "Does the chance to be dropped depend on the size of a packet?",
        source: Source::Experiment("packet-sizes"),
        rules: &[rule("drop rates of large and small datagrams apart by", "times", Bound::AtMost(1.25), |e, d| {
            let rate = |class: &str| e.mean(d, ALL, &format!("classes.{class}.drop_rate"));
            apart(rate("large"), rate("small"))
        })],
        picture: Drawing::Values {
            y: "drop rate, %",
            logarithmic: false,
            of: &[
                ("1500 bytes", |e, d| e.mean(d, ALL, "classes.large.drop_rate").map(|rate| 100.0 * rate)),
                ("150 bytes", |e, d| e.mean(d, ALL, "classes.small.drop_rate").map(|rate| 100.0 * rate)),
                ("TCP", |e, d| e.mean(d, ALL, "classes.tcp.drop_rate").map(|rate| 100.0 * rate)),
            ],
        },
        not_for: needs_drops,
    },
    Section {
        number: "4.5",
        title: "Interaction with ECN",
        asks: "Do marks replace drops, at the same queue?",
        source: Source::Experiment("ecn"),
        rules: &[
            rule("drops with ECN, of those without", "%", Bound::AtMost(25.0), |e, d| {
                let rate = |place| e.mean(d, place, "links.bottleneck.drop_rate");
                let (with, without) = (rate(at(&[("signal", "ECN")]))?, rate(at(&[("signal", "drops")]))?);
                (without > 0.0).then(|| 100.0 * with / without)
            }),
            rule("queue delay with ECN over that without", "times", Bound::AtMost(1.5), |e, d| {
                let (with, without) =
                    (delay(e, d, at(&[("signal", "ECN")]))?, delay(e, d, at(&[("signal", "drops")]))?);
                (without > 0.0).then(|| with / without)
            }),
        ],
        picture: Drawing::Values {
            y: "share of the packets, %",
            logarithmic: false,
            of: &[
                ("drops, no ECN", |e, d| {
                    Some(100.0 * e.mean(d, at(&[("signal", "drops")]), "links.bottleneck.drop_rate")?)
                }),
                ("drops, ECN", |e, d| Some(100.0 * e.mean(d, at(&[("signal", "ECN")]), "links.bottleneck.drop_rate")?)),
                ("marks, ECN", |e, d| Some(100.0 * e.mean(d, at(&[("signal", "ECN")]), "links.bottleneck.mark_rate")?)),
            ],
        },
        not_for: needs_marks,
    },
    Section {
        number: "4.6",
        title: "Interaction with scheduling",
        asks: "Do a call's few packets wait behind transfers, and do unequal senders get equal rates?",
        source: Source::Experiment("scheduling"),
        rules: &[
            rule("queue delay of the call, p99", "ms", Bound::AtMost(10.0), |e, d| {
                e.mean(d, ALL, "classes.voip.queue_delay_ms.p99")
            }),
            rule("goodputs of CUBIC and NewReno apart by", "times", Bound::AtMost(1.5), |e, d| {
                apart(e.mean(d, ALL, "classes.cubic.goodput_bps"), e.mean(d, ALL, "classes.newreno.goodput_bps"))
            }),
        ],
        picture: Drawing::Values {
            y: "queue delay, ms: mean, p99",
            logarithmic: true,
            of: &[
                ("call", |e, d| e.mean(d, ALL, "classes.voip.queue_delay_ms.mean")),
                ("call p99", |e, d| e.mean(d, ALL, "classes.voip.queue_delay_ms.p99")),
                ("NewReno", |e, d| e.mean(d, ALL, "classes.newreno.queue_delay_ms.mean")),
                ("CUBIC", |e, d| e.mean(d, ALL, "classes.cubic.queue_delay_ms.mean")),
            ],
        },
        not_for: applicable,
    },
    Section {
        number: "5.1.1",
        title: "TCP-friendly sender",
        asks: "Does one NewReno transfer fill the link without filling the queue?",
        source: Source::Experiment("tcp-friendly"),
        rules: &[
            rule("link used", "%", Bound::AtLeast(OF_NEWRENO), |e, d| used(e, d, "bottleneck", ALL)),
            rule("queue delay", "ms", Bound::OfReference(0.5), |e, d| delay(e, d, ALL)),
        ],
        picture: Drawing::Plane { link: "bottleneck", axis: None },
        not_for: applicable,
    },
    Section {
        number: "5.1.2",
        title: "Different initial windows",
        asks: "How long do transfers of 100 kB take beside a long one, with initial windows of three and ten segments?",
        source: Source::Experiment("initial-windows"),
        rules: &[
            rule("median completion time with ten segments", "ms", Bound::OfReference(1.0), |e, d| {
                e.mean(d, at(&[("initial", "10 beside 3")]), "apps.transfers.response_time_ms.transfer.p50")
            }),
            rule("the same over that with three", "times", Bound::AtMost(1.0), |e, d| {
                let time = |place| e.mean(d, place, "apps.transfers.response_time_ms.transfer.p50");
                Some(time(at(&[("initial", "10 beside 3")]))? / time(at(&[("initial", "3 beside 3")]))?)
            }),
            rule("link used", "%", Bound::AtLeast(OF_NEWRENO), |e, d| {
                used(e, d, "bottleneck", at(&[("initial", "10 beside 3")]))
            }),
        ],
        picture: Drawing::Over {
            axis: "initial",
            x: "initial windows, segments",
            y: "completion time, ms: median",
            logarithmic: false,
            of: "apps.transfers.response_time_ms.transfer.p50",
        },
        not_for: applicable,
    },
    Section {
        number: "5.2",
        title: "Aggressive sender",
        asks: "Does it hold the queue of a CUBIC transfer?",
        source: Source::Experiment("aggressive"),
        rules: &[
            rule("link used", "%", Bound::AtLeast(OF_CUBIC), |e, d| used(e, d, "bottleneck", ALL)),
            rule("queue delay", "ms", Bound::OfReference(0.5), |e, d| delay(e, d, ALL)),
        ],
        picture: Drawing::Plane { link: "bottleneck", axis: None },
        not_for: applicable,
    },
    Section {
        number: "5.3",
        title: "Unresponsive sender",
        asks: "What does a stream of datagrams at 120 % of the link do to the queue, and to a transfer?",
        source: Source::Experiment("unresponsive"),
        rules: &[
            rule("queue delay, datagrams alone", "ms", Bound::OfReference(0.5), |e, d| {
                delay(e, d, at(&[("mix", "UDP alone")]))
            }),
            rule("share of the transfer beside them", "%", Bound::AtLeast(25.0), |e, d| {
                let goodput =
                    |class: &str| e.mean(d, at(&[("mix", "UDP and TCP")]), &format!("classes.{class}.goodput_bps"));
                let (tcp, udp) = (goodput("tcp")?, goodput("udp")?);
                (tcp + udp > 0.0).then(|| 100.0 * tcp / (tcp + udp))
            }),
        ],
        picture: Drawing::Values {
            y: "goodput, Mbit/s",
            logarithmic: false,
            of: &[
                ("UDP alone", |e, d| mbps(e, d, "UDP alone", "udp")),
                ("UDP beside TCP", |e, d| mbps(e, d, "UDP and TCP", "udp")),
                ("TCP beside UDP", |e, d| mbps(e, d, "UDP and TCP", "tcp")),
            ],
        },
        not_for: applicable,
    },
    Section {
        number: "5.4",
        title: "Less than best effort",
        asks: "Does a LEDBAT transfer, which gives way to queues, still leave the link to NewReno?",
        source: Source::Experiment("less-than-best-effort"),
        rules: &[
            rule("share of LEDBAT", "%", Bound::AtMost(60.0), |e, d| {
                let goodput = |class: &str| e.mean(d, ALL, &format!("classes.{class}.goodput_bps"));
                let (ledbat, tcp) = (goodput("ledbat")?, goodput("tcp")?);
                (ledbat + tcp > 0.0).then(|| 100.0 * ledbat / (ledbat + tcp))
            }),
            rule("link used", "%", Bound::AtLeast(OF_NEWRENO), |e, d| used(e, d, "bottleneck", ALL)),
        ],
        picture: Drawing::Values {
            y: "goodput, Mbit/s",
            logarithmic: false,
            of: &[
                ("NewReno", |e, d| Some(e.mean(d, ALL, "classes.tcp.goodput_bps")? / 1e6)),
                ("LEDBAT", |e, d| Some(e.mean(d, ALL, "classes.ledbat.goodput_bps")? / 1e6)),
            ],
        },
        not_for: applicable,
    },
    Section {
        number: "6",
        title: "Round-trip time fairness",
        asks: "How do two transfers share the link when one has a round trip of 100 ms and the other one of 5 to 560 ms?",
        source: Source::Experiment("rtt-fairness"),
        rules: &[
            rule("goodputs further apart than the round trips by", "times", Bound::AtMost(1.25), rtt_unfairness),
            rule("link used, least", "%", Bound::AtLeast(OF_NEWRENO), rtt_use),
        ],
        picture: Drawing::RoundTrips,
        not_for: applicable,
    },
    Section {
        number: "7",
        title: "Burst absorption",
        asks: "Do bursts of web pages and video frames get through beside datagrams and a transfer?",
        source: Source::Experiment("bursts"),
        rules: &[
            rule("median page time, case IV", "ms", Bound::OfReference(1.0), |e, d| {
                e.mean(d, at(&[("case", "IV: all")]), "apps.web.response_time_ms.page.p50")
            }),
            rule("video frames complete, case IV", "%", Bound::AtLeast(90.0), |e, d| {
                Some(100.0 / 30.0 * e.mean(d, at(&[("case", "IV: all")]), "apps.video.frame_rate")?)
            }),
            rule("CBR packets dropped, case IV", "%", Bound::AtMost(1.0), |e, d| {
                Some(100.0 * e.mean(d, at(&[("case", "IV: all")]), "classes.cbr.drop_rate")?)
            }),
        ],
        picture: Drawing::Over {
            axis: "case",
            x: "case of the table in section 7.2",
            y: "page time, ms: median",
            logarithmic: true,
            of: "apps.web.response_time_ms.page.p50",
        },
        not_for: applicable,
    },
    Section {
        number: "8.2.2",
        title: "Mild congestion",
        asks: "Is the queue short, the link full and the share even with 6 transfers, of which drop-tail would drop 0.1 %?",
        source: Source::Experiment("congestion"),
        rules: congestion!("mild"),
        picture: Drawing::Plane { link: "bottleneck", axis: Some(("level", &["mild"])) },
        not_for: applicable,
    },
    Section {
        number: "8.2.3",
        title: "Medium congestion",
        asks: "The same with 14 transfers, 0.5 %?",
        source: Source::Experiment("congestion"),
        rules: congestion!("medium"),
        picture: Drawing::Plane { link: "bottleneck", axis: Some(("level", &["medium"])) },
        not_for: applicable,
    },
    Section {
        number: "8.2.4",
        title: "Heavy congestion",
        asks: "The same with 19 transfers, 1 %?",
        source: Source::Experiment("congestion"),
        rules: congestion!("heavy"),
        picture: Drawing::Plane { link: "bottleneck", axis: Some(("level", &["heavy"])) },
        not_for: applicable,
    },
    Section {
        number: "8.2.5",
        title: "Varying congestion",
        asks: "Does the queue keep its length while 6, 14, 19, 14 and 6 transfers follow each other?",
        source: Source::Experiment("varying-congestion"),
        rules: &[
            rule("largest mean delay of a phase over the least", "times", Bound::AtMost(3.0), |e, d| {
                let (most, least) = extremes(PHASES.map(|phase| delay(e, d, during(phase))))?;
                (least > 0.0).then(|| most / least)
            }),
            rule("link used, least of a phase", "%", Bound::AtLeast(OF_MANY), |e, d| {
                extremes(PHASES.map(|phase| used(e, d, "bottleneck", during(phase)))).map(|(_, least)| least)
            }),
        ],
        picture: Drawing::Time { column: "links.bottleneck.queue_delay_ms.mean", y: "queue delay, ms", labels: &[] },
        not_for: applicable,
    },
    Section {
        number: "8.2.6",
        title: "Varying available capacity",
        asks: "Does it follow a capacity that changes between 100 and 10 Mbit/s, every 20 s and every 100 ms?",
        source: Source::Experiment("varying-capacity"),
        rules: &[
            rule("queue delay p99, every 20 s", "ms", Bound::OfReference(0.5), |e, d| {
                e.mean(d, at(&[("capacity", "every 20 s")]), "links.bottleneck.queue_delay_ms.p99")
            }),
            rule("capacity used, every 20 s", "%", Bound::AtLeastOfReference(0.8), |e, d| {
                used(e, d, "bottleneck", at(&[("capacity", "every 20 s")]))
            }),
            rule("capacity used, every 100 ms", "%", Bound::AtLeastOfReference(0.8), |e, d| {
                used(e, d, "bottleneck", at(&[("capacity", "every 100 ms")]))
            }),
        ],
        picture: Drawing::Time {
            column: "links.bottleneck.queue_delay_ms.mean",
            y: "queue delay, ms",
            labels: &[("capacity", "every 20 s")],
        },
        not_for: applicable,
    },
    Section {
        number: "8.3",
        title: "Parameter sensitivity",
        asks: "Does it stay stable when a parameter is halved or doubled?",
        source: Source::Parameters,
        rules: &[
            rule("link used, least of all changes", "%", Bound::AtLeast(OF_MANY), |_, _| None),
            rule("largest change of the queue delay", "times", Bound::AtMost(2.5), |_, _| None),
        ],
        picture: Drawing::Parameters,
        not_for: applicable,
    },
    Section {
        number: "9.1",
        title: "Traffic mix",
        asks: "How do a call, web pages, datagrams, an adaptive video and five transfers fare together?",
        source: Source::Experiment("mix"),
        rules: &[
            rule("mean opinion score of the call", "", Bound::AtLeast(SATISFIED), |e, d| {
                e.mean(d, ALL, "apps.voip.mos")
            }),
            rule("median page time", "ms", Bound::OfReference(1.0), |e, d| {
                e.mean(d, ALL, "apps.web.response_time_ms.page.p50")
            }),
            rule("link used", "%", Bound::AtLeast(OF_MANY), |e, d| used(e, d, "down", ALL)),
        ],
        picture: Drawing::Values {
            y: "queue delay, ms: mean",
            logarithmic: true,
            of: &[
                ("call", |e, d| e.mean(d, ALL, "classes.voip.queue_delay_ms.mean")),
                ("CBR", |e, d| e.mean(d, ALL, "classes.cbr.queue_delay_ms.mean")),
                ("web", |e, d| e.mean(d, ALL, "classes.web.queue_delay_ms.mean")),
                ("video", |e, d| e.mean(d, ALL, "classes.video.queue_delay_ms.mean")),
                ("bulk", |e, d| e.mean(d, ALL, "classes.bulk.queue_delay_ms.mean")),
            ],
        },
        not_for: applicable,
    },
    Section {
        number: "9.2",
        title: "Bidirectional traffic",
        asks: "Do both directions of an asymmetric link stay full when acknowledgements wait behind data?",
        source: Source::Experiment("two-way"),
        rules: &[
            rule("10 Mbit/s used", "%", Bound::AtLeast(OF_MANY), |e, d| used(e, d, "down", ALL)),
            rule("2 Mbit/s used", "%", Bound::AtLeast(OF_MANY), |e, d| used(e, d, "up", ALL)),
            rule("queue delay at 10 Mbit/s", "ms", Bound::OfReference(0.5), |e, d| {
                e.mean(d, ALL, "links.down.queue_delay_ms.mean")
            }),
        ],
        picture: Drawing::Plane { link: "down", axis: None },
        not_for: applicable,
    },
    Section {
        number: "10",
        title: "Several queues in a row",
        asks: "What is left for transfers that cross two queues of the discipline, each shared with others?",
        source: Source::Experiment("several-queues"),
        rules: &[
            rule("share of the long transfers at the first queue", "%", Bound::AtLeast(25.0), |e, d| {
                let goodput = |class: &str| e.mean(d, ALL, &format!("classes.{class}.goodput_bps"));
                let (long, cross) = (goodput("long")?, goodput("cross-first")?);
                (long + cross > 0.0).then(|| 100.0 * long / (long + cross))
            }),
            rule("queue delay, both together", "ms", Bound::OfReference(0.5), |e, d| {
                let of = |link: &str| e.mean(d, ALL, &format!("links.{link}.queue_delay_ms.mean"));
                Some(of("first")? + of("second")?)
            }),
            rule("second link used", "%", Bound::AtLeast(OF_MANY), |e, d| used(e, d, "second", ALL)),
        ],
        picture: Drawing::Values {
            y: "goodput, Mbit/s",
            logarithmic: false,
            of: &[
                ("long", |e, d| Some(e.mean(d, ALL, "classes.long.goodput_bps")? / 1e6)),
                ("across the first", |e, d| Some(e.mean(d, ALL, "classes.cross-first.goodput_bps")? / 1e6)),
            ],
        },
        not_for: applicable,
    },
    Section {
        number: "11",
        title: "Implementation cost",
        asks: "How long does this implementation take for a packet, enqueued and dequeued, with a thousand flows?",
        source: Source::Cost,
        rules: &[rule("CPU time of a packet", "ns", Bound::AtMost(SMALLEST_AT_TEN_GIGABIT), |_, _| None)],
        picture: Drawing::Cost,
        not_for: applicable,
    },
    Section {
        number: "12",
        title: "Operator control",
        asks: "How many of its parameters matter? Few are easy to operate; none cannot be adjusted.",
        source: Source::Parameters,
        rules: &[rule("parameters that change the delay by over a quarter", "", Bound::AtMost(3.0), |_, _| None)],
        picture: Drawing::None,
        not_for: applicable,
    },
];

/// Sections of the RFC without an experiment of their own.
pub(crate) const ELSEWHERE: &[(&str, &str)] = &[
    ("2.1 Flow completion time", "sections 5.1.2, 7 and 9.1: transfers of 100 kB and web pages"),
    ("2.2 Flow startup time", "the time of a web page of section 7 includes the handshake of each connection"),
    ("2.3 Packet loss", "sections 4.4, 4.5 and 7; the report of each experiment has the drops of every class"),
    ("2.5 Goodput, 2.6 latency and jitter", "every section; the reports have means and percentiles"),
    (
        "2.7 Latency and goodput",
        "the ellipses: queue delay and goodput of each second, one standard deviation around the mean",
    ),
    ("3.1 Topology", "a dumbbell; section 10 has two bottlenecks, sections 9.1 and 9.2 two directions"),
    (
        "3.2 Buffer size",
        "one bandwidth-delay product at a round trip of 100 ms, in section 5.4 two and a half; the same for every discipline that takes a limit",
    ),
    ("3.3 Congestion controls", "NewReno where the section does not ask for another"),
    ("4.3.2 Deployment comparison", "the page of each discipline: aqmkit describe NAME"),
];
