//! Conversions between floating point and fixed point.

use aqmkit_aqm::ParamError;
use aqmkit_base::size::Counting;
use aqmkit_base::{Amount, Duration};
use aqmkit_kernel_laws::fixed::{DIGIT, FINER, Factor, Fixed, Fraction, ONE, Powers};
use aqmkit_kernel_laws::law::Limit;
use aqmkit_kernel_laws::rate;

/// Upper bound of lengths, counts and rates: 2^31 - 1.
const MOST: f64 = 2_147_483_647.0;

/// Converts a number from -2^31 to 2^31 to fixed point.
///
/// # Errors
/// When it is out of range.
pub fn fixed(field: &str, x: f64) -> Result<Fixed, ParamError> {
    if x.abs() <= MOST {
        return Ok(Fixed(libm::round(x * ONE as f64) as i64));
    }
    Err(ParamError::new(field, x, "in the kernel it must be below 2147483648"))
}

/// Converts back to floating point.
#[must_use]
pub fn float(x: Fixed) -> f64 {
    x.0 as f64 / ONE as f64
}

/// A nonnegative multiplier.
///
/// # Errors
/// When it is negative or above 2^30.
pub fn factor(field: &str, x: f64) -> Result<Factor, ParamError> {
    if x <= 0.0 || x.is_nan() {
        return if x == 0.0 {
            Ok(Factor::default())
        } else {
            Err(ParamError::new(field, x, "it must not be negative"))
        };
    }
    let (mantissa, exponent) = libm::frexp(x);
    if exponent > 30 {
        return Err(ParamError::new(field, x, "in the kernel it must be below 1073741824"));
    }
    // The mantissa is in [0.5, 1); times 2^64 it fits, since 53 bits need no rounding.
    let bits = (libm::ldexp(mantissa, 53) as u64) << 11;
    let shifts = if exponent > 0 { (exponent as u64) << 32 } else { u64::from(exponent.unsigned_abs().min(63)) };
    Ok(Factor { mantissa: Fraction::new(bits), shifts })
}

/// A multiplier with [`FINER`] extra fractional bits, for probabilities.
///
/// # Errors
/// As [`factor`]; and when it is 64 or more.
pub fn finer(field: &str, x: f64) -> Result<Factor, ParamError> {
    factor(field, x * f64::from(1 << FINER))
}

/// A probability with [`FINER`] extra fractional bits.
#[must_use]
pub fn finer_fixed(p: f64) -> Fixed {
    Fixed(libm::round(p * ONE as f64 * f64::from(1 << FINER)) as i64)
}

/// The reciprocal `1 / x`, or 0 if `x` is 0.
///
/// # Errors
/// As [`factor`].
pub fn inverse(field: &str, x: f64) -> Result<Factor, ParamError> {
    factor(field, if x == 0.0 { 0.0 } else { 1.0 / x })
}

/// `x` as a fraction of 2^64.
fn fraction(x: f64) -> Fraction {
    // The cast saturates.
    Fraction::new((x * 18_446_744_073_709_551_616.0) as u64)
}

/// The powers of a number from 0 to 1, as tables.
#[must_use]
pub fn powers(x: f64) -> Powers {
    let mut powers = Powers::default();
    for (digit, table) in powers.0.iter_mut().enumerate() {
        for (i, power) in table.iter_mut().enumerate() {
            *power = fraction(libm::pow(x, ((i as u64) << (DIGIT * digit as u32)) as f64));
        }
    }
    powers
}

/// Exponential averaging with the time constant `k`.
#[must_use]
pub fn averaging(k: Duration) -> rate::Averaging {
    let mut decay = rate::Exponential::default();
    for (digit, table) in decay.0.iter_mut().enumerate() {
        for (i, power) in table.iter_mut().enumerate() {
            let time = ((i as u64) << (rate::DIGIT * digit as u32)) as f64;
            *power = fraction(libm::exp(-time / k.as_nanos() as f64));
        }
    }
    rate::Averaging { k: nanos(k), decay }
}

/// Nanoseconds, capped at about 146 years so that the sum of two does not overflow.
#[must_use]
pub fn nanos(time: Duration) -> u64 {
    time.as_nanos().min(1 << 62)
}

/// A queue limit; one beyond fixed point counts as unlimited.
///
/// # Errors
/// Never for a checked limit.
pub fn limit(limit: Amount) -> Result<Limit, ParamError> {
    Ok(Limit { most: fixed("limit", limit.value().min(MOST))?, bytes: u64::from(limit.unit() == Counting::Bytes) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_multiply_as_floating_point_does() {
        for x in [1e-12, 3.3e-6, 0.002, 0.1, 0.5, 0.999_999, 1.0, 1.7, 25.0, 1e6, 9e8] {
            let factor = factor("x", x).unwrap();
            for y in [1.0, 7.25, 1500.0, 2e4] {
                let (wanted, found) = (x * y, float(factor.times(fixed("y", y).unwrap())));
                if wanted < MOST {
                    assert!((found - wanted).abs() <= 1e-9 + wanted * 1e-8, "{x} * {y}: {found} and not {wanted}");
                }
            }
        }
        assert!(factor("x", -1.0).is_err() && factor("x", 1e12).is_err() && factor("x", f64::NAN).is_err());
    }

    #[test]
    fn powers_are_powers() {
        let keep = 1.0 - 1.0 / 512.0;
        let powers = powers(keep);
        for n in [1_u64, 2, 63, 64, 100, 5000, 70_000] {
            let found = float(powers.times(n, Fixed::whole(1000)));
            assert!((found - 1000.0 * libm::pow(keep, n as f64)).abs() < 1e-8, "{n}: {found}");
        }
    }

    #[test]
    fn what_is_too_large_is_refused() {
        assert_eq!(fixed("q", 24.5).unwrap(), Fixed((49 << 32) / 2));
        assert!(fixed("q", 3e9).unwrap_err().to_string().contains("below 2147483648"));
        assert_eq!(limit(Amount::Packets(1e12)).unwrap().most, fixed("q", MOST).unwrap());
    }
}
