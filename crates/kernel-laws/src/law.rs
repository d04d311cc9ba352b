//! What is the same for all laws: what they are told of an arrival, their verdict, and the program around them.

use crate::fixed::{Factor, Fixed, quotient};
use crate::verifier::{masked, reread_mut};
use crate::words::{Words, words};

/// Random numbers for one arrival.
pub const DRAWS: usize = 4;

/// The most traffic classes of a link.
pub const CLASSES: usize = 8;

/// Numbers of a law's inner state that are shown beside the statistics.
pub const GAUGES: usize = 4;

/// A packet that arrives, or several that the kernel hands on as one (GSO), and the queue that it finds.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// Now, in nanoseconds.
    pub now: u64,
    /// The packet's flow, a hash; not 0 where the law looks at it.
    pub flow: u64,
    /// Its bytes, with the headers of each packet.
    pub bytes: u64,
    /// How many packets it is on the wire.
    pub packets: u64,
    /// Packets that wait.
    pub waiting_packets: u64,
    /// Bytes that wait.
    pub waiting_bytes: u64,
    /// Since when nothing waits, in nanoseconds; meaningless while something does.
    pub empty_since: u64,
    /// Whether it is ECN-capable: 1, or 0.
    pub ecn_capable: u64,
    /// The traffic class it belongs to.
    pub class: u64,
    /// When it will be taken out of the queue if it is let in, in nanoseconds.
    pub leaves_at: u64,
    /// When the link is free for the packet at the head of the queue, in nanoseconds; 0 where the queue is seen at arrivals only, so that
    /// `empty_since` must be predicted.
    pub free_at: u64,
    /// Random numbers.
    pub draws: [u32; DRAWS],
}

/// The random numbers of an arrival, one after the other.
#[derive(Debug)]
pub struct Draws<'a> {
    all: &'a [u32; DRAWS],
    next: u64,
}

impl<'a> Draws<'a> {
    /// Those of an arrival.
    #[inline(always)]
    #[must_use]
    pub fn of(arrival: &'a Arrival) -> Self {
        Draws { all: &arrival.draws, next: 0 }
    }

    /// The next one. A law must not take more than [`DRAWS`].
    #[inline(always)]
    pub fn take(&mut self) -> u32 {
        let draw = self.all[masked::<DRAWS>(self.next)];
        self.next += 1;
        draw
    }

    /// True with this probability; takes no number where it is 0 or 1.
    #[inline(always)]
    pub fn chance(&mut self, p: Fixed) -> bool {
        p > Fixed::ZERO && (p >= Fixed::ONE || p.exceeds(self.take()))
    }

    /// A whole number below `n`, which is at most 2^32.
    #[inline(always)]
    pub fn below(&mut self, n: u64) -> u64 {
        (u64::from(self.take()) * n) >> 32
    }
}

/// Why a packet was dropped or marked: the numbers of `aqmkit_aqm::Why`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Why {
    /// The queue was full.
    Overflow = 0,
    /// By chance, before the queue is full.
    Early = 2,
    /// A threshold on the average was passed.
    Forced = 3,
    /// The flow or class had more than its share.
    Unfair = 4,
    /// It would wait too long.
    Sojourn = 5,
    /// The flow was found unresponsive and is held to a low rate.
    Penalty = 7,
    /// A packet of the same flow was drawn from the queue.
    Matched = 8,
    /// A fixed threshold on the delay or the length was passed.
    Step = 9,
}

/// The decision about an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Let it through.
    Pass,
    /// Forward it with Congestion Experienced set.
    Mark(Why),
    /// Discard it.
    Drop(Why),
}

impl Verdict {
    /// As one number: 0 for pass; else 1 for a mark or 2 for a drop, plus 256 times the reason.
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
    /// What the queue may hold, and in which unit lengths are counted.
    pub struct Limit {
        /// The limit, in that unit.
        pub most: Fixed,
        /// Whether the unit is bytes (1) or packets (0).
        pub bytes: u64,
    }
}

impl Limit {
    /// The queue that an arrival finds, in the unit of the limit.
    #[inline(always)]
    #[must_use]
    pub fn length(&self, arrival: &Arrival) -> Fixed {
        Fixed::whole(if self.bytes != 0 { arrival.waiting_bytes } else { arrival.waiting_packets })
    }

