//! Metrics of a discipline that several sections or plots use.

use crate::evidence::{ALL, Evidence, Place, at};

/// Computes a metric of a discipline from the runs.
pub(crate) type Quantity = fn(&Evidence<'_>, &str) -> Option<f64>;

pub(crate) fn used(e: &Evidence<'_>, aqm: &str, link: &str, place: Place<'_>) -> Option<f64> {
    Some(100.0 * e.mean(aqm, place, &format!("links.{link}.utilization"))?)
}

pub(crate) fn delay(e: &Evidence<'_>, aqm: &str, place: Place<'_>) -> Option<f64> {
    e.mean(aqm, place, "links.bottleneck.queue_delay_ms.mean")
}

/// The ratio of two numbers or its inverse, whichever is larger.
pub(crate) fn apart(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    let ratio = one.zip(other).filter(|(one, other)| *one > 0.0 && *other > 0.0).map(|(one, other)| one / other)?;
    Some(ratio.max(1.0 / ratio))
}

/// Largest and smallest of several numbers; `None` if one is missing.
pub(crate) fn extremes(values: impl IntoIterator<Item = Option<f64>>) -> Option<(f64, f64)> {
    let all: Vec<f64> = values.into_iter().collect::<Option<_>>()?;
    let most = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some((most, all.iter().copied().fold(f64::INFINITY, f64::min)))
}

pub(crate) fn applicable(_: &Evidence<'_>, _: &str) -> Option<&'static str> {
    None
}

pub(crate) fn needs_marks(e: &Evidence<'_>, aqm: &str) -> Option<&'static str> {
    let marks = e.mean(aqm, at(&[("signal", "ECN")]), "links.bottleneck.mark_rate");
    (marks == Some(0.0)).then_some("it does not mark")
}

pub(crate) fn needs_drops(e: &Evidence<'_>, aqm: &str) -> Option<&'static str> {
    let rate = |class: &str| e.mean(aqm, ALL, &format!("classes.{class}.drop_rate"));
    let few = |measured: Option<f64>| measured.is_some_and(|share| share < 1e-4);
    (few(rate("large")) && few(rate("small")))
        .then_some("it drops no datagrams of either size: they have queues of their own")
}

/// Names of the windows with varying congestion.
pub(crate) const PHASES: [&str; 5] = ["mild", "medium", "heavy", "medium-again", "mild-again"];
/// RTTs of the second flow: label, and milliseconds.
pub(crate) const ROUND_TRIPS: [(&str, f64); 7] = [
    ("5ms", 5.0),
    ("15ms", 15.0),
    ("50ms", 50.0),
    ("100ms", 100.0),
    ("200ms", 200.0),
    ("400ms", 400.0),
    ("560ms", 560.0),
];
/// RTT of the first flow in milliseconds.
const FIRST_RTT: f64 = 100.0;

/// The second flow's goodput divided by the first's.
pub(crate) fn rtt_advantage(e: &Evidence<'_>, aqm: &str, rtt: &str) -> Option<f64> {
    let labels = [("rtt", rtt)];
    let place = Place { labels: &labels, window: "all" };
    let goodput = |class: &str| e.mean(aqm, place, &format!("classes.{class}.goodput_bps"));
    goodput("second").zip(goodput("first")).filter(|(_, first)| *first > 0.0).map(|(second, first)| second / first)
}

/// The largest factor by which the goodput ratio exceeds the RTT ratio.
pub(crate) fn rtt_unfairness(e: &Evidence<'_>, aqm: &str) -> Option<f64> {
    let of = |(label, rtt): (&str, f64)| {
        let ratio = rtt_advantage(e, aqm, label)?;
        Some(ratio.max(1.0 / ratio) / (rtt / FIRST_RTT).max(FIRST_RTT / rtt))
    };
    extremes(ROUND_TRIPS.map(of)).map(|(most, _)| most)
}

pub(crate) fn rtt_use(e: &Evidence<'_>, aqm: &str) -> Option<f64> {
    let of = |(label, _): (&str, f64)| {
        let labels = [("rtt", label)];
        used(e, aqm, "bottleneck", Place { labels: &labels, window: "all" })
    };
    extremes(ROUND_TRIPS.map(of)).map(|(_, least)| least)
}

/// Goodput in Mbit/s of a class that competes with unresponsive datagrams.
pub(crate) fn mbps(e: &Evidence<'_>, aqm: &str, mix: &str, class: &str) -> Option<f64> {
    let labels = [("mix", mix)];
    let place = Place { labels: &labels, window: "all" };
    Some(e.mean(aqm, place, &format!("classes.{class}.goodput_bps"))? / 1e6)
}
