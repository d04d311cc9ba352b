//! Ranges and ticks of axes.

use serde_json::{Value, json};

use crate::format::significant;

/// Minimum range of an axis of rates, relative to the largest rate, and of a logarithmic axis of delays, as a factor. A
/// smaller range would make random differences look large.
pub(super) const LEAST_RATES: f64 = 0.2;
pub(super) const LEAST_DELAYS: f64 = 10.0;

/// Delays below this many milliseconds are drawn here: the logarithmic axis has no zero.
pub(super) const SHORTEST: f64 = 0.01;

/// The largest of 1, 2 and 5 times a power of ten that is at most `value`, which is positive.
pub(super) fn round_below(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    // The tolerance accepts 0.2 that was computed slightly too small.
    let digit = [5.0, 2.0, 1.0].into_iter().find(|digit| digit * power <= value * (1.0 + 1e-9)).unwrap_or(1.0);
    let rounded = digit * power;
    // The nearest number with this many decimals: 0.01 instead of 0.010000000000000002.
    format!("{rounded:.0e}").parse().unwrap_or(rounded)
}

/// Ticks of a logarithmic axis, at 1, 2 and 5 times powers of ten, or fewer.
pub(super) struct Ticks {
    at: Vec<f64>,
    texts: Vec<String>,
}

impl Ticks {
    /// At most about `most` ticks from `low` to `high`.
    pub(super) fn between(low: f64, high: f64, most: usize) -> Ticks {
        let powers = || (-6..=9).map(|power: i32| format!("1e{power}").parse().unwrap_or(f64::NAN));
        let of = |digits: &[f64]| -> Vec<f64> {
            let all = powers().flat_map(|power: f64| digits.iter().map(move |digit| round_below(digit * power)));
            all.filter(|at| (low * 0.999..=high * 1.05).contains(at)).collect()
        };
        let choices = [of(&[1.0, 2.0, 5.0]), of(&[1.0, 5.0]), of(&[1.0])];
        let fewest = choices.len() - 1;
        let chosen = choices.iter().position(|at| at.len() <= most).unwrap_or(fewest);
        let at = choices[chosen].clone();
        let texts = at.iter().map(|tick| significant(*tick, 1)).collect();
        Ticks { at, texts }
    }

    /// Labels `low`, the left end of the axis, as the place of all lower values.
    pub(super) fn cut(&mut self, low: f64) {
        if self.at.first().is_some_and(|first| *first <= low * 1.001) {
            self.at.remove(0);
            self.texts.remove(0);
        }
        self.at.insert(0, low);
        self.texts.insert(0, format!("≤{}", significant(low, 1)));
    }

    /// Plotly's keys for a logarithmic axis with these ticks.
    pub(super) fn axis(&self) -> Value {
        json!({"type": "log", "tickvals": self.at, "ticktext": self.texts, "tickangle": 0})
    }
}

/// Range of a linear axis for values from `low` to `high`: with some space around them, at least `least` times the
/// largest value (extended mostly below the values), and not below zero unless values are.
pub(super) fn linear((low, high): (f64, f64), least: f64) -> [f64; 2] {
    let wanted = (1.2 * (high - low)).max(least * high.abs()).max(1e-9);
    let top = high + 0.08 * wanted;
    let bottom = top - wanted;
    [if low >= 0.0 { bottom.max(0.0) } else { bottom }, top]
}

/// Range of a logarithmic axis for positive values from `low` to `high`: with some space around them, and at least a
/// factor `least`.
pub(super) fn logarithmic((low, high): (f64, f64), least: f64) -> [f64; 2] {
    let space = (least / (high / low)).sqrt().max(1.5);
    [low / space, high * space]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        assert_eq!([0.013, 0.2, 0.21, 7.0, 10.0].map(round_below), [0.01, 0.2, 0.2, 5.0, 10.0]);
        let few = Ticks::between(0.01, 100.0, 6);
        assert_eq!(few.at, [0.01, 0.1, 1.0, 10.0, 100.0]);
        assert_eq!(Ticks::between(5.0, 60.0, 6).at, [5.0, 10.0, 20.0, 50.0]);
        let mut cut = Ticks::between(0.02, 200.0, 6);
        cut.cut(0.02);
        assert_eq!((cut.at[0], cut.texts[0].as_str(), cut.at[1]), (0.02, "≤0.02", 0.1));
    }

    /// 49.75 and 50.10 Mbit/s differ by 0.7 %: a thirtieth of the axis, not all of it.
    #[test]
    fn a_small_difference_looks_small() {
        let [low, high] = linear((49.75, 50.10), LEAST_RATES);
        assert!((40.0..42.0).contains(&low) && high > 50.10, "{low} to {high}");
        let [below, above] = linear((10.0, 50.0), LEAST_RATES);
        assert!((0.0..10.0).contains(&below) && above > 50.0, "{below} to {above}");
        assert_eq!(linear((0.0, 1.0), LEAST_RATES)[0], 0.0);
        assert_eq!(logarithmic((4.0, 4.0), 9.0), [4.0 / 3.0, 12.0]);
        assert_eq!(logarithmic((1.0, 100.0), 10.0), [1.0 / 1.5, 150.0]);
    }
}
