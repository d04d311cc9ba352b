//! Formats numbers as text.

use aqmkit_results::Stat;

/// A suitable unit for rates up to `largest` bits per second, and the factor to it.
#[must_use]
pub(crate) fn rate_unit(largest: f64) -> (&'static str, f64) {
    match largest {
        rate if rate >= 1e9 => ("Gbit/s", 1e-9),
        rate if rate >= 1e6 || rate == 0.0 => ("Mbit/s", 1e-6),
        _ => ("kbit/s", 1e-3),
    }
}

/// The number of decimals for a column with this largest value.
#[must_use]
pub fn decimals(largest: f64) -> usize {
    match largest {
        size if size >= 1000.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    }
}

/// A number with this many decimals; a dash for NaN.
#[must_use]
pub fn fixed(value: f64, decimals: usize) -> String {
    if value.is_nan() { "–".to_owned() } else { format!("{value:.decimals$}") }
}

/// A mean, converted to another unit.
#[must_use]
pub fn mean(stat: Option<&Stat>, factor: f64, decimals: usize) -> String {
    stat.map_or_else(|| "–".to_owned(), |stat| fixed(stat.mean * factor, decimals))
}

/// A mean with half the width of its 95 % interval, converted to another unit: `45.1 ±0.8`. A single run has no
/// interval.
#[must_use]
pub fn known(stat: Option<&Stat>, factor: f64, decimals: usize) -> String {
    format!("{} {}", mean(stat, factor, decimals), half(stat, factor, decimals)).trim_end().to_owned()
}

/// Half the width of a mean's 95 % interval, converted to another unit: `±0.8`; empty for a single run.
#[must_use]
pub fn half(stat: Option<&Stat>, factor: f64, decimals: usize) -> String {
    let width = stat.and_then(Stat::half_width);
    width.map_or_else(String::new, |width| format!("±{}", fixed(width * factor, decimals)))
}

/// A number with this many significant digits, in plain notation where that is readable.
#[must_use]
pub fn significant(value: f64, digits: i32) -> String {
    let size = value.abs();
    match size {
        _ if value.is_nan() => "–".to_owned(),
        0.0 => "0".to_owned(),
        _ if !(1e-4..1e9).contains(&size) => format!("{value:.3e}"),
        _ => {
            let after = (digits - 1 - size.log10().floor() as i32).max(0) as usize;
            trim(&format!("{value:.after$}")).to_owned()
        }
    }
}

/// A value with three significant digits, and half the width of its interval with two; a dash if there is no value.
#[must_use]
pub fn ranged(value: Option<f64>, half: Option<f64>) -> String {
    let range = half.map(|half| format!(" ±{}", significant(half, 2)));
    value.map_or("–".to_owned(), |value| significant(value, 3) + &range.unwrap_or_default())
}

/// Removes trailing zeros after the decimal point.
fn trim(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// A count with spaces as thousands separators.
#[must_use]
pub fn thousands(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// Rounds to four significant digits, the precision of a plot.
#[must_use]
pub fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let digits = (3 - value.abs().log10().floor() as i32).clamp(-30, 30);
    let scale = 10f64.powi(digits.abs());
    if digits >= 0 { (value * scale).round() / scale } else { (value / scale).round() * scale }
}
