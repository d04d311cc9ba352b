//! The common part of all laws: the description of an arrival, verdicts, and the program around a law.

use crate::fixed::{Factor, Fixed, quotient};
use crate::verifier::{masked, reread_mut};
use crate::words::{Words, words};

/// Random numbers available per arrival.
pub const DRAWS: usize = 4;

/// Maximum number of traffic classes of a link.
pub const CLASSES: usize = 8;

/// Number of gauges: values of a law's state shown with the statistics.
pub const GAUGES: usize = 4;

/// An arriving skb (one packet, or several as a GSO packet), and the queue that it finds.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// Current time in nanoseconds.
    pub now: u64,
    /// Flow hash; nonzero if the law uses flows.
    pub flow: u64,
    /// Length on the wire in bytes, counting the headers of every segment.
    pub bytes: u64,
    /// Number of packets on the wire (GSO segments).
    pub packets: u64,
    /// Queue length in packets.
    pub waiting_packets: u64,
    /// Queue length in bytes.
    pub waiting_bytes: u64,
    /// When the queue became empty, in nanoseconds; meaningless unless it is.
    pub empty_since: u64,
    /// Whether it is ECN-capable (ECT): 1, or 0.
    pub ecn_capable: u64,
    /// Traffic class.
    pub class: u64,
    /// Predicted dequeue time if admitted, in nanoseconds.
    pub leaves_at: u64,
    /// When the link becomes free for the packet at the head, in nanoseconds; 0 if the queue is observed on arrivals
    /// only, so that `empty_since` must be predicted.
    pub free_at: u64,
    /// Uniform random numbers.
    pub draws: [u32; DRAWS],
}

/// Consumes the random numbers of an arrival one by one.
#[derive(Debug)]
pub struct Draws<'a> {
    all: &'a [u32; DRAWS],
    next: u64,
}

impl<'a> Draws<'a> {
    /// The random numbers of an arrival.
    #[inline(always)]
    #[must_use]
    pub fn of(arrival: &'a Arrival) -> Self {
        Draws { all: &arrival.draws, next: 0 }
    }

    /// The next random number. A law must not take more than [`DRAWS`] per arrival.
    #[inline(always)]
    pub fn take(&mut self) -> u32 {
        let draw = self.all[masked::<DRAWS>(self.next)];
        self.next += 1;
        draw
    }

    /// True with this probability; consumes no number if it is 0 or 1.
    #[inline(always)]
    pub fn chance(&mut self, p: Fixed) -> bool {
        p > Fixed::ZERO && (p >= Fixed::ONE || p.exceeds(self.take()))
    }

    /// A uniform integer below `n`, which is at most 2^32.
    #[inline(always)]
    pub fn below(&mut self, n: u64) -> u64 {
        (u64::from(self.take()) * n) >> 32
    }
}

/// Why a packet was dropped or marked, with the discriminants of `aqmkit_aqm::Why`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Why {
    /// The queue was full.
    Overflow = 0,
    /// At random, before the queue was full.
    Early = 2,
    /// The average exceeded a threshold.
    Forced = 3,
    /// The flow or class exceeded its share.
    Unfair = 4,
    /// The predicted delay was too long.
    Sojourn = 5,
    /// The flow was classified as unresponsive and is rate-limited.
    Penalty = 7,
    /// It matched a packet of the same flow drawn from the queue.
    Matched = 8,
    /// The delay or the queue length exceeded a fixed threshold.
    Step = 9,
}

/// The decision on an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Admit it.
    Pass,
    /// Admit it with CE set.
    Mark(Why),
    /// Drop it.
    Drop(Why),
}

impl Verdict {
    /// Encoded as a number: 0 for pass; otherwise 1 for mark or 2 for drop, plus 256 times the reason.
    #[inline(always)]
    #[must_use]
    pub const fn code(self) -> u32 {
        match self {
            Verdict::Pass => 0,
            Verdict::Mark(why) => 1 + ((why as u32) << 8),
            Verdict::Drop(why) => 2 + ((why as u32) << 8),
        }
    }
}

words! {
    /// Queue limit, and the unit of queue lengths.
    pub struct Limit {
        /// The limit, in that unit.
        pub most: Fixed,
        /// The unit: bytes (1) or packets (0).
        pub bytes: u64,
    }
}

