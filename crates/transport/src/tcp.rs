//! One TCP endpoint.
//!
//! It opens a connection (RFC 9293 section 3.5), transfers bytes in both directions under a sliding window,
//! repairs losses, and closes each direction separately. The files:
//!
//! | file | holds |
//! |---|---|
//! | `handshake.rs` | SYN, SYN-ACK, their schedule, what they negotiate; giving up |
//! | `send.rs` | which segment may be sent now: windows, Nagle, silly windows, FIN; and how it is built |
//! | `acks.rs` | acknowledgements: new, duplicate, partial, marked; the retransmission timer |
//! | `sack.rs`, `outstanding.rs` | recovery with SACK (RFC 6675), and its scoreboard |
//! | `rack.rs`, `sent.rs` | time-based loss detection and the tail loss probe (RFC 8985), and the record of the data in flight |
//! | `offload.rs` | segmentation offload: how many segments leave at once |
//! | `prr.rs` | proportional rate reduction |
//! | `cwr.rs` | the reduction over a round trip after a mark |
//! | `usage.rs` | congestion window validation |
//! | `undo.rs` | spurious retransmissions: D-SACK, timestamps, F-RTO, and undo |
//! | `receive.rs`, `ranges.rs` | data in and out of order, delayed acknowledgements, SACK blocks |
//! | `autotuning.rs` | the receive window that follows the rate |
//! | `limit.rs` | what limits a sender |
//! | `compression.rs` | acknowledgements that wait for each other while data is missing |
//! | `ecn.rs`, `accurate.rs` | which segments are ECN-capable; the echo of marks, classic, DCTCP's and accurate; the option that counts bytes |
//! | `rtt.rs`, `clock.rs` | the retransmission timeout and timer ticks |
//! | `route.rs` | metrics cached with a host's route to a peer between connections |
//!
//! Three parts of a real TCP are unnecessary here and omitted. The receive window never shrinks, because the
//! application always reads, so there is no persist timer. Sequence numbers do not wrap, so there is no
//! PAWS. And ports are never reused, so TIME-WAIT has no end: a closed endpoint still answers a retransmitted FIN
//! (its own last acknowledgement was lost) for as long as its owner keeps it.

mod accurate;
mod acks;
mod autotuning;
mod clock;
mod compression;
mod cwr;
mod ecn;
mod handshake;
mod limit;
mod offload;
mod outstanding;
mod prr;
mod rack;
mod ranges;
mod receive;
mod route;
mod rtt;
mod sack;
mod send;
mod sent;
mod undo;
mod usage;

use std::num::NonZeroU64;

use aqmkit_base::{BitRate, Duration, Instant};

#[cfg(test)]
pub(super) use ranges::Range;
pub use route::Route;
pub(super) use rtt::Rtt;
pub(super) use sent::{Loss, Sent};

use self::clock::{Alarm, Clock};
use self::ecn::EcnEnd;
use self::outstanding::{Outstanding, WaitsFor};
use self::receive::Receiver;
use super::congestion::{Control, ModelView, Pacer};
use super::profile::{IdleSince, Profile};
use super::segment::{Flags, Segment};

/// An event at an endpoint. After [`Event::Closed`] or [`Event::Failed`] no more follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The connection is open.
    Connected,
    /// [`Tcp::delivered`] has grown.
    Delivered,
    /// The peer has closed its direction, and everything before was delivered.
    PeerFinished,
    /// Both directions are closed, and everything was delivered and acknowledged.
    Closed,
    /// The connection was given up: too many retransmissions, or the peer gave it up.
    Failed,
}

/// Output buffers of an endpoint: the endpoint appends, the owner clears.
#[derive(Debug)]
pub struct Output<'a> {
    /// Segments to send now, in order.
    pub segments: &'a mut Vec<Segment>,
    /// The events so far, in order.
    pub events: &'a mut Vec<Event>,
}

/// Counters of rare events at an endpoint since its start. The owner counts segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpStats {
    /// Segments sent again: data, SYN or FIN.
    pub retransmissions: u32,
    /// Duplicate acknowledgements received.
    pub dup_acks: u32,
    /// Times that the retransmission timer expired, for a SYN as well.
    pub timeouts: u32,
    /// Times that duplicate acknowledgements, SACK or RACK started a fast retransmit.
    pub fast_retransmits: u32,
    /// Tail loss probes sent.
    pub tail_probes: u32,
    /// Times that an echo of congestion experienced reduced the window.
    pub ecn_reductions: u32,
}

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Not opened yet.
    Closed,
    SynSent,
    SynReceived,
    /// Open in at least one direction.
    Open,
    /// Closed in both directions.
    Done,
    /// Given up.
    Failed,
}

