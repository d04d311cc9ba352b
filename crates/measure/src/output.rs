//! The output of a run.
//!
//! Names are those of `results.json`: rates are in bits per second, delays in milliseconds, shares are fractions of 1.
//! Values that do not exist (such as the delay of a class without packets) are absent.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use crate::responses::{Grid, Responses};

/// The results of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Output {
    /// One entry per window, in the order of the scenario.
    pub windows: Vec<Window>,
    /// Time series over the intervals of the run.
    pub series: Series,
    /// One row per application.
    pub flows: Vec<FlowRecord>,
    /// Finished exchanges, in order of completion; empty if there were more than the scenario lists, see
    /// [`Output::exchanges_dropped`].
    pub exchanges: Vec<ExchangeRecord>,
    /// Number of exchanges that are not listed because there were too many; [`Output::responses`] counts all of them.
    pub exchanges_dropped: u64,
    /// Exchanges by size and duration, for each window, traffic and kind.
    #[serde(default)]
    pub responses: Vec<Responses>,
    /// Distributions for plots, by window.
    pub distributions: Vec<Distribution>,
    /// The cost of the run.
    pub engine: Engine,
}

/// One window of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Name of the window.
    pub name: String,
    /// Start, in seconds of the run's time.
    pub from_s: f64,
    /// End, in seconds of the run's time.
    pub to_s: f64,
    /// By name of link.
    pub links: BTreeMap<String, LinkStats>,
    /// By name of class, at the measured link.
    pub classes: BTreeMap<String, ClassStats>,
    /// Statistics over all applications that sent anything.
    pub flows: FlowStats,
    /// By name of traffic.
    pub apps: BTreeMap<String, AppStats>,
    /// The customers of the operators' trees, for each link that has one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub circuits: Vec<CircuitStats>,
}

/// The customers of a tree at one link in one window: see [`crate::circuits`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CircuitStats {
    /// The link.
    pub link: String,
    /// How many there are.
    pub circuits: u64,
    /// Those with at least [`crate::circuits::FEWEST_PACKETS`] packets; all that follows is about these.
    pub active: u64,
    /// Those that are late or short.
    pub suffering: u64,
    /// Those with a 99th percentile of the delay above [`crate::circuits::LATE_MS`].
    pub late: u64,
    /// Those that got less than [`crate::circuits::SHORT`] of their plan while packets waited.
    pub short: u64,
    /// The circuits' 99th percentiles of the delay in the queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_ms: Option<Spread>,
    /// The shares of the plan that circuits got while packets waited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_share: Option<Spread>,
    /// Share of their packets that the queue dropped.
    pub drop_rate: f64,
    /// All of them, by load and delay.
    pub cells: Vec<CircuitCell>,
    /// The classes above with most circuits that suffer.
    pub above: Vec<AboveCircuits>,
    /// The circuits that suffer with the longest delays.
    pub worst: Vec<CircuitRecord>,
}

/// Quantiles over circuits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Nine of ten are above.
    pub p10: f64,
    /// Median.
    pub p50: f64,
    /// Nine of ten are below.
    pub p90: f64,
    /// Largest.
    pub max: f64,
}

/// Circuits of about the same load and delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CircuitCell {
    /// They asked for 2^load of their plan or more, up to twice that.
    pub load: i32,
    /// Their 99th percentile is 10^(delay / 5) ms or more, up to the next step.
    pub delay: i32,
    /// How many they are.
    pub circuits: u64,
    /// How many of them suffer.
    pub suffering: u64,
}

/// The circuits below one class.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AboveCircuits {
    /// The name of the class.
    pub name: String,
    /// Those that were active.
    pub active: u64,
    /// Those that suffer.
    pub suffering: u64,
}

