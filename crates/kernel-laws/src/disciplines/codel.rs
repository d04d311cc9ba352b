//! CoDel: controlled delay. Law and sources: `aqmkit_aqm::disciplines::codel`.
//!
//! A classifier sees packets on arrival only. There CoDel judges each packet by its predicted delay (backlog over link
//! rate), as if it departed at once after such a delay. In aqmkit's own qdisc, CoDel judges a packet by its actual
//! delay as it departs ([`AtHead`]), but cannot mark.

use crate::fixed::{Factor, Fixed};
use crate::law::{Arrival, GAUGES, Law, Limit, Verdict, Why};
use crate::verifier::masked;
use crate::words::words;

words! {
    /// CoDel's parameters.
    pub struct Config {
        /// Queue limit.
        pub limit: Limit,
        /// Judge packets at the head of the queue (1), and apply only the limit on arrival.
        pub at_head: u64,
        /// Maximum number of drops at the head per packet sent.
        pub max_drops: u64,
        /// Link time per byte, in nanoseconds.
        pub byte_time: Factor,
        /// Acceptable standing queue delay, in nanoseconds.
        pub target: u64,
        /// Sliding window of the minimum delay, about a worst-case RTT, in nanoseconds.
        pub interval: u64,
        /// `interval / sqrt(count)` for `count` from 0 to [`ROOTS`] - 1; entry 0 equals entry 1.
        pub per_root: [[u64; ROWS]; ROWS],
        /// ECN-capable packets are marked when their delay exceeds this, in nanoseconds.
        pub ce_threshold: u64,
        /// No drops while the backlog behind the packet is at most this, in bytes.
        pub mtu: u64,
        /// Re-enter the dropping state with `count - 2`, as in the 2012 version.
        pub as_in_2012: u64,
        /// Mark ECN-capable packets instead of dropping.
        pub ecn: u64,
    }
}

/// Index of [`Config::at_head`] among the 64-bit words of the parameters.
pub const AT_HEAD: usize = 2;
/// Rows of the square-root table.
pub const ROWS: usize = 32;
/// Entries of the square-root table.
pub const ROOTS: u64 = (ROWS * ROWS) as u64;
/// Divisions by four after which any count is within the table.
const QUARTERINGS: u32 = 11;

/// Phase: not in the dropping state.
const IDLE: u64 = 0;
/// Phase: in the dropping state.
const DROPPING: u64 = 1;
/// Phase: just dropped; `drop_next` advances only if the next packet is over target too.
const AFTER_DROP: u64 = 2;

/// State of CoDel.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Codel {
    phase: u64,
    /// Drops in this dropping state, and its initial `count`.
    count: u64,
    lastcount: u64,
    /// When the delay will have been above `target` for an interval; 0 while it is below (`first_above_time`).
    first_above: u64,
    drop_next: u64,
}

/// A packet to judge, and the backlog behind it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judged {
    /// Current time in nanoseconds.
    pub now: u64,
    /// Sojourn time in nanoseconds, actual or predicted.
    pub delay: u64,
    /// Backlog behind it, in bytes.
    pub bytes: u64,
    /// Backlog behind it, in packets.
    pub packets: u64,
}

impl Config {
    /// The arrival, as if it departed after its predicted delay.
    #[inline(always)]
    fn predicted(&self, arrival: &Arrival) -> Judged {
        let delay = self.byte_time.of(arrival.waiting_bytes);
        Judged { now: arrival.now, delay, bytes: arrival.waiting_bytes, packets: arrival.waiting_packets }
    }

    /// `control_law` of RFC 8289: `from + interval / sqrt(count)`. Beyond the table, `1/sqrt(c) = 1/sqrt(c/4) / 2`,
    /// with an error below 1 in 500.
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
    /// `dodequeue` of RFC 8289: whether the delay has been above `target` for an interval.
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

    /// The queue has become empty.
    #[inline(always)]
    fn rest(&mut self) {
        (self.first_above, self.phase) = (0, IDLE);
    }

    /// Enters the dropping state, with its first drop.
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

    /// The loop body of RFC 8289's `dequeue` for one packet: whether to drop it; updates the phase. `enough` is set
    /// once the maximum number of drops for one departure is reached.
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

/// CoDel at the head of the queue, as in RFC 8289.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtHead {
    started: u64,
    /// Drops so far for the packet to be sent.
    drops: u64,
    codel: Codel,
}

impl AtHead {
    /// Zeroed state, as in a new map.
    pub const ZERO: AtHead = AtHead { started: 0, drops: 0, codel: Codel::ZERO };

    /// Whether to drop a packet that is about to depart.
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

    /// Values of [`Law::gauges`].
    #[inline(always)]
    #[must_use]
    pub fn gauges(&self, config: &Config) -> [Fixed; GAUGES] {
        self.codel.gauges(config)
    }
}