    /// Whether the arrival finds no room. Packets in one piece (GSO) have one fate, and one piece may be larger than the whole limit. They
    /// are let in where the first of them fits; so the queue may exceed its limit by the rest of one piece.
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
    /// Signals congestion: a mark where marking is on and the packet can carry one, else a drop.
    #[inline(always)]
    #[must_use]
    pub fn signal(&self, ecn: bool, why: Why) -> Verdict {
        if ecn && self.ecn_capable != 0 { Verdict::Mark(why) } else { Verdict::Drop(why) }
    }

    /// Takes away what a law does not say it looks at.
    #[inline(always)]
    pub fn show_to<L: Law>(&mut self) {
        if !L::FLOWS {
            self.flow = 0;
        }
        if !L::CLASSES {
            self.class = 0;
        }
    }

    /// Whether nothing waits.
    #[inline(always)]
    #[must_use]
    pub fn finds_nothing(&self) -> bool {
        self.waiting_packets == 0
    }
}

/// The law of a discipline that decides when a packet arrives.
pub trait Law: Sized {
    /// The parameters, checked and derived by `aqmkit_kernel`.
    type Config: Words;

    /// The state before the start: all zeros, as a new map of the kernel has it.
    const ZERO: Self;

    /// The name of each gauge.
    const GAUGES: &'static [&'static str];

    /// How many of them, from the first on, are rates in Mbit/s; they are shown in bits per second.
    const RATES: usize = 0;

    /// Whether it looks at the flow of an arrival, or at its class. Where it does not, they are 0, because nobody finds them out.
    const FLOWS: bool = false;
    /// See [`Law::FLOWS`].
    const CLASSES: bool = false;

    /// What the queue may hold.
    fn limit(config: &Self::Config) -> &Limit;

    /// The state of an empty queue, from all zeros.
    fn start(&mut self, config: &Self::Config, now: u64);

    /// Decides about an arrival; `full` says that it exceeds the limit and will be dropped in any case.
    fn on_arrival(&mut self, config: &Self::Config, arrival: &Arrival, full: bool) -> Verdict;

    /// Applies changed parameters and keeps as much state as possible.
    fn on_change(&mut self, config: &Self::Config, now: u64);

    /// What goes on inside, under the names of [`Law::GAUGES`].
    fn gauges(&self, config: &Self::Config) -> [Fixed; GAUGES];
}

words! {
    /// What a program is told beside the parameters of its discipline.
    pub struct Surroundings {
        /// Raised with each change of parameters.
        pub version: u64,
        /// How long the link takes for a byte, in nanoseconds.
        pub byte_time: Factor,
        /// Which packets are one flow: the place of that `aqmkit_base::FlowKind` in its list.
        pub flow_kind: u64,
    }
}

/// Where a program keeps its state: the law's, and what predicts when the queue behind becomes empty.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program<L> {
    /// The version of the parameters that the law has taken over; 0 before the first packet.
    version: u64,
    /// When what waits behind will have left.
    empty_at: u64,
    /// Whether the arrival exceeds the limit; in memory, where the verifier joins the paths.
    full: u64,
    /// How long the arrival waits if it is let in, in nanoseconds.
    pub wait: u64,
    /// The arrival that is being decided about.
    pub arrival: Arrival,
    /// The law's own state.
    pub law: L,
}

impl<L: Law> Default for Program<L> {
    fn default() -> Self {
        Program { version: 0, empty_at: 0, full: 0, wait: 0, arrival: Arrival::default(), law: L::ZERO }
    }
}

impl<L: Law> Program<L> {
    /// Decides about an arrival.
    ///
    /// A stock queue behind is seen at arrivals only. When one finds it empty, it became so when the link had sent all that
    /// the last arrival left there. It holds a packet until the link could have sent it. Our own queue says since when it has been empty and when the
    /// link is free (`free_at`), and hands over a packet when its transmission begins.
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

    /// When the arrival leaves the queue, and since when there is nothing in it.
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

    /// 45 packets of 1500 bytes are more than 64 kB: they fit where one of them does.
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
