//! Spurious retransmissions: detection, and undo of the reduction.
//!
//! | sign | source |
//! |---|---|
//! | D-SACKs report all retransmissions as duplicates | RFC 2883, RFC 3708 |
//! | the acknowledgement echoes a timestamp older than the retransmission | RFC 3522 (Eifel) |
//! | after a timeout the second acknowledgement covers data sent only once | RFC 5682 (F-RTO), with SACK its section 3 |
//!
//! Undo follows Linux (`tcp_undo_cwnd_reduction`): it restores window and threshold, and segments marked
//! lost count as in flight again. The state before a reduction is kept until the next, so a D-SACK may
//! arrive after recovery. F-RTO is tried for a timeout outside of recovery and the timeouts that follow it,
//! as in Linux.

use super::acks::control;
use super::prr::Prr;
use super::ranges::Range;
use super::{Call, Recovery, Tcp};
use crate::congestion::{Cx, Window};
use crate::profile::Profile;
use crate::segment::Segment;

/// Maximum window, in segments, that F-RTO leaves after a genuine timeout (RFC 5682 section 2.1 step 3a).
const AFTER_LOSS: u64 = 3;

/// New segments that F-RTO sends to learn whether the old ones still arrive.
const NEW_SEGMENTS: u64 = 2;

/// The progress of F-RTO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frto {
    /// Not tried, or ended.
    Off,
    /// The first segment was retransmitted (step 1).
    Resent,
    /// New segments were sent (step 2b).
    SentNew,
}

/// The state to restore if a reduction proves spurious.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo {
    before: Window,
    /// The oldest unacknowledged byte at the reduction (`undo_marker`).
    from: u64,
    /// Retransmitted segments that no D-SACK has shown to be needless (`undo_retrans`).
    resent: u32,
    /// End of the highest retransmission.
    top: u64,
    /// The timestamp of the first retransmission.
    stamp: Option<u32>,
    frto: Frto,
}

impl Tcp {
    /// A recovery, or the repair of a timeout, is about to begin.
    pub(super) fn remember_window(&mut self, timeout: bool, call: &Call<'_, '_>) {
        let tries_frto = timeout && call.p.frto;
        if !tries_frto && !call.p.undo {
            return;
        }
        let first = tries_frto && self.recovery == Recovery::None;
        let frto = if first { Frto::Resent } else { Frto::Off };
        let (before, from) = (self.control.window(), self.una);
        let undo = Undo { before, from, resent: 0, top: from, stamp: None, frto };
        self.outstanding.get_or_insert_default().undo = Some(Box::new(undo));
    }

    /// The timer has expired again: back to step 1, with the state saved by the first timeout.
    pub(super) fn try_frto_again(&mut self, p: &Profile) {
        if p.frto && self.retries > 1 {
            self.set_frto(Frto::Resent);
        }
    }

    fn undo_mut(&mut self) -> Option<&mut Undo> {
        self.outstanding.as_deref_mut().and_then(|o| o.undo.as_deref_mut())
    }

    /// Whether the last reduction is remembered.
    pub(super) fn may_be_undone(&self) -> bool {
        self.outstanding.as_deref().is_some_and(|o| o.undo.is_some())
    }

    /// A segment is retransmitted.
    #[inline(never)]
    pub(super) fn note_resent(&mut self, end: u64, call: &Call<'_, '_>) {
        let stamp = self.clock.timestamp(call.p);
        if let Some(undo) = self.undo_mut() {
            undo.resent += 1;
            undo.top = undo.top.max(end);
            undo.stamp.get_or_insert(stamp);
        }
    }

    /// The peer reports that it received this twice.
    #[inline(never)]
    pub(super) fn on_duplicate(&mut self, twice: Range, call: &Call<'_, '_>) {
        let (una, max, mss) = (self.una, self.max, call.p.mss.0);
        let Some(o) = self.outstanding.as_deref_mut().filter(|_| call.p.dsack) else { return };
        o.rack.on_duplicate(una, max);
        // RFC 8985 section 7.4.2: both copies of the probe have arrived, and none was lost.
        o.probe = o.probe.filter(|probe| !probe.resent || twice.end < probe.end);
        let Some(undo) = o.undo.as_deref_mut().filter(|undo| twice.end > undo.from) else { return };
        undo.resent = undo.resent.saturating_sub(twice.len().div_ceil(mss) as u32);
        if call.p.undo && undo.resent == 0 && undo.stamp.is_some() {
            self.take_back(call);
        }
    }

