//! Loss detection by time, and the tail loss probe: RFC 8985.
//!
//! A segment is lost if a segment sent later was delivered, and the round-trip time of that one plus the
//! reordering window have passed since it was sent. The window is a quarter of the minimum round-trip time,
//! plus another quarter after each round trip with D-SACKs. Omitted: the echoed timestamp, so that only the
//! minimum round-trip time identifies which copy was delivered; and the minimum is over the whole
//! connection. If several segments are pending, the timer waits for the first instead of the last.

use aqmkit_base::{Duration, Instant};

use super::acks::{DUP_THRESHOLD, control};
use super::clock::Alarm;
use super::outstanding::{Probe, WaitsFor};
use super::ranges::Range;
use super::send::Cut;
use super::sent::{Entry, Sent};
use super::{Call, Recovery, Tcp};
use crate::congestion::Cx;
use crate::segment::Segment;

/// Maximum delay of acknowledgements expected from a receiver (`TLP.max_ack_delay`).
const MAX_ACK_DELAY: Duration = Duration::from_millis(200);

/// The probe timeout without any measurement.
const PROBE_WITHOUT_RTT: Duration = Duration::from_secs(1);

/// Minimum probe timeout: two of Linux's clock ticks at 1 kHz.
const MIN_PROBE: Duration = Duration::from_millis(2);

/// Recoveries without a D-SACK after which the reordering window returns to a quarter (`RACK.reo_wnd_persist`).
const PERSISTS: u8 = 16;

/// RACK's state (RFC 8985 section 5.2).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rack {
    /// The most recent transmission that was delivered (`RACK.xmit_ts` and `RACK.end_seq`).
    newest: u64,
    /// Its round trip (`RACK.rtt`).
    rtt: Duration,
    /// The shortest round trip (`RACK.min_RTT`).
    min_rtt: Option<Duration>,
    /// End of the highest delivered segment (`RACK.fack`).
    fack: u64,
    /// Whether anything arrived out of order (`RACK.reordering_seen`).
    reordering: bool,
    /// The round trip of the oldest segment that the last acknowledgement covers, if it was sent only once.
    measured: Option<Duration>,
    /// End of the round trip in which a D-SACK arrived (`RACK.dsack_round`).
    twice_until: u64,
    /// Quarters of the minimum round trip added to the first (`RACK.reo_wnd_mult` less one), and the number of
    /// recoveries for which they remain.
    more: u32,
    persists: u8,
    /// Whether a probe was sent since the last round-trip sample.
    probed: bool,
}

impl Rack {
    /// RFC 8985 section 6.2 step 4: a D-SACK has arrived; once per round trip it widens the reordering window.
    pub(super) fn on_duplicate(&mut self, una: u64, max: u64) {
        if una >= self.twice_until {
            self.twice_until = max;
            self.more += 1;
            self.persists = PERSISTS;
        }
    }

    /// A recovery has ended.
    pub(super) fn on_recovered(&mut self) {
        self.persists = self.persists.saturating_sub(1);
        if self.persists == 0 {
            self.more = 0;
        }
    }

    /// RFC 8985 section 6.2 steps 1 to 3: a segment was acknowledged (`in_order`) or SACKed.
    pub(super) fn on_delivered(&mut self, entry: &Entry, in_order: bool, now: Instant) {
        let rtt = now.since(entry.sent);
        if entry.end() > self.fack {
            self.fack = entry.end();
        } else if entry.end() < self.fack && !entry.resent {
            self.reordering = true;
        }
        if entry.resent {
            // The delivered copy may be an earlier one.
            if self.min_rtt.is_some_and(|min| rtt < min) {
                return;
            }
        } else {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
            if in_order && self.measured.is_none() {
                self.measured = Some(rtt);
            }
        }
        self.rtt = rtt;
        self.newest = self.newest.max(entry.number);
    }

    /// Allows another probe after a round-trip sample.
    fn note_measurement(&mut self, call: &Call<'_, '_>) {
        self.probed &= call.sample().is_none();
    }