impl Limit {
    /// The queue length that an arrival finds, in the unit of the limit.
    #[inline(always)]
    #[must_use]
    pub fn length(&self, arrival: &Arrival) -> Fixed {
        Fixed::whole(if self.bytes != 0 { arrival.waiting_bytes } else { arrival.waiting_packets })
    }

    /// Whether the arrival does not fit. The segments of a GSO packet share one fate, and a GSO packet may exceed the
    /// whole limit, so it is admitted if its first segment fits; the queue may then exceed its limit by the rest.
    #[inline(always)]
    #[must_use]
    pub fn exceeded(&self, arrival: &Arrival) -> bool {
        let first = match (self.bytes, arrival.packets) {
            (0, _) => 1,
            (_, 1) => arrival.bytes,
            (_, packets) => quotient(arrival.bytes, packets),
        };
        self.length(arrival).plus(Fixed::whole(first)) > self.most
    }
}

impl Arrival {
    /// Signals congestion: marks if `ecn` is set and the packet is ECN-capable, otherwise drops.
    #[inline(always)]
    #[must_use]
    pub fn signal(&self, ecn: bool, why: Why) -> Verdict {
        if ecn && self.ecn_capable != 0 { Verdict::Mark(why) } else { Verdict::Drop(why) }
    }

    /// Clears the fields that a law does not declare to use.
    #[inline(always)]
    pub fn show_to<L: Law>(&mut self) {
        if !L::FLOWS {
            self.flow = 0;
        }
        if !L::CLASSES {
            self.class = 0;
        }
    }

    /// Whether the queue is empty.
    #[inline(always)]
    #[must_use]
    pub fn finds_nothing(&self) -> bool {
        self.waiting_packets == 0
    }
}

/// The law of a discipline that decides on arrival.
pub trait Law: Sized {
    /// The parameters, validated and derived by `aqmkit_kernel`.
    type Config: Words;

    /// The initial state: all zeros, like a new map in the kernel.
    const ZERO: Self;

    /// Names of the gauges.
    const GAUGES: &'static [&'static str];

    /// How many of the gauges, starting with the first, are rates in Mbit/s; they are reported in bit/s.
    const RATES: usize = 0;

    /// Whether the law uses the flow of an arrival. If not, the flow is not computed and is 0.
    const FLOWS: bool = false;
    /// Whether the law uses the class of an arrival; the caller then looks it up.
    const CLASSES: bool = false;

    /// The queue limit.
    fn limit(config: &Self::Config) -> &Limit;

    /// Initialises the zeroed state for an empty queue.
    fn start(&mut self, config: &Self::Config, now: u64);

    /// Decides on an arrival; if `full`, it exceeds the limit and is dropped regardless.
    fn on_arrival(&mut self, config: &Self::Config, arrival: &Arrival, full: bool) -> Verdict;

    /// Applies changed parameters, keeping as much state as possible.
    fn on_change(&mut self, config: &Self::Config, now: u64);

    /// Values of the gauges, in the order of [`Law::GAUGES`].
    fn gauges(&self, config: &Self::Config) -> [Fixed; GAUGES];
}

words! {
    /// Settings of a program besides its discipline's parameters.
    pub struct Surroundings {
        /// Incremented with each change of parameters.
        pub version: u64,
        /// Link time per byte, in nanoseconds.
        pub byte_time: Factor,
        /// Definition of a flow: the index of the `aqmkit_base::FlowKind`.
        pub flow_kind: u64,
    }
}

/// State of a program: its law's, and what is needed to predict when the queue becomes empty.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program<L> {
    /// Version of the parameters last applied; 0 before the first packet.
    version: u64,
    /// Predicted time at which the queue becomes empty.
    empty_at: u64,
    /// Whether the arrival exceeds the limit; in memory, so that the verifier can prune paths.
    full: u64,
    /// Predicted sojourn time of the arrival if admitted, in nanoseconds.
    pub wait: u64,
    /// The arrival being decided on.
    pub arrival: Arrival,
    /// State of the law.
    pub law: L,
}

impl<L: Law> Default for Program<L> {
    fn default() -> Self {
        Program { version: 0, empty_at: 0, full: 0, wait: 0, arrival: Arrival::default(), law: L::ZERO }
    }
}