/// The state of loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recovery {
    None,
    /// Fast recovery, until `until` is acknowledged.
    Fast {
        until: u64,
        /// Whether a partial acknowledgement has arrived.
        partial: bool,
    },
    /// After a timeout: data below `until` may be retransmitted, and duplicate acknowledgements caused by
    /// this are ignored.
    Timeout {
        until: u64,
    },
}

/// A segment whose round trip is being timed.
#[derive(Clone, Copy, Debug)]
struct Timed {
    /// The round trip ends when this is acknowledged.
    until: NonZeroU64,
    /// The clock's count when it was sent.
    at: u64,
}

/// One endpoint of a connection.
///
/// It is driven by its owner: times must not go backwards, the profile must be the same at every call.
#[derive(Clone, Debug)]
pub struct Tcp {
    state: State,
    /// Whether a FIN follows the data.
    closing: bool,
    /// Whether segments carry timestamps.
    timestamps: bool,
    /// Whether SACK is in use.
    sack: bool,
    /// Timeouts since anything was acknowledged.
    retries: u8,
    /// Segments sent beyond the window since duplicate acknowledgements began.
    limited: u8,
    dup_acks: u16,
    /// The peer's receive window, and its maximum so far.
    peer_window: u32,
    largest_window: u32,
    /// The oldest sequence number that is not acknowledged.
    una: u64,
    /// The next sequence number to send; a timeout resets it to `una`.
    nxt: u64,
    /// After the highest sequence number ever sent.
    max: u64,
    /// After the last written byte, the position of the FIN. `u64::MAX` for endless data.
    end: u64,
    alarm: Alarm,
    clock: Clock,
    /// The clock's count after which the connection counts as idle: when anything was last received, or data sent.
    active: u64,
    rtt: Rtt,
    timed: Option<Timed>,
    recovery: Recovery,
    ecn: EcnEnd,
    control: Control,
    receiver: Receiver,
    outstanding: Option<Box<Outstanding>>,
    stats: TcpStats,
}

/// One call of an endpoint.
struct Call<'a, 'o> {
    p: &'a Profile,
    now: Instant,
    out: &'a mut Output<'o>,
    /// The round trip measured by it, or [`Call::NO_SAMPLE`]. One word, because copying memory that was just written in
    /// two pieces stalls the processor.
    sample: Duration,
    /// The one-way delay measured by it, or [`Call::NO_SAMPLE`].
    one_way: Duration,
    /// Whether new data waits until the congestion window has room for a whole super-packet.
    deferred: bool,
}

impl<'a, 'o> Call<'a, 'o> {
    const NO_SAMPLE: Duration = Duration::MAX;

    fn new(p: &'a Profile, now: Instant, out: &'a mut Output<'o>) -> Self {
        Call { p, now, out, sample: Self::NO_SAMPLE, one_way: Self::NO_SAMPLE, deferred: false }
    }

    fn sample(&self) -> Option<Duration> {
        (self.sample != Self::NO_SAMPLE).then_some(self.sample)
    }

    fn one_way(&self) -> Option<Duration> {
        (self.one_way != Self::NO_SAMPLE).then_some(self.one_way)
    }
}

impl Tcp {
    /// An endpoint that is closed. It opens actively with [`Tcp::connect`], passively when a SYN arrives.
    ///
    /// Its host's timers tick at `tick_phase` and every period after: connections of one host share it.
    #[must_use]
    pub fn new(profile: &Profile, tick_phase: Duration) -> Self {
        Tcp {
            state: State::Closed,
            closing: false,
            timestamps: profile.timestamps,
            sack: false,
            retries: 0,
            limited: 0,
            dup_acks: 0,
            peer_window: 0,
            largest_window: 0,
            una: 0,
            nxt: 0,
            max: 0,
            end: 1,
            alarm: Alarm::OFF,
            clock: Clock::new(tick_phase),
            active: 0,
            rtt: Rtt::new(profile),
            timed: None,
            recovery: Recovery::None,
            ecn: EcnEnd::OFF,
            control: Control::new(profile),
            receiver: Receiver::new(),
            outstanding: None,
            stats: TcpStats::default(),
        }
    }

    /// Opens the connection. Does nothing unless it is new.
    pub fn connect(&mut self, p: &Profile, now: Instant, out: &mut Output<'_>) {
        self.clock.advance(p, now);
        self.open_actively(&mut Call::new(p, now, out));
    }

