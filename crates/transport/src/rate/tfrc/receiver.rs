//! The receiving half of TFRC (RFC 5348 sections 5 and 6).

use aqmkit_base::{Duration, Instant};

use super::equation::loss_rate;
use super::intervals::Intervals;
use super::losses::Losses;
use crate::profile::Profile;
use crate::rate::{Cx, Data, Receiving, Report};

/// Bytes received, and since when they are counted.
#[derive(Clone, Copy, Debug)]
struct Span {
    since: Instant,
    bytes: u64,
}

/// The receiving half.
#[derive(Clone, Debug)]
pub struct Receiver {
    losses: Losses,
    intervals: Intervals,
    /// When the last loss event began.
    event: Option<Instant>,
    /// The loss event rate in the last report.
    reported: f64,
    /// The sender's round trip; zero while it has none.
    rtt: Duration,
    /// The packet with the highest number, and when it came.
    last: Option<(Data, Instant)>,
    /// The largest data packet.
    segment: u32,
    /// Data since the last report, and between the two before it.
    now: Span,
    before: Option<Span>,
    /// The largest rate reported before any loss.
    fastest: f64,
    timer: Option<Instant>,
    /// The timer expired with nothing to report.
    owes: bool,
}

impl Receiver {
    /// The state of a new connection.
    #[must_use]
    pub fn new(profile: &Profile) -> Self {
        let tfrc = &profile.tfrc;
        Receiver {
            losses: Losses::default(),
            intervals: Intervals::new(tfrc.intervals, tfrc.discounting),
            event: None,
            reported: 0.0,
            rtt: Duration::ZERO,
            last: None,
            segment: 0,
            now: Span { since: Instant::ZERO, bytes: 0 },
            before: None,
            fastest: 0.0,
            timer: None,
            owes: false,
        }
    }

    /// [section 6.2] Bytes per second since the last report, or since the one before it if that was less than a round
    /// trip ago.
    fn rate(&self, now: Instant) -> f64 {
        let short = now.since(self.now.since) < self.rtt;
        let (since, bytes) = match self.before.filter(|_| short) {
            Some(before) => (before.since, before.bytes + self.now.bytes),
            None => (self.now.since, self.now.bytes),
        };
        let time = now.since(since).max(self.rtt).as_secs_f64();
        if time > 0.0 { bytes as f64 / time } else { 0.0 }
    }

    /// [section 6.2] The report, and the timer for the next.
    fn report(&mut self, cx: &Cx<'_>) -> Option<Report> {
        let (data, at) = self.last?;
        let rate = self.rate(cx.now);
        self.reported = self.intervals.loss_event_rate(data.seq);
        if self.intervals.is_empty() {
            self.fastest = self.fastest.max(rate);
        }
        self.before = Some(self.now);
        self.now = Span { since: cx.now, bytes: 0 };
        self.timer = (!self.rtt.is_zero()).then(|| cx.now + self.rtt);
        self.owes = false;
        let held = cx.now.since(at);
        Some(Report { echo: data.sent, held, seq: data.seq, rate, loss: self.reported, capacity: 0.0 })
    }

    /// A packet was lost, or marked, at this time. It begins a loss event unless it belongs to the last one, which
    /// covers a round trip [section 5.2].
    fn on_loss(&mut self, seq: u64, at: Instant, now: Instant) {
        if self.event.is_some_and(|began| at <= began + self.rtt) {
            return;
        }
        if self.event.replace(at).is_some() {
            return self.intervals.next(seq);
        }
        // [section 6.3.1] The equation's loss rate for the rate received so far; for half a packet per round trip if
        // nothing was received.
        let (s, r) = (f64::from(self.segment.max(1)), self.rtt.as_secs_f64());
        let target = self.fastest.max(self.rate(now));
        let length = match (r > 0.0, target > 0.0) {
            (true, true) => 1.0 / loss_rate(s, r, target),
            (true, false) => 1.0 / loss_rate(s, r, s / (2.0 * r)),
            (false, _) => 1.0,
        };
        self.intervals.first(seq, length);
    }
}

impl Receiving for Receiver {
    /// [section 6.1]
    fn on_data(&mut self, data: &Data, len: u32, marked: bool, cx: &Cx<'_>) -> Option<Report> {
        let first = self.last.is_none();
        if !first {
            self.now.bytes += u64::from(len);
        }
        if self.rtt.is_zero() && !data.rtt.is_zero() {
            // Regular reports and their counts begin here.
            (self.now, self.before) = (Span { since: cx.now, bytes: 0 }, None);
        }
        self.rtt = data.rtt;
        self.segment = self.segment.max(len);
        if self.last.is_none_or(|(last, _)| data.seq > last.seq) {
            self.last = Some((*data, cx.now));
        }
        let mut losses = std::mem::take(&mut self.losses);
        losses.on_packet(data.seq, cx.now, |seq, at| self.on_loss(seq, at, cx.now));
        self.losses = losses;
        if marked {
            self.on_loss(data.seq, cx.now, cx.now);
        }
        if first {
            // [section 6.3] A rate of zero: a single packet has none.
            self.now.since = cx.now;
        }
        let rate = self.intervals.loss_event_rate(self.losses.highest().unwrap_or(data.seq));
        let news = rate > self.reported;
        // Without a round trip, each packet is reported.
        if first || news || self.owes || self.rtt.is_zero() {
            return self.report(cx);
        }
        if self.timer.is_none() {
            self.timer = Some(cx.now + self.rtt);
        }
        None
    }

    fn timer(&self) -> Option<Instant> {
        self.timer
    }

    /// [section 6.2]
    fn on_timer(&mut self, cx: &Cx<'_>) -> Option<Report> {
        if self.now.bytes > 0 {
            return self.report(cx);
        }
        // The next packet is reported at once: no timer until then.
        (self.owes, self.timer) = (true, None);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Section 5.2: losses within a round trip of the first loss of an event, or exactly at its end, belong to that
    /// event.
    #[test]
    fn a_loss_event_lasts_a_round_trip() {
        let mut receiver = Receiver::new(&Profile::ns2());
        receiver.rtt = Duration::from_millis(100);
        let ms = |n| Instant::ZERO + Duration::from_millis(n);
        let mut began = Vec::new();
        for (seq, at) in [(10, 500), (11, 500), (20, 599), (30, 600), (40, 601), (50, 701), (60, 702)] {
            receiver.on_loss(seq, ms(at), ms(at));
            began.push(receiver.event);
        }
        assert_eq!(began, [500, 500, 500, 500, 601, 601, 702].map(|at| Some(ms(at))));
    }
}
