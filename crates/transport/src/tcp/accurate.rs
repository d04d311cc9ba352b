//! The option of accurate ECN: RFC 9768 section 3.2.3.
//!
//! Counts the bytes of data received with each ECN field, and reports them on acknowledgements after any count has
//! grown ("recommended simple scheme" of section 3.2.3.3), with the fields that ever changed. At most two SACK blocks
//! take precedence over it. With the option the sender knows marked bytes exactly, whatever the size of segments and
//! however many acknowledgements were lost; the three header bits, which count packets, then serve only until the first
//! option arrives. Marked data that follows unmarked data is acknowledged at once, and so is the second mark since the
//! last acknowledgement (section 3.2.2.5.1).
//!
//! Left out: the option on SYN-ACKs, and with it the tests whether the path lets options through (section 3.2.3.2); the
//! first option that arrives shows that it does. A full segment with data has no room for the option.

use super::Tcp;
use crate::profile::Profile;
use crate::segment::{EcnCounters, Options, Segment};
use aqmkit_base::Ecn;

/// Counters have 24 bits on the wire.
const MODULUS: u32 = 1 << 24;

/// Bytes of options in a TCP header, and those used by timestamps.
const MOST_OPTIONS: u64 = 40;
const TIMESTAMPS: u64 = 12;

/// SACK blocks that take precedence over the option.
const BLOCKS_FIRST: usize = 2;

/// Marks since the last acknowledgement that force one.
const MARKS: u8 = 2;

/// Both directions of the counters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counting {
    /// The receiver's byte counters: `r.e0b`, `r.ceb`, `r.e1b`.
    received: EcnCounters,
    /// Which of them have ever changed: ECT(0), CE, ECT(1).
    changed: [bool; 3],
    /// Whether one has changed since the last option.
    fresh: bool,
    /// Whether the last packet was marked, and the number of marks since the last acknowledgement.
    marked: bool,
    marks: u8,
    /// The peer's count of marked bytes, if it has sent the option (`s.ceb`).
    heard: Option<u32>,
}

impl Counting {
    fn new() -> Self {
        let received = EcnCounters { ect0: 1, ect1: 1, ..EcnCounters::default() };
        Counting { received, changed: [false; 3], fresh: false, marked: false, marks: 0, heard: None }
    }

    /// A packet with this many bytes of data has arrived. Returns whether to acknowledge it at once.
    fn count(&mut self, ecn: Ecn, len: u32) -> bool {
        let ce = ecn == Ecn::Ce;
        let (counter, changed) = match ecn {
            Ecn::Ect0 => (&mut self.received.ect0, &mut self.changed[0]),
            Ecn::Ce => (&mut self.received.ce, &mut self.changed[1]),
            Ecn::Ect1 => (&mut self.received.ect1, &mut self.changed[2]),
            Ecn::NotEct => {
                self.marked = false;
                return false;
            }
        };
        if len > 0 {
            *counter = (*counter + len) % MODULUS;
            (*changed, self.fresh) = (true, true);
        }
        self.marks = self.marks.saturating_add(u8::from(ce));
        let first = !std::mem::replace(&mut self.marked, ce);
        len > 0 && ce && (first || self.marks >= MARKS)
    }

    /// The option, up to the last field that ever changed; the order depends on which ECT codepoint arrived first.
    fn option(&self) -> EcnCounters {
        let [ect0, ce, ect1] = self.changed;
        let ect1_first = ect1 && !ect0;
        let fields = if ect0 && ect1 { 3 } else { 1 + u8::from(ce) };
        EcnCounters { ect1_first, fields, ..self.received }
    }
}

impl Tcp {
    /// The connection is open.
    pub(super) fn begin_counting(&mut self, p: &Profile) {
        if self.ecn.is_accurate() && p.ecn_option {
            self.outstanding.get_or_insert_default().counting = Some(Box::new(Counting::new()));
        }
    }

    fn counting(&mut self) -> Option<&mut Counting> {
        self.outstanding.as_deref_mut().and_then(|o| o.counting.as_deref_mut())
    }

    /// A segment has arrived.
    #[inline(never)]
    pub(super) fn count_bytes(&mut self, seg: &Segment) {
        if self.counting().is_some_and(|counting| counting.count(seg.ecn, seg.len)) {
            self.receiver.ack_at_once();
        }
    }

    /// Adds the option to an outgoing segment if it has news and there is room.
    #[inline(never)]
    pub(super) fn add_counters(&mut self, options: &mut Options, len: u32, p: &Profile) {
        let room = MOST_OPTIONS - if self.timestamps { TIMESTAMPS } else { 0 };
        let Some(counting) = self.counting() else { return };
        counting.marks = 0;
        let counters = counting.option();
        let sacks = Options::sack_len_of(options.block_count().min(BLOCKS_FIRST));
        let fits = counters.wire_len() + sacks <= room
            && (len == 0 || u64::from(len) + options.wire_len() + counters.wire_len() <= p.mss.0);
        if !counting.fresh || !fits {
            return;
        }
        counting.fresh = false;
        options.set_ecn(counters);
        while options.wire_len() > room {
            options.pop_block();
        }
    }

    /// CE-marked bytes among the `delivered` ones that an acknowledgement covers, where the peer counts them. Any excess is carried over to the next.
    #[inline(never)]
    pub(super) fn marked_bytes(&mut self, seg: &Segment, delivered: u64) -> Option<u64> {
        let counting = self.counting()?;
        let Some(counters) = seg.options.ecn() else { return counting.heard.map(|_| 0) };
        let before = counting.heard.unwrap_or(0);
        let rise = counters.ce.wrapping_sub(before) % MODULUS;
        // An option older than the last one.
        let rise = if rise < MODULUS / 2 { u64::from(rise).min(delivered) } else { 0 };
        counting.heard = Some((before + rise as u32) % MODULUS);
        Some(rise)
    }
}

