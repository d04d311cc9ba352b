//! Decides which segment may be sent now, and builds it.

use super::acks::control;
use super::clock::{Alarm, Clock};
use super::outstanding::WaitsFor;
use super::ranges::Range;
use super::{Call, Recovery, State, Tcp};
use crate::congestion::Cx;
use crate::profile::{IdleSince, Profile};
use crate::segment::{Flags, Options, Segment};

/// The next piece of the stream to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) seq: u64,
    pub(super) len: u64,
    pub(super) fin: bool,
}

impl Cut {
    /// Above its last sequence number.
    pub(super) fn end(&self) -> u64 {
        self.seq + self.len + u64::from(self.fin)
    }
}

impl Tcp {
    /// Sends everything allowed now, and at least any acknowledgement due at once.
    pub(super) fn output(&mut self, call: &mut Call<'_, '_>) {
        if self.state == State::Open {
            // As in 4.4BSD, idle means at the start: what one call sends does not hold back its own tail.
            let idle = self.una == self.max;
            if idle && self.end > self.nxt {
                self.restart_if_idle_for_long(call);
                control!(self, call, on_restart);
            }
            let before = self.nxt;
            if self.sends_by_pipe(call.p) {
                self.output_by_pipe(idle, call);
            } else {
                self.output_by_window(idle, call);
            }
            if call.p.cwnd_validation && (self.nxt != before || call.deferred) {
                self.note_usage(call.p, call.deferred);
            }
            if self.outstanding.is_some() {
                self.note_app_limited(call.p);
            }
        }
        if self.receiver.owes_ack_at_once() {
            // It carries the highest sequence number: a lower one would look old.
            self.emit(self.max, 0, Flags::ACK, false, call);
        }
    }

    fn output_by_window(&mut self, idle: bool, call: &mut Call<'_, '_>) {
        // A pure receiver needs no window.
        if self.nxt >= self.end && !self.closing {
            return;
        }
        let window = (self.control.cwnd() + self.limited_window(call.p)).min(u64::from(self.peer_window));
        // Segments left in the current burst.
        let mut left = 0;
        while let Some(cut) = self.next_cut(call.p, self.una + window, idle) {
            if left == 0 {
                left = self.burst(call.p);
                if self.is_held(call) || (left > 1 && self.defers(self.una + window, left, call)) {
                    break;
                }
            }
            left -= 1;
            self.send(cut, call);
        }
    }

    /// Whether pacing delays everything now.
    pub(super) fn is_held(&mut self, call: &Call<'_, '_>) -> bool {
        self.control.pacer_mut().is_some_and(|pacer| pacer.holds(call.now))
    }

    fn restart_if_idle_for_long(&mut self, call: &Call<'_, '_>) {
        let silence = Clock::length(call.p, self.clock.number(call.p) - self.active);
        if call.p.slow_start_after_idle && silence >= self.rtt.rto(call.p) {
            control!(self, call, on_idle);
        }
    }

    /// 4.4BSD's decision (`tcp_output`; TCP/IP Illustrated volume 2, section 26.3): which part of the stream to send
    /// now, if the windows end at `edge`. A full segment is always sent. A partial one is sent if it is the last and
    /// nothing in flight holds it back (RFC 896, Nagle), if it is half of the largest window that the peer has offered
    /// (RFC 1122 section 4.2.3.4, silly windows), or if it was sent before.
    pub(super) fn next_cut(&self, p: &Profile, edge: u64, idle: bool) -> Option<Cut> {
        let available = self.end.min(edge).saturating_sub(self.nxt);
        let full = if self.sack { self.full_segment(p) } else { p.mss.0 };
        let len = available.min(full);
        let last = self.nxt + len == self.end;
        // The FIN needs no window. If `nxt` is beyond it, it was sent before.
        let fin = self.closing && last;
        let cut = Cut { seq: self.nxt, len, fin };
        if fin {
            return Some(cut);
        }
        if len == 0 {
            return None;
        }
        let go = len == full
            || (last && (idle || !p.nagle || self.has_no_short_in_flight(p)))
            || len >= u64::from(self.largest_window / 2).max(1)
            || self.nxt < self.max;
        go.then_some(cut)
    }

