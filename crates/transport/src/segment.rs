//! The segments exchanged by two TCP endpoints.

use aqmkit_base::Ecn;

/// The flags of a TCP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u16);

impl Flags {
    /// No flag.
    pub const NONE: Flags = Flags(0);
    /// No more data follows.
    pub const FIN: Flags = Flags(0x01);
    /// Opens a connection.
    pub const SYN: Flags = Flags(0x02);
    /// Refuses one.
    pub const RST: Flags = Flags(0x04);
    /// The end of a write.
    pub const PSH: Flags = Flags(0x08);
    /// `ack` means something.
    pub const ACK: Flags = Flags(0x10);
    /// The receiver has seen CE (RFC 3168 section 6.1).
    pub const ECE: Flags = Flags(0x40);
    /// The sender has reduced its window.
    pub const CWR: Flags = Flags(0x80);
    /// The third bit of the accurate ECN counter (RFC 9768 section 3.1).
    pub const AE: Flags = Flags(0x100);
    /// AE, CWR and ECE: the field in which accurate ECN counts.
    pub const ACE: Flags = Flags(0x1C0);

    /// Whether every flag of `other` is set.
    #[must_use]
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both.
    #[must_use]
    pub const fn and(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// The bits as on the wire: the low 12 bits of the header's data offset, reserved and flag fields.
    #[must_use]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// AE, CWR and ECE read as a number from 0 to 7 (RFC 9768 section 3.1).
    #[must_use]
    pub const fn ace(self) -> u8 {
        ((self.0 & Self::ACE.0) >> 6) as u8
    }

    /// The flags with AE, CWR and ECE set to the lowest three bits of a number.
    #[must_use]
    pub const fn with_ace(self, count: u8) -> Flags {
        Flags(self.0 & !Self::ACE.0 | (count as u16 & 7) << 6)
    }
}

/// The optional fields of a segment. SACK (RFC 2018): on a SYN, that the sender supports it; otherwise up to four
/// blocks of data received above `ack`, most recent first. The first may instead be data received twice (D-SACK, RFC
/// 2883). And the counters of accurate ECN (RFC 9768).
///
/// One word in a segment without options, as most are: segments are copied more often than options are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options(Option<Box<Listed>>);

/// The values of [`Options`], where present.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Listed {
    /// Start and end relative to `ack`: no window exceeds 32 bits.
    blocks: [(u32, u32); Options::MOST],
    /// How many there are.
    count: u32,
    /// Duplicate data to report (D-SACK): its length, and its start above `ack`. A length of 0 means none; if there are
    /// no blocks either, this is the option of a SYN.
    twice: u32,
    twice_from: i64,
    /// The counters of accurate ECN, which rarely accompany blocks.
    ecn: Option<Box<EcnCounters>>,
}

/// The option of accurate ECN (RFC 9768 section 3.2.3): bytes of data received with each ECN field. The wire carries
/// the lowest 24 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnCounters {
    /// Bytes received with ECT(0), starting at 1 (`EE0B`).
    pub ect0: u32,
    /// Bytes received with CE (`ECEB`).
    pub ce: u32,
    /// Bytes received with ECT(1), starting at 1 (`EE1B`).
    pub ect1: u32,
    /// Whether ECT(1) is first and ECT(0) last: option 174 and not 172.
    pub ect1_first: bool,
    /// How many of the three are present: trailing ones may be omitted if they never changed.
    pub fields: u8,
}

impl EcnCounters {
    /// The option's kind, and its fields in their order.
    #[must_use]
    pub fn on_wire(&self) -> (u8, Vec<u32>) {
        let (kind, first, last) =
            if self.ect1_first { (174, self.ect1, self.ect0) } else { (172, self.ect0, self.ect1) };
        (kind, [first, self.ce, last].into_iter().take(usize::from(self.fields)).collect())
    }

    /// Bytes in the header: kind and length, three for each field, padded to whole words.
    #[must_use]
    pub fn wire_len(&self) -> u64 {
        (2 + 3 * u64::from(self.fields)).next_multiple_of(4)
    }
}

impl Options {
    /// The maximum that fits into 40 bytes of TCP options; with timestamps one less.
    pub const MOST: usize = 4;

