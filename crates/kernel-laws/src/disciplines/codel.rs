//! CoDel: controlled delay. `aqmkit_aqm::disciplines::codel` has the law and its sources.
//!
//! A classifier sees packets when they come, not when they leave: there each is judged on arrival by the delay that it will have,
//! which is what waits over the rate of the link, as if it left at once after such a delay. Our own queue discipline judges a packet as it leaves,
//! by the delay that it had ([`AtHead`]); it cannot mark.

use crate::fixed::{Factor, Fixed};
use crate::law::{Arrival, GAUGES, Law, Limit, Verdict, Why};
use crate::verifier::masked;
use crate::words::words;

words! {
    /// CoDel's parameters.
    pub struct Config {
        /// What the queue may hold.
        pub limit: Limit,
        /// Whether packets are judged at the head of the queue (1), and nothing but the limit on arrival.
        pub at_head: u64,
        /// The most packets dropped at the head for one that is sent.
        pub max_drops: u64,
        /// How long the link takes for a byte, in nanoseconds.
        pub byte_time: Factor,
        /// The standing delay that is acceptable, in nanoseconds.
        pub target: u64,
        /// About the longest usual round-trip time, in nanoseconds.
        pub interval: u64,
        /// The interval over the square roots of 0 to [`ROOTS`] - 1; that of 0 is that of 1.
        pub per_root: [[u64; ROWS]; ROWS],
        /// ECN-capable packets that wait longer are marked besides, in nanoseconds.
        pub ce_threshold: u64,
        /// With no more bytes waiting than this nothing is dropped.
        pub mtu: u64,
        /// Whether `count` resumes two below where it was, as in 2012.
        pub as_in_2012: u64,
        /// Whether ECN-capable packets are marked where a drop is due.
        pub ecn: u64,
    }
}

/// The place of [`Config::at_head`] among the words of the parameters.
pub const AT_HEAD: usize = 2;
/// The rows of the table of square roots.
pub const ROWS: usize = 32;
/// Its entries.
pub const ROOTS: u64 = (ROWS * ROWS) as u64;
/// Quarterings after which any count is in the table.
const QUARTERINGS: u32 = 11;

/// Not in the dropping state.
const IDLE: u64 = 0;
/// In it.
const DROPPING: u64 = 1;
/// Another drop was just made: `drop_next` moves only if the next packet is bad too.
const AFTER_DROP: u64 = 2;

/// CoDel's state.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Codel {
    phase: u64,
    /// Drops since the dropping state was entered, and where it began counting.
    count: u64,
    lastcount: u64,
    /// When the delay will have been above `target` for an interval; 0 while it is not above it.
    first_above: u64,
    drop_next: u64,
}

/// A packet as it is judged, and what is behind it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judged {
    /// Now, in nanoseconds.
    pub now: u64,
    /// How long it waited, or will wait.
    pub delay: u64,
    /// Bytes behind it.
    pub bytes: u64,
    /// Packets behind it.
    pub packets: u64,
}

impl Config {
    /// An arrival, as if it left after the delay that it will have.
    #[inline(always)]
    fn predicted(&self, arrival: &Arrival) -> Judged {
        let delay = self.byte_time.of(arrival.waiting_bytes);
        Judged { now: arrival.now, delay, bytes: arrival.waiting_bytes, packets: arrival.waiting_packets }
    }

    /// `control_law` of the RFC: `interval / sqrt(count)` later. Beyond the table half of what a quarter of the count has, right to a
    /// part in 500.
    #[inline(always)]
    fn control_law(&self, from: u64, count: u64) -> u64 {
        let (mut quarter, mut halvings) = (count, 0);
        for _ in 0..QUARTERINGS {
            if quarter < ROOTS {
                break;
            }
            quarter >>= 2;
            halvings += 1;
        }
        let gap = self.per_root[masked::<ROWS>(quarter / ROWS as u64)][masked::<ROWS>(quarter)];
        from + (gap >> (halvings & 63))
    }
}

impl Codel {
    /// `dodequeue` of the RFC: whether the delay has been above `target` for an interval.
    #[inline(always)]
    fn ok_to_drop(&mut self, config: &Config, packet: &Judged) -> bool {
        if packet.delay < config.target || packet.bytes <= config.mtu {
            self.first_above = 0;
            return false;
        }
        if self.first_above == 0 {
            self.first_above = packet.now + config.interval;
        }
        packet.now >= self.first_above
    }

