//! Processing of acknowledgements and timeouts by the sender.

use super::clock::Clock;
use super::{Call, Event, Recovery, State, Tcp};
use crate::congestion::{Cx, Leaves};
use crate::segment::{Flags, Segment};

/// Duplicate acknowledgements that indicate a loss (RFC 5681 section 3.2).
pub(super) const DUP_THRESHOLD: u32 = 3;

/// Calls a method of the congestion control. A macro because the control and the rest of the endpoint are
/// borrowed separately.
macro_rules! control {
    ($tcp:ident, $call:ident, $method:ident $(, $arg:expr)*) => {{
        let flight = $tcp.flight_size($call.p);
        $tcp.control.$method($($arg,)* &Cx {
            now: $call.now,
            profile: $call.p,
            flight,
            reducing: $tcp.reducing(),
            peer_window: u64::from($tcp.peer_window),
            sack: $tcp.sack,
            sent: $tcp.outstanding.as_deref().and_then(|o| o.sent.as_deref()),
            counts_marks: $tcp.ecn.counts_marks(),
            sample: $call.sample(),
            one_way: $call.one_way(),
            rtt: &$tcp.rtt,
        })
    }};
}
pub(super) use control;

impl Tcp {
    /// Processes the acknowledgement in a segment. Returns whether more data may be sent.
    pub(super) fn on_ack(&mut self, seg: &Segment, call: &mut Call<'_, '_>) -> bool {
        if !seg.flags.has(Flags::ACK) || seg.ack > self.max {
            return false;
        }
        let window_changed = self.note_window(seg, call.p);
        let marked = self.on_echo(seg, call);
        if self.sack {
            let news = self.on_ack_with_sack(seg, marked, call);
            if news {
                self.sample_delivery(call);
            }
            return news || window_changed;
        }
        if seg.ack > self.una {
            self.on_new_ack(seg, marked, call);
            self.sample_delivery(call);
            return true;
        }
        if seg.sequence_len() == 0 && !window_changed && seg.ack == self.una && self.alarm.is_on() {
            let again = matches!(self.recovery, Recovery::Timeout { .. }) && self.judge_recovery(seg, 0, false, call);
            return self.on_dup_ack(call) || again;
        }
        self.dup_acks = 0;
        window_changed
    }

    fn sample_delivery(&mut self, call: &Call<'_, '_>) {
        if self.control.samples_delivery() {
            control!(self, call, on_sample);
        }
    }

    fn on_new_ack(&mut self, seg: &Segment, marked: u64, call: &mut Call<'_, '_>) {
        let acked = seg.ack - self.una;
        self.measure(seg, call);
        self.retries = 0;
        self.dup_acks = 0;
        self.limited = 0;
        if let Some(sent) = self.sent_mut() {
            sent.begin_ack();
            sent.on_acked(seg.ack, call.now, |_| ());
        }
        if self.recovery != Recovery::None && self.may_be_undone() {
            self.judge_recovery(seg, acked, false, call);
        }
        match self.recovery {
            Recovery::Fast { until, partial }
                if seg.ack < until && self.control.leaves_recovery() == Leaves::FullAck =>
            {
                self.on_partial_ack(seg.ack, until, partial, call);
                return;
            }
            Recovery::Fast { .. } => {
                control!(self, call, on_recovered, acked);
                self.recovery = Recovery::None;
            }
            Recovery::Timeout { until } => {
                if seg.ack > until {
                    self.recovery = Recovery::None;
                    control!(self, call, on_timeout_mended);
                }
                self.open_window(acked, marked, call);
            }
            Recovery::None => self.open_window(acked, marked, call),
        }
        self.take_ack(seg.ack);
        self.rearm(call);
    }

    pub(super) fn open_window(&mut self, acked: u64, marked: u64, call: &Call<'_, '_>) {
        // RFC 3168 section 6.1.2: an echo of congestion never opens the window.
        if marked >= acked || self.in_cwr() {
            return;
        }
        if self.uses_window(call.p) {
            control!(self, call, on_ack, acked - marked);
        } else {
            control!(self, call, on_unused);
        }
    }

    /// RFC 6582 section 3.2 step 3: the acknowledgement ends at the next hole.
    fn on_partial_ack(&mut self, ack: u64, until: u64, partial: bool, call: &mut Call<'_, '_>) {
        let acked = ack - self.una;
        control!(self, call, on_partial_ack, acked);
        self.take_ack(ack);
        // The impatient variant: only the first partial acknowledgement restarts the timer, so that a
        // window with many holes ends in a timeout instead of a round trip for each.
        if !partial {
            self.recovery = Recovery::Fast { until, partial: true };
            self.disarm();
        }
        self.resend_first(call);
    }