    /// On a SYN: the sender supports SACK. It takes no space beside the other options of a SYN.
    #[must_use]
    pub fn sack_permitted() -> Options {
        Options(Some(Box::default()))
    }

    /// Whether this is [`Options::sack_permitted`].
    #[must_use]
    pub fn permits_sack(&self) -> bool {
        self.0.as_ref().is_some_and(|listed| listed.count == 0 && listed.twice == 0 && listed.ecn.is_none())
    }

    /// Appends the block from `start` to before `end`. Returns whether there was room, and the block lies above `ack`.
    pub fn push_block(&mut self, ack: u64, start: u64, end: u64) -> bool {
        let offset = |seq: u64| seq.checked_sub(ack).and_then(|o| u32::try_from(o).ok());
        let (Some(start), Some(end)) = (offset(start), offset(end)) else { return false };
        if start >= end || self.block_count() == Self::MOST {
            return false;
        }
        let listed = self.0.get_or_insert_default();
        listed.blocks[listed.count as usize] = (start, end);
        listed.count += 1;
        true
    }

    /// Prepends the duplicate data from `start` to before `end`. Returns whether there was room.
    pub fn push_duplicate(&mut self, ack: u64, start: u64, end: u64) -> bool {
        let len = end.checked_sub(start).and_then(|len| u32::try_from(len).ok()).unwrap_or(0);
        if len == 0 || self.block_count() == Self::MOST {
            return false;
        }
        let listed = self.0.get_or_insert_default();
        (listed.twice, listed.twice_from) = (len, start.wrapping_sub(ack) as i64);
        true
    }

    /// The duplicate data reported by D-SACK, if any: the first sequence number, and the one after the last.
    #[must_use]
    pub fn duplicate(&self, ack: u64) -> Option<(u64, u64)> {
        let listed = self.0.as_ref().filter(|listed| listed.twice > 0)?;
        let start = ack.checked_add_signed(listed.twice_from)?;
        Some((start, start + u64::from(listed.twice)))
    }

    /// Removes the last block.
    pub fn pop_block(&mut self) {
        let count = self.block_count();
        match &mut self.0 {
            Some(listed) if count > 1 || (count == 1 && listed.ecn.is_some()) => {
                if listed.count == 0 {
                    (listed.twice, listed.twice_from) = (0, 0);
                } else {
                    listed.count -= 1;
                    listed.blocks[listed.count as usize] = (0, 0);
                }
            }
            Some(_) if count == 1 => self.0 = None,
            _ => {}
        }
    }

    /// All blocks of an acknowledgement of `ack`, as on the wire: first sequence number, and the one after the last.
    pub fn blocks(&self, ack: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.duplicate(ack).into_iter().chain(self.held(ack))
    }

    /// The blocks of data received above `ack`.
    pub fn held(&self, ack: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let used = self.0.as_ref().map_or(&[][..], |listed| &listed.blocks[..listed.count as usize]);
        used.iter().map(move |&(start, end)| (ack + u64::from(start), ack + u64::from(end)))
    }

    /// How many blocks there are.
    #[must_use]
    pub fn block_count(&self) -> usize {
        self.0.as_ref().map_or(0, |listed| listed.count as usize + usize::from(listed.twice > 0))
    }

    /// Sets the counters of accurate ECN.
    pub fn set_ecn(&mut self, counters: EcnCounters) {
        self.0.get_or_insert_default().ecn = Some(Box::new(counters));
    }

    /// The counters of accurate ECN, if present.
    #[must_use]
    pub fn ecn(&self) -> Option<&EcnCounters> {
        self.0.as_ref()?.ecn.as_deref()
    }

    /// Bytes of the options in the header, padded to whole words.
    #[must_use]
    #[inline]
    pub fn wire_len(&self) -> u64 {
        if self.0.is_none() { 0 } else { self.listed_len() }
    }

    #[inline(never)]
    fn listed_len(&self) -> u64 {
        Self::sack_len_of(self.block_count()) + self.ecn().map_or(0, EcnCounters::wire_len)
    }

    /// The length of `n` SACK blocks: kind, length and two bytes of padding, then eight bytes for each block.
    #[must_use]
    pub const fn sack_len_of(blocks: usize) -> u64 {
        if blocks == 0 { 0 } else { 4 + 8 * blocks as u64 }
    }
}

