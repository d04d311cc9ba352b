//! Fixed-point arithmetic: BPF programs have no floating point.

use crate::verifier::{masked, opaque};

/// Fractional bits of a [`Fixed`].
pub const FRACTION_BITS: u32 = 32;

/// The bits of one as a [`Fixed`]; also the number of values of a 32-bit draw.
pub const ONE: u64 = 1 << FRACTION_BITS;

/// A fraction `x / 2^64`, in halves: with a single 64-bit number LLVM would form 128-bit products, which BPF lacks.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fraction {
    /// Lower 32 bits.
    pub low: u32,
    /// Upper 32 bits.
    pub high: u32,
}

impl Fraction {
    /// The fraction `bits / 2^64`.
    #[must_use]
    pub const fn new(bits: u64) -> Fraction {
        Fraction { low: bits as u32, high: (bits >> 32) as u32 }
    }

    /// As [`new`](Self::new), for bits computed at run time. Hides from the compiler that both halves come from one
    /// number.
    #[inline(always)]
    #[must_use]
    pub fn computed(bits: u64) -> Fraction {
        Fraction { low: opaque(bits as u32), high: opaque((bits >> 32) as u32) }
    }

    /// This fraction of `x`, rounded down: the upper half of the product, from four 32-bit products.
    #[inline(always)]
    #[must_use]
    pub const fn of(self, x: u64) -> u64 {
        let (x1, x0) = (x >> 32, x & 0xffff_ffff);
        let (high, low) = (self.high as u64, self.low as u64);
        let (middle, other) = (x1 * low, x0 * high);
        let carry = ((x0 * low) >> 32) + (middle & 0xffff_ffff) + (other & 0xffff_ffff);
        x1 * high + (middle >> 32) + (other >> 32) + (carry >> 32)
    }

    /// One minus this fraction.
    #[inline(always)]
    #[must_use]
    pub const fn rest(self) -> Fraction {
        Fraction { low: !self.low, high: !self.high }
    }
}

/// A signed 32.32 fixed-point number: queue lengths, packet counts, probabilities.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fixed(pub i64);

impl Fixed {
    /// Zero.
    pub const ZERO: Fixed = Fixed(0);
    /// One.
    pub const ONE: Fixed = Fixed(ONE as i64);

    /// The integer `n`, below 2^31.
    #[inline(always)]
    #[must_use]
    pub const fn whole(n: u64) -> Fixed {
        Fixed((n << FRACTION_BITS) as i64)
    }

    /// `self + other`.
    #[inline(always)]
    #[must_use]
    pub const fn plus(self, other: Fixed) -> Fixed {
        Fixed(self.0.wrapping_add(other.0))
    }

    /// `self / n` for nonnegative `self`; 0 if `n` is 0.
    #[inline(always)]
    #[must_use]
    pub const fn over(self, n: u64) -> Fixed {
        Fixed(quotient(self.0 as u64, n) as i64)
    }

    /// `self - other`.
    #[inline(always)]
    #[must_use]
    pub const fn minus(self, other: Fixed) -> Fixed {
        Fixed(self.0.wrapping_sub(other.0))
    }

    /// `n * self`, which must not overflow.
    #[inline(always)]
    #[must_use]
    pub const fn times(self, n: u64) -> Fixed {
        Fixed(self.0.wrapping_mul(n as i64))
    }

    /// `self` clamped to `low..=high`.
    #[inline(always)]
    #[must_use]
    pub fn within(self, low: Fixed, high: Fixed) -> Fixed {
        if self.0 < low.0 {
            low
        } else if self.0 > high.0 {
            high
        } else {
            self
        }
    }

    /// Whether a draw, uniform on 0 to 2^32 - 1, is below this probability.
    #[inline(always)]
    #[must_use]
    pub const fn exceeds(self, draw: u32) -> bool {
        self.0 > draw as i64
    }

    /// `self * part / 2^32` for nonnegative `self` and `part` at most 2^32.
    #[inline(always)]
    #[must_use]
    pub const fn part(self, part: u64) -> Fixed {
        let bits = self.0 as u64;
        Fixed(((bits >> 32) * part + (((bits & 0xffff_ffff) * part) >> 32)) as i64)
    }
}