    /// Minshall's variant of Nagle's rule, Linux's `tcp_minshall_check`: full segments do not hold back the data after
    /// them.
    fn has_no_short_in_flight(&self, p: &Profile) -> bool {
        p.minshall && self.outstanding.as_deref().is_some_and(|o| o.short_end <= self.una)
    }

    /// Bytes of data in a full segment sent now: SACK blocks reduce it, and after a timeout a segment ends where SACKed
    /// data begins.
    #[inline(never)]
    fn full_segment(&self, p: &Profile) -> u64 {
        let blocks = Options::sack_len_of(self.receiver.sack_block_count(self.timestamps));
        let full = p.mss.0.saturating_sub(blocks).max(1);
        match &self.outstanding {
            Some(o) if self.nxt < self.max => full.min(o.sacked.gap(self.nxt).end - self.nxt).max(1),
            _ => full,
        }
    }

    /// RFC 3042: how much the first two duplicate acknowledgements open the window, without SACK.
    fn limited_window(&self, p: &Profile) -> u64 {
        let open = p.limited_transmit && !self.sack && self.recovery == Recovery::None;
        if open { u64::from(self.dup_acks.min(2)) * p.mss.0 } else { 0 }
    }

    /// A range to retransmit, with the FIN if that was sent with it: the application may have closed since.
    pub(super) fn cut_of(&self, range: Range) -> Cut {
        let end = range.end.min(self.end);
        let fin = self.closing && range.end > self.end;
        Cut { seq: range.start, len: end.saturating_sub(range.start), fin }
    }

    /// Marks rate samples as application-limited from now on, if there was less to send than allowed
    /// (draft-cheng-iccrg-delivery-rate-estimation-02 section 3.4).
    #[inline(never)]
    fn note_app_limited(&mut self, p: &Profile) {
        let nothing_more = self.end.saturating_sub(self.nxt) < p.mss.0 && self.in_network(p) < self.control.cwnd();
        if let Some(sent) = self.sent_mut().filter(|_| nothing_more)
            && sent.next_lost().is_none()
        {
            sent.note_app_limited();
        }
    }

    pub(super) fn send(&mut self, cut: Cut, call: &mut Call<'_, '_>) {
        if self.dup_acks > 0 && self.recovery == Recovery::None {
            self.limited = self.limited.saturating_add(1);
        }
        let again = cut.seq < self.max;
        if call.p.minshall && cut.len < call.p.mss.0 && cut.len < self.full_segment(call.p) {
            self.note_short(cut.end());
        }
        self.build(cut, again, call);
        self.nxt = cut.end();
        if self.nxt > self.max {
            // Karn: retransmissions are not timed.
            if !again {
                self.start_timing(cut.seq, call.p);
            }
            self.max = self.nxt;
        }
        self.arm_if_off(call);
        if call.p.tail_loss_probe {
            self.await_probe(call);
        }
    }

    fn note_short(&mut self, end: u64) {
        if let Some(o) = self.outstanding.as_deref_mut() {
            o.short_end = end;
        }
    }

    /// Retransmits the oldest unacknowledged segment, whatever the congestion window.
    pub(super) fn resend_first(&mut self, call: &mut Call<'_, '_>) {
        let len = self.end.saturating_sub(self.una).min(call.p.mss.0).min(u64::from(self.peer_window));
        let fin = self.closing && self.una + len == self.end;
        self.build(Cut { seq: self.una, len, fin }, true, call);
        self.nxt = self.nxt.max(self.una + len + u64::from(fin));
        self.max = self.max.max(self.nxt);
        self.arm_if_off(call);
    }