/// A TCP segment without its data. Sequence numbers start at 0 (the SYN) and do not wrap: the wire's
/// 32 bits are their lowest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Sequence number of the first byte (of the SYN or FIN, if there is no data).
    pub seq: u64,
    /// The next byte that the sender expects, if ACK is set.
    pub ack: u64,
    /// Bytes of data.
    pub len: u32,
    /// Bytes beyond `ack` that the sender can receive.
    pub window: u32,
    /// The sender's clock in its own ticks (RFC 7323), if timestamps are on.
    pub ts_val: u32,
    /// The echoed clock value, if timestamps are on and ACK is set.
    pub ts_ecr: u32,
    /// SACK blocks above `ack`, if SACK is on, and the counters of accurate ECN.
    pub options: Options,
    /// The flags.
    pub flags: Flags,
    /// The ECN field of the IP packet that carries it.
    pub ecn: Ecn,
    /// Whether this is a retransmission: for statistics, not on the wire.
    pub retransmission: bool,
}

impl Segment {
    /// The length in sequence numbers: data, and one each for SYN and FIN.
    #[must_use]
    pub const fn sequence_len(&self) -> u64 {
        self.len as u64 + self.flags.has(Flags::SYN) as u64 + self.flags.has(Flags::FIN) as u64
    }
}

#[cfg(test)]
mod tests {
    use aqmkit_base::Rng;

    use super::*;

    /// The blocks of an acknowledgement as a list: duplicate data first, then the data above `ack`.
    #[derive(Debug, Default)]
    struct Blocks {
        twice: Option<(u64, u64)>,
        held: Vec<(u64, u64)>,
        ecn: Option<EcnCounters>,
    }

    impl Blocks {
        fn all(&self) -> Vec<(u64, u64)> {
            self.twice.into_iter().chain(self.held.iter().copied()).collect()
        }
    }

    /// Options are what a list of blocks and the counters are, whatever is put in and taken out: four blocks at most, two words for each and
    /// one before them (RFC 2018 section 3).
    #[test]
    fn options_are_a_list_of_blocks_and_counters() {
        const ACK: u64 = 10_000;
        let mut rng = Rng::stream(1, "options");
        for _ in 0..300 {
            let (mut options, mut list) = (Options::default(), Blocks::default());
            for _ in 0..20 {
                let full = list.all().len() == Options::MOST;
                let start = ACK - 3 + rng.below(50);
                let end = start + rng.below(4);
                match rng.below(8) {
                    0..=2 => {
                        let fits = !full && start >= ACK && start < end;
                        assert_eq!(options.push_block(ACK, start, end), fits, "{start} to {end} in {list:?}");
                        list.held.extend(fits.then_some((start, end)));
                    }
                    3..=4 => {
                        let fits = !full && start < end;
                        assert_eq!(options.push_duplicate(ACK, start, end), fits, "{start} to {end} in {list:?}");
                        list.twice = if fits { Some((start, end)) } else { list.twice };
                    }
                    5..=6 => {
                        options.pop_block();
                        if list.held.pop().is_none() {
                            list.twice = None;
                        }
                    }
                    _ => {
                        let counters = EcnCounters { fields: 1 + rng.below(3) as u8, ce: 7, ..EcnCounters::default() };
                        options.set_ecn(counters);
                        list.ecn = Some(counters);
                    }
                }
                let blocks = list.all();
                assert_eq!(options.blocks(ACK).collect::<Vec<_>>(), blocks);
                assert_eq!(options.held(ACK).collect::<Vec<_>>(), list.held);
                assert_eq!((options.duplicate(ACK), options.block_count()), (list.twice, blocks.len()));
                assert_eq!(options.ecn(), list.ecn.as_ref());
                let words = if blocks.is_empty() { 0 } else { 1 + 2 * blocks.len() as u64 };
                let of_ecn = list.ecn.map_or(0, |counters| [0, 2, 2, 3][usize::from(counters.fields)]);
                assert_eq!(options.wire_len(), 4 * (words + of_ecn), "{list:?}");
                // Nothing at all is no option, unlike the one of a SYN.
                let empty = blocks.is_empty() && list.ecn.is_none();
                assert_eq!((options == Options::default(), options.permits_sack()), (empty, false));
            }
        }
        assert!(Options::sack_permitted().permits_sack());
    }
}