impl<L: Law> Program<L> {
    /// Decides on an arrival.
    ///
    /// A stock qdisc is observed on arrivals only. If an arrival finds it empty, it became empty when the link had sent
    /// what the previous arrival left there; it holds each packet until the link could have sent it. aqmkit's own qdisc
    /// reports when it became empty and when the link becomes free (`free_at`), and dequeues a packet when its
    /// transmission begins.
    #[inline(always)]
    pub fn on_arrival(&mut self, around: &Surroundings, config: &L::Config) -> Verdict {
        self.arrival.show_to::<L>();
        let now = self.arrival.now;
        if self.version == 0 {
            self.law.start(config, now);
            self.empty_at = now;
        } else if self.version != around.version {
            self.law.on_change(config, now);
        }
        let this = reread_mut(self);
        this.version = around.version;
        this.predict(around);
        let this = reread_mut(this);
        this.full = u64::from(L::limit(config).exceeded(&this.arrival));
        let this = reread_mut(this);
        let full = this.full != 0;
        let decided = this.law.on_arrival(config, &this.arrival, full);
        let verdict = match decided {
            Verdict::Drop(why) => Verdict::Drop(why),
            _ if full => Verdict::Drop(Why::Overflow),
            _ => decided,
        };
        let this = reread_mut(this);
        if !matches!(verdict, Verdict::Drop(_)) {
            this.empty_at = this.arrival.leaves_at;
        } else if this.arrival.waiting_bytes != 0 {
            this.empty_at = this.arrival.now + around.byte_time.of(this.arrival.waiting_bytes);
        }
        verdict
    }

    /// Predicts when the arrival is dequeued, and since when the queue has been empty.
    #[inline(always)]
    fn predict(&mut self, around: &Surroundings) {
        let arrival = &mut self.arrival;
        let ahead = around.byte_time.of(arrival.waiting_bytes);
        if arrival.free_at == 0 {
            arrival.empty_since = if self.empty_at < arrival.now { self.empty_at } else { arrival.now };
            arrival.leaves_at = arrival.now + around.byte_time.of(arrival.waiting_bytes + arrival.bytes);
            self.wait = ahead;
        } else {
            let busy = arrival.free_at.saturating_sub(arrival.now);
            arrival.leaves_at = arrival.now + busy + ahead;
            self.wait = busy + ahead;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_counts_the_arrival() {
        let arrival =
            Arrival { packets: 1, bytes: 1500, waiting_packets: 8, waiting_bytes: 12_000, ..Arrival::default() };
        let packets = |most| Limit { most: Fixed::whole(most), bytes: 0 }.exceeded(&arrival);
        let bytes = |most| Limit { most: Fixed::whole(most), bytes: 1 }.exceeded(&arrival);
        assert_eq!((packets(8), packets(9)), (true, false));
        assert_eq!((bytes(13_499), bytes(13_500)), (true, false));
    }

    /// 45 packets of 1500 bytes exceed 64 kB, but are admitted because the first of them fits.
    #[test]
    fn packets_in_one_piece_fit_where_the_first_does() {
        let piece =
            Arrival { packets: 45, bytes: 67_500, waiting_packets: 20, waiting_bytes: 30_000, ..Arrival::default() };
        let packets = |most| Limit { most: Fixed::whole(most), bytes: 0 }.exceeded(&piece);
        let bytes = |most| Limit { most: Fixed::whole(most), bytes: 1 }.exceeded(&piece);
        assert_eq!((packets(20), packets(21)), (true, false));
        assert_eq!((bytes(31_499), bytes(31_500), bytes(64_000)), (true, false, false));
    }

    #[test]
    fn only_what_is_ecn_capable_is_marked() {
        let capable = Arrival { ecn_capable: 1, ..Arrival::default() };
        assert_eq!(capable.signal(true, Why::Early), Verdict::Mark(Why::Early));
        assert_eq!(capable.signal(false, Why::Early), Verdict::Drop(Why::Early));
        assert_eq!(Arrival::default().signal(true, Why::Early), Verdict::Drop(Why::Early));
        assert_eq!(
            (Verdict::Pass.code(), Verdict::Mark(Why::Unfair).code(), Verdict::Drop(Why::Overflow).code()),
            (0, 0x401, 2)
        );
    }
}
