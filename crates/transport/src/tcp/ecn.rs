//! Explicit congestion notification at one end of a connection.
//!
//! Both directions: which segments go out ECN-capable and what their flags say ([`EcnEnd::stamp`]), what arriving
//! marks do to the acknowledgements ([`Tcp::note_ecn`]), and what the peer's feedback does to the sender
//! ([`Tcp::on_echo`]). Three kinds of feedback ([`EcnFeedback`]):
//!
//! | kind | receiver | sender |
//! |---|---|---|
//! | classic, RFC 3168 section 6.1 | ECE on everything from a mark to CWR | reduces once in a round trip, then CWR |
//! | DCTCP's, RFC 8257 section 3.2 | ECE says whether the segments acknowledged were marked; a change is acknowledged at once | counts bytes |
//! | accurate, RFC 9768 section 3.2 | a 3-bit count of marked packets on everything | unwraps the count |
//!
//! The option of RFC 9768, which counts bytes, is in `accurate.rs`; where an end does not send it a mark counts as a full segment.
//! Left out of RFC 9768: the tests for middleboxes that clear or set the bits (sections 3.2.2.3 and 3.2.2.4); and any reaction to
//! marks on the handshake, which are fed back only.

use aqmkit_base::Ecn;

use super::acks::control;
use super::{Call, Recovery, Tcp};
use crate::congestion::Cx;
use crate::profile::{EcnFeedback, EcnPackets, Profile};
use crate::segment::{Flags, Segment};

/// The flags of a SYN that requests ECN (RFC 3168 section 6.1.1).
const CLASSIC_SETUP: Flags = Flags::ECE.and(Flags::CWR);

/// Counters of marked packets start at this value (RFC 9768 section 3.2.1), so that a field of zeros reveals a
/// middlebox.
const COUNT_FROM: u8 = 5;

/// The counter has three bits.
const ACE_MODULUS: u64 = 8;

/// ECN at one end of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct EcnEnd {
    /// The negotiated feedback; `None` if ECN is off.
    feedback: Option<EcnFeedback>,
    /// Classic: CE was received, and no CWR since. DCTCP: the last data had CE.
    echo: bool,
    /// The window was reduced, and CWR has not been sent yet.
    cwr: bool,
    /// Accurate: the number of packets received with CE, and the peer's last count of ours.
    counted: u8,
    heard: u8,
    /// Accurate: the handshake encoding of the ECN field of the peer's SYN or SYN-ACK, until it is sent.
    greeting: u8,
    /// Segments above the cumulative acknowledgement that duplicate acknowledgements have reported.
    beyond: u16,
    /// Echoes for data below this have already been handled.
    answered: u64,
}

/// The flags of a SYN.
pub(super) fn request(p: &Profile) -> Flags {
    match (p.ecn, p.ecn_feedback) {
        (false, _) => Flags::NONE,
        (true, EcnFeedback::Accurate) => Flags::ACE,
        (true, _) => CLASSIC_SETUP,
    }
}

/// RFC 9768 tables 2 and 3: the flags with which a SYN or SYN-ACK is acknowledged, by its ECN field.
const fn greeting(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}

impl EcnEnd {
    pub(super) const OFF: EcnEnd = EcnEnd {
        feedback: None,
        echo: false,
        cwr: false,
        counted: COUNT_FROM,
        heard: COUNT_FROM,
        greeting: 0,
        beyond: 0,
        answered: 0,
    };

    pub(super) fn is_on(&self) -> bool {
        self.feedback.is_some()
    }

    /// Whether the feedback tells the amount of marked data.
    pub(super) fn counts_marks(&self) -> bool {
        matches!(self.feedback, Some(EcnFeedback::Dctcp | EcnFeedback::Accurate))
    }

    pub(super) fn is_accurate(&self) -> bool {
        self.feedback == Some(EcnFeedback::Accurate)
    }

    /// Passive open: the feedback that the SYN asks for (RFC 9768 section 3.1.1, table 2).
    pub(super) fn on_syn(&mut self, seg: &Segment, p: &Profile) {
        self.feedback = match (p.ecn, p.ecn_feedback) {
            (true, EcnFeedback::Accurate) if seg.flags.has(Flags::ACE) => Some(EcnFeedback::Accurate),
            (true, EcnFeedback::Dctcp) if seg.flags.has(CLASSIC_SETUP) => Some(EcnFeedback::Dctcp),
            (true, _) if seg.flags.has(CLASSIC_SETUP) => Some(EcnFeedback::Classic),
            _ => None,
        };
        self.greeting = if self.is_accurate() { greeting(seg.ecn) } else { 0 };
    }

    /// The flags of the SYN-ACK, or of the SYN that crosses another.
    pub(super) fn answer(&self) -> Flags {
        match self.feedback {
            None => Flags::NONE,
            Some(EcnFeedback::Accurate) => Flags::NONE.with_ace(self.greeting),
            Some(_) => Flags::ECE,
        }
    }