/// A positive multiplier with 64 significant bits at any magnitude.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Factor {
    /// The significand.
    pub mantissa: Fraction,
    /// Right shift of the product in the lower 32 bits, left shift of the other operand in the upper ones.
    pub shifts: u64,
}

impl Factor {
    /// The multiplier zero.
    pub const ZERO: Factor = Factor { mantissa: Fraction { low: 0, high: 0 }, shifts: 0 };

    /// The product with nonnegative bits, rounded down; must not overflow.
    #[inline(always)]
    #[must_use]
    pub const fn of(self, bits: u64) -> u64 {
        self.mantissa.of(bits << ((self.shifts >> 32) & 63)) >> (self.shifts & 63)
    }

    /// The product with a signed number, rounded towards zero.
    #[inline(always)]
    #[must_use]
    pub const fn times(self, x: Fixed) -> Fixed {
        if x.0 < 0 { Fixed(-(self.of(x.0.unsigned_abs()) as i64)) } else { Fixed(self.of(x.0 as u64) as i64) }
    }
}

/// Exponent bits per table of a [`Powers`].
pub const DIGIT: u32 = 6;
/// Number of tables: exponents are below 2^24.
pub const DIGITS: usize = 4;

/// Powers of a number below one: table 0 has the exponents 0 to 63, table 1 their multiples by 64, and so on. Tables
/// rather than repeated squaring, because the verifier would explore every branch that depends on the exponent.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Powers(pub [[Fraction; 1 << DIGIT]; DIGITS]);

impl Default for Powers {
    fn default() -> Self {
        Powers([[Fraction::default(); 1 << DIGIT]; DIGITS])
    }
}

impl Powers {
    /// The product of nonnegative bits with the `n`-th power, for any `n`; above 2^24 the power counts as zero.
    #[inline(always)]
    #[must_use]
    pub fn of(&self, n: u64, bits: u64) -> u64 {
        let digit = |place: u32| masked::<{ 1 << DIGIT }>(n >> (DIGIT * place));
        let first = self.0[0][digit(0)].of(bits);
        if n < 1 << DIGIT {
            first
        } else if n < 1 << (DIGIT * DIGITS as u32) {
            self.0[3][digit(3)].of(self.0[2][digit(2)].of(self.0[1][digit(1)].of(first)))
        } else {
            0
        }
    }

    /// As [`of`](Self::of), for a signed number.
    #[inline(always)]
    #[must_use]
    pub fn times(&self, n: u64, x: Fixed) -> Fixed {
        let product = self.of(n, x.0.unsigned_abs()) as i64;
        Fixed(if x.0 < 0 { -product } else { product })
    }
}

/// `a / b`, or 0 if `b` is 0, as in BPF: there is no panic in the kernel.
#[inline(always)]
#[must_use]
pub const fn quotient(a: u64, b: u64) -> u64 {
    match a.checked_div(b) {
        Some(quotient) => quotient,
        None => 0,
    }
}

/// `a % b`, or `a` if `b` is 0, as in BPF.
#[inline(always)]
#[must_use]
pub const fn remainder(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { a % b }
}

/// `a / b` with this many fractional octets, rounded down, for `b` below 2^56 and a result that fits; 0 if `b` is 0.
#[inline(always)]
#[must_use]
pub fn ratio(a: u64, b: u64, octets: u32) -> u64 {
    let (mut ratio, mut rest) = (quotient(a, b), remainder(a, b));
    for _ in 0..octets {
        rest <<= 8;
        ratio = ratio << 8 | quotient(rest, b);
        rest = remainder(rest, b);
    }
    ratio
}

/// Extra fractional bits of probabilities with small steps: a [`Fixed`] times 2 to this.
pub const FINER: u32 = 24;

/// `start` after `n` equal steps, clamped to the bounds.
#[inline(always)]
#[must_use]
pub fn repeated(start: Fixed, step: Fixed, n: u64, low: Fixed, high: Fixed) -> Fixed {
    if n == 0 || step.0 == 0 {
        return start;
    }
    let room = if step.0 < 0 { start.minus(low) } else { high.minus(start) };
    let to_bound = quotient(room.0 as u64, step.0.unsigned_abs()) + 1;
    start.plus(step.times(if n < to_bound { n } else { to_bound })).within(low, high)
}

