//! RFC 9743: the sections of the card of a congestion control, each with question, experiment, rules and plot.
//!
//! Subjects are what the connections of the classes `own…` use; `other` is the class beside them. Harm is that of Ware et al. (2019,
//! *Beyond Jain's Fairness Index*): a control may do to others what they do to each other.

use crate::evidence::{ALL, Evidence, Place, at};
use crate::guide::{Guide, Section, Source};
use crate::pictures::Drawing;
use crate::quantities::{applicable, delay, extremes, used};
use crate::rule::{Bound, rule};

/// Specifying New Congestion Control Algorithms: the card of a congestion control.
pub static GUIDE: Guide = Guide {
    source: "RFC 9743",
    study: "rfc9743",
    axis: "control",
    subjects: "controls",
    reference: "newreno",
    references: &["newreno", "cubic", "bbr3"],
    about: "Specifying New Congestion Control Algorithms (BCP 133), section by section. The RFC names criteria and gives no thresholds: the rules are those of \
            aqmkit, and each stands beside its number, with its reason. They are not a verdict on whether a control may be deployed: the RFC leaves that to its community.",
    path: "20 Mbit/s, 40 ms and a drop-tail queue of 66 packets, one bandwidth-delay product, unless a section says otherwise",
    sections: SECTIONS,
    elsewhere: ELSEWHERE,
    not_for_stacks: &[(
        "5.3.2",
        "both ends of a connection are of the stack, so its receiver knows what its sender does",
    )],
};

/// Utilisation, in percent, of one `NewReno` transfer without any buffer: the mean of a sawtooth between half and full.
const OF_NEWRENO: f64 = 75.0;
const OF_NEWRENO_WHY: &str =
    "What one NewReno transfer uses without any buffer: the mean of a sawtooth between half of the rate and all of it.";
/// The share of what others have beside their own kind that they should be left.
const LEFT: f64 = 80.0;
const LEFT_WHY: &str = "Harm (Ware et al. 2019): no more than the other does to its own kind, and a quarter of that for what seeds and starts do.";
/// How much worse than the reference is not yet worse.
const TOLERATED: f64 = 1.25;
const TOLERATED_WHY: &str = "Harm (Ware et al. 2019), against what NewReno does in its place; a quarter more is within what seeds and starts do.";
/// Drop rates of a sender that is not in trouble, in percent.
const FEW_DROPS: f64 = 1.0;
const FEW_DROPS_WHY: &str = "At 1 % a call without concealment loses 18 of its 95 points (ITU-T G.113), and a Reno transfer of 40 ms gets 3.5 Mbit/s (Mathis et al. 1997).";
/// Labels of the axis `buffer` of `losses`.
const SHORT_BUFFERS: [&str; 5] = ["1/8", "1/4", "1/2", "1", "3/2"];
/// Labels of the axis `buffer` of `tail-drop` with one bandwidth-delay product and more.
const LONG_BUFFERS: [&str; 3] = ["1", "2", "10"];
const PATHS: [&str; 9] = [
    "2 Mbit/s, 10 ms",
    "2 Mbit/s, 40 ms",
    "2 Mbit/s, 160 ms",
    "20 Mbit/s, 10 ms",
    "20 Mbit/s, 40 ms",
    "20 Mbit/s, 160 ms",
    "100 Mbit/s, 10 ms",
    "100 Mbit/s, 40 ms",
    "100 Mbit/s, 160 ms",
];
const QUEUES: [&str; 5] = ["red", "codel", "pie", "fq-codel", "dualpi2"];
const OTHERS: [&str; 3] = ["newreno", "cubic", "bbr3"];
const BESIDE_BUFFERS: [&str; 3] = ["1/2", "1", "4"];
const PEERS: [&str; 3] = ["no SACK", "no timestamps", "lumps of acknowledgements"];
const CHANGES: [&str; 4] = ["rate / 10", "rate x 10", "delay x 4", "delay / 4"];

