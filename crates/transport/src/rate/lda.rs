//! # lda: loss-delay based adjustment
//!
//! Adjusts the rate of an RTP stream at each RTCP report, every few seconds: increases it without losses,
//! and decreases it in proportion to losses. Flows with a small share of the bottleneck increase faster, so
//! shares converge; an increase never exceeds that of TCP.
//!
//! ## Law
//!
//! At each report, `T` after the last, with the rate `r`, the share `l` lost since, the rate `b` of the bottleneck, the round trip `RTT` and packets of
//! `M` bytes [parris01 II.2.3.2]:
//!
//! * `l = 0`: `AIR = min(AIR + AIR (1 - r / b), M T / RTT^2)`, then `r = r + AIR`. A TCP grows by a packet in each
//!   of `T / RTT` round trips, so its rate by `M / RTT` each time;
//! * `l > 0`: `r = r max(1 - l reduction, 0)`, and `AIR` is reset.
//!
//! `b` is measured by pairs of packets that are sent at once: `M` over the time between their arrivals, of which the receiver reports the median.
//! `RTT` comes from the report's echo and the time that the receiver held it.
//!
//! ## Parameters
//!
//! | field | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|
//! | `lda.interval` | time | 5s | interval of reports; RTCP's minimum. Longer intervals converge even more slowly |
//! | `lda.initial_rate` | rate | 100kbit | before the first report, and the minimum |
//! | `lda.increase` | rate | 10kbit | initial `AIR`, also after a loss |
//! | `lda.reduction` | | 3 | decrease relative to the loss rate; small values are smooth and slow |
//! | `mss`, `header` | size | of the profile | `M`, and the bytes of the headers of each packet |
//!
//! ## Deviations
//!
//! 1. parris01 has no equation but that of TCP's rate, and no numbers. The equations are made from its words; of sisalem98 the abstract was at hand, which agrees with them (reports of RTP, the
//!    bottleneck's bandwidth measured with an addition to it, the parameters of the adjustment from that). Interval: RTCP's least of RFC 3550. The
//!    other values chosen once: a voice's rate to start, a tenth of it to add.
//! 2. Every sixteenth packet is sent directly after the previous one. The median is over the last 15 pairs of which both came.
//! 3. parris01 bounds the increase by "one packet per round-trip time" without naming the quantity; here it is the increase of TCP's window.
//! 4. The propagation delay that RTCP's values give has no use in what parris01 describes, and is not computed.
//! 5. Without a report for four intervals, the rate is halved. parris01 does not specify this case.
//!
//! ## Evidence
//!
//! `tests/transport/lda.rs`: increases and reductions by hand, the bound by TCP's increase, the bottleneck from pairs, convergence of four flows
//! over hundreds of seconds as parris01 reports it.
//!
//! ## References
//!
//! * parris01: M. Parris, Class-Based Thresholds, dissertation, UNC 2001, section II.2.3.2.
//! * sisalem98: D. Sisalem, H. Schulzrinne, The Loss-Delay Based Adjustment Algorithm: A TCP-Friendly Adaptation Scheme, NOSSDAV 1998.
//! * RFC 3550: H. Schulzrinne, S. Casner, R. Frederick, V. Jacobson, RTP: A Transport Protocol for Real-Time Applications, 2003.

use aqmkit_base::{BitRate, Duration, Instant};
use serde::{Deserialize, Serialize};

use super::{Cx, Data, Receiving, Report, Sending};
use crate::profile::Profile;
use aqmkit_base::param::{ParamError, require};

/// Every sixteenth packet is the second of a pair.
const PAIR_EVERY: u64 = 16;
/// Pairs in the median.
const PAIRS: usize = 15;
/// Intervals without a report after which the rate is halved.
const PATIENCE: f64 = 4.0;

/// The parameters of LDA.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The interval of reports.
    pub interval: Duration,
    /// The rate before the first report.
    pub initial_rate: BitRate,
    /// The initial additive increase.
    pub increase: BitRate,
    /// The decrease relative to the loss rate.
    pub reduction: f64,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            interval: Duration::from_secs(5),
            initial_rate: BitRate::from_bps(100_000),
            increase: BitRate::from_bps(10_000),
            reduction: 3.0,
        }
    }
}

impl Params {
    pub(crate) fn check(&self) -> Result<(), ParamError> {
        let zero = BitRate::from_bps(0);
        require(!self.interval.is_zero(), "lda.interval", self.interval, "it must be above zero")?;
        require(self.initial_rate > zero, "lda.initial_rate", self.initial_rate, "it must be above zero")?;
        require(self.increase > zero, "lda.increase", self.increase, "it must be above zero")?;
        let ok = self.reduction > 0.0 && self.reduction.is_finite();
        require(ok, "lda.reduction", self.reduction, "it must be above 0")
    }
}

/// The sending half. Rates are in bytes per second.
#[derive(Clone, Debug)]
pub struct Sender {
    rate: f64,
    /// The additive increase rate.
    air: f64,
    rtt: Option<Duration>,
    last: Option<Instant>,
    /// The next packet is the second of a pair.
    at_once: bool,
    reported: Instant,
    timer: Instant,
}

impl Sender {
    /// The state of a new connection.
    #[must_use]
    pub fn new(cx: &Cx<'_>) -> Self {
        let p = &cx.profile.lda;
        let mut sender = Sender {
            rate: p.initial_rate.bytes_per_sec(),
            air: p.increase.bytes_per_sec(),
            rtt: None,
            last: None,
            at_once: false,
            reported: cx.now,
            timer: cx.now,
        };
        sender.set_timer(cx);
        sender
    }

