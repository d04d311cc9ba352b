//! Parameters of CoDel that do not fit the link.

use aqmkit_base::Duration;

use super::place;
use crate::finding::{Finding, Weight};
use crate::queue::Queue;
use crate::words;

/// CoDel's disciplines. CAKE adapts target and interval to its rate by itself.
fn is_codel(queue: &Queue<'_>) -> bool {
    matches!(queue.qdisc.kind.as_str(), "codel" | "fq_codel")
}

/// A target that a single packet exceeds: RFC 8289, section 4.4, and the default of sqm-scripts, which ask for one and a half packets at least.
pub(crate) fn target_below_a_packet(queue: &Queue<'_>) -> Option<Finding> {
    let (target, packet) = (queue.qdisc.time("target")?, queue.packet_time()?);
    if !is_codel(queue) || target >= packet {
        return None;
    }
    let enough = packet.mul_f64(1.5);
    let sentence = format!(
        "The target of {} is shorter than one packet: at {} a full-sized packet takes {}, so {} sees every packet as late.",
        words::time(target),
        queue.rate().map(words::rate).unwrap_or_default(),
        words::time(packet),
        queue.qdisc.kind,
    );
    let because = "CoDel drops when the delay stays above the target for an interval; a target below one packet lets it drop as soon as two packets meet";
    let interval = enough.mul_f64(20.0).max(queue.qdisc.time("interval").unwrap_or(Duration::from_millis(100)));
    Some(Finding::new(Weight::Cause, sentence, because).mend(format!(
        "tc qdisc change {} {} target {} interval {}",
        place(queue),
        queue.qdisc.kind,
        words::tc_time(enough),
        words::tc_time(interval)
    )))
}

/// An interval that ends before a sender can react: RFC 8289, section 3.2, "a worst-case RTT of connections through the bottleneck".
pub(crate) fn interval_below_the_round_trip(queue: &Queue<'_>) -> Option<Finding> {
    let (interval, rtt) = (queue.qdisc.time("interval")?, queue.known.rtt?);
    if !is_codel(queue) || rtt <= interval.mul_f64(1.5) {
        return None;
    }
    let sentence = format!(
        "The interval of {} is shorter than the round trip of {}: {} drops again before senders can have reacted, and the link stays partly empty.",
        words::time(interval),
        words::time(rtt),
        queue.qdisc.kind,
    );
    let target = rtt.mul_f64(0.05);
    let rate = queue.rate().map(|rate| format!(" --rate {}", words::rate(rate))).unwrap_or_default();
    Some(
        Finding::new(
            Weight::Cause,
            sentence,
            "the interval is to be about the longest usual round trip, the target a twentieth of it",
        )
        .mend(format!(
            "tc qdisc change {} {} target {} interval {}",
            place(queue),
            queue.qdisc.kind,
            words::tc_time(target),
            words::tc_time(rtt)
        ))
        .see(format!(
            "aqmkit compare codel \"codel:interval={0},target={1}\"{rate} --rtt {0}",
            words::tc_time(rtt),
            words::tc_time(target)
        )),
    )
}

/// A quantum below a packet on a fast link.
pub(crate) fn quantum(queue: &Queue<'_>) -> Option<Finding> {
    let quantum = queue.qdisc.size("quantum")?.0;
    let fast = queue.rate()?.as_bps() > 100_000_000;
    if !matches!(queue.qdisc.kind.as_str(), "fq_codel" | "fq_pie") || !fast || quantum >= 1000 {
        return None;
    }
    let sentence = format!(
        "A quantum of {quantum} bytes gives large packets a turn only every {} rounds.",
        1514_u64.div_ceil(quantum.max(1))
    );
    let because = "small quanta favour small packets on slow links; above 100mbit a packet takes too little time for that to matter, and each round costs processor time";
    Some(Finding::new(Weight::Setting, sentence, because).mend(format!(
        "tc qdisc change {} {} quantum 1514",
        place(queue),
        queue.qdisc.kind
    )))
}