    /// Judges a recovery by an acknowledgement. `acked` bytes are new; `sacked`: whether it newly SACKs bytes that were
    /// in flight when the timer expired. Returns whether F-RTO gives up, so that old data is retransmitted.
    #[inline(never)]
    pub(super) fn judge_recovery(&mut self, seg: &Segment, acked: u64, sacked: bool, call: &mut Call<'_, '_>) -> bool {
        let Some(&mut undo) = self.undo_mut() else { return false };
        let old = undo.stamp.is_some_and(|stamp| seg.ts_ecr != 0 && (seg.ts_ecr.wrapping_sub(stamp) as i32) < 0);
        let covered = seg.ack >= undo.top || matches!(self.recovery, Recovery::Timeout { .. });
        if call.p.undo && self.timestamps && acked > 0 && old && covered {
            self.take_back(call);
            return false;
        }
        let Recovery::Timeout { until } = self.recovery else { return false };
        match undo.frto {
            Frto::Off => {}
            Frto::Resent if acked > 0 && seg.ack >= undo.top && seg.ack < until && self.send_beyond(call) => {
                self.set_frto(Frto::SentNew);
            }
            Frto::SentNew if acked > 0 || sacked => self.take_back(call),
            Frto::SentNew => {
                let window = self.control.window_mut();
                window.cwnd = window.cwnd.min(AFTER_LOSS * call.p.mss.0);
                self.go_back(call);
                return true;
            }
            // With SACK, duplicates before the acknowledgement of the retransmission are ignored (RFC 5682 section 3.1
            // step 2).
            Frto::Resent if self.sack && acked == 0 => {}
            Frto::Resent => self.set_frto(Frto::Off),
        }
        false
    }

    /// Whether F-RTO holds back all data until an acknowledgement arrives.
    pub(super) fn awaits_verdict(&self) -> bool {
        let Recovery::Timeout { .. } = self.recovery else { return false };
        let undo = self.outstanding.as_deref().and_then(|o| o.undo.as_deref());
        undo.is_some_and(|undo| undo.frto == Frto::SentNew)
    }

    fn set_frto(&mut self, frto: Frto) {
        if let Some(undo) = self.undo_mut() {
            undo.frto = frto;
        }
    }

    /// Step 2b: up to two new segments. Returns whether there were any.
    fn send_beyond(&mut self, call: &mut Call<'_, '_>) -> bool {
        let (back, max) = (std::mem::replace(&mut self.nxt, self.max), self.max);
        let edge = (self.una + u64::from(self.peer_window)).min(max + NEW_SEGMENTS * call.p.mss.0);
        while let Some(cut) = self.next_cut(call.p, edge, false) {
            self.send(cut, call);
        }
        let any = self.max > max;
        if !any {
            self.nxt = back;
        }
        any
    }

    /// The timeout was genuine: everything is retransmitted from the first byte on.
    fn go_back(&mut self, call: &Call<'_, '_>) {
        self.set_frto(Frto::Off);
        // The new segments may be sent a second time too, and their duplicate acknowledgements mean nothing (RFC 6582).
        self.recovery = Recovery::Timeout { until: self.max };
        if !(self.sack && call.p.uses_rack()) {
            self.nxt = self.una;
        }
    }

    /// The reduction was spurious.
    fn take_back(&mut self, call: &Call<'_, '_>) {
        let Some(o) = self.outstanding.as_deref_mut() else { return };
        let Some(undo) = o.undo.take() else { return };
        o.undone += 1;
        (o.prr, o.cwr) = (Prr::default(), false);
        if self.recovery != Recovery::None {
            if let Some(sent) = &mut o.sent {
                sent.find_all();
            }
            self.recovery = Recovery::None;
            self.nxt = self.max;
        }
        (self.dup_acks, self.limited) = (0, 0);
        self.ecn.withdraw_reduction();
        control!(self, call, on_spurious, undo.before);
    }
}