/// One circuit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CircuitRecord {
    /// The name of its leaf.
    pub name: String,
    /// The name of the class above.
    pub above: String,
    /// Its plan in bit/s: the most that it may get.
    pub plan_bps: f64,
    /// The bits per second that arrived for it, over its plan.
    pub load: f64,
    /// Packets that left the queue.
    pub packets: u64,
    /// Packets that the queue dropped.
    pub drops: u64,
    /// Median of the delay in the queue.
    pub p50_ms: f64,
    /// 99th percentile of the delay in the queue, to an eighth of an octave above.
    pub p99_ms: f64,
    /// The share of its plan that it got while packets waited, where they waited for a hundredth of the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_share: Option<f64>,
}

/// A summary of a distribution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest value.
    pub max: f64,
}

/// Length of a queue over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Length {
    /// Mean over time.
    pub mean: f64,
    /// 99th percentile over time.
    pub p99: f64,
}

/// One link in one window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkStats {
    /// Bits per second that passed, with headers; packets in transmission at an edge of the window count with the part
    /// inside.
    pub throughput_bps: f64,
    /// Bits per second that arrived.
    pub offered_bps: f64,
    /// Throughput divided by rate: at most 1, unless the link sends less than the packets' lengths (negative framing).
    pub utilization: f64,
    /// Packets per second that left.
    pub packets_per_s: f64,
    /// Share of the arriving packets that the queue dropped, in this window or later.
    pub drop_rate: f64,
    /// Share of the arriving packets that the queue marked, in this window or later.
    pub mark_rate: f64,
    /// Arriving packets that were dropped, in this window or later, by reason.
    pub drops: BTreeMap<String, u64>,
    /// Number of waiting packets over time.
    pub queue_packets: Length,
    /// Queueing delay of packets that left, without transmission.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_delay_ms: Option<Summary>,
    /// Metrics that are computed from the link's counters: see [`crate::metric::Value`].
    #[serde(flatten)]
    pub computed: BTreeMap<String, f64>,
}

/// One class at the measured link in one window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassStats {
    /// Bits per second that passed the link, as in [`LinkStats::throughput_bps`].
    pub throughput_bps: f64,
    /// Goodput in bit/s: each byte counts once, when it first arrives at its receiver, even if TCP must wait for
    /// earlier bytes before delivering it. On a live link TCP data counts when the application reads it.
    pub goodput_bps: f64,
    /// Bits per second that arrived at the link.
    pub offered_bps: f64,
    /// Share of the arriving packets that the queue dropped, in this window or later.
    pub drop_rate: f64,
    /// Share of the arriving packets that the queue marked, in this window or later.
    pub mark_rate: f64,
    /// Arriving packets that were dropped, in this window or later, for each reason that occurred at the link.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub drops: BTreeMap<String, u64>,
    /// Packets lost per second and flow: mean over the class's flows.
    pub loss_rate_pps: f64,
    /// Mean size of an arriving packet in bytes, with headers.
    pub packet_bytes: f64,
    /// Goodput divided by the data (without headers) that arrived at the link: the share that was not retransmitted or
    /// lost. Limited to 1, because a draining queue delivers more than arrives.
    pub efficiency: f64,
    /// Queueing delay of packets that left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_delay_ms: Option<Summary>,
    /// One-way delay from sender to receiver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<Summary>,
    /// Metrics that are computed from the counters of the class: see [`crate::metric::Value`].
    #[serde(flatten)]
    pub computed: BTreeMap<String, f64>,
}

/// Comparison of the applications in one window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowStats {
    /// Number of applications that sent data.
    pub count: u64,
    /// Jain's fairness index of their throughputs; 1 when all are equal.
    pub jain: f64,
    /// Throughputs of these applications, in bit/s.
    pub throughput_bps: Range,
}

/// Range and mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// Smallest.
    pub min: f64,
    /// Mean.
    pub mean: f64,
    /// Largest.
    pub max: f64,
}

