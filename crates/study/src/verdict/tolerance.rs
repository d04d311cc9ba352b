//! Tolerances of printed values.

/// Tolerance of a testbed's number: results of two testbeds may differ by this much.
const OF_A_MEASUREMENT: f64 = 0.2;
/// Shares above this part of the whole are judged by their complement: 95 % finished means 5 % late.
const NEARLY_ALL: f64 = 0.8;

/// Tolerance of a computed value: 0.5 %, or half a unit of its last printed digit, because it was rounded.
pub(super) fn of_equation(printed: &str) -> f64 {
    let x = number(printed).unwrap_or(0.0);
    (0.005 * x.abs()).max(0.5 * last_digit(printed))
}

/// Tolerance of a number from a testbed: 20 %; or two units of its last printed digit if it has at least two printed
/// digits, and half a unit if it has only one. A share of a `whole` (1, or 100 for percentages) above 80 % of it has
/// the tolerance of its complement.
pub(super) fn of_measurement(printed: &str, whole: Option<f64>) -> f64 {
    let x = number(printed).unwrap_or(0.0).abs();
    let digit = last_digit(printed);
    let nearly_all = whole.filter(|all| x > NEARLY_ALL * all && x <= *all);
    let judged = nearly_all.map_or(x, |all| all - x);
    let steps = if digits(judged, digit) > 1 { 2.0 } else { 0.5 };
    (OF_A_MEASUREMENT * judged).max(steps * digit)
}

/// A tolerance that `published.csv` gives for a number instead of the general one: relative, or absolute in the
/// number's unit, whichever is larger.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Given {
    share: f64,
    units: f64,
}

impl Given {
    /// The tolerance of a printed number, in its unit.
    pub(super) fn of(self, printed: &str) -> f64 {
        (self.share * number(printed).unwrap_or(0.0).abs()).max(self.units)
    }
}

/// Parses a tolerance: `10%`, `1`, `20% or 1`.
pub(super) fn given(text: &str) -> Option<Given> {
    let positive = |digits: &str| number(digits.trim()).filter(|x| *x > 0.0);
    let (share, units) = match text.split_once('%') {
        Some((percent, "")) => (positive(percent)?, 0.0),
        Some((percent, rest)) => (positive(percent)?, positive(rest.trim().strip_prefix("or ")?)?),
        None => (0.0, positive(text)?),
    };
    Some(Given { share: share / 100.0, units })
}

/// The number of significant digits of a number that is printed down to this unit: two for 0.50 and 0.0, one for 0.05
/// and 0.
fn digits(x: f64, unit: f64) -> usize {
    let units = (x / unit).round();
    if units > 0.0 { format!("{units:.0}").len() } else { format!("{:.0}", (1.0 / unit).max(1.0)).len() }
}

/// Parses a number as printed: `1,270`, `-0.5` and `36.1` are numbers; `9e1` is not, because it does not show which
/// digits of 90 were printed.
pub(super) fn number(text: &str) -> Option<f64> {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (whole, decimals) = unsigned.split_once('.').map_or((unsigned, None), |(whole, d)| (whole, Some(d)));
    let mut groups = whole.split(',');
    let first = groups.next().unwrap_or_default();
    let rest: Vec<&str> = groups.collect();
    let grouped = rest.is_empty() || (first.len() <= 3 && rest.iter().all(|group| group.len() == 3 && digits(group)));
    if !(digits(first) && grouped && decimals.is_none_or(digits)) {
        return None;
    }
    text.replace(',', "").parse().ok().filter(|x: &f64| x.is_finite())
}

/// One unit of the last printed digit: 0.01 for `39.07`, 1 for `240`.
fn last_digit(printed: &str) -> f64 {
    let decimals = printed.split_once('.').map_or(0, |(_, d)| d.len());
    10.0_f64.powi(-i32::try_from(decimals).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn is(got: f64, wanted: f64) {
        assert!((got - wanted).abs() < 1e-9, "{got} instead of {wanted}");
    }

    #[test]
    fn the_last_printed_digit() {
        assert_eq!(last_digit("39.07"), 0.01);
        assert_eq!(last_digit("240"), 1.0);
        assert_eq!(last_digit("1,240"), 1.0);
    }

    #[test]
    fn a_tolerance_may_be_given() {
        let of = |text: &str, printed: &str| given(text).map(|within| within.of(printed));
        is(of("10%", "39.6").unwrap(), 3.96);
        assert_eq!(of("20% or 1", "3.0"), Some(1.0));
        is(of("20% or 1", "14.9").unwrap(), 2.98);
        assert_eq!(of("0.5", "10"), Some(0.5));
        for text in ["", "%", "-10%", "10% 1", "10% or", "ten", "0%"] {
            assert_eq!(given(text), None, "{text}");
        }
    }

    /// Half a percent, or half a unit of the last printed digit.
    #[test]
    fn a_computed_value_was_rounded() {
        is(of_equation("39.07"), 0.19535);
        is(of_equation("1"), 0.5);
        is(of_equation("-400"), 2.0);
        is(of_equation("0.0"), 0.05);
    }

    #[test]
    fn numbers_are_read_as_they_are_printed() {
        for (text, value) in [("90", 90.0), ("-0.50", -0.5), ("1,270", 1270.0), ("-12,345,678.9", -12_345_678.9)] {
            assert_eq!(number(text), Some(value), "{text}");
        }
        for text in [
            "9e1", "1E2", "1,2", "12,34", "1234,567", ",123", "1.", ".5", "--1", "-", "+1", "inf", "NaN", " 1",
            "1.2.3", "",
        ] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn a_number_of_one_digit_was_rounded_and_no_more() {
        is(of_measurement("1", None), 0.5);
        is(of_measurement("7", None), 1.4);
        is(of_measurement("0", None), 0.5);
        is(of_measurement("0.05", None), 0.01);
        is(of_measurement("0.0", None), 0.2);
        is(of_measurement("2.0", None), 0.4);
        is(of_measurement("12", None), 2.4);
        is(of_measurement("1.1", None), 0.22);
        is(of_measurement("10", None), 2.0);
    }

    #[test]
    fn a_share_near_its_whole_is_judged_by_what_it_lacks() {
        is(of_measurement("95", Some(100.0)), 1.0);
        is(of_measurement("90", Some(100.0)), 2.0);
        is(of_measurement("99.5", Some(100.0)), 0.1);
        is(of_measurement("80", Some(100.0)), 16.0);
        is(of_measurement("120", Some(100.0)), 24.0);
        is(of_measurement("0.97", Some(1.0)), 0.006);
        is(of_measurement("0.88", Some(1.0)), 0.024);
        is(of_measurement("100", Some(100.0)), 0.5);
        is(of_measurement("1.00", Some(1.0)), 0.02);
    }
}
