//! Recovery with SACK: RFC 6675, with the loss detection that the profile names.

use super::acks::{DUP_THRESHOLD, control};
use super::outstanding::{Brought, Outstanding};
use super::prr::{Delivery, Prr};
use super::ranges::Range;
use super::send::Cut;
use super::{Call, Recovery, Sent, Tcp};
use crate::congestion::Cx;
use crate::profile::{ByteCounting, Profile, RateReduction, Timer};
use crate::segment::Segment;

/// The answer of `NextSeg` (RFC 6675).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// New data.
    New {
        cut: Cut,
        /// The limit set by the windows.
        edge: u64,
    },
    /// Data that is (or may be) lost.
    Again(Range),
    /// The last segment in flight, once per recovery.
    Rescue(Range),
}

impl Tcp {
    /// Processes an acknowledgement on a connection with SACK. Returns whether more may be sent than before.
    #[inline(never)]
    pub(super) fn on_ack_with_sack(&mut self, seg: &Segment, marked: u64, call: &mut Call<'_, '_>) -> bool {
        if let Some((start, end)) = seg.options.duplicate(seg.ack) {
            self.on_duplicate(Range { start, end }, call);
        }
        if seg.ack < self.una || (self.outstanding.is_none() && seg.ack == self.una && seg.options.block_count() == 0) {
            return false;
        }
        let acked = seg.ack - self.una;
        let brought = match self.outstanding.as_deref_mut() {
            None if seg.options.block_count() == 0 => Brought { sacked: 0, delivered: acked },
            Some(o) => o.update(seg, self.una, self.max, call.now),
            None => {
                let (una, max) = (self.una, self.max);
                self.outstanding.get_or_insert_default().update(seg, una, max, call.now)
            }
        };
        self.answer_probe(seg, call);
        // Only acknowledgements of new data are evidence, not the peer's data or window updates.
        if self.recovery != Recovery::None && self.may_be_undone() && (acked > 0 || brought.sacked > 0) {
            let until = self.recovery_end();
            let sacked = brought.sacked > 0 && seg.options.held(seg.ack).next().is_some_and(|(start, _)| start < until);
            self.judge_recovery(seg, acked, sacked, call);
        }
        if acked > 0 {
            self.measure_with_record(seg, call);
            self.retries = 0;
            self.dup_acks = 0;
            // With byte counting, SACKed data has been counted already: an acknowledgement that fills a hole may cover
            // a whole window.
            let counts = call.p.byte_counting != ByteCounting::Never;
            let acked = if counts { acked.min(brought.delivered) } else { acked };
            if self.ecn.is_past_reduction(seg.ack) {
                self.leave_cwr();
            }
            self.on_progress(seg.ack, acked, marked.min(acked), call);
            self.limited = 0;
            self.take_ack(seg.ack);
            self.rearm(call);
        } else if brought.sacked > 0 {
            self.dup_acks = self.dup_acks.saturating_add(1);
            self.stats.dup_acks += 1;
        } else {
            return false;
        }
        self.find_late(call);
        let begun_with = self.enter_recovery_if_lost(call);
        let fast = matches!(self.recovery, Recovery::Fast { .. });
        if fast && self.control.follows_recovery() {
            control!(self, call, on_delivered, brought.delivered);
        }
        if fast || self.in_cwr() {
            self.reduce_in_proportion(brought.delivered, acked > 0, begun_with, call.p);
        }
        true
    }

    /// Handles an acknowledgement of new data, which may end recovery.
    fn on_progress(&mut self, ack: u64, acked: u64, marked: u64, call: &mut Call<'_, '_>) {
        match self.recovery {
            Recovery::Fast { until, .. } if ack >= until => {
                control!(self, call, on_recovered, acked);
                self.end_recovery();
            }
            Recovery::Fast { .. } => {}
            Recovery::Timeout { until } => {
                if ack >= until {
                    self.end_recovery();
                    control!(self, call, on_timeout_mended);
                }
                self.open_window(acked, marked, call);
            }
            Recovery::None => self.open_window(acked, marked, call),
        }
    }

    fn end_recovery(&mut self) {
        self.recovery = Recovery::None;
        if let Some(o) = self.outstanding.as_deref_mut() {
            o.rack.on_recovered();
        }
    }

    /// The recovery point.
    fn recovery_end(&self) -> u64 {
        match self.recovery {
            Recovery::Fast { until, .. } | Recovery::Timeout { until } => until,
            Recovery::None => self.una,
        }
    }