    fn set_timer(&mut self, cx: &Cx<'_>) {
        self.timer = cx.now + cx.profile.lda.interval.mul_f64(PATIENCE);
    }

    fn increase(&mut self, capacity: f64, since: f64, cx: &Cx<'_>) {
        let share = if capacity > 0.0 { (self.rate / capacity).min(1.0) } else { 1.0 };
        self.air += self.air * (1.0 - share);
        if let Some(rtt) = self.rtt.map(|r| r.as_secs_f64().max(1e-9)) {
            self.air = self.air.min(cx.segment() * since / (rtt * rtt));
        }
        self.rate += self.air;
    }

    fn decrease(&mut self, to: f64, cx: &Cx<'_>) {
        let p = &cx.profile.lda;
        self.rate = (self.rate * to.max(0.0)).max(p.initial_rate.bytes_per_sec().min(self.rate));
        self.air = p.increase.bytes_per_sec();
    }
}

impl Sending for Sender {
    fn on_report(&mut self, report: &Report, cx: &Cx<'_>) {
        self.rtt = Some(cx.now.since(report.echo).saturating_sub(report.held));
        let since = cx.now.since(self.reported).as_secs_f64();
        self.reported = cx.now;
        if report.loss > 0.0 {
            self.decrease(1.0 - report.loss * cx.profile.lda.reduction, cx);
        } else {
            self.increase(report.capacity, since, cx);
        }
        self.set_timer(cx);
    }

    fn timer(&self) -> Option<Instant> {
        Some(self.timer)
    }

    fn on_timer(&mut self, cx: &Cx<'_>) {
        self.decrease(0.5, cx);
        self.set_timer(cx);
    }

    fn next(&self, cx: &Cx<'_>) -> Option<Instant> {
        let Some(last) = self.last.filter(|_| !self.at_once) else { return Some(cx.now) };
        Some(last + Duration::from_secs_f64(cx.segment() / self.rate).max(Duration::from_nanos(1)))
    }

    fn on_sent(&mut self, seq: u64, _more: bool, cx: &Cx<'_>) {
        // The interval saved before the second packet of a pair is added after it, to keep the rate.
        let distance = Duration::from_secs_f64(cx.segment() / self.rate);
        self.last = Some(if self.pairs(seq) { cx.now + distance } else { cx.now });
        self.at_once = self.pairs(seq + 1);
    }

    fn rtt(&self) -> Option<Duration> {
        self.rtt
    }

    fn rate(&self, _cx: &Cx<'_>) -> f64 {
        self.rate
    }

    fn pairs(&self, seq: u64) -> bool {
        seq % PAIR_EVERY == PAIR_EVERY - 1
    }
}

/// The receiving half.
#[derive(Clone, Debug)]
pub struct Receiver {
    timer: Option<Instant>,
    /// The last packet, and the time of its arrival.
    last: Option<(Data, Instant)>,
    /// The number after the highest one received, now and at the last report.
    end: u64,
    reported: u64,
    /// Packets and bytes since the last report.
    packets: u64,
    bytes: u64,
    /// The rates of the last pairs, in bytes per second.
    capacities: Vec<f64>,
    pair: usize,
}

impl Receiver {
    /// The state of a new connection.
    #[must_use]
    pub fn new(_profile: &Profile) -> Self {
        Receiver {
            timer: None,
            last: None,
            end: 0,
            reported: 0,
            packets: 0,
            bytes: 0,
            capacities: Vec::with_capacity(PAIRS),
            pair: 0,
        }
    }

    fn note_pair(&mut self, data: &Data, len: u32, now: Instant) {
        let first = self.last.filter(|(last, _)| data.pair && last.seq + 1 == data.seq);
        let Some(gap) = first.map(|(_, at)| now.since(at).as_secs_f64()).filter(|gap| *gap > 0.0) else { return };
        let capacity = f64::from(len) / gap;
        if self.capacities.len() < PAIRS {
            self.capacities.push(capacity);
        } else {
            self.capacities[self.pair % PAIRS] = capacity;
        }
        self.pair += 1;
    }

    fn capacity(&self) -> f64 {
        let mut sorted = self.capacities.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
    }
}

impl Receiving for Receiver {
    fn on_data(&mut self, data: &Data, len: u32, _marked: bool, cx: &Cx<'_>) -> Option<Report> {
        self.note_pair(data, len, cx.now);
        self.last = Some((*data, cx.now));
        self.end = self.end.max(data.seq + 1);
        self.packets += 1;
        self.bytes += u64::from(len);
        self.timer.get_or_insert(cx.now + cx.profile.lda.interval);
        None
    }

    fn timer(&self) -> Option<Instant> {
        self.timer
    }

    fn on_timer(&mut self, cx: &Cx<'_>) -> Option<Report> {
        self.timer = Some(cx.now + cx.profile.lda.interval);
        let (data, at) = self.last.filter(|_| self.packets > 0)?;
        let expected = (self.end - self.reported).max(1);
        // Late packets and duplicates count as received, as in RTCP; the share is never negative.
        let loss = 1.0 - (self.packets.min(expected) as f64 / expected as f64);
        let rate = self.bytes as f64 / cx.profile.lda.interval.as_secs_f64();
        (self.reported, self.packets, self.bytes) = (self.end, 0, 0);
        let held = cx.now.since(at);
        Some(Report { echo: data.sent, held, seq: data.seq, rate, loss, capacity: self.capacity() })
    }
}

#[cfg(test)]
mod tests;
