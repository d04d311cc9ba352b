//! The receiving half: which data has arrived, what to acknowledge, and when.

use std::num::NonZeroU64;

use aqmkit_base::{Duration, Instant};

use super::autotuning::{Autotuning, Seen};
use super::clock::{Alarm, Clock};
use super::compression::{self, Compression};
use super::ranges::{Range, Ranges};
use crate::profile::{DelayedAck, Profile};
use crate::segment::{Flags, Options, Segment};

/// Whether an acknowledgement is owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owed {
    Nothing,
    /// When the alarm rings.
    Later,
    AtOnce,
}

/// The effect of one segment at the receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Arrival {
    /// There is new in-order data.
    pub(super) delivered: bool,
    /// The peer's FIN is now in order.
    pub(super) finished: bool,
}

/// The data above the in-order data, the peer's FIN, and autotuning.
#[derive(Clone, Debug, Default)]
struct Above {
    ranges: Ranges,
    /// Sequence number of the FIN, once received.
    fin: Option<NonZeroU64>,
    /// A sequence number in each of the most recently extended ranges, latest first: the order in which SACK reports
    /// them (RFC 2018 section 4). 0: none.
    recent: [u64; Options::MOST],
    /// The duplicate part of the last segment, until D-SACK reports it (RFC 2883).
    duplicate: Option<Range>,
    compression: Compression,
    tuning: Option<Autotuning>,
}

impl Above {
    fn insert(&mut self, new: Range) {
        let joined = self.ranges.insert(new);
        let is_joined = |s: u64| (joined.start..joined.end).contains(&s);
        self.compression.place = self.recent.iter().take_while(|&&s| s != 0 && !is_joined(s)).count() as u8;
        let mut recent = [0; Options::MOST];
        recent[0] = new.start;
        let others = self.recent.iter().filter(|&&s| s != 0 && !is_joined(s));
        recent[1..].iter_mut().zip(others).for_each(|(slot, s)| *slot = *s);
        self.recent = recent;
    }