    /// The queue is empty.
    #[inline(always)]
    fn rest(&mut self) {
        (self.first_above, self.phase) = (0, IDLE);
    }

    /// Enters the dropping state with its first drop.
    #[inline(always)]
    fn enter(&mut self, config: &Config, now: u64) {
        let good_time = now.saturating_sub(self.drop_next);
        let delta = self.count.saturating_sub(self.lastcount);
        self.count = if config.as_in_2012 == 0 && delta > 1 && good_time < config.interval * 16 {
            delta
        } else if config.as_in_2012 != 0 && self.count > 2 && good_time < config.interval {
            self.count - 2
        } else {
            1
        };
        self.lastcount = self.count;
        self.drop_next = config.control_law(now, self.count);
    }

    /// The body of the RFC's `dequeue` for one packet: whether it is dropped, and in which phase that leaves the next one. `enough` says that
    /// as many were dropped in its place as may be.
    #[inline(always)]
    fn judge(&mut self, config: &Config, packet: &Judged, marks: bool, enough: bool) -> bool {
        if !self.ok_to_drop(config, packet) {
            self.phase = IDLE;
            return false;
        }
        if self.phase == IDLE {
            self.enter(config, packet.now);
            self.phase = DROPPING;
            return true;
        }
        if self.phase == AFTER_DROP {
            self.drop_next = config.control_law(self.drop_next, self.count);
        }
        self.phase = DROPPING;
        if packet.now < self.drop_next || enough {
            return false;
        }
        self.count += 1;
        if marks {
            self.drop_next = config.control_law(self.drop_next, self.count);
        } else {
            self.phase = AFTER_DROP;
        }
        true
    }
}

impl Law for Codel {
    type Config = Config;

    const ZERO: Codel = Codel { phase: IDLE, count: 0, lastcount: 0, first_above: 0, drop_next: 0 };

    const GAUGES: &'static [&'static str] = &["count", "dropping"];

    #[inline(always)]
    fn limit(config: &Config) -> &Limit {
        &config.limit
    }

    #[inline(always)]
    fn start(&mut self, _config: &Config, now: u64) {
        self.drop_next = now;
    }

    #[inline(always)]
    fn on_arrival(&mut self, config: &Config, arrival: &Arrival, full: bool) -> Verdict {
        if full {
            return Verdict::Drop(Why::Overflow);
        }
        if config.at_head != 0 {
            return Verdict::Pass;
        }
        if arrival.finds_nothing() {
            self.rest();
        }
        let packet = config.predicted(arrival);
        let marks = config.ecn != 0 && arrival.ecn_capable != 0;
        if self.judge(config, &packet, marks, false) {
            return if marks { Verdict::Mark(Why::Sojourn) } else { Verdict::Drop(Why::Sojourn) };
        }
        if arrival.ecn_capable != 0 && packet.delay > config.ce_threshold {
            return Verdict::Mark(Why::Step);
        }
        Verdict::Pass
    }

    #[inline(always)]
    fn on_change(&mut self, _config: &Config, _now: u64) {}

    #[inline(always)]
    fn gauges(&self, _config: &Config) -> [Fixed; GAUGES] {
        let dropping = if self.phase == IDLE { Fixed::ZERO } else { Fixed::ONE };
        [Fixed::whole(self.count), dropping, Fixed::ZERO, Fixed::ZERO]
    }
}

/// CoDel at the head of the queue, where RFC 8289 has it; all zeros before the first packet.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtHead {
    started: u64,
    /// Drops made for the packet that is to be sent.
    drops: u64,
    codel: Codel,
}

impl AtHead {
    /// Before the first packet.
    pub const ZERO: AtHead = AtHead { started: 0, drops: 0, codel: Codel::ZERO };

    /// Whether a packet that is about to leave is dropped instead.
    #[inline(always)]
    pub fn drops(&mut self, config: &Config, packet: &Judged) -> bool {
        if self.started == 0 {
            self.started = 1;
            self.codel.drop_next = packet.now;
        }
        let enough = self.drops >= config.max_drops;
        let dropped = self.codel.judge(config, packet, false, enough);
        self.drops = if dropped { self.drops + 1 } else { 0 };
        if packet.packets == 0 {
            self.drops = 0;
            self.codel.rest();
        }
        dropped
    }

    /// The numbers of [`Law::gauges`].
    #[inline(always)]
    #[must_use]
    pub fn gauges(&self, config: &Config) -> [Fixed; GAUGES] {
        self.codel.gauges(config)
    }
}