/// The largest or smallest value of a metric over the labels of an axis, in percent where it is a share.
fn over(e: &Evidence<'_>, control: &str, axis: &str, labels: &[&str], window: &str, path: &str) -> Option<(f64, f64)> {
    extremes(labels.iter().map(|label| e.mean(control, Place { labels: &[(axis, label)], window }, path)))
}

fn most(e: &Evidence<'_>, control: &str, axis: &str, labels: &[&str], path: &str) -> Option<f64> {
    over(e, control, axis, labels, "all", path).map(|(most, _)| 100.0 * most)
}

fn least(e: &Evidence<'_>, control: &str, axis: &str, labels: &[&str], path: &str) -> Option<f64> {
    over(e, control, axis, labels, "all", path).map(|(_, least)| 100.0 * least)
}

/// A metric of what competes, beside this control and beside its own kind.
fn beside(e: &Evidence<'_>, control: &str, other: &str, buffer: &str, path: &str) -> Option<(f64, f64)> {
    let labels = [("beside", other), ("buffer", buffer)];
    let of = |whose: &str| e.mean(whose, at(&labels), path);
    of(control).zip(of(other))
}

/// The least goodput that is left to a control, in percent of what it has beside its own kind, over the buffers.
fn left_to(e: &Evidence<'_>, control: &str, other: &str) -> Option<f64> {
    let share = |buffer: &&str| {
        let (with, own) = beside(e, control, other, buffer, "classes.other.goodput_bps")?;
        (own > 0.0).then(|| 100.0 * with / own)
    };
    extremes(BESIDE_BUFFERS.iter().map(share)).map(|(_, least)| least)
}

/// The largest factor by which a metric of what competes exceeds what it is beside its own kind, over controls and buffers.
fn worsened(e: &Evidence<'_>, control: &str, path: &str, floor: f64) -> Option<f64> {
    let of = |(other, buffer): (&str, &str)| {
        let (with, own) = beside(e, control, other, buffer, path)?;
        Some(with.max(floor) / own.max(floor))
    };
    let all = OTHERS.iter().flat_map(|other| BESIDE_BUFFERS.iter().map(|buffer| (*other, *buffer)));
    extremes(all.map(of)).map(|(most, _)| most)
}

/// Goodput with reordering, in percent of that without.
fn kept(e: &Evidence<'_>, control: &str, label: &str) -> Option<f64> {
    let goodput = |of: &str| e.mean(control, at(&[("reorder", of)]), "classes.own.goodput_bps");
    Some(100.0 * goodput(label)? / goodput("none")?)
}

/// The median time of short transfers, in milliseconds.
fn median_transfer(e: &Evidence<'_>, control: &str, place: Place<'_>, app: &str) -> Option<f64> {
    e.mean(control, place, &format!("apps.{app}.response_time_ms.transfer.p50"))
}

fn mbps(e: &Evidence<'_>, control: &str, place: Place<'_>, class: &str) -> Option<f64> {
    Some(e.mean(control, place, &format!("classes.{class}.goodput_bps"))? / 1e6)
}

const fn section(
    number: &'static str,
    title: &'static str,
    asks: &'static str,
    experiment: &'static str,
    rules: &'static [crate::rule::Rule],
    picture: Drawing,
) -> Section {
    Section { number, title, asks, source: Source::Experiment(experiment), rules, picture, not_for: applicable }
}