#[cfg(test)]
mod tests {
    use aqmkit_base::Duration;

    use super::*;

    /// Takes the count of marked bytes from a peer's acknowledgement.
    fn counted(ce: u32) -> Segment {
        let mut seg = Segment::default();
        seg.options.set_ecn(EcnCounters { ce: ce % MODULUS, fields: 2, ..EcnCounters::default() });
        seg
    }

    /// RFC 9768 section 3.2.3: the rise of the count, at most the delivered bytes; the excess is carried over. The
    /// count wraps after 24 bits; one that is not ahead by less than half of them is old.
    #[test]
    fn marked_bytes_are_the_rise_of_the_count() {
        let mut tcp = Tcp::new(&Profile::rfc(), Duration::ZERO);
        assert_eq!(tcp.marked_bytes(&counted(5), 5), None, "bytes are not counted");
        tcp.outstanding.get_or_insert_default().counting = Some(Box::new(Counting::new()));
        assert_eq!(tcp.marked_bytes(&Segment::default(), 1_000), None, "the peer has not said that it does");
        let half = MODULUS / 2;
        for (count, delivered, marked) in [
            (5_000, 10_000, 5_000),
            (5_000, 10_000, 0),
            (4_000, 10_000, 0),
            (12_000, 3_000, 3_000),
            (12_000, 10_000, 4_000),
            (12_000 + half - 1, u64::MAX, u64::from(half) - 1),
            (12_000 + half + half - 2, u64::MAX, u64::from(half) - 1),
            (12_000 + half - 1, u64::MAX, 0),
            (12_000 + MODULUS, u64::MAX, 2),
            (12_000 + half, u64::MAX, 0),
        ] {
            assert_eq!(tcp.marked_bytes(&counted(count), delivered), Some(marked), "{count}");
        }
        assert_eq!(tcp.marked_bytes(&Segment::default(), 1_000), Some(0), "no news");
    }

    /// Whether the option is sent with this much data and this many SACK blocks, if a full segment has 1000 bytes or 5.
    fn goes(mss: u64, len: u32, blocks: u64) -> bool {
        let p = Profile { mss: aqmkit_base::Bytes(mss), ..Profile::rfc() };
        let mut tcp = Tcp::new(&p, Duration::ZERO);
        let mut counting = Counting::new();
        counting.count(Ecn::Ce, 100);
        tcp.outstanding.get_or_insert_default().counting = Some(Box::new(counting));
        let mut options = Options::default();
        for block in 0..blocks {
            assert!(options.push_block(1, 1001 + 2000 * block, 2001 + 2000 * block));
        }
        tcp.add_counters(&mut options, len, &p);
        options.ecn().is_some()
    }

    /// Two fields take 8 bytes, one SACK block 12 and two 20. A bare acknowledgement is no larger than a full segment,
    /// however small that is.
    #[test]
    fn data_and_options_are_no_larger_than_a_full_segment() {
        for (mss, len, blocks, has_room) in [
            (1000, 992, 0, true),
            (1000, 993, 0, false),
            (1000, 980, 1, true),
            (1000, 981, 1, false),
            (1000, 972, 2, true),
            (1000, 973, 2, false),
            (5, 0, 0, true),
            (5, 0, 1, true),
            (5, 1, 0, false),
        ] {
            assert_eq!(goes(mss, len, blocks), has_room, "{len} bytes of {mss}, {blocks} blocks");
        }
    }

    /// RFC 9768 section 3.2.2.5.1: the first mark after unmarked data, and the second since the last acknowledgement;
    /// packets without data are not acknowledged at all.
    #[test]
    fn the_first_and_every_second_mark_are_acknowledged_at_once() {
        let mut counting = Counting::new();
        let mut at_once = |ecn, len, acked: bool| {
            if acked {
                counting.marks = 0;
            }
            counting.count(ecn, len)
        };
        let marks = [false, true, false, true, false].map(|acked| at_once(Ecn::Ce, 100, acked));
        assert_eq!(marks, [true, false, true, false, true]);
        assert!(!at_once(Ecn::Ect0, 100, false) && at_once(Ecn::Ce, 100, true) && !at_once(Ecn::Ce, 0, false));
    }

    /// RFC 9768 section 3.2.3: the fields are ECT(0), CE, ECT(1), or ECT(1), CE, ECT(0); trailing ones that never
    /// changed are omitted. Chosen here: the order by the codepoint that arrived first, and the first field always.
    #[test]
    fn the_option_ends_with_the_last_field_that_changed() {
        for (came, ect1_first, fields) in [
            (&[][..], false, 1),
            (&[Ecn::Ect0], false, 1),
            (&[Ecn::Ect1], true, 1),
            (&[Ecn::Ce], false, 2),
            (&[Ecn::Ect0, Ecn::Ce], false, 2),
            (&[Ecn::Ect1, Ecn::Ce], true, 2),
            (&[Ecn::Ect0, Ecn::Ect1], false, 3),
            (&[Ecn::Ect0, Ecn::Ce, Ecn::Ect1], false, 3),
        ] {
            let mut counting = Counting::new();
            for ecn in came {
                counting.count(*ecn, 100);
            }
            let option = counting.option();
            assert_eq!((option.ect1_first, option.fields), (ect1_first, fields), "{came:?}");
            let bytes = |ecn| 100 * u32::from(came.contains(&ecn));
            let counted = (option.ect0, option.ce, option.ect1);
            assert_eq!(counted, (1 + bytes(Ecn::Ect0), bytes(Ecn::Ce), 1 + bytes(Ecn::Ect1)), "{came:?}");
        }
    }
}