    /// The round trip measured by this acknowledgement; it can be taken once.
    pub(super) fn take_measured(&mut self) -> Option<Duration> {
        self.measured.take()
    }

    /// `RACK_update_reo_wnd` of step 4.
    fn window(&self, recovering: bool, sacked: usize, srtt: Option<Duration>) -> Duration {
        if !self.reordering && (recovering || sacked >= DUP_THRESHOLD as usize) {
            return Duration::ZERO;
        }
        let window = self.min_rtt.unwrap_or(Duration::ZERO) * u64::from(self.more + 1) / 4;
        srtt.map_or(window, |srtt| window.min(srtt))
    }
}

impl Tcp {
    /// How long a segment may be in flight while later ones are delivered.
    fn patience(&self, call: &Call<'_, '_>) -> Duration {
        let Some(o) = &self.outstanding else { return Duration::ZERO };
        let sacked = o.sent.as_deref().map_or(0, Sent::sacked);
        let recovering = self.recovery != Recovery::None;
        o.rack.rtt + o.rack.window(recovering, sacked, self.rtt.smoothed(call.p))
    }

    /// RFC 8985 section 6.2 step 5: detects losses, and returns when to check again.
    pub(super) fn find_late(&mut self, call: &Call<'_, '_>) {
        let patience = self.patience(call);
        let Some(o) = self.outstanding.as_deref_mut() else { return };
        o.rack.note_measurement(call);
        let Some(sent) = &mut o.sent else { return };
        match sent.lose_before(o.rack.newest, patience, call.now) {
            Some(wait) => {
                self.alarm = Alarm::at(call.now + wait).first(o.expires);
                o.waits_for = WaitsFor::Reordering;
            }
            None if o.waits_for == WaitsFor::Reordering => {
                (self.alarm, o.waits_for) = (o.expires, WaitsFor::Retransmission);
            }
            None => {}
        }
        self.tell_losses(call);
    }

    /// Reports new losses to controls that examine each of them.
    fn tell_losses(&mut self, call: &Call<'_, '_>) {
        if self.outstanding.as_deref().and_then(|o| o.sent.as_deref()).is_some_and(|s| !s.losses().is_empty()) {
            control!(self, call, on_losses);
        }
    }

    /// RFC 8985 section 6.3: overdue segments are lost, and the first is retransmitted whatever the window.
    pub(super) fn resend_after_timeout(&mut self, call: &mut Call<'_, '_>) {
        let patience = self.patience(call);
        let Some(sent) = self.sent_mut() else { return };
        sent.lose_after_timeout(patience, call.now);
        let first = sent.next_lost();
        self.tell_losses(call);
        if let Some(first) = first {
            self.send_again(first, call);
        }
    }

    /// The reordering timer has expired.
    pub(super) fn on_reordering_timeout(&mut self, call: &mut Call<'_, '_>) {
        if let Some(o) = self.outstanding.as_deref_mut() {
            (self.alarm, o.waits_for) = (o.expires, WaitsFor::Retransmission);
        }
        if self.alarm.is_due(call.now) {
            self.on_timeout(call);
            return;
        }
        self.find_late(call);
        self.enter_recovery_if_lost(call);
        self.output(call);
    }

    /// `TLP_calc_PTO` of section 7.2: sets the probe timer if a probe may be sent: nothing is out of order or being
    /// repaired, no probe is outstanding, and a round trip was measured since the last one (section 7.3: otherwise
    /// probes, which give no sample, would keep the sender from learning that the path has become longer). For profiles
    /// with probes.
    #[inline(never)]
    pub(super) fn await_probe(&mut self, call: &Call<'_, '_>) {
        if !self.sack || self.recovery != Recovery::None || self.una == self.max {
            return;
        }
        let pto = match self.rtt.smoothed(call.p) {
            Some(srtt) if self.flight() <= call.p.mss.0 => srtt * 2 + MAX_ACK_DELAY,
            Some(srtt) => srtt * 2,
            None => PROBE_WITHOUT_RTT,
        };
        let Some(o) = self.outstanding.as_deref_mut() else { return };
        o.rack.note_measurement(call);
        if o.probe.is_none() && !o.rack.probed && o.sacked.is_empty() && o.waits_for != WaitsFor::Reordering {
            o.waits_for = WaitsFor::Probe;
            self.alarm = Alarm::at(call.now + pto.max(MIN_PROBE)).first(o.expires);
        }
    }

