//! Parses `--sweep WHAT=VALUES`.

use aqmkit_base::units::split as number_and_unit;

use crate::error::{LabError, wrong};

/// The default number of values in a range.
const VALUES: usize = 10;

/// The maximum number of values; more are assumed to be a mistake.
const MOST: usize = 1000;

/// A swept quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Swept {
    /// The rate of the compared direction.
    Rate,
    /// The round-trip time.
    Rtt,
    /// The limit of every queue.
    Limit,
    /// A parameter of a discipline.
    Parameter {
        discipline: String,
        /// The name of the parameter.
        name: String,
    },
}

impl Swept {
    /// The key that it sets in a discipline; empty if it sets none.
    pub(super) fn key(&self) -> &str {
        match self {
            Swept::Limit => "limit",
            Swept::Parameter { name, .. } => name,
            Swept::Rate | Swept::Rtt => "",
        }
    }
}

/// One `--sweep` option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sweep {
    /// The swept quantity.
    pub(super) what: Swept,
    /// Its values, as written on the command line.
    pub(super) values: Vec<String>,
}

impl Sweep {
    /// Parses `red.max=20..200`, `rtt=10ms,50ms` or `rate=1mbit..9mbit/5`.
    ///
    /// # Errors
    /// When the syntax is invalid.
    pub(super) fn read(text: &str) -> Result<Sweep, LabError> {
        let help = "for example --sweep red.max=20..200, --sweep rtt=10ms,50ms, --sweep limit=1bdp,2bdp or --sweep rate=1mbit..9mbit/5";
        let Some((what, values)) = text.split_once('=') else {
            return wrong(format!("--sweep {text:?} has no values"), help);
        };
        let what = match (what.trim(), what.trim().split_once('.')) {
            ("rate" | "down", _) => Swept::Rate,
            ("rtt", _) => Swept::Rtt,
            ("limit", _) => Swept::Limit,
            (_, Some((discipline, name))) if !discipline.is_empty() && !name.is_empty() => {
                Swept::Parameter { discipline: discipline.to_owned(), name: name.to_owned() }
            }
            (other, _) => return wrong(format!("--sweep cannot change {other:?}"), help),
        };
        let values = list(values, what.key() == "limit")?;
        Ok(Sweep { what, values })
    }
}

/// Parses a list, `5,10,20`, or a range, `20..200` (ten values) or `20..200/4`. A range of limits has whole packets and bytes.
fn list(text: &str, of_limits: bool) -> Result<Vec<String>, LabError> {
    let Some((from, rest)) = text.split_once("..") else {
        let values: Vec<String> = text.split(',').map(|v| v.trim().to_owned()).collect();
        if values.iter().any(String::is_empty) {
            return wrong(format!("{text:?} has an empty value"), "write values with commas between them: 5,10,20");
        }
        return Ok(values);
    };
    let help = "write two numbers with the same unit, and the number of values after a slash: 20..200/4 or 10ms..50ms";
    let (to, count) = match rest.split_once('/') {
        None => (rest, Some(VALUES)),
        Some((to, count)) => (to, count.trim().parse().ok().filter(|n| (2..=MOST).contains(n))),
    };
    let Some(count) = count else {
        return wrong(format!("{text:?} has an invalid number of values"), format!("it must be from 2 to {MOST}"));
    };
    match (number_and_unit(from), number_and_unit(to)) {
        (Some((first, unit)), Some((last, same))) if same.eq_ignore_ascii_case(unit) => {
            let step = (last - first) / (count - 1) as f64;
            let whole = of_limits && ["", "p", "b"].contains(&unit.to_ascii_lowercase().as_str());
            let value = |i| first + step * i as f64;
            let values = (0..count).map(|i| if whole { value(i).round() } else { tidy(value(i)) });
            let mut values: Vec<String> = values.map(|v| format!("{v}{unit}")).collect();
            values.dedup();
            Ok(values)
        }
        _ => wrong(format!("{text:?} is not a range"), help),
    }
}

/// Rounds a number to six significant digits.
fn tidy(value: f64) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let scale = 10_f64.powi(5 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<String> {
        Sweep::read(text).unwrap().values
    }

    #[test]
    fn lists_and_ranges() {
        assert_eq!(values("red.max=20..200/4"), ["20", "80", "140", "200"]);
        assert_eq!(values("red.max=20..200").len(), 10);
        assert_eq!(values("rtt=10ms, 50ms"), ["10ms", "50ms"]);
        assert_eq!(values("rate=1mbit..2mbit/3"), ["1mbit", "1.5mbit", "2mbit"]);
        assert_eq!(values("red.max_p=0.1..0.3/3"), ["0.1", "0.2", "0.3"]);
        assert_eq!(values("pie.target=0ms..10ms/2"), ["0ms", "10ms"]);
        assert_eq!(values("limit=20..30/4"), ["20", "23", "27", "30"]);
        assert_eq!(values("red.limit=1p..3p/5"), ["1p", "2p", "3p"]);
        assert_eq!(values("limit=1bdp..2bdp/3"), ["1bdp", "1.5bdp", "2bdp"]);
        let what = Sweep::read("red.max=1,2").unwrap().what;
        assert_eq!(what, Swept::Parameter { discipline: "red".to_owned(), name: "max".to_owned() });
    }

    #[test]
    fn what_cannot_be_swept_is_refused() {
        for text in ["red.max", "red=5", "=5", "red.=5", "red.max=1..2/1", "red.max=1..2/x", "rtt=1ms..2", "rtt=1,,2"] {
            assert!(Sweep::read(text).is_err(), "{text}");
        }
    }
}