    /// Sets the flags of a segment.
    pub(super) fn build(&mut self, cut: Cut, again: bool, call: &mut Call<'_, '_>) {
        if again {
            self.note_resent(cut.end(), call);
        }
        let mut flags = Flags::ACK;
        if cut.len > 0 && cut.seq + cut.len == self.end {
            flags = flags.and(Flags::PSH);
        }
        if cut.fin {
            flags = flags.and(Flags::FIN);
        }
        // Lossless: a cut is at most one segment.
        self.emit(cut.seq, cut.len as u32, flags, again, call);
    }

    /// Sends a segment. Every segment acknowledges.
    pub(super) fn emit(&mut self, seq: u64, len: u32, flags: Flags, again: bool, call: &mut Call<'_, '_>) {
        let (ecn, flags) = self.ecn.stamp(len, flags, again, call.p);
        let optional = self.sack || flags.has(Flags::SYN) || self.ecn.is_accurate();
        let options = if optional { self.options(flags, len, call.p) } else { Options::default() };
        call.out.segments.push(Segment {
            seq,
            ack: if flags.has(Flags::ACK) { self.receiver.next() } else { 0 },
            len,
            window: self.receiver.window(call.p),
            ts_val: if self.timestamps { self.clock.timestamp(call.p) } else { 0 },
            ts_ecr: if self.timestamps { self.receiver.ts_recent() } else { 0 },
            options,
            flags,
            ecn,
            retransmission: again,
        });
        if len > 0
            && let Some(pacer) = self.control.pacer_mut()
        {
            pacer.on_sent(call.p.header.0 + u64::from(len), call.now);
        }
        if len > 0 && call.p.idle_since == IdleSince::Sent {
            self.active = self.clock.number(call.p);
        }
        self.receiver.on_sent();
        if self.outstanding.is_some() {
            self.record(seq, u64::from(len) + u64::from(flags.has(Flags::FIN)), call);
        }
        self.stats.retransmissions += u32::from(again);
    }

    // Most segments need no options; this stays out of their path.
    #[inline(never)]
    fn options(&mut self, flags: Flags, len: u32, p: &Profile) -> Options {
        if flags.has(Flags::SYN) {
            let offers = self.sack || (!flags.has(Flags::ACK) && p.wants_sack());
            return if offers { Options::sack_permitted() } else { Options::default() };
        }
        let mut options = if self.sack { self.receiver.sack_blocks(self.timestamps) } else { Options::default() };
        // Only a shortened segment has less room.
        while len > 0 && u64::from(len) + options.wire_len() > p.mss.0 && options.block_count() > 0 {
            options.pop_block();
        }
        if self.ecn.is_accurate() {
            self.add_counters(&mut options, len, p);
        }
        options
    }

    /// Records a transmission, if there is a record.
    #[inline(never)]
    fn record(&mut self, seq: u64, len: u64, call: &Call<'_, '_>) {
        if let Some(sent) = self.sent_mut()
            && len > 0
        {
            sent.on_sent(Range { start: seq, end: seq + len }, call.now);
        }
    }

    /// Restarts the retransmission timer.
    pub(super) fn arm(&mut self, call: &Call<'_, '_>) {
        self.set_alarm(self.clock.timeout(call.p, call.now, self.rtt.rto(call.p)));
        if call.p.tail_loss_probe {
            self.await_probe(call);
        }
    }

    pub(super) fn disarm(&mut self) {
        self.set_alarm(Alarm::OFF);
    }

    fn set_alarm(&mut self, alarm: Alarm) {
        self.alarm = alarm;
        if let Some(o) = self.outstanding.as_deref_mut() {
            (o.expires, o.waits_for) = (alarm, WaitsFor::Retransmission);
        }
    }

    pub(super) fn arm_if_off(&mut self, call: &Call<'_, '_>) {
        if !self.alarm.is_on() {
            self.arm(call);
        }
    }
}
