//! What a live link measured, in the form of simulated results.

use std::collections::BTreeMap;

use aqmkit_aqm::Why;
use aqmkit_base::BitRate;
use aqmkit_packets::meter::{self, Counters, Times, Window};
use aqmkit_sim::output::{ClassStats, Distribution, Length, LinkStats, Summary};

/// A distribution; nothing without samples.
#[must_use]
pub fn summary(times: &Times) -> Option<Summary> {
    let meter::Summary { mean, p50, p90, p99, max } = times.summary()?;
    Some(Summary { mean, p50, p90, p99, max })
}

/// A distribution for plots; nothing without samples.
#[must_use]
pub fn distribution(window: &str, quantity: String, times: &Times, steps: u32) -> Option<Distribution> {
    let points = || Distribution::points(steps, |share| times.quantile(share), times.quantile(1.0));
    (times.count() > 0).then(|| Distribution { window: window.to_owned(), quantity, points: points() })
}

/// Counts by reason, without reasons that did not occur.
#[must_use]
pub fn by_reason(counts: &[u64; Why::COUNT]) -> BTreeMap<String, u64> {
    let named = Why::ALL.iter().map(|why| (why.name().to_owned(), counts[*why as usize]));
    named.filter(|(_, n)| *n > 0).collect()
}

/// A share; zero of nothing.
pub(super) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn per_second(count: u64, window: &Window) -> f64 {
    let seconds = window.span().as_secs_f64();
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

/// One direction in one window.
#[must_use]
pub fn link(window: &Window, rate: BitRate) -> LinkStats {
    let total = &window.total;
    let throughput = per_second(total.sent_bytes * 8, window);
    LinkStats {
        throughput_bps: throughput,
        offered_bps: per_second(total.offered_bytes * 8, window),
        utilization: throughput / rate.as_bps() as f64,
        packets_per_s: per_second(total.sent_packets, window),
        drop_rate: share(total.drops(), total.offered_packets),
        mark_rate: share(total.marks(), total.offered_packets),
        drops: by_reason(&total.dropped),
        queue_packets: Length { mean: window.mean_packets(), p99: window.p99_packets() as f64 },
        queue_delay_ms: summary(&window.delay),
    }
}

/// One class in one window, as far as the link can tell: what reaches the receivers is for others to say.
#[must_use]
pub fn class(window: &Window, number: usize) -> ClassStats {
    let Some(share_of) = window.classes.get(number) else { return ClassStats::default() };
    let total: &Counters = &share_of.total;
    ClassStats {
        throughput_bps: per_second(total.sent_bytes * 8, window),
        offered_bps: per_second(total.offered_bytes * 8, window),
        drop_rate: share(total.drops(), total.offered_packets),
        mark_rate: share(total.marks(), total.offered_packets),
        drops: by_reason(&total.dropped),
        packet_bytes: share(total.offered_bytes, total.offered_packets),
        queue_delay_ms: summary(&share_of.delay),
        ..ClassStats::default()
    }
}
