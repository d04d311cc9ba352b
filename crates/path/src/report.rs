//! The numbers of one direction of a path.

use std::collections::BTreeMap;
use std::fmt;
use std::time;

use aqmkit_aqm::Why;
use aqmkit_base::{Duration, Instant};
use aqmkit_measure::output::Summary;
use aqmkit_measure::{LinkInfo, Times};

use crate::clock;
use crate::log::{Event, Log};

/// Delays, drops and marks in one direction of a path in a time window.
///
/// The definitions are those of aqmkit's results: packets count as sent by the start of their transmission, as dropped
/// or marked by their arrival at the queue, even if that happened after the window; a packet in transmission at an edge
/// counts with its part inside.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The start of the window.
    pub from: time::Duration,
    /// Its end.
    pub to: time::Duration,
    /// Datagrams that arrived at the queue.
    pub offered: u64,
    /// Datagrams that left the queue.
    pub sent: u64,
    /// Datagrams that arrived at the other end, of those that were polled.
    pub arrived: u64,
    /// Datagrams that the queue dropped, by reason.
    pub dropped: BTreeMap<Why, u64>,
    /// Datagrams that the wire lost after they were transmitted.
    pub lost: u64,
    /// Datagrams that the queue marked with Congestion Experienced.
    pub marked: u64,
    /// Bits per second that passed, with headers.
    pub throughput_bps: f64,
    /// Throughput divided by the rate of the link, or by what its trace could carry: 0 to 1.
    pub utilization: f64,
    /// Time in the queue, of the datagrams that left it; without transmission.
    pub queue_delay: Delays,
    /// Time from sending to arrival, of the datagrams that arrived at the other end.
    pub transit: Delays,
    /// Mean number of packets waiting.
    pub queue_packets: f64,
}

/// A distribution of delays, with a precision of 0.1 %; all zero if there was none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    /// Arithmetic mean.
    pub mean: time::Duration,
    /// Median.
    pub median: time::Duration,
    /// 99th percentile.
    pub p99: time::Duration,
    /// The longest.
    pub max: time::Duration,
}

impl Report {
    pub(crate) fn new(log: &Log, link: &LinkInfo, from: Instant, to: Instant) -> Self {
        let to = to.max(from);
        let passed = log.passed(from, to);
        let stats = passed.stats(link.capacity_bps(from, to));
        let (arrived, transit, lost) = after_queue(log, from, to);
        let reasons = Why::ALL.into_iter().zip(passed.total.dropped);
        Report {
            from: clock::since_start(from),
            to: clock::since_start(to),
            offered: passed.total.offered_packets,
            sent: passed.total.sent_packets,
            arrived,
            dropped: reasons.filter(|(_, packets)| *packets > 0).collect(),
            lost,
            marked: passed.total.marks(),
            throughput_bps: stats.throughput_bps,
            utilization: stats.utilization,
            queue_delay: Delays::from(stats.queue_delay_ms),
            transit: Delays::from(transit.summary()),
            queue_packets: stats.queue_packets.mean,
        }
    }

    /// Datagrams that the queue dropped for any reason. Losses on the wire are [`Report::lost`].
    #[must_use]
    pub fn drops(&self) -> u64 {
        self.dropped.values().sum()
    }
}

/// Arrivals at the other end, their delays, and losses on the wire.
fn after_queue(log: &Log, from: Instant, to: Instant) -> (u64, Times, u64) {
    let (mut arrived, mut transit, mut lost) = (0, Times::new(), 0);
    for (_, event) in log.events.iter().filter(|(at, _)| (from..=to).contains(at)) {
        match event {
            Event::Arrived(time) => {
                arrived += 1;
                transit.record(*time);
            }
            Event::Lost => lost += 1,
            _ => {}
        }
    }
    (arrived, transit, lost)
}

impl From<Option<Summary>> for Delays {
    fn from(summary: Option<Summary>) -> Self {
        let Some(s) = summary else { return Delays::default() };
        let time = |ms: f64| clock::std_duration(Duration::from_secs_f64(ms / 1e3));
        Delays { mean: time(s.mean), median: time(s.p50), p99: time(s.p99), max: time(s.max) }
    }
}

fn ms(time: time::Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

impl fmt::Display for Delays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [mean, median, p99, max] = [self.mean, self.median, self.p99, self.max].map(ms);
        write!(f, "mean {mean:.2}, median {median:.2}, p99 {p99:.2}, max {max:.2} ms")
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [from, to] = [self.from, self.to].map(|time| time.as_secs_f64());
        let (rate, used) = (self.throughput_bps / 1e6, 100.0 * self.utilization);
        writeln!(f, "{from:.3} to {to:.3} s: {rate:.3} Mbit/s, {used:.1} % of the link")?;
        write!(f, "datagrams: {} offered, {} sent, {} arrived, ", self.offered, self.sent, self.arrived)?;
        let reasons: Vec<String> = self.dropped.iter().map(|(why, n)| format!("{} {n}", why.name())).collect();
        let reasons = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) };
        writeln!(f, "{} dropped{reasons}, {} lost on the wire, {} marked", self.drops(), self.lost, self.marked)?;
        writeln!(f, "queueing delay: {}", self.queue_delay)?;
        write!(f, "transit:        {}", self.transit)
    }
}