    /// Active open: the feedback that the SYN-ACK agrees to (RFC 9768 table 2; RFC 3168 section 6.1.1).
    pub(super) fn on_syn_ack(&mut self, seg: &Segment, p: &Profile) {
        self.feedback = match (p.ecn, p.ecn_feedback, seg.flags.ace()) {
            (true, EcnFeedback::Accurate, 0b010 | 0b011 | 0b100 | 0b110) => Some(EcnFeedback::Accurate),
            (true, EcnFeedback::Dctcp, 0b001 | 0b101) => Some(EcnFeedback::Dctcp),
            (true, _, 0b001 | 0b101) => Some(EcnFeedback::Classic),
            _ => None,
        };
        if self.is_accurate() {
            self.greeting = greeting(seg.ecn);
            // Table 4: a mark on the SYN-ACK counts.
            self.counted += u8::from(seg.ecn == Ecn::Ce);
        }
    }

    /// Feedback to the passive end about its SYN-ACK: a pure acknowledgement uses the handshake encoding
    /// (RFC 9768 table 4), data the counter, which cannot have counted anything else yet.
    pub(super) fn on_handshake_ack(&mut self, seg: &Segment) {
        self.end_handshake();
        if self.is_accurate() {
            self.heard = match seg.flags.ace() {
                ace if seg.len > 0 => ace,
                ace if ace == greeting(Ecn::Ce) => COUNT_FROM + 1,
                _ => COUNT_FROM,
            };
        }
    }

    /// From now on the field carries the counter.
    pub(super) fn end_handshake(&mut self) {
        self.greeting = 0;
    }

    /// The window was reduced when `max` was the highest sequence number sent: data now in flight does not
    /// reduce it again, and CWR is pending.
    pub(super) fn note_reduction(&mut self, max: u64) {
        (self.answered, self.cwr) = (max, true);
    }

    /// Whether data sent after the last reduction is acknowledged.
    pub(super) fn is_past_reduction(&self, ack: u64) -> bool {
        ack > self.answered
    }

    /// The reduction was undone: a pending CWR is cancelled.
    pub(super) fn withdraw_reduction(&mut self) {
        self.cwr = false;
    }

    /// The ECN field of a segment, and its flags. RFC 3168 section 6.1: new data is ECN-capable; retransmissions, SYNs
    /// and pure acknowledgements are not, unless the profile says so. The first new data after a reduction carries CWR.
    /// Feedback is on everything but SYNs.
    pub(super) fn stamp(&mut self, len: u32, flags: Flags, again: bool, p: &Profile) -> (Ecn, Flags) {
        let syn = flags.has(Flags::SYN);
        if !self.is_on() && !syn {
            return (Ecn::NotEct, flags);
        }
        let requested = syn && !flags.has(Flags::ACK) && p.ecn;
        let new_data = len > 0 && !again;
        let capable = (self.is_on() || requested) && (new_data || p.ecn_packets == EcnPackets::All);
        // ECT(1) promises a response to accurate feedback (RFC 9331 section 4.3).
        let ect = if self.is_accurate() || requested { p.congestion.ect() } else { Ecn::Ect0 };
        let ecn = if capable { ect } else { Ecn::NotEct };
        (ecn, if syn { flags } else { self.flag(flags, new_data) })
    }

    fn flag(&mut self, flags: Flags, new_data: bool) -> Flags {
        match self.feedback {
            None => flags,
            Some(EcnFeedback::Accurate) => flags.with_ace(if self.greeting > 0 { self.greeting } else { self.counted }),
            Some(EcnFeedback::Classic | EcnFeedback::Dctcp) => {
                let echo = if self.echo { Flags::ECE } else { Flags::NONE };
                let reduced = new_data && std::mem::take(&mut self.cwr);
                flags.and(echo).and(if reduced { Flags::CWR } else { Flags::NONE })
            }
        }
    }

    /// Newly delivered bytes of an acknowledgement, without those already reported by duplicates. Without
    /// SACK a duplicate counts as a full segment.
    fn delivered(&mut self, acked: u64, duplicate: bool, mss: u64) -> u64 {
        if acked > 0 {
            let before = (u64::from(self.beyond) * mss).min(acked);
            self.beyond -= before.div_ceil(mss) as u16;
            acked - before
        } else if duplicate {
            self.beyond = self.beyond.saturating_add(1);
            mss
        } else {
            0
        }
    }

    /// The marked part of the `delivered` bytes, at most all of them.
    ///
    /// An acknowledgement without deliveries does not update the count: it may be reordered (RFC 9768
    /// section 3.2.2.2), the last one of the handshake has no count (section 3.2.2.1), and the next ACK
    /// repeats any new count.
    fn marked(&mut self, flags: Flags, delivered: u64, mss: u64) -> u64 {
        match self.feedback {
            Some(EcnFeedback::Accurate) if delivered == 0 => 0,
            Some(EcnFeedback::Accurate) => {
                let packets = delivered.div_ceil(mss);
                let rise = unwrap(flags.ace(), self.heard, packets);
                self.heard = flags.ace();
                (rise * mss).min(delivered)
            }
            Some(_) if flags.has(Flags::ECE) => delivered,
            _ => 0,
        }
    }
}