    /// The record knows the exact round trip; without one, timestamps or a timed segment do.
    fn measure_with_record(&mut self, seg: &Segment, call: &mut Call<'_, '_>) {
        let measured = self.outstanding.as_deref_mut().and_then(|o| o.rack.take_measured());
        match measured {
            Some(rtt) if call.p.timer == Timer::Exact => {
                call.sample = self.rtt.sample(call.p, rtt.as_nanos());
                // RTT samples of acknowledged data are dropped: a later acknowledgement would measure too long.
                self.timed = self.timed.filter(|timed| seg.ack < timed.until.get());
            }
            _ => self.measure(seg, call),
        }
    }

    /// RFC 6675 section 5 steps 1, 2 and 4, or RACK's losses. Not while repairing a timeout (section 5.1). Returns the
    /// bytes retransmitted, if recovery begins.
    pub(super) fn enter_recovery_if_lost(&mut self, call: &mut Call<'_, '_>) -> u64 {
        if self.recovery != Recovery::None || self.una == self.max {
            return 0;
        }
        let threshold = self.dup_threshold(call.p);
        let Some(o) = self.outstanding.as_deref_mut() else { return 0 };
        let lost = match o.rack_record(call.p) {
            Some(sent) => sent.next_lost().is_some(),
            None => !o.sacked.is_empty() && (u32::from(self.dup_acks) >= threshold || self.una < o.lost_below(call.p)),
        };
        if lost { self.enter_recovery(call) } else { 0 }
    }

    /// Duplicates that indicate a loss: fewer than three if three cannot arrive (RFC 5827 section 3.2, by segments).
    fn dup_threshold(&self, p: &Profile) -> u32 {
        let segments = self.flight().div_ceil(p.mss.0);
        let more = self.end > self.nxt && self.flight() < u64::from(self.peer_window);
        if p.early_retransmit && segments <= u64::from(DUP_THRESHOLD) && !more {
            (segments as u32).saturating_sub(1).max(1)
        } else {
            DUP_THRESHOLD
        }
    }

    /// RFC 6675 section 5 step 4. Returns the bytes retransmitted.
    fn enter_recovery(&mut self, call: &mut Call<'_, '_>) -> u64 {
        self.stats.fast_retransmits += 1;
        let answered = self.loss_was_answered();
        if !answered {
            self.remember_window(false, call);
            control!(self, call, on_loss);
        }
        self.leave_cwr();
        self.recovery = Recovery::Fast { until: self.max, partial: false };
        self.ecn.note_reduction(self.max);
        self.timed = None;
        self.limited = 0;
        let (flight, una) = (self.flight(), self.una);
        let how = call.p.rate_reduction;
        let o = self.outstanding.get_or_insert_default();
        // A control that measures rates decides by itself, as in Linux.
        if self.control.samples_delivery() {
            o.prr = Prr::default();
        } else if !answered {
            o.prr = Prr::begin(flight, how);
        }
        o.probe = None;
        let record = o.rack_record(call.p).and_then(Sent::next_lost);
        let first = record.unwrap_or(Range { start: una, end: o.sacked.gap(una).end.min(una + call.p.mss.0) });
        let end = self.send_again(first, call);
        if let Some(outstanding) = self.outstanding.as_deref_mut() {
            (outstanding.high_rxt, outstanding.rescue_rxt) = (end, end);
        }
        self.arm(call);
        end - first.start
    }

    /// `begun_with`: bytes that this acknowledgement has already retransmitted on entering recovery.
    fn reduce_in_proportion(&mut self, delivered: u64, advances: bool, begun_with: u64, p: &Profile) {
        if p.rate_reduction != RateReduction::No {
            let (pipe, ssthresh) = (self.in_network(p).saturating_sub(begun_with), self.control.ssthresh());
            if let Some(o) = self.outstanding.as_deref_mut() {
                o.prr.on_ack(Delivery { delivered, advances, pipe }, begun_with, ssthresh, p.mss.0);
            }
        }
    }

    /// Bytes presumed to be in the network (`pipe` of RFC 6675).
    pub(super) fn in_network(&self, p: &Profile) -> u64 {
        let Some(o) = self.outstanding.as_deref().filter(|_| self.sack) else { return self.flight() };
        match (&o.sent, self.recovery) {
            // With limited transmit, SACKed data leaves room for more.
            (_, Recovery::None) if !p.limited_transmit => self.flight(),
            (Some(sent), _) if p.uses_rack() => sent.in_flight(),
            (_, Recovery::Fast { .. }) => o.pipe(self.una, self.max, p),
            _ => self.flight() - o.sacked.within(self.una, self.nxt),
        }
    }

    /// Whether the pipe, not the highest acknowledgement, limits sending.
    pub(super) fn sends_by_pipe(&self, p: &Profile) -> bool {
        self.sack
            && self.outstanding.as_deref().is_some_and(|o| {
                !o.sacked.is_empty() || o.cwr || p.uses_rack() || matches!(self.recovery, Recovery::Fast { .. })
            })
    }