    /// Adds bytes to send; `u64::MAX` for endless data. Allowed before the connection is open, not after
    /// [`Tcp::close`].
    pub fn write(&mut self, p: &Profile, bytes: u64, now: Instant, out: &mut Output<'_>) {
        if self.closing {
            return;
        }
        self.clock.advance(p, now);
        self.end = self.end.saturating_add(bytes);
        self.output(&mut Call::new(p, now, out));
    }

    /// Sends a FIN after all written data; endless data ends with the data sent so far. The peer may
    /// continue to send.
    pub fn close(&mut self, p: &Profile, now: Instant, out: &mut Output<'_>) {
        if self.closing {
            return;
        }
        self.clock.advance(p, now);
        self.closing = true;
        if self.end == u64::MAX {
            self.end = self.max.max(1);
        }
        if self.state == State::Closed {
            self.state = State::Done;
            out.events.push(Event::Closed);
        }
        self.output(&mut Call::new(p, now, out));
    }

    /// A segment has arrived.
    pub fn on_segment(&mut self, p: &Profile, seg: &Segment, now: Instant, out: &mut Output<'_>) {
        self.clock.advance(p, now);
        let mut call = Call::new(p, now, out);
        if self.state == State::Open && !seg.flags.has(Flags::RST) {
            self.on_segment_open(seg, &mut call);
        } else {
            self.on_segment_otherwise(seg, &mut call);
        }
        if p.idle_since == IdleSince::Received {
            self.active = self.clock.number(p);
        }
    }

    /// The connection is open.
    fn on_segment_open(&mut self, seg: &Segment, call: &mut Call<'_, '_>) {
        if self.timestamps {
            self.receiver.note_timestamp(seg);
        }
        self.note_ecn(seg, call);
        let opened = self.on_ack(seg, call);
        if seg.sequence_len() > 0 {
            let arrival = self.receiver.on_data(call.p, seg, &self.clock, call.now);
            self.receiver.autotune(call.p, seg, self.timestamps, &self.clock, call.now);
            let above_hole = seg.seq > self.receiver.next() && seg.len > 0 && !seg.flags.has(Flags::FIN);
            if above_hole && self.sack && !call.p.comp_sack_delay.is_zero() {
                self.receiver.compress(call.p, self.rtt.smoothed(call.p), call.now);
            }
            if arrival.delivered {
                call.out.events.push(Event::Delivered);
            }
            if arrival.finished {
                call.out.events.push(Event::PeerFinished);
            }
        }
        if self.closing && self.una > self.end && self.receiver.has_finished() {
            self.finish(State::Done, Event::Closed, call);
        }
        if opened || self.receiver.owes_ack_at_once() {
            self.output(call);
        }
    }

    /// Handles [`Tcp::deadline`]. Early calls have no effect; late calls do the due work at the time of the
    /// call.
    pub fn on_deadline(&mut self, p: &Profile, now: Instant, out: &mut Output<'_>) {
        self.clock.advance(p, now);
        let mut call = Call::new(p, now, out);
        self.receiver.on_deadline(now);
        if self.alarm.is_due(now) {
            match self.state {
                State::SynSent | State::SynReceived => self.on_handshake_timeout(&mut call),
                State::Open => self.on_alarm(&mut call),
                State::Closed | State::Done | State::Failed => self.alarm = Alarm::OFF,
            }
        }
        let released = self.control.pacer_mut().is_some_and(|pacer| pacer.release(now));
        if released || self.receiver.owes_ack_at_once() {
            self.output(&mut call);
        }
    }

    fn on_alarm(&mut self, call: &mut Call<'_, '_>) {
        match self.outstanding.as_ref().map_or(WaitsFor::Retransmission, |o| o.waits_for) {
            WaitsFor::Retransmission => self.on_timeout(call),
            WaitsFor::Probe => self.send_probe(call),
            WaitsFor::Reordering => self.on_reordering_timeout(call),
        }
    }