    /// Section 7.3: sends new data if there is any, or the last segment again; then arms the retransmission timer.
    pub(super) fn send_probe(&mut self, call: &mut Call<'_, '_>) {
        let mss = call.p.mss.0;
        let room = (self.una + u64::from(self.peer_window)).min(self.end).saturating_sub(self.nxt);
        let resent = room == 0;
        if resent {
            let whole = Range { start: self.max - self.flight().min(mss), end: self.max };
            let last = self.sent_mut().and_then(|s| s.last()).map(|e| Range { start: e.seq, end: e.end() });
            let cut = self.cut_of(last.unwrap_or(whole));
            self.build(cut, true, call);
            // Karn: it is unknown which copy is acknowledged.
            self.timed = None;
        } else {
            let (seq, len) = (self.nxt, room.min(mss));
            self.send(Cut { seq, len, fin: self.closing && seq + len == self.end }, call);
        }
        self.stats.tail_probes += 1;
        let end = self.max;
        let o = self.outstanding.get_or_insert_default();
        (o.probe, o.rack.probed) = (Some(Probe { end, resent }), true);
        self.arm(call);
    }

    /// Section 7.4: whether an acknowledgement answers the probe and shows that one segment was lost and repaired by
    /// the probe: then the window is reduced.
    pub(super) fn answer_probe(&mut self, seg: &Segment, call: &mut Call<'_, '_>) {
        let Some(o) = self.outstanding.as_deref_mut() else { return };
        let Some(probe) = o.probe.filter(|p| seg.ack >= p.end) else { return };
        if !probe.resent {
            o.probe = None;
        } else if seg.ack > probe.end {
            o.probe = None;
            if self.recovery == Recovery::None {
                control!(self, call, on_loss);
                control!(self, call, on_recovered, 0);
                self.ecn.note_reduction(self.max);
            }
        } else if seg.ack == self.una && seg.sequence_len() == 0 && seg.options.held(seg.ack).next().is_none() {
            // The original was delivered; only its acknowledgement was late.
            o.probe = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// RFC 8985 section 6.2 step 4: a quarter of the minimum round trip, plus another after each round trip with a
    /// D-SACK, for sixteen recoveries.
    #[test]
    fn a_wider_window_lasts_for_sixteen_recoveries() {
        let mut rack = Rack { min_rtt: Some(MS * 40), reordering: true, ..Rack::default() };
        let window = |known: &Rack| known.window(false, 0, None);
        assert_eq!(window(&rack), MS * 10);
        rack.on_duplicate(100, 500);
        rack.on_duplicate(499, 900);
        assert_eq!(window(&rack), MS * 20, "both came in one round trip");
        rack.on_duplicate(500, 900);
        assert_eq!(window(&rack), MS * 30);
        for _ in 0..15 {
            rack.on_recovered();
            assert_eq!(window(&rack), MS * 30);
        }
        rack.on_recovered();
        assert_eq!(window(&rack), MS * 10);
    }

    /// The same step: at most a smoothed round trip; without observed reordering, zero in recovery or after three
    /// SACKs.
    #[test]
    fn the_window_is_none_where_nothing_came_out_of_order() {
        let mut rack = Rack { min_rtt: Some(MS * 40), more: 7, ..Rack::default() };
        assert_eq!(rack.window(false, 2, Some(MS * 50)), MS * 50);
        assert_eq!([rack.window(true, 0, None), rack.window(false, 3, None)], [Duration::ZERO; 2]);
        rack.reordering = true;
        assert_eq!([rack.window(true, 0, None), rack.window(false, 3, None)], [MS * 80; 2]);
        assert_eq!(Rack::default().window(false, 0, Some(MS)), Duration::ZERO);
    }
}