/// Hashes a flow into a table, with the finaliser of `SplitMix64`, like `aqmkit_base::FlowKey::hash`.
#[inline(always)]
#[must_use]
pub const fn spread(flow: u64, salt: u64) -> u64 {
    finalise((flow ^ salt).wrapping_add(0x9e37_79b9_7f4a_7c15))
}

/// The salt of a hash by its number, like `aqmkit_base::flow::salt`.
#[inline(always)]
#[must_use]
pub const fn salt(number: u64) -> u64 {
    finalise(number)
}

#[inline(always)]
const fn finalise(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_128_bits() {
        let mut x = 0x1234_5678_9abc_def1_u64;
        for _ in 0..100_000 {
            x = spread(x, 1);
            let (a, b) = (x, spread(x, 2) >> (x % 64));
            assert_eq!(Fraction::new(b).of(a), ((u128::from(a) * u128::from(b)) >> 64) as u64, "{a} {b}");
            let (number, part) = (a >> 1, b % (ONE + 1));
            let wanted = ((u128::from(number) * u128::from(part)) >> 32) as i64;
            assert_eq!(Fixed(number as i64).part(part), Fixed(wanted), "{number} {part}");
        }
    }

    #[test]
    fn ratios_are_those_of_128_bits() {
        let mut x = 0x1234_5678_9abc_def1_u64;
        for _ in 0..100_000 {
            x = spread(x, 1);
            let (a, b) = (x >> 40, 1 + (spread(x, 2) >> (8 + x % 50)));
            for octets in [0, 4, 7] {
                let wanted = (u128::from(a) << (8 * octets)) / u128::from(b);
                if let Ok(wanted) = u64::try_from(wanted) {
                    assert_eq!(ratio(a, b, octets), wanted, "{a} / {b} to {octets}");
                }
            }
        }
        assert_eq!(ratio(5, 0, 4), 0);
    }

    #[test]
    fn a_factor_keeps_the_sign_and_shifts_either_way() {
        let half = Factor { mantissa: Fraction::new(1 << 63), shifts: 0 };
        let six = Factor { mantissa: Fraction::new(3 << 62), shifts: 3 << 32 };
        let eighth = Factor { mantissa: Fraction::new(1 << 63), shifts: 2 };
        let three = Fixed::whole(3);
        assert_eq!(half.times(three), Fixed(3 << 31));
        assert_eq!(six.times(three), Fixed::whole(18));
        assert_eq!(eighth.times(Fixed(-three.0)), Fixed(-(3 << 29)));
    }

    #[test]
    fn steps_end_at_a_bound() {
        let from = |start, step, n| repeated(Fixed(start), Fixed(step), n, Fixed(-100), Fixed(100)).0;
        assert_eq!(
            [from(5, 7, 3), from(5, 7, 1 << 60), from(5, -7, 20), from(5, 0, 9), from(5, 7, 0)],
            [26, 100, -100, 5, 5]
        );
    }

    #[test]
    fn powers_of_a_half() {
        let mut powers = Powers::default();
        for (digit, table) in powers.0.iter_mut().enumerate() {
            for (i, power) in table.iter_mut().enumerate() {
                let exponent = (i as u64) << (DIGIT * digit as u32);
                *power = Fraction::new(if exponent == 0 {
                    u64::MAX
                } else {
                    1_u64.checked_shl(64 - exponent.min(64) as u32).unwrap_or(0)
                });
            }
        }
        for n in 1..60 {
            assert_eq!(powers.of(n, 1 << 62), (1 << 62) >> n, "{n}");
        }
        assert!(powers.of(64, u64::MAX) <= 1 && powers.of(1 << 23, u64::MAX) == 0);
        assert_eq!(powers.of(1 << 30, u64::MAX), 0, "beyond the table");
        assert_eq!(powers.times(3, Fixed(-80)), Fixed(-10));
    }
}
