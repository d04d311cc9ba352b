//! Which segment may go now, and how it is built.

use super::acks::control;
use super::clock::{Alarm, Clock};
use super::{Call, State, Tcp};
use crate::transport::congestion::Cx;
use crate::transport::profile::Profile;
use crate::transport::segment::{Flags, Segment};

/// The next piece of the stream to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    seq: u64,
    len: u64,
    fin: bool,
}

impl Tcp {
    /// Sends all that may go now, and at least the acknowledgement that is owed at once.
    pub(super) fn output(&mut self, call: &mut Call<'_, '_>) {
        if self.state == State::Open {
            // As in 4.4BSD, idle means at the start: what one call sends does not hold back its own tail.
            let idle = self.una == self.max;
            if idle && self.end > self.nxt {
                self.restart_if_idle_for_long(call);
            }
            let window = self.control.cwnd().min(u64::from(self.peer_window));
            while let Some(cut) = self.next_cut(call.p, self.una + window, idle) {
                if self.control.pacer_mut().is_some_and(|pacer| pacer.holds(call.now)) {
                    break;
                }
                self.send(cut, call);
            }
        }
        if self.receiver.owes_ack_at_once() {
            // It carries the highest sequence number: one from the past would look old.
            self.emit(self.max, 0, Flags::ACK, false, call);
        }
    }

    fn restart_if_idle_for_long(&mut self, call: &Call<'_, '_>) {
        let silence = Clock::length(call.p, self.clock.number() - self.heard);
        if call.p.slow_start_after_idle && silence >= self.rtt.rto(call.p) {
            control!(self, call, on_idle);
        }
    }

    /// 4.4BSD's decision (`tcp_output`; TCP/IP Illustrated volume 2, section 26.3): what of the stream goes
    /// now, if the windows end at `edge`. A full segment always goes. Less goes if it is the last there is
    /// and nothing is in flight (RFC 896, Nagle), if it is half of the largest window that the peer has
    /// offered (RFC 1122 section 4.2.3.4, silly windows), or if it went before.
    fn next_cut(&self, p: &Profile, edge: u64, idle: bool) -> Option<Cut> {
        let available = self.end.min(edge).saturating_sub(self.nxt);
        let len = available.min(p.mss.0);
        let last = self.nxt + len == self.end;
        // The FIN needs no window. It was sent before if `nxt` is beyond it.
        let fin = self.closing && last;
        let cut = Cut { seq: self.nxt, len, fin };
        if fin {
            return Some(cut);
        }
        if len == 0 {
            return None;
        }
        let go = len == p.mss.0
            || (last && (idle || !p.nagle))
            || len >= u64::from(self.largest_window / 2).max(1)
            || self.nxt < self.max;
        go.then_some(cut)
    }

    fn send(&mut self, cut: Cut, call: &mut Call<'_, '_>) {
        let again = cut.seq < self.max;
        self.build(cut, again, call);
        self.nxt = cut.seq + cut.len + u64::from(cut.fin);
        if self.nxt > self.max {
            // Karn: what was sent before is not timed.
            if !again {
                self.start_timing(cut.seq);
            }
            self.max = self.nxt;
        }
        self.arm_if_off(call);
    }

    /// Sends the oldest unacknowledged segment again, whatever the congestion window.
    pub(super) fn resend_first(&mut self, call: &mut Call<'_, '_>) {
        let len = self.end.saturating_sub(self.una).min(call.p.mss.0).min(u64::from(self.peer_window));
        let fin = self.closing && self.una + len == self.end;
        self.build(Cut { seq: self.una, len, fin }, true, call);
        self.nxt = self.nxt.max(self.una + len + u64::from(fin));
        self.max = self.max.max(self.nxt);
        self.arm_if_off(call);
    }

    /// Puts the flags on a piece of the stream.
    fn build(&mut self, cut: Cut, again: bool, call: &mut Call<'_, '_>) {
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

    /// Sends a segment. Everything that is sent acknowledges.
    pub(super) fn emit(&mut self, seq: u64, len: u32, flags: Flags, again: bool, call: &mut Call<'_, '_>) {
        let (ecn, flags) = self.ecn.stamp(len, flags, again, call.p);
        call.out.segments.push(Segment {
            seq,
            ack: if flags.has(Flags::ACK) { self.receiver.next() } else { 0 },
            len,
            window: call.p.receive_window.0 as u32,
            ts_val: if self.timestamps { self.clock.timestamp(call.p) } else { 0 },
            ts_ecr: if self.timestamps { self.receiver.ts_recent() } else { 0 },
            flags,
            ecn,
            retransmission: again,
        });
        if len > 0
            && let Some(pacer) = self.control.pacer_mut()
        {
            pacer.on_sent(call.p.header.0 + u64::from(len), call.now);
        }
        self.receiver.on_sent();
        self.stats.segments_sent += 1;
        self.stats.data_segments_sent += u64::from(len > 0);
        self.stats.bytes_sent += u64::from(len);
        self.stats.retransmissions += u32::from(again);
    }

    /// Starts the retransmission timer anew.
    pub(super) fn arm(&mut self, call: &Call<'_, '_>) {
        self.alarm = self.clock.timeout(call.p, call.now, self.rtt.rto(call.p));
    }

    pub(super) fn disarm(&mut self) {
        self.alarm = Alarm::OFF;
    }

    fn arm_if_off(&mut self, call: &Call<'_, '_>) {
        if !self.alarm.is_on() {
            self.arm(call);
        }
    }
}