/// The increase of the peer's counter since the value `heard`, given the field `ace` in an acknowledgement
/// of `packets` packets. RFC 9768 appendix A.2.1: if the three bits may have wrapped, the largest possible
/// value.
fn unwrap(ace: u8, heard: u8, packets: u64) -> u64 {
    let rise = u64::from(ace.wrapping_sub(heard)) % ACE_MODULUS;
    if packets < ACE_MODULUS { rise } else { packets - (packets - rise) % ACE_MODULUS }
}

impl Tcp {
    /// Updates the pending feedback by the ECN field and CWR of an arriving segment.
    pub(super) fn note_ecn(&mut self, seg: &Segment, call: &mut Call<'_, '_>) {
        let ce = seg.ecn == Ecn::Ce;
        match self.ecn.feedback {
            // CWR answers the marks before this one (RFC 3168 section 6.1.3).
            Some(EcnFeedback::Classic) if seg.sequence_len() > 0 => {
                self.ecn.echo = ce || (self.ecn.echo && !seg.flags.has(Flags::CWR));
            }
            Some(EcnFeedback::Dctcp) if seg.len > 0 && ce != self.ecn.echo => {
                // Earlier data is acknowledged with its own echo (RFC 8257 section 3.2, last paragraph).
                if self.receiver.owes_ack() {
                    self.emit(self.max, 0, Flags::ACK, false, call);
                }
                self.ecn.echo = ce;
                self.receiver.ack_at_once();
            }
            Some(EcnFeedback::Accurate) => {
                self.ecn.counted = self.ecn.counted.wrapping_add(u8::from(ce));
                self.count_bytes(seg);
            }
            _ => {}
        }
    }

    /// The peer's feedback. Returns how many of the bytes that this acknowledges were marked.
    pub(super) fn on_echo(&mut self, seg: &Segment, call: &Call<'_, '_>) -> u64 {
        if !self.ecn.is_on() || seg.flags.has(Flags::SYN) {
            return 0;
        }
        let mss = call.p.mss.0;
        let acked = seg.ack.saturating_sub(self.una);
        let duplicate = seg.sequence_len() == 0 && seg.ack == self.una && self.una < self.max;
        let delivered = self.ecn.delivered(acked, duplicate, mss);
        let counted = if self.ecn.is_accurate() { self.marked_bytes(seg, delivered) } else { None };
        let by_packets = self.ecn.marked(seg.flags, delivered, mss);
        let marked = counted.unwrap_or(by_packets);
        let echo = marked > 0 || (seg.flags.has(Flags::ECE) && !self.ecn.is_accurate());
        control!(self, call, on_feedback, delivered, marked);
        // Once for each window of data (RFC 3168 section 6.1.2). In recovery the window has been reduced already.
        if echo && self.ecn.is_past_reduction(seg.ack) && !matches!(self.recovery, Recovery::Fast { .. }) {
            control!(self, call, on_ecn);
            self.stats.ecn_reductions += 1;
            self.ecn.note_reduction(self.max);
            self.enter_cwr(call.p);
        }
        if echo && !self.ecn.is_accurate() { acked } else { marked.min(acked) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_unwraps_to_the_most_it_can_mean() {
        for (ace, heard, packets, rise) in
            [(5, 5, 2, 0), (6, 5, 2, 1), (0, 7, 1, 1), (4, 5, 7, 7), (5, 5, 8, 8), (6, 5, 8, 1), (6, 5, 20, 17)]
        {
            assert_eq!(unwrap(ace, heard, packets), rise, "{ace} after {heard} for {packets} packets");
        }
    }

    /// Each increment of the counter is a packet of at most one segment, so no more than the delivered data is marked.
    #[test]
    fn not_more_is_marked_than_was_delivered() {
        for (ace, heard) in (0..8).flat_map(|ace| (0..8).map(move |heard| (ace, heard))) {
            for delivered in [0, 1, 99, 100, 101, 250, 699, 700, 800, 1234] {
                let mut end = EcnEnd { feedback: Some(EcnFeedback::Accurate), heard, ..EcnEnd::OFF };
                let marked = end.marked(Flags::NONE.with_ace(ace), delivered, 100);
                let rise = unwrap(ace, heard, delivered.div_ceil(100));
                assert_eq!(marked, delivered.min(100 * rise), "{ace} after {heard} for {delivered} bytes");
            }
        }
    }

    #[test]
    fn what_duplicates_announced_is_not_delivered_twice() {
        let mut end = EcnEnd::OFF;
        assert_eq!([end.delivered(0, true, 10), end.delivered(0, true, 10)], [10, 10]);
        assert_eq!(end.delivered(0, false, 10), 0);
        // The hole of one segment, and the two above it.
        assert_eq!(end.delivered(30, false, 10), 10);
        assert_eq!(end.delivered(20, false, 10), 20);
    }
}