    /// When to call [`Tcp::on_deadline`], if ever.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let held = self.control.pacer().and_then(Pacer::held_until).map_or(Alarm::OFF, Alarm::at);
        self.alarm.first(self.receiver.alarm()).first(held).time()
    }

    /// Starts to time a round trip from the segment at `seq`, unless another is being timed or timestamps are used.
    fn start_timing(&mut self, seq: u64, p: &Profile) {
        if !self.timestamps && self.timed.is_none() {
            self.timed = NonZeroU64::new(seq + 1).map(|until| Timed { until, at: self.clock.number(p) });
        }
    }

    /// The record of the data in flight, if one is kept.
    fn sent_mut(&mut self) -> Option<&mut Sent> {
        self.outstanding.as_deref_mut().and_then(|o| o.sent.as_deref_mut())
    }

    /// Ends the connection.
    fn finish(&mut self, state: State, event: Event, call: &mut Call<'_, '_>) {
        self.state = state;
        self.alarm = Alarm::OFF;
        self.outstanding = None;
        self.receiver.free();
        if state == State::Failed {
            self.receiver.owe_nothing();
        }
        call.out.events.push(event);
    }

    /// Bytes received in order and handed to the application.
    #[must_use]
    #[inline]
    pub fn delivered(&self) -> u64 {
        self.receiver.delivered()
    }

    /// Bytes received, each counted once, including those above a hole that are not delivered yet.
    #[must_use]
    #[inline]
    pub fn arrived(&self) -> u64 {
        self.receiver.arrived()
    }

    /// Bytes sent that the peer has acknowledged.
    #[must_use]
    #[inline]
    pub fn acked(&self) -> u64 {
        self.una.min(self.end).saturating_sub(1)
    }

    /// Whether the connection has ended: closed in both directions, or given up.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(self.state, State::Done | State::Failed)
    }

    /// Whether it is open in at least one direction.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// Whether ECN was negotiated.
    #[must_use]
    pub fn uses_ecn(&self) -> bool {
        self.ecn.is_on()
    }

    /// Counters.
    #[must_use]
    #[inline]
    pub fn stats(&self) -> &TcpStats {
        &self.stats
    }

    /// Spurious reductions of the window that were undone.
    #[must_use]
    pub fn undone(&self) -> u32 {
        self.outstanding.as_deref().map_or(0, |o| o.undone)
    }

    /// The congestion window in bytes.
    #[must_use]
    pub fn cwnd(&self) -> u64 {
        self.control.cwnd()
    }

    /// The slow-start threshold in bytes.
    #[must_use]
    pub fn ssthresh(&self) -> u64 {
        self.control.ssthresh()
    }

    /// The smoothed round-trip time, if there is one.
    #[must_use]
    pub fn srtt(&self, p: &Profile) -> Option<Duration> {
        self.rtt.smoothed(p)
    }

    /// The mean deviation of the round-trip time (`RTTVAR` of RFC 6298), if there is one.
    #[must_use]
    pub fn rtt_variation(&self, p: &Profile) -> Option<Duration> {
        self.rtt.variation(p)
    }

    /// The rate of the congestion control's pacer, once it has one.
    #[must_use]
    pub fn paced_at(&self) -> Option<BitRate> {
        self.control.pacer().and_then(Pacer::rate)
    }

    /// The current retransmission timeout, including backoff.
    #[must_use]
    pub fn rto(&self, p: &Profile) -> Duration {
        self.rtt.rto(p)
    }

    /// Sequence numbers (bytes, SYN and FIN) sent and not acknowledged. After a timeout everything counts as lost, and
    /// only later transmissions as in flight.
    #[must_use]
    pub fn flight(&self) -> u64 {
        self.nxt - self.una
    }

    /// The estimated data in the network: with SACK, data neither delivered nor lost (RFC 6675 section 4).
    #[must_use]
    pub fn pipe(&self, p: &Profile) -> u64 {
        self.in_network(p)
    }

    /// The sender's phase in a word or two: `opening`, `slow start`, `avoidance` (congestion avoidance), `recovery`
    /// (fast recovery), `timeout` (retransmitting after a timeout) or `closed`.
    #[must_use]
    pub fn phase(&self) -> &'static str {
        match (self.state, self.recovery) {
            (State::Closed | State::SynSent | State::SynReceived, _) => "opening",
            (State::Done | State::Failed, _) => "closed",
            (State::Open, Recovery::Fast { .. }) => "recovery",
            (State::Open, Recovery::Timeout { .. }) => "timeout",
            (State::Open, Recovery::None) if self.cwnd() < self.ssthresh() => "slow start",
            (State::Open, Recovery::None) => "avoidance",
        }
    }

    /// The model of the path that the congestion control has, for displays and tests.
    #[must_use]
    pub fn model(&self, p: &Profile) -> Option<ModelView> {
        self.control.model_view(p.mss.0)
    }

    /// The flight size for halving, without segments sent by limited transmit (RFC 5681 section 3.2 step
    /// 2).
    fn flight_size(&self, p: &Profile) -> u64 {
        self.flight().saturating_sub(u64::from(self.limited) * p.mss.0)
    }

    /// Whether SACK was negotiated.
    #[must_use]
    pub fn uses_sack(&self) -> bool {
        self.sack
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_four_cache_lines() {
        assert!(size_of::<Tcp>() <= 256, "{}", size_of::<Tcp>());
        // Only after SACK has reported anything.
        assert!(size_of::<Outstanding>() <= 256, "{}", size_of::<Outstanding>());
    }
}