    /// The most recently extended ranges, latest first.
    fn reported(&self) -> impl Iterator<Item = Range> + '_ {
        self.recent.iter().take_while(|&&s| s != 0).filter_map(|&s| self.ranges.at(s))
    }

    /// The first part of a segment that was received before: everything below `next` was (RFC 2883 section 4).
    fn first_duplicate(&self, next: u64, seg: Range) -> Option<Range> {
        if seg.start < next {
            return Some(Range { start: seg.start, end: seg.end.min(next) });
        }
        let start = self.ranges.at(seg.start).map_or_else(|| self.ranges.gap(seg.start).end, |_| seg.start);
        let held = self.ranges.at(start).filter(|_| start < seg.end)?;
        Some(Range { start, end: held.end.min(seg.end) })
    }

    fn remove_below(&mut self, seq: u64) {
        self.ranges.remove_below(seq);
        // In place: the others keep their order.
        let mut kept = 0;
        for i in 0..self.recent.len() {
            let s = std::mem::take(&mut self.recent[i]);
            if s >= seq && s != 0 {
                self.recent[kept] = s;
                kept += 1;
            }
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Receiver {
    /// The next sequence number in order.
    next: u64,
    /// Allocated when a hole or the FIN appears, and freed with the hole; with an autotuned window, allocated at the
    /// first full segment and kept. Most connections have none, and would pay with a cache miss per segment for it.
    above: Option<Box<Above>>,
    /// When a delayed acknowledgement is due; when the last one was due, if none is.
    due: Instant,
    /// Sequence numbers in order since the last acknowledgement: no window exceeds 32 bits.
    fresh: u32,
    /// The peer's timestamp to echo.
    ts_recent: u32,
    owed: Owed,
    /// Number of data acknowledgements sent without delay at the start ([`Profile::quick_acks`]).
    quick: u8,
    /// When data last arrived and how long to wait for more, in ms: for [`DelayedAck::Adaptive`].
    last: u32,
    patience: u16,
}

impl Receiver {
    pub(super) fn new() -> Self {
        Receiver {
            next: 0,
            above: None,
            due: Instant::ZERO,
            fresh: 0,
            ts_recent: 0,
            owed: Owed::Nothing,
            quick: 0,
            last: 0,
            patience: 0,
        }
    }

    /// The window to advertise. It never shrinks.
    #[inline]
    pub(super) fn window(&self, p: &Profile) -> u32 {
        match self.above.as_deref().and_then(|above| above.tuning.as_ref()) {
            Some(tuning) => tuning.window(),
            None => p.first_receive_window() as u32,
        }
    }

    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Bytes in order, without SYN and FIN.
    pub(super) fn delivered(&self) -> u64 {
        self.next.saturating_sub(1 + u64::from(self.has_finished()))
    }

    /// Bytes received, each counted once, in order or above a hole.
    #[inline]
    pub(super) fn arrived(&self) -> u64 {
        let held = |above: &Above| above.ranges.as_slice().iter().map(|range| range.len()).sum::<u64>();
        self.delivered() + self.above.as_deref().map_or(0, held)
    }

    /// Whether everything up to the peer's FIN has arrived.
    pub(super) fn has_finished(&self) -> bool {
        self.fin().is_some_and(|fin| self.next > fin.get())
    }

    fn fin(&self) -> Option<NonZeroU64> {
        self.above.as_ref().and_then(|a| a.fin)
    }

    pub(super) fn alarm(&self) -> Alarm {
        if self.owed == Owed::Later { Alarm::at(self.due) } else { Alarm::OFF }
    }

    pub(super) fn owes_ack_at_once(&self) -> bool {
        self.owed == Owed::AtOnce
    }

    /// Whether anything that has arrived is not acknowledged yet.
    pub(super) fn owes_ack(&self) -> bool {
        self.owed != Owed::Nothing
    }

    pub(super) fn ts_recent(&self) -> u32 {
        self.ts_recent
    }

    /// The peer's SYN.
    pub(super) fn on_syn(&mut self, seg: &Segment) {
        self.advance(seg.seq + 1);
        self.ts_recent = seg.ts_val;
        self.owed = Owed::AtOnce;
    }

    /// A segment is being sent, and acknowledges everything received.
    pub(super) fn on_sent(&mut self) {
        self.fresh = 0;
        self.owe_nothing();
        if let Some(above) = &mut self.above {
            above.compression.held = 0;
        }
    }

    pub(super) fn owe_nothing(&mut self) {
        self.owed = Owed::Nothing;
    }

    /// The alarm may have rung.
    pub(super) fn on_deadline(&mut self, now: Instant) {
        if self.alarm().is_due(now) {
            self.owed = Owed::AtOnce;
        }
    }

    pub(super) fn ack_at_once(&mut self) {
        self.owed = Owed::AtOnce;
    }

    /// RFC 7323 section 4.3: echoes the timestamp of the segment that the next acknowledgement is for, or of the first
    /// of several. Sequence numbers do not wrap here, so there is nothing to protect against.
    pub(super) fn note_timestamp(&mut self, seg: &Segment) {
        if seg.seq + u64::from(self.fresh) <= self.next && seg.ts_val.wrapping_sub(self.ts_recent) < 1 << 31 {
            self.ts_recent = seg.ts_val;
        }
    }

    /// A segment that takes up sequence numbers.
    pub(super) fn on_data(&mut self, p: &Profile, seg: &Segment, clock: &Clock, now: Instant) -> Arrival {
        let end = seg.seq + u64::from(seg.len);
        let plain = !seg.flags.has(Flags::FIN) && self.is_plain();
        if seg.seq == self.next && seg.len > 0 && plain {
            self.advance(end);
            self.owe(p, clock, now);
            return Arrival { delivered: true, finished: false };
        }
        self.owed = Owed::AtOnce;
        self.on_other_data(p, seg, end)
    }

    /// Everything below `next` has arrived.
    fn advance(&mut self, next: u64) {
        self.fresh += (next - self.next) as u32;
        self.next = next;
    }

    /// In order, without a hole or FIN: acknowledge now or later.
    fn owe(&mut self, p: &Profile, clock: &Clock, now: Instant) {
        // 4.4BSD updates the window when the application has read two segments or half the buffer; that,
        // not a counter, makes it acknowledge every second segment (volume 2, section 26.5).
        let delay = self.adapt(p, now);
        // Linux acknowledges more than one full segment (`__tcp_ack_snd_check`).
        let segments = if delay.is_some() { p.mss.0 + 1 } else { 2 * p.mss.0 };
        let enough = segments.min(u64::from(self.window(p)).div_ceil(2));
        let quick = self.quick < p.quick_acks;
        if quick || p.delayed_ack == DelayedAck::None || u64::from(self.fresh) >= enough {
            self.owed = Owed::AtOnce;
            self.quick += u8::from(quick);
        } else if self.owed == Owed::Nothing {
            self.owed = Owed::Later;
            self.due = delay.map_or_else(|| clock.delayed_ack(p, self.due, now), |delay| now + delay);
        }
    }

    /// Linux's `tcp_event_data_recv`: the delay suited to the arrival pattern; `None` if it is not adaptive.
    fn adapt(&mut self, p: &Profile, now: Instant) -> Option<Duration> {
        let DelayedAck::Adaptive { least, most } = p.delayed_ack else { return None };
        let (now, least_ms) = (now.as_nanos() / 1_000_000, least.as_nanos() / 1_000_000);
        let since = u64::from((now as u32).wrapping_sub(self.last));
        let known = u64::from(self.patience);
        let patience = match known {
            0 => least_ms,
            _ if since <= least_ms / 2 => known / 2 + least_ms / 2,
            _ if since < known => known / 2 + since,
            _ => known,
        };
        (self.last, self.patience) = (now as u32, patience.min(u64::from(u16::MAX)) as u16);
        Some(Duration::from_millis(patience).clamp(least, most))
    }

    /// Old data, data above a hole, data that fills one, a FIN.
    fn on_other_data(&mut self, p: &Profile, seg: &Segment, end: u64) -> Arrival {
        let (had, had_finished) = (self.next, self.has_finished());
        let window_end = had + u64::from(self.window(p));
        if seg.flags.has(Flags::FIN) && self.fin().is_none() && end <= window_end {
            self.above.get_or_insert_default().fin = NonZeroU64::new(end);
        }
        if p.dsack && p.wants_sack() && seg.len > 0 {
            let whole = Range { start: seg.seq, end };
            let above = self.above.get_or_insert_default();
            above.duplicate = above.first_duplicate(had, whole);
        }
        let (start, end) = (seg.seq.max(had), end.min(window_end));
        if start < end {
            let above = self.above.get_or_insert_default();
            above.insert(Range { start, end });
            if let Some(first) = above.ranges.at(self.next) {
                above.remove_below(first.end);
                self.advance(first.end);
            }
        }
        self.release();
        let delivered = self.next > had;
        if self.fin().is_some_and(|fin| fin.get() == self.next) {
            self.advance(self.next + 1);
        }
        Arrival { delivered, finished: self.has_finished() && !had_finished }
    }

    /// Data has arrived above a hole: decides whether its acknowledgement waits for others. `rtt` is the round trip as
    /// seen by this end.
    pub(super) fn compress(&mut self, p: &Profile, rtt: Option<Duration>, now: Instant) {
        let Some(above) = self.above.as_deref_mut() else { return };
        if self.quick < p.quick_acks {
            self.quick += 1;
        } else if above.compression.holds(self.next) {
            if above.compression.held == 1 {
                self.due = now + compression::wait(p, rtt);
            }
            self.owed = Owed::Later;
        }
    }

    /// Data has arrived: updates the window. `timestamps`: whether segments carry them.
    #[inline]
    pub(super) fn autotune(&mut self, p: &Profile, seg: &Segment, timestamps: bool, clock: &Clock, now: Instant) {
        if p.tcp_moderate_rcvbuf {
            self.follow(p, seg, timestamps, clock, now);
        }
    }

    #[inline(never)]
    fn follow(&mut self, p: &Profile, seg: &Segment, timestamps: bool, clock: &Clock, now: Instant) {
        let full = u64::from(seg.len) >= p.mss.0;
        if !full && self.above.as_ref().is_none_or(|above| above.tuning.is_none()) {
            return;
        }
        let next = self.next;
        let above = self.above.get_or_insert_default();
        let tuning = above.tuning.get_or_insert_with(|| Autotuning::new(p, next, now));
        if tuning.is_done(p) {
            return;
        }
        let echo = (timestamps && full).then(|| (seg.ts_ecr, clock.age(p, seg.ts_ecr)));
        if tuning.on_data(p, &Seen { len: seg.len, next, echo }, now) {
            // Linux grants one quick acknowledgement with each growth.
            self.quick = self.quick.min(p.quick_acks.saturating_sub(1));
        }
    }

    /// Whether there is neither a hole nor a FIN.
    fn is_plain(&self) -> bool {
        self.above.as_ref().is_none_or(|a| a.ranges.is_empty() && a.fin.is_none())
    }

    /// The SACK option of an outgoing acknowledgement: as many blocks as fit, the most recently extended first (RFC
    /// 2018 section 4).
    pub(super) fn sack_blocks(&mut self, timestamps: bool) -> Options {
        let mut blocks = Options::default();
        let most = Options::MOST - usize::from(timestamps);
        if let Some(twice) = self.above.as_deref_mut().and_then(|a| a.duplicate.take()) {
            blocks.push_duplicate(self.next, twice.start, twice.end);
            self.release();
        }
        for range in self.reported().take(most - blocks.block_count()) {
            blocks.push_block(self.next, range.start, range.end);
        }
        blocks
    }

    /// How many blocks that option has.
    pub(super) fn sack_block_count(&self, timestamps: bool) -> usize {
        let twice = self.above.as_deref().is_some_and(|a| a.duplicate.is_some());
        (usize::from(twice) + self.reported().count()).min(Options::MOST - usize::from(timestamps))
    }

    /// The ranges that SACK reports, latest first.
    fn reported(&self) -> impl Iterator<Item = Range> + '_ {
        let above = self.above.as_deref().filter(|a| !a.ranges.is_empty());
        above.map(Above::reported).into_iter().flatten()
    }

    /// Frees the record of holes once it is empty.
    fn release(&mut self) {
        if self.is_plain() {
            self.above = self.above.take().filter(|a| a.duplicate.is_some() || a.tuning.is_some());
        }
    }

    /// The connection is over: only the FIN may still be queried.
    pub(super) fn free(&mut self) {
        self.above = self.above.take().filter(|a| a.fin.is_some());
        if let Some(above) = &mut self.above {
            above.ranges = Ranges::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Host {
        receiver: Receiver,
        clock: Clock,
        profile: Profile,
        timestamps: bool,
    }

    impl Host {
        fn new() -> Self {
            let profile = Profile::bsd44();
            let mut receiver = Receiver::new();
            receiver.on_syn(&Segment { flags: Flags::SYN, ..Segment::default() });
            receiver.on_sent();
            Host { receiver, clock: Clock::new(Duration::ZERO), profile, timestamps: false }
        }

        /// The ACK delays for data that arrives at these times.
        fn waits(&mut self, arrivals: &[u64]) -> Vec<u64> {
            let wait = |ms: &u64| {
                let now = Instant::from_nanos(ms * 1_000_000);
                self.receiver.adapt(&self.profile, now).map_or(0, |wait| wait.as_nanos() / 1_000_000)
            };
            arrivals.iter().map(wait).collect()
        }

        fn ranges(&self) -> &[Range] {
            self.receiver.above.as_ref().map_or(&[], |a| a.ranges.as_slice())
        }

        fn sacked(&mut self) -> Vec<(u64, u64)> {
            let next = self.receiver.next();
            self.receiver.sack_blocks(self.timestamps).blocks(next).collect()
        }

        fn data(&mut self, seq: u64, len: u32, flags: Flags) -> Arrival {
            let seg = Segment { seq, len, flags, ..Segment::default() };
            self.receiver.on_data(&self.profile, &seg, &self.clock, Instant::from_nanos(7))
        }
    }

    const MORE: Arrival = Arrival { delivered: true, finished: false };
    const NOTHING: Arrival = Arrival { delivered: false, finished: false };

    /// Linux's `tcp_event_data_recv` with 40 to 200 ms by hand. Data within 20 ms halves the estimate and adds 20; data
    /// within the estimate halves it and adds the interval; later data changes nothing.
    #[test]
    fn an_adaptive_delay_follows_the_times_between_data() {
        let mut host = Host::new();
        let (least, most) = (Duration::from_millis(40), Duration::from_millis(200));
        host.profile.delayed_ack = DelayedAck::Adaptive { least, most };
        let arrivals = [1000, 1039, 1098, 1176, 1197, 1217, 1237, 2000, 2001, 2002];
        // 40; 20 + 39; 29 + 59 where 59 is not below 59: stays; 78 is above; 29 + 21; 25 + 20; 22 + 20; stays; 21 + 20; 20 + 20.
        assert_eq!(host.waits(&arrivals), [40, 59, 59, 59, 50, 45, 42, 42, 41, 40]);
        // The estimate may exceed the maximum, but the delay does not.
        host.receiver.patience = 250;
        assert_eq!(host.waits(&[2201]), [200]);
    }

    #[test]
    fn every_second_full_segment_is_acknowledged_at_once() {
        let mut host = Host::new();
        assert_eq!(host.data(1, 1448, Flags::ACK), MORE);
        assert!(!host.receiver.owes_ack_at_once());
        assert_eq!(host.receiver.alarm().time(), Some(Instant::from_nanos(200_000_000)));
        host.data(1449, 1448, Flags::ACK);
        assert!(host.receiver.owes_ack_at_once());
    }

    #[test]
    fn holes_are_filled_in_any_order_and_acknowledged_at_once() {
        let mut host = Host::new();
        for (seq, len) in [(301, 100), (101, 100), (501, 50), (151, 100)] {
            assert_eq!(host.data(seq, len, Flags::ACK), NOTHING);
            assert!(host.receiver.owes_ack_at_once());
            host.receiver.on_sent();
        }
        assert_eq!(host.ranges().len(), 3);
        host.data(201, 100, Flags::ACK);
        assert_eq!(host.ranges(), [Range { start: 101, end: 401 }, Range { start: 501, end: 551 }]);
        host.receiver.on_sent();
        assert_eq!(host.data(1, 100, Flags::ACK), MORE);
        assert_eq!(host.receiver.delivered(), 400);
        assert!(host.receiver.owes_ack_at_once());
        assert_eq!(host.data(1, 400, Flags::ACK), NOTHING);
        host.data(401, 200, Flags::ACK);
        assert_eq!(host.receiver.delivered(), 600);
        assert!(host.receiver.above.is_none(), "the record goes with the last hole");
    }

    #[test]
    fn a_fin_beyond_a_hole_waits_for_it() {
        let mut host = Host::new();
        assert_eq!(host.data(101, 0, Flags::FIN), NOTHING);
        assert!(!host.receiver.has_finished());
        assert_eq!(host.data(1, 100, Flags::ACK), Arrival { delivered: true, finished: true });
        assert_eq!((host.receiver.delivered(), host.receiver.next()), (100, 102));
        assert_eq!(host.data(101, 0, Flags::FIN), NOTHING, "a FIN sent again");
        assert!(host.receiver.owes_ack_at_once());
    }

    #[test]
    fn data_beyond_the_window_is_cut_off() {
        let mut host = Host::new();
        host.data(101, 20_000, Flags::ACK);
        host.data(1, 100, Flags::ACK);
        assert_eq!(host.receiver.delivered(), 16_384);
    }

    /// RFC 2018 section 4, and the example of its section 8: latest first, and as many as fit.
    #[test]
    fn blocks_are_reported_the_latest_first() {
        let mut host = Host::new();
        for seq in [501, 1501, 2501, 3501, 4501] {
            host.data(seq, 500, Flags::ACK);
        }
        assert_eq!(host.sacked(), [(4501, 5001), (3501, 4001), (2501, 3001), (1501, 2001)]);
        // Joins two, in between.
        host.data(2001, 500, Flags::ACK);
        assert_eq!(host.sacked(), [(1501, 3001), (4501, 5001), (3501, 4001)]);
        host.data(501, 100, Flags::ACK);
        assert_eq!(host.sacked()[0], (501, 1001), "old data repeated");
        host.data(1, 500, Flags::ACK);
        assert_eq!(host.sacked(), [(1501, 3001), (4501, 5001), (3501, 4001)]);
        host.timestamps = true;
        host.data(6001, 10, Flags::ACK);
        assert_eq!(host.sacked(), [(6001, 6011), (1501, 3001), (4501, 5001)], "room for three beside a timestamp");
    }

    /// RFC 2883 section 4: what comes a second time is said once, in front of the blocks; of a piece that is new in part, the part
    /// that is not; and of several parts the first.
    #[test]
    fn what_comes_twice_is_reported_once() {
        let mut host = Host::new();
        (host.profile.sack, host.profile.dsack) = (true, true);
        host.data(1, 500, Flags::ACK);
        host.data(1001, 500, Flags::ACK);
        assert_eq!(host.sacked(), [(1001, 1501)]);
        host.data(301, 200, Flags::ACK);
        assert_eq!(host.sacked(), [(301, 501), (1001, 1501)], "below what is in order");
        assert_eq!(host.sacked(), [(1001, 1501)]);
        host.data(1101, 100, Flags::ACK);
        assert_eq!(host.sacked(), [(1101, 1201), (1001, 1501)], "above it: the second block holds the first");
        host.data(401, 300, Flags::ACK);
        assert_eq!(host.sacked(), [(401, 501), (1001, 1501)], "a part of it");
        host.data(2001, 500, Flags::ACK);
        host.data(901, 1700, Flags::ACK);
        assert_eq!(host.sacked(), [(1001, 1501), (901, 2601)], "two parts of it");
        host.profile.dsack = false;
        host.data(1, 100, Flags::ACK);
        assert_eq!(host.sacked(), [(901, 2601)]);
    }
}
