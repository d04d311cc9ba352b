//! RED's early drops: a probability that increases with the average, with drops spread evenly. See
//! `aqmkit_aqm::law::early`.

use crate::fixed::{Factor, Fixed, ONE};
use crate::law::{Arrival, Verdict, Why};
use crate::words::words;

words! {
    /// Base drop probability as a function of the average.
    pub struct Ramp {
        /// Average below which nothing is dropped.
        pub min: Fixed,
        /// Average at which the probability is `max_p`.
        pub max: Fixed,
        /// Average above which everything is dropped: `max`, or `2 max` if gentle.
        pub ceiling: Fixed,
        /// Probability at `max`.
        pub max_p: Fixed,
        /// Reciprocal of `max - min`.
        pub per_width: Factor,
        /// Reciprocal of `max`.
        pub per_max: Factor,
    }
}

impl Ramp {
    /// `p_b = max_p (avg - min) / (max - min)` up to `max`; gentle RED: from `max_p` to 1 between `max` and `2 max`.
    #[inline(always)]
    #[must_use]
    pub fn base_probability(&self, max_p: Fixed, avg: Fixed) -> Fixed {
        if avg <= self.max {
            let share = self.per_width.times(avg.minus(self.min));
            max_p.part(share.0 as u64)
        } else {
            let share = self.per_max.times(avg.minus(self.max));
            max_p.plus(Fixed::ONE.minus(max_p).part(share.0 as u64))
        }
    }
}

/// Whether to drop: a draw against `p_a = p_b / (1 - count p_b)`. If the denominator is zero or negative, always.
#[inline(always)]
#[must_use]
pub fn drop_early(p_b: Fixed, count: u64, draw: u32) -> bool {
    let (p_b, count) = (p_b.0 as u64, if count < ONE { count } else { ONE });
    // The draw is below p_b / room iff draw * room < p_b * 2^32; p_b < room <= 1, so neither product overflows.
    let room = if p_b < ONE && count * p_b < ONE { ONE - count * p_b } else { 0 };
    room <= p_b || u64::from(draw) * room < p_b << 32
}

/// RED's mode (below, in, or above the band), and the `count` that spreads early drops.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DropMode {
    /// Packets since the last drop; -1 initially.
    count: i64,
    in_early_drop: u64,
}

impl DropMode {
    /// Zeroed state, as in a new map.
    pub const ZERO: DropMode = DropMode { count: 0, in_early_drop: 0 };

    /// Initial state, before the first packet.
    #[inline(always)]
    pub fn start(&mut self) {
        *self = DropMode { count: -1, in_early_drop: 0 };
    }

    /// Counts an arrival at a full queue, which is dropped.
    #[inline(always)]
    pub fn on_overflow(&mut self) {
        self.count = 0;
    }

    /// Decides on an arrival at a queue of `waiting` packets: the reason to drop it, if any. `scale` multiplies the
    /// base probability; it includes the number of packets in a GSO packet, since each could have been dropped.
    #[inline(always)]
    pub fn on_arrival(
        &mut self,
        ramp: &Ramp,
        max_p: Fixed,
        avg: Fixed,
        scale: Scale,
        arrival: &Arrival,
    ) -> Option<Why> {
        self.on_class_arrival(ramp, max_p, avg, arrival.waiting_packets, scale, arrival)
    }

    /// As [`on_arrival`](Self::on_arrival), where `waiting` counts the packets of one class.
    #[inline(always)]
    pub fn on_class_arrival(
        &mut self,
        ramp: &Ramp,
        max_p: Fixed,
        avg: Fixed,
        waiting: u64,
        scale: Scale,
        arrival: &Arrival,
    ) -> Option<Why> {
        self.count = self.count.wrapping_add(arrival.packets as i64);
        let why = if avg > ramp.min && waiting > 1 {
            if avg > ramp.ceiling {
                Some(Why::Forced)
            } else if self.in_early_drop == 0 {
                self.count = 1;
                self.in_early_drop = 1;
                None
            } else if drop_early(scale.of(ramp.base_probability(max_p, avg)), self.count as u64, arrival.draws[0]) {
                Some(Why::Early)
            } else {
                None
            }
        } else {
            self.in_early_drop = 0;
            None
        };
        if why.is_some() {
            self.count = 0;
        }
        why
    }
}

/// Multiplier of an arrival's base probability.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// A size in packets or bytes.
    pub size: u64,
    /// Reciprocal of the mean packet size if `size` is in bytes; `None` for packets.
    pub per_byte: Option<Factor>,
}

impl Scale {
    /// The multiplier of an arrival: its packets, or in byte mode its bytes over the mean packet size.
    #[inline(always)]
    #[must_use]
    pub fn of_arrival(arrival: &Arrival, byte_mode: u64, per_byte: Factor) -> Scale {
        if byte_mode != 0 {
            Scale { size: arrival.bytes, per_byte: Some(per_byte) }
        } else {
            Scale { size: arrival.packets, per_byte: None }
        }
    }

    /// The scaled probability, at most 1.
    #[inline(always)]
    #[must_use]
    pub fn of(self, p: Fixed) -> Fixed {
        let product = p.times(self.size).0 as u64;
        let scaled = match self.per_byte {
            Some(factor) => factor.of(product),
            None => product,
        };
        Fixed(if scaled < ONE { scaled } else { ONE } as i64)
    }
}

/// Flag: mark ECN-capable packets instead of dropping.
pub const ECN: u64 = 1;
/// Flag: above the ceiling, drop even ECN-capable packets.
pub const HARDDROP: u64 = 2;
/// Flag: admit packets that should be marked but are not ECN-capable.
pub const NODROP: u64 = 4;

/// The verdict for RED's decision under the flags [`ECN`], [`HARDDROP`] and [`NODROP`].
#[inline(always)]
#[must_use]
pub fn early_verdict(decision: Option<Why>, rules: u64, arrival: &Arrival) -> Verdict {
    let Some(why) = decision else { return Verdict::Pass };
    let dropped = rules & ECN == 0 || (matches!(why, Why::Forced) && rules & HARDDROP != 0);
    if rules & NODROP != 0 && !dropped && arrival.ecn_capable == 0 {
        return Verdict::Pass;
    }
    arrival.signal(!dropped, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixed::Fraction;

    #[test]
    fn a_drop_is_certain_after_nine_packets_at_one_tenth() {
        let tenth = Fixed((ONE / 10) as i64 + 1);
        assert!(!drop_early(tenth, 8, u32::MAX));
        assert!(drop_early(tenth, 9, u32::MAX));
        assert!(drop_early(tenth, u64::MAX, u32::MAX));
        // 0.1 / (1 - 0.5) = 0.2
        let fifth = (ONE / 5) as u32;
        assert!(drop_early(tenth, 5, fifth - 2) && !drop_early(tenth, 5, fifth + 8));
    }

    #[test]
    fn a_packet_of_double_size_has_double_the_probability() {
        let per_byte = Some(Factor { mantissa: Fraction::new(1 << 63), shifts: 9 });
        assert_eq!(Scale { size: 2048, per_byte }.of(Fixed(1000)), Fixed(2000));
        assert_eq!(Scale { size: 3, per_byte: None }.of(Fixed(1000)), Fixed(3000));
        assert_eq!(Scale { size: 3, per_byte: None }.of(Fixed::ONE), Fixed::ONE);
    }
}