/// One group of applications in one window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AppStats {
    /// Number of applications: users, sources, flows.
    #[serde(default)]
    pub population: u64,
    /// Number of finished exchanges, by kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub completed: BTreeMap<String, u64>,
    /// Response times of these, by kind.
    pub response_time_ms: BTreeMap<String, Summary>,
    /// Complete frames received per second and flow, if the model has frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame_rate: Option<f64>,
    /// Frames per second and flow that could be decoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub playable_frame_rate: Option<f64>,
    /// Metrics that are computed from the model's counters, such as the quality that users experience: see
    /// [`crate::metric::Value`].
    #[serde(flatten)]
    pub computed: BTreeMap<String, f64>,
    /// All counters of the model, per second and flow.
    pub counters: BTreeMap<String, f64>,
    /// Connections opened.
    pub connections: u64,
    /// Jain's fairness index over the throughputs of applications that sent data. `None` for fewer than two, or if
    /// exchanges ended, because throughputs then depend on the requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jain: Option<f64>,
    /// Retransmitted segments divided by data segments sent.
    pub retransmission_rate: f64,
    /// Retransmission timeouts per second.
    pub timeouts_per_s: f64,
    /// Send limits of its TCP senders; `None` without TCP connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
}

/// Send limits of a group's TCP senders in a window, as shares of the time of their open connections; they sum to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// The application had no data to send.
    pub application: f64,
    /// The congestion window, or pacing.
    pub congestion_window: f64,
    /// The receive window: Linux's `tcpi_rwnd_limited`.
    pub receive_window: f64,
    /// The send buffer: Linux's `tcpi_sndbuf_limited`.
    pub send_buffer: f64,
    /// Mean of the receive window or send buffer in bytes, while it was the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_bytes: Option<f64>,
    /// Mean of that window divided by the RTT, in bit/s: the maximum rate of a flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_bps: Option<f64>,
    /// Number of endless flows that opened their first connection in the window.
    #[serde(default)]
    pub late: u64,
    /// Number of endless flows that were in their first slow start when the window began.
    #[serde(default)]
    pub slow_start: u64,
}

impl AppStats {
    /// A model's counters per second and flow, by name; for frames of one type (`i_frames`, `i_bytes`, `i_packets`)
    /// also bytes and packets per frame.
    #[must_use]
    pub fn name_counters(names: &[&str], rates: &[f64]) -> BTreeMap<String, f64> {
        let mut all: BTreeMap<String, f64> =
            names.iter().zip(rates).map(|(name, rate)| ((*name).to_owned(), *rate)).collect();
        for kind in names.iter().filter_map(|name| name.strip_suffix("_frames")) {
            for what in ["bytes", "packets"] {
                if let (Some(total), Some(frames)) =
                    (all.get(&format!("{kind}_{what}")), all.get(&format!("{kind}_frames")))
                {
                    let mean = if *frames > 0.0 { total / frames } else { 0.0 };
                    all.insert(format!("{kind}_{what}_per_frame"), mean);
                }
            }
        }
        all
    }
}

/// Columns of equal length, with one value per interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Length of an interval in seconds. Value `i` covers `[i * interval, (i + 1) * interval)`.
    pub interval_s: f64,
    /// By path of the metric in a window: `classes.tcp.throughput_bps`. NaN for missing values.
    pub columns: BTreeMap<String, Vec<f64>>,
}

/// One application over the whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowRecord {
    /// Name of its traffic.
    pub traffic: String,
    /// Index within its traffic.
    pub index: u64,
    /// Traffic class.
    pub class: String,
    /// Bytes delivered to the receiving application in each window, in the scenario's order.
    pub delivered_bytes: Vec<u64>,
    /// Connections opened.
    pub connections: u64,
    /// Data segments or datagrams sent.
    pub packets: u64,
    /// Retransmitted segments.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Packets lost at any link; `None` if a live link cannot assign drops to applications.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drops: Option<u64>,
}