    /// RFC 6675 section 5 steps 3 and C.
    #[inline(never)]
    pub(super) fn output_by_pipe(&mut self, idle: bool, call: &mut Call<'_, '_>) {
        // Segments left in the current burst.
        let mut left = 0;
        while let Some(next) = self.next_seg(idle, call.p) {
            if left == 0 {
                left = self.burst(call.p);
                let waits = matches!(next, Next::New { edge, .. } if self.defers(edge, left, call));
                if self.is_held(call) || waits {
                    return;
                }
            }
            left -= 1;
            match next {
                Next::New { cut, .. } => self.send_new(cut, call),
                Next::Again(range) => {
                    let end = self.send_again(range, call);
                    self.outstanding.get_or_insert_default().high_rxt = end;
                    if self.control.follows_recovery() && matches!(self.recovery, Recovery::Fast { .. }) {
                        control!(self, call, on_resent, end - range.start);
                    }
                }
                Next::Rescue(range) => {
                    self.send_again(range, call);
                    let Recovery::Fast { until, .. } = self.recovery else { return };
                    self.outstanding.get_or_insert_default().rescue_rxt = until;
                }
            }
        }
    }

    fn send_new(&mut self, cut: Cut, call: &mut Call<'_, '_>) {
        self.send(cut, call);
        if let Some(o) = self.outstanding.as_deref_mut() {
            o.prr.on_sent(cut.end() - cut.seq);
        }
    }

    /// Retransmits a range. Returns its end.
    pub(super) fn send_again(&mut self, range: Range, call: &mut Call<'_, '_>) -> u64 {
        let cut = self.cut_of(range);
        self.build(cut, true, call);
        let end = cut.end();
        if let Some(o) = self.outstanding.as_deref_mut() {
            o.prr.on_sent(end - range.start);
        }
        self.arm_if_off(call);
        end
    }

    fn next_seg(&mut self, idle: bool, p: &Profile) -> Option<Next> {
        if self.awaits_verdict() {
            return None;
        }
        let pipe = self.in_network(p);
        let fast = matches!(self.recovery, Recovery::Fast { .. });
        let reduced = self.outstanding.as_deref().and_then(|o| match o.prr.window() {
            // If nothing was in flight when the window was reduced, one segment may always be sent.
            Some(window) if o.cwr => Some(window.max(p.mss.0)),
            window => window.filter(|_| fast),
        });
        let room = reduced.unwrap_or(self.control.cwnd()).saturating_sub(pipe);
        if p.uses_rack() {
            if let Some(lost) = self.sent_mut().and_then(Sent::next_lost) {
                return (lost.len() <= room).then_some(Next::Again(lost));
            }
        } else if fast {
            return self.next_seg_in_recovery(room, idle, p);
        } else {
            self.skip_sacked();
        }
        let edge = (self.una + u64::from(self.peer_window)).min(self.nxt + room);
        self.next_cut(p, edge, idle).map(|cut| Next::New { cut, edge })
    }

    /// `NextSeg` of RFC 6675 section 4, rules 1 to 4 in their order.
    fn next_seg_in_recovery(&self, room: u64, idle: bool, p: &Profile) -> Option<Next> {
        let (mss, o) = (p.mss.0, self.outstanding.as_deref()?);
        if room < mss {
            return None;
        }
        let from = o.high_rxt.max(self.una);
        if let Some(lost) = o.hole(from, o.lost_below(p), mss) {
            return Some(Next::Again(lost));
        }
        let edge = (self.una + u64::from(self.peer_window)).min(self.nxt + room);
        if let Some(cut) = self.next_cut(p, edge, idle) {
            return Some(Next::New { cut, edge });
        }
        if let Some(hole) = o.hole(from, o.sacked.top(), mss) {
            return Some(Next::Again(hole));
        }
        let rescue = (self.una > o.rescue_rxt).then(|| o.last_hole(self.una, self.max, mss));
        rescue.flatten().map(Next::Rescue)
    }

    /// After a timeout, retransmission skips data already received (RFC 6675 section 5.1).
    fn skip_sacked(&mut self) {
        if let Some(o) = self.outstanding.as_deref().filter(|_| self.nxt < self.max) {
            self.nxt = o.sacked.gap(self.nxt).start.min(self.max);
        }
    }
}

impl Outstanding {
    /// The record, if RACK uses it to detect losses.
    fn rack_record(&mut self, p: &Profile) -> Option<&mut Sent> {
        self.sent.as_deref_mut().filter(|_| p.uses_rack())
    }
}