    pub(super) fn take_ack(&mut self, ack: u64) {
        self.una = ack;
        self.nxt = self.nxt.max(ack);
    }

    pub(super) fn rearm(&mut self, call: &Call<'_, '_>) {
        if self.una == self.max {
            self.disarm();
        } else {
            self.arm(call);
        }
    }

    /// Measures the round trip completed by an acknowledgement: by the timestamp it echoes (RFC 7323 section 4.1), or
    /// by the one segment being timed.
    pub(super) fn measure(&mut self, seg: &Segment, call: &mut Call<'_, '_>) {
        if self.timestamps && seg.ts_ecr != 0 {
            let elapsed = self.clock.timestamp(call.p).wrapping_sub(seg.ts_ecr);
            call.sample = self.rtt.sample_timestamp(call.p, elapsed);
            call.one_way = Clock::between(call.p, seg.ts_ecr, seg.ts_val);
        } else if let Some(timed) = self.timed.filter(|t| seg.ack >= t.until.get()) {
            call.sample = self.rtt.sample(call.p, self.clock.number(call.p) - timed.at);
            self.timed = None;
        }
    }

    /// Returns whether more data may be sent now.
    fn on_dup_ack(&mut self, call: &mut Call<'_, '_>) -> bool {
        self.dup_acks = self.dup_acks.saturating_add(1);
        self.stats.dup_acks += 1;
        match self.recovery {
            Recovery::Fast { .. } => {
                control!(self, call, on_dup_ack);
                return true;
            }
            // RFC 6582 section 3.2 step 2: these may be caused by the retransmissions of the timeout. Reno does not
            // check this.
            Recovery::Timeout { .. } if self.control.leaves_recovery() == Leaves::FullAck => {}
            _ if u32::from(self.dup_acks) == DUP_THRESHOLD => self.fast_retransmit(call),
            // RFC 3042: one more segment for each of the first two.
            Recovery::None if u32::from(self.dup_acks) < DUP_THRESHOLD => return call.p.limited_transmit,
            _ => {}
        }
        false
    }

    fn fast_retransmit(&mut self, call: &mut Call<'_, '_>) {
        self.stats.fast_retransmits += 1;
        self.remember_window(false, call);
        control!(self, call, on_loss);
        self.recovery = Recovery::Fast { until: self.max, partial: false };
        self.limited = 0;
        self.ecn.note_reduction(self.max);
        self.timed = None;
        self.disarm();
        self.resend_first(call);
    }

    /// The retransmission timer has expired: back to the oldest unacknowledged byte, and slow start from
    /// there.
    pub(super) fn on_timeout(&mut self, call: &mut Call<'_, '_>) {
        self.stats.timeouts += 1;
        // A timeout in fast recovery belongs to the loss that has halved the window already (as in Linux).
        // Halving the data in flight again would raise the threshold, because data beyond the holes counts
        // as in flight although duplicate acknowledgements show its arrival.
        let again = self.leave_cwr() || self.retries > 0 || matches!(self.recovery, Recovery::Fast { .. });
        if self.retries >= call.p.max_retransmits {
            self.give_up(call);
            return;
        }
        self.retries += 1;
        self.rtt.back_off();
        if again {
            self.try_frto_again(call.p);
        } else {
            self.remember_window(true, call);
        }
        if let Some(o) = self.outstanding.as_deref_mut() {
            // RFC 8985 section 7.1: the probed segment is lost; acknowledgements of the probe have no
            // further information.
            o.probe = None;
        }
        control!(self, call, on_timeout, again);
        self.recovery = Recovery::Timeout { until: self.max };
        self.ecn.note_reduction(self.max);
        self.timed = None;
        self.dup_acks = 0;
        self.limited = 0;
        self.arm(call);
        if self.sack && call.p.uses_rack() {
            self.resend_after_timeout(call);
        } else {
            self.nxt = self.una;
        }
        self.output(call);
    }

    /// Ends the connection, and tells the peer.
    pub(super) fn give_up(&mut self, call: &mut Call<'_, '_>) {
        if self.state == State::Open {
            self.emit(self.max, 0, Flags::RST.and(Flags::ACK), false, call);
        }
        self.finish(State::Failed, Event::Failed, call);
    }
}