/// All sections that have an experiment, in the order of the RFC.
const SECTIONS: &[Section] = &[
    section(
        "5.1.1",
        "Congestion collapse",
        "Does the link carry what is of use when a hundred transfers share it, and does the sender back off when nothing comes back?",
        "collapse",
        &[
            rule("goodput of a hundred transfers, of the link", "%", Bound::AtLeast(80.0), |e, c| {
                let labels = [("case", "crowd")];
                Some(100.0 * e.mean(c, Place { labels: &labels, window: "late" }, "classes.own.goodput_bps")? / 2e6)
            })
            .because("Headers take 4 %; the rest that is missing was sent twice or not at all: collapse is a link that is busy with what is of no use (RFC 2914)."),
            rule("packets offered in silence, from 20 s on", "packets/s", Bound::AtMost(0.5), |e, c| {
                let labels = [("case", "silence")];
                let bits = e.mean(c, Place { labels: &labels, window: "late" }, "classes.own.offered_bps")?;
                Some(bits / 12_000.0)
            })
            .because("Full backoff: a timer that doubles from 1 s (RFC 6298) sends one or two packets between 20 s and 60 s after the last answer."),
        ],
        Drawing::Values {
            y: "goodput of a hundred transfers, Mbit/s",
            logarithmic: false,
            of: &[("crowd", |e, c| mbps(e, c, Place { labels: &[("case", "crowd")], window: "late" }, "own"))],
        },
    ),
    section(
        "5.1.2",
        "Bufferbloat",
        "Does one transfer leave a long buffer empty, and still use the link?",
        "bufferbloat",
        &[
            rule("queue delay", "ms", Bound::AtMost(40.0), |e, c| delay(e, c, ALL))
                .because("One round trip of the path: it doubles the delay of everybody, and no sender that halves its window needs more to fill the link."),
            rule("link used", "%", Bound::AtLeast(90.0), |e, c| used(e, c, "bottleneck", ALL))
                .because("An empty queue is no merit of a sender that does not use the link."),
        ],
        Drawing::Plane { link: "bottleneck", axis: None },
    ),
    section(
        "5.1.3",
        "High packet loss",
        "How much do four transfers lose behind short buffers?",
        "losses",
        &[
            rule("packets dropped, most of all buffers", "%", Bound::AtMost(FEW_DROPS), |e, c| {
                most(e, c, "buffer", &SHORT_BUFFERS, "links.bottleneck.drop_rate")
            })
            .because(FEW_DROPS_WHY),
            rule("link used, least", "%", Bound::AtLeast(OF_NEWRENO), |e, c| {
                least(e, c, "buffer", &SHORT_BUFFERS, "links.bottleneck.utilization")
            })
            .because(OF_NEWRENO_WHY),
        ],
        Drawing::Over {
            axis: "buffer",
            x: "buffer, bandwidth-delay products",
            y: "share of packets dropped",
            logarithmic: false,
            of: "links.bottleneck.drop_rate",
        },
    ),
    section(
        "5.1.4",
        "Fairness among its own",
        "Do transfers of one kind share, over equal and unequal paths, and with one that comes late?",
        "fairness",
        &[
            rule("fairness (Jain), equal paths", "", Bound::AtLeast(0.9), |e, c| {
                e.mean(c, Place { labels: &[("paths", "equal")], window: "after" }, "flows.jain")
            })
            .because("Where three of four transfers are equal, the other one has then 42 % of a fair share."),
            rule("share of the one that came late, of a fair one", "%", Bound::AtLeast(70.0), |e, c| {
                let place = Place { labels: &[("paths", "equal")], window: "after" };
                let (own, late) = (mbps(e, c, place, "own")?, mbps(e, c, place, "own-late")?);
                (own + late > 0.0).then(|| 100.0 * 4.0 * late / (own + late))
            })
            .because("Twenty seconds, or 500 round trips, after it began; 70 % leaves it behind by no more than one reduction of CUBIC."),
            rule("fairness (Jain), round trips of 20 to 80 ms", "", Bound::AtLeast(0.76), |e, c| {
                e.mean(c, Place { labels: &[("paths", "unequal")], window: "after" }, "flows.jain")
            })
            .because("Jain's index of shares inverse to these round trips, the classic law of Reno without a queue: (25/12)^2 / (4 x 205/144) = 0.76."),
        ],
        Drawing::Over {
            axis: "paths",
            x: "paths",
            y: "fairness (Jain), whole run",
            logarithmic: false,
            of: "flows.jain",
        },
    ),
    section(
        "5.1.5",
        "Short flows",
        "How long do short transfers take beside a long one of their kind, and what is left to that one?",
        "short-flows",
        &[
            rule("short transfers, median", "ms", Bound::OfReference(TOLERATED), |e, c| {
                median_transfer(e, c, ALL, "own-short")
            })
            .because(TOLERATED_WHY),
            rule("goodput of the long one", "Mbit/s", Bound::AtLeastOfReference(0.8), |e, c| mbps(e, c, ALL, "own"))
                .because(TOLERATED_WHY),
            rule("packets dropped", "%", Bound::OfReference(TOLERATED), |e, c| {
                Some(100.0 * e.mean(c, ALL, "links.bottleneck.drop_rate")?)
            })
            .because(TOLERATED_WHY),
        ],
        Drawing::Values {
            y: "short transfers, ms: median, p99",
            logarithmic: true,
            of: &[
                ("median", |e, c| median_transfer(e, c, ALL, "own-short")),
                ("p99", |e, c| e.mean(c, ALL, "apps.own-short.response_time_ms.transfer.p99")),
            ],
        },
    ),
    section(
        "5.2.1",
        "Existing controls",
        "What is left to NewReno, CUBIC and BBR beside it, of what they have beside their own kind?",
        "beside",
        &[
            rule("goodput left to NewReno, least", "%", Bound::AtLeast(LEFT), |e, c| left_to(e, c, "newreno")).because(LEFT_WHY),
            rule("goodput left to CUBIC, least", "%", Bound::AtLeast(LEFT), |e, c| left_to(e, c, "cubic")).because(LEFT_WHY),
            rule("goodput left to BBR, least", "%", Bound::AtLeast(LEFT), |e, c| left_to(e, c, "bbr3")).because(LEFT_WHY),
            rule("their delay, of that beside their own kind", "times", Bound::AtMost(TOLERATED), |e, c| {
                worsened(e, c, "classes.other.queue_delay_ms.mean", 1.0)
            })
            .because("Harm in delay (Ware et al. 2019), of the worst combination; below 1 ms nobody is harmed."),
            rule("their losses, of those beside their own kind", "times", Bound::AtMost(2.0), |e, c| {
                worsened(e, c, "classes.other.drop_rate", 0.001)
            })
            .because("Harm in loss (Ware et al. 2019), of the worst combination; Reno's rate falls by the root, 30 %. Below 0.1 % nobody is harmed."),
        ],
        Drawing::Values {
            y: "goodput left, %: NewReno, CUBIC, BBR",
            logarithmic: false,
            of: &[
                ("NewReno", |e, c| left_to(e, c, "newreno")),
                ("CUBIC", |e, c| left_to(e, c, "cubic")),
                ("BBR", |e, c| left_to(e, c, "bbr3")),
            ],
        },
    ),
    section(
        "5.2.2",
        "Real-time flows",
        "How do a telephone call and a video call fare beside two transfers?",
        "real-time",
        &[
            rule("mean opinion score of the call", "", Bound::AtLeastOfReference(0.95), |e, c| e.mean(c, ALL, "apps.voip.mos"))
                .because("No worse than beside NewReno; 5 % of a score near 4 are 0.2, which listeners hardly tell apart."),
            rule("rate of the video call", "Mbit/s", Bound::AtLeastOfReference(0.8), |e, c| mbps(e, c, ALL, "call"))
                .because(TOLERATED_WHY),
            rule("delay of the video call, p99", "ms", Bound::OfReference(TOLERATED), |e, c| {
                e.mean(c, ALL, "classes.call.latency_ms.p99")
            })
            .because(TOLERATED_WHY),
        ],
        Drawing::Values {
            y: "queue delay, ms: call, video call",
            logarithmic: true,
            of: &[
                ("call", |e, c| e.mean(c, ALL, "classes.voip.queue_delay_ms.mean")),
                ("video call", |e, c| e.mean(c, ALL, "classes.call.queue_delay_ms.mean")),
            ],
        },
    ),
    section(
        "5.2.3",
        "Short and long flows of others",
        "How long do short transfers of CUBIC take beside it, and its own beside CUBIC?",
        "short-beside-long",
        &[
            rule("short transfers of CUBIC, median", "ms", Bound::OfReference(TOLERATED), |e, c| {
                median_transfer(e, c, at(&[("case", "others short")]), "other-short")
            })
            .because(TOLERATED_WHY),
            rule("long transfer of CUBIC beside its short ones", "Mbit/s", Bound::AtLeastOfReference(0.8), |e, c| {
                mbps(e, c, at(&[("case", "own short")]), "other")
            })
            .because(TOLERATED_WHY),
        ],
        Drawing::Values {
            y: "short transfers, ms: median",
            logarithmic: false,
            of: &[
                ("of CUBIC", |e, c| median_transfer(e, c, at(&[("case", "others short")]), "other-short")),
                ("its own", |e, c| median_transfer(e, c, at(&[("case", "own short")]), "own-short")),
            ],
        },
    ),
    section(
        "5.3.1",
        "Principles of congestion control",
        "How far does its answer to losses deviate from Reno's (RFC 2914)?",
        "principles",
        &[
            rule("rate at 10 % of loss", "Mbit/s", Bound::OfReference(10.0), |e, c| {
                Some(e.mean(c, at(&[("loss", "10 %")]), "classes.own.throughput_bps")? / 1e6)
            })
            .because("An order of magnitude: what RFC 8085 (section 3.1.1) grants to those that are not TCP."),
        ],
        Drawing::Over {
            axis: "loss",
            x: "packets lost",
            y: "throughput, bit/s",
            logarithmic: true,
            of: "classes.own.throughput_bps",
        },
    ),
    section(
        "5.3.2",
        "Incremental deployment",
        "Does it work with receivers that know no SACK or no timestamps, and when acknowledgements come in lumps?",
        "peers",
        &[rule("link used, least", "%", Bound::AtLeast(OF_NEWRENO), |e, c| {
            least(e, c, "peer", &PEERS, "links.bottleneck.utilization")
        })
        .because(OF_NEWRENO_WHY)],
        Drawing::Over {
            axis: "peer",
            x: "receiver",
            y: "share of the link used",
            logarithmic: false,
            of: "links.bottleneck.utilization",
        },
    ),
    section(
        "6.1",
        "Tail drop",
        "Does one transfer use the link behind drop-tail queues of all lengths?",
        "tail-drop",
        &[
            rule("link used with a product and more, least", "%", Bound::AtLeast(95.0), |e, c| {
                least(e, c, "buffer", &LONG_BUFFERS, "links.bottleneck.utilization")
            })
            .because("With a buffer of one bandwidth-delay product, the sawtooth of Reno never empties it; 5 % for what a model of the path takes to look."),
            rule("link used with a quarter of it", "%", Bound::AtLeast(OF_NEWRENO), |e, c| {
                used(e, c, "bottleneck", at(&[("buffer", "1/4")]))
            })
            .because(OF_NEWRENO_WHY),
        ],
        Drawing::Over {
            axis: "buffer",
            x: "buffer, bandwidth-delay products",
            y: "queue delay, ms: mean",
            logarithmic: true,
            of: "links.bottleneck.queue_delay_ms.mean",
        },
    ),
    section(
        "6.3",
        "Wired paths",
        "Do two transfers use links of 2 to 100 Mbit/s with round trips of 10 to 160 ms?",
        "wired",
        &[
            rule("link used, least", "%", Bound::AtLeast(OF_NEWRENO), |e, c| {
                least(e, c, "path", &PATHS, "links.bottleneck.utilization")
            })
            .because(OF_NEWRENO_WHY),
            rule("packets dropped, most", "%", Bound::OfReference(TOLERATED), |e, c| {
                most(e, c, "path", &PATHS, "links.bottleneck.drop_rate")
            })
            .because("On the slowest path a queue has four packets, and NewReno drops 9 %: an absolute bound would judge the path."),
        ],
        Drawing::Over {
            axis: "path",
            x: "path",
            y: "share of the link used",
            logarithmic: false,
            of: "links.bottleneck.utilization",
        },
    ),
    section(
        "6.4",
        "Wireless paths",
        "What does it make of a link whose rate varies, which sends in slots and loses packets in the air?",
        "wireless",
        &[
            rule("capacity used", "%", Bound::AtLeastOfReference(1.0), |e, c| used(e, c, "bottleneck", ALL))
                .because("What such a link can give depends on its losses: a user should not lose by leaving NewReno."),
            rule("queue delay p99", "ms", Bound::AtMost(120.0), |e, c| e.mean(c, ALL, "links.bottleneck.queue_delay_ms.p99"))
                .because("The buffer of 200 packets lasts 120 ms at the mean rate: more means that it fills while the link is slow."),
        ],
        Drawing::Plane { link: "bottleneck", axis: None },
    ),
    section(
        "7.1",
        "Active queue management",
        "Does it heed the signals of RED, CoDel, PIE, FQ-CoDel and DualPI2, with ECN?",
        "aqm",
        &[
            rule("link used, least", "%", Bound::AtLeast(OF_NEWRENO), |e, c| {
                least(e, c, "aqm", &QUEUES, "links.bottleneck.utilization")
            })
            .because(OF_NEWRENO_WHY),
            rule("queue delay, most", "ms", Bound::OfReference(2.0), |e, c| {
                most(e, c, "aqm", &QUEUES, "links.bottleneck.queue_delay_ms.mean").map(|of| of / 100.0)
            })
            .because("Twice what these disciplines make of the sender that they were designed for: more means that the signal goes unheeded."),
            rule("packets dropped, most", "%", Bound::AtMost(FEW_DROPS), |e, c| {
                most(e, c, "aqm", &QUEUES, "links.bottleneck.drop_rate")
            })
            .because(FEW_DROPS_WHY),
        ],
        Drawing::Over {
            axis: "aqm",
            x: "discipline",
            y: "queue delay, ms: mean",
            logarithmic: true,
            of: "links.bottleneck.queue_delay_ms.mean",
        },
    ),
    section(
        "7.2",
        "Policers and circuit breakers",
        "What does it lose at a policer that has no queue?",
        "policer",
        &[
            rule("packets dropped", "%", Bound::AtMost(10.0), |e, c| Some(100.0 * e.mean(c, ALL, "links.bottleneck.drop_rate")?))
                .because("A circuit breaker (RFC 8084) looks for losses that persist; one packet in ten is what operators and users take for an outage. Chosen by us."),
            rule("rate used", "%", Bound::AtLeast(50.0), |e, c| used(e, c, "bottleneck", ALL))
                .because("Half of what was bought. Chosen by us: a window that leaves in bursts gets 5 %, one that is paced 70 % and more."),
        ],
        Drawing::Values {
            y: "rate used, %",
            logarithmic: false,
            of: &[("policer", |e, c| used(e, c, "bottleneck", ALL))],
        },
    ),
    section(
        "7.3",
        "Varying delay",
        "Is it robust against jitter and against a path that becomes longer and shorter?",
        "varying-delay",
        &[
            rule("link used with 20 ms of jitter", "%", Bound::AtLeast(OF_NEWRENO), |e, c| {
                used(e, c, "bottleneck", at(&[("delay", "jitter")]))
            })
            .because(OF_NEWRENO_WHY),
            rule("link used with steps of 60 ms", "%", Bound::AtLeast(OF_NEWRENO), |e, c| {
                used(e, c, "bottleneck", at(&[("delay", "steps")]))
            })
            .because(OF_NEWRENO_WHY),
        ],
        Drawing::Over {
            axis: "delay",
            x: "what varies",
            y: "share of the link used",
            logarithmic: false,
            of: "links.bottleneck.utilization",
        },
    ),
    section(
        "7.4",
        "Constrained nodes",
        "Do two transfers share 64 kbit/s without a timeout or a loss in every window?",
        "constrained",
        &[
            rule("link used", "%", Bound::AtLeast(OF_NEWRENO), |e, c| used(e, c, "bottleneck", ALL)).because(OF_NEWRENO_WHY),
            rule("packets dropped", "%", Bound::OfReference(TOLERATED), |e, c| {
                Some(100.0 * e.mean(c, ALL, "links.bottleneck.drop_rate")?)
            })
            .because(TOLERATED_WHY),
        ],
        Drawing::Plane { link: "bottleneck", axis: None },
    ),
    section(
        "7.5",
        "High delay",
        "Do two transfers use 20 Mbit/s with a round trip of 600 ms?",
        "high-delay",
        &[rule("link used", "%", Bound::AtLeast(OF_NEWRENO), |e, c| used(e, c, "bottleneck", ALL)).because(OF_NEWRENO_WHY)],
        Drawing::Time { column: "classes.own.goodput_bps", y: "goodput, bit/s", labels: &[] },
    ),
    section(
        "7.7",
        "Extreme reordering",
        "What is left of the goodput while packets overtake each other, and nothing is lost?",
        "reordering",
        &[
            rule("goodput left, 1 % late by 5 ms", "%", Bound::AtLeast(90.0), |e, c| kept(e, c, "1 %, 5 ms"))
                .because("The path delivers everything, and an eighth of a round trip late: RACK (RFC 8985) waits for a quarter."),
            rule("goodput left, 5 % late by 20 ms", "%", Bound::AtLeast(50.0), |e, c| kept(e, c, "5 %, 20 ms"))
                .because("Half a round trip late: a sender may take some of it for loss, and should find out that it was none. Chosen by us."),
        ],
        Drawing::Over {
            axis: "reorder",
            x: "packets that are late",
            y: "goodput, bit/s",
            logarithmic: false,
            of: "classes.own.goodput_bps",
        },
    ),
    section(
        "7.8",
        "Transient events",
        "Do two transfers use the link again 3 s after datagrams filled it, or everything was lost, for 2 s?",
        "transients",
        &[
            rule("link used after a burst", "%", Bound::AtLeast(90.0), |e, c| {
                used(e, c, "bottleneck", Place { labels: &[("event", "burst")], window: "after" })
            })
            .because("Three seconds are 75 round trips: from nothing, slow start takes seven."),
            rule("link used after silence", "%", Bound::AtLeast(90.0), |e, c| {
                used(e, c, "bottleneck", Place { labels: &[("event", "silence")], window: "after" })
            })
            .because("A timer that has doubled during 2 s of silence expires within another 2 s, and slow start takes seven round trips."),
        ],
        Drawing::Time {
            column: "classes.own.goodput_bps",
            y: "goodput, bit/s, around the silence",
            labels: &[("event", "silence")],
        },
    ),
    section(
        "7.9",
        "Sudden changes of the path",
        "Does it find the new rate and the new delay within 10 s?",
        "path-changes",
        &[
            rule("link used, least of all changes", "%", Bound::AtLeast(OF_NEWRENO), |e, c| {
                over(e, c, "change", &CHANGES, "after", "links.bottleneck.utilization").map(|(_, least)| 100.0 * least)
            })
            .because(OF_NEWRENO_WHY),
            rule("queue delay at a tenth of the rate", "ms", Bound::OfReference(TOLERATED), |e, c| {
                e.mean(c, Place { labels: &[("change", "rate / 10")], window: "after" }, "links.bottleneck.queue_delay_ms.mean")
            })
            .because(TOLERATED_WHY),
        ],
        Drawing::Time {
            column: "links.bottleneck.queue_delay_ms.mean",
            y: "queue delay, ms, at a tenth of the rate",
            labels: &[("change", "rate / 10")],
        },
    ),
];

/// Sections of the RFC without an experiment.
const ELSEWHERE: &[(&str, &str)] = &[
    (
        "6.2 Tunnel behaviour",
        "no: what a tunnel does to marks is a matter of its two ends (RFC 6040), not of the control",
    ),
    ("7.6 Misbehaving nodes", "no: receivers that lie about what they have are not simulated"),
    ("7.10 Multipath transport", "no: a connection has one path"),
    (
        "7.11 Data centres",
        "no: aqmkit run tcpeval/data-center --set transport.congestion=NAME runs the control there, without a verdict",
    ),
    ("Deployment on the Internet", "no: a simulation has no middleboxes, offloads or hosts under load"),
];
