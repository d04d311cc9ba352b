//! Opens connections, and handles segments that arrive while the connection is not open.

use super::acks::control;
use super::{Call, Event, Sent, State, Tcp, ecn};
use crate::congestion::Cx;
use crate::segment::{Flags, Segment};

impl Tcp {
    pub(super) fn open_actively(&mut self, call: &mut Call<'_, '_>) {
        if self.state != State::Closed {
            return;
        }
        self.state = State::SynSent;
        (self.nxt, self.max) = (1, 1);
        self.active = self.clock.number(call.p);
        self.start_timing(0, call.p);
        self.send_syn(false, call);
        self.wait_for_answer(call);
    }

    /// Anything but a plain segment on an open connection.
    pub(super) fn on_segment_otherwise(&mut self, seg: &Segment, call: &mut Call<'_, '_>) {
        if seg.flags.has(Flags::RST) {
            self.on_reset(call);
            return;
        }
        match self.state {
            State::Closed => self.on_first_syn(seg, call),
            State::SynSent => self.on_answer(seg, call),
            State::SynReceived => self.on_answer_to_syn_ack(seg, call),
            State::Open => {}
            // Our last acknowledgement was lost, and the peer retransmits its FIN (TIME-WAIT).
            State::Done => {
                if seg.sequence_len() > 0 && self.max > 0 {
                    self.receiver.ack_at_once();
                    self.output(call);
                }
            }
            State::Failed => self.emit(self.max, 0, Flags::RST.and(Flags::ACK), false, call),
        }
    }

    fn on_reset(&mut self, call: &mut Call<'_, '_>) {
        if !matches!(self.state, State::Closed | State::Done | State::Failed) {
            self.finish(State::Failed, Event::Failed, call);
        }
    }

    /// A passive open.
    fn on_first_syn(&mut self, seg: &Segment, call: &mut Call<'_, '_>) {
        if !seg.flags.has(Flags::SYN) || seg.flags.has(Flags::ACK) {
            return;
        }
        self.negotiate(seg, call);
        self.ecn.on_syn(seg, call.p);
        self.state = State::SynReceived;
        (self.nxt, self.max) = (1, 1);
        self.start_timing(0, call.p);
        self.send_syn(false, call);
        self.wait_for_answer(call);
    }

    /// Handles the answer to an active open: SYN-ACK, or a SYN where both open at once (RFC 9293 section
    /// 3.5).
    fn on_answer(&mut self, seg: &Segment, call: &mut Call<'_, '_>) {
        if !seg.flags.has(Flags::SYN) {
            return;
        }
        if !seg.flags.has(Flags::ACK) {
            self.negotiate(seg, call);
            self.state = State::SynReceived;
            self.send_syn(true, call);
            return;
        }
        if seg.ack != self.max {
            return;
        }
        self.negotiate(seg, call);
        self.ecn.on_syn_ack(seg, call.p);
        self.establish(seg, call);
        // The acknowledgement is sent separately: the application learns of the connection before it can write, as with
        // a real connect().
        self.emit(self.max, 0, Flags::ACK, false, call);
        self.ecn.end_handshake();
        self.output(call);
    }

    /// The third segment of the handshake, or data if that was lost.
    fn on_answer_to_syn_ack(&mut self, seg: &Segment, call: &mut Call<'_, '_>) {
        if seg.flags.has(Flags::ACK) && seg.ack == self.max {
            self.establish(seg, call);
            self.ecn.on_handshake_ack(seg);
            self.on_segment_open(seg, call);
            self.output(call);
        } else if seg.flags.has(Flags::SYN) {
            // The SYN-ACK was lost or delayed. The timer continues as before.
            self.send_syn(true, call);
        }
    }

    /// Negotiates options from the peer's SYN.
    fn negotiate(&mut self, seg: &Segment, call: &Call<'_, '_>) {
        self.receiver.on_syn(seg);
        self.timestamps = call.p.timestamps && seg.ts_val != 0;
        self.sack = call.p.wants_sack() && seg.options.permits_sack();
        self.note_window(seg, call.p);
    }

    fn establish(&mut self, seg: &Segment, call: &mut Call<'_, '_>) {
        let retries = std::mem::take(&mut self.retries);
        let waits = self.waits(call);
        let waited = waits[usize::from(retries).min(waits.len() - 1)];
        self.measure(seg, call);
        if retries > 0 && self.rtt.smoothed(call.p).is_none() {
            self.rtt.after_handshake_timeout(call.p, waited);
        }
        if self.state == State::SynReceived && call.p.syn_opens_window {
            // The SYN does not count as data, whatever the control counts: BSD opened the window by a segment for any
            // acknowledgement of something new.
            self.control.window_mut().grow(call.p.mss.0, call.p);
        }
        self.una = self.max;
        self.active = self.clock.number(call.p);
        self.disarm();
        self.state = State::Open;
        let rack = self.sack && call.p.uses_rack();
        if rack || self.control.samples_delivery() {
            self.outstanding.get_or_insert_default().sent =
                Some(Box::new(Sent::new(rack, self.control.watches_losses(), call.now)));
        } else if self.sack && call.p.tail_loss_probe {
            self.outstanding.get_or_insert_default();
        }
        self.begin_counting(call.p);
        call.out.events.push(Event::Connected);
    }

    /// SYN or SYN-ACK, by the state.
    fn send_syn(&mut self, again: bool, call: &mut Call<'_, '_>) {
        let flags = if self.state == State::SynReceived {
            Flags::SYN.and(Flags::ACK).and(self.ecn.answer())
        } else {
            Flags::SYN.and(ecn::request(call.p))
        };
        self.emit(0, 0, flags, again, call);
    }

    fn waits<'a>(&self, call: &Call<'a, '_>) -> &'a [aqmkit_base::Duration] {
        if self.state == State::SynReceived { &call.p.syn_ack } else { &call.p.syn }
    }

    fn wait_for_answer(&mut self, call: &Call<'_, '_>) {
        if let Some(&wait) = self.waits(call).get(usize::from(self.retries)) {
            self.alarm = self.clock.timeout(call.p, call.now, wait);
        }
    }

    pub(super) fn on_handshake_timeout(&mut self, call: &mut Call<'_, '_>) {
        self.stats.timeouts += 1;
        if usize::from(self.retries) + 1 >= self.waits(call).len() {
            self.give_up(call);
            return;
        }
        self.retries += 1;
        self.timed = None;
        control!(self, call, on_handshake_timeout);
        self.send_syn(true, call);
        self.wait_for_answer(call);
    }
}