/// An exchange that finished during the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExchangeRecord {
    /// Name of its traffic.
    pub traffic: String,
    /// Kind of exchange: `request`, `page`.
    pub kind: String,
    /// Time of the request, in seconds.
    pub started_s: f64,
    /// Duration in milliseconds.
    pub duration_ms: f64,
    /// Received bytes.
    pub bytes: u64,
}

/// A cumulative distribution function (CDF).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Name of the window.
    pub window: String,
    /// The quantity: `classes.tcp.queue_delay_ms`, `apps.web.response_time_ms.page`.
    pub quantity: String,
    /// Points (value, share of samples at or below it), ascending.
    pub points: Vec<(f64, f64)>,
}

impl Distribution {
    /// The value at which the CDF through these points reaches `share`; NaN without points.
    #[must_use]
    pub fn quantile(points: &[(f64, f64)], share: f64) -> f64 {
        let next = points.partition_point(|point| point.1 < share);
        match (next.checked_sub(1).and_then(|i| points.get(i)), points.get(next)) {
            (Some(a), Some(b)) => a.0 + (b.0 - a.0) * (share - a.1) / (b.1 - a.1),
            (None, Some(b)) => b.0,
            (a, None) => a.map_or(f64::NAN, |a| a.0),
        }
    }

    /// The shares at which a CDF has points, ascending: `steps` over the body, and about 100 over the last hundredth.
    pub fn shares(steps: u32) -> impl Iterator<Item = f64> + Clone {
        // Even steps in the middle, finer steps in the tail.
        let body = (0..steps).map(move |i| 0.99 * f64::from(i) / f64::from(steps));
        let tail = (0..=100).map(|i| 1.0 - libm::exp10(-2.0 - f64::from(i) / 20.0));
        body.chain(tail)
    }

    /// Points of a CDF: `values` are those at [`Distribution::shares`], `most` is the largest.
    pub fn points(steps: u32, values: impl Iterator<Item = f64>, most: f64) -> Vec<(f64, f64)> {
        let mut points: Vec<(f64, f64)> = values.zip(Distribution::shares(steps)).collect();
        points.push((most, 1.0));
        // If several shares have the same value, the CDF is the largest of them.
        points.dedup_by(|later, kept| {
            later.0 == kept.0 && {
                kept.1 = later.1;
                true
            }
        });
        points
    }
}

/// The cost of a run. All fields except `packets` and `events` vary from run to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Engine {
    /// Packets that left the measured link.
    pub packets: u64,
    /// Events processed by the simulator.
    pub events: u64,
    /// CPU seconds of the run's thread.
    pub cpu_s: f64,
    /// Wall-clock seconds.
    pub wall_s: f64,
    /// Largest resident size of the process so far, in bytes.
    pub peak_rss_bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Even steps up to 0.99, then twenty per remaining decade down to 10^-7, and the maximum.
    #[test]
    fn a_distribution_is_finer_towards_its_tail() {
        let points = Distribution::points(4, Distribution::shares(4), 2.0);
        let shares: Vec<f64> = points.iter().map(|point| point.1).collect();
        assert_eq!((shares.len(), points[105]), (106, (2.0, 1.0)));
        for (i, wanted) in [(0, 0.0), (1, 0.2475), (2, 0.495), (3, 0.7425), (4, 0.99), (24, 0.999), (64, 1.0 - 1e-5)] {
            assert!((shares[i] - wanted).abs() < 1e-12, "{i}: {}", shares[i]);
        }
        assert!((1.0 - shares[104] - 1e-7).abs() < 1e-12 && shares.is_sorted());
        assert!(points[..105].iter().all(|(value, share)| value == share));
        // Samples with two different values: each gets the share at or below it.
        let two = Distribution::shares(4).map(|share| if share <= 0.5 { 1.0 } else { 3.0 });
        let steps = Distribution::points(4, two, 3.0);
        assert_eq!(steps, [(1.0, 0.495), (3.0, 1.0)]);
    }
}
