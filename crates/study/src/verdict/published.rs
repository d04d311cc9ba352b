//! Published values, with the ranges in which measured values meet them.

use std::collections::BTreeMap;

use aqmkit_formulas::unit::Unit;
use serde::Deserialize;

use super::tolerance::{self, number};

/// The kind of a published value, which determines its tolerance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A value computed by an equation: met within 0.5 % or half a unit of the last printed digit, whichever is larger,
    /// because printed values are rounded.
    Equation,
    /// A number measured on a testbed; its tolerance is in `verdict::tolerance`.
    Value,
    /// An ordering, which must hold.
    Order,
}

impl Kind {
    /// The name in `published.csv`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Equation => "equation",
            Kind::Value => "value",
            Kind::Order => "order",
        }
    }
}

/// A published value or claim.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Row {
    /// Unique id.
    pub id: String,
    /// The publication.
    pub source: String,
    /// The place within the publication.
    #[serde(rename = "where")]
    pub place: String,
    /// Description of the quantity.
    pub what: String,
    /// Name of the unit; empty for an ordering.
    pub unit: String,
    /// The value as printed, or the lower end of a range.
    pub low: String,
    /// The value as printed, or the upper end of a range.
    pub high: String,
    /// Determines the tolerance.
    pub kind: Kind,
    /// Tolerance of a number if it is not the general one: `10%`, or `20% or 1` in the row's unit, whichever is larger.
    #[serde(default)]
    pub within: String,
}

/// All published values, by id.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Published(BTreeMap<String, Row>);

impl Published {
    /// Parses `published.csv`.
    ///
    /// # Errors
    /// When a row has wrong columns, a repeated id, an unknown unit or an invalid number, with its line.
    pub fn parse(text: &str) -> Result<Published, String> {
        let mut rows = BTreeMap::new();
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let heading = reader.headers().map_err(|e| e.to_string())?.clone();
        for record in reader.into_records() {
            let record = record.map_err(|e| e.to_string())?;
            let line = record.position().map_or(0, csv::Position::line);
            let row: Row = record.deserialize(Some(&heading)).map_err(|e| e.to_string())?;
            row.check().map_err(|what| format!("line {line}: {}: {what}", row.id))?;
            if let Some(twice) = rows.insert(row.id.clone(), row) {
                return Err(format!("line {line}: {} occurs twice", twice.id));
            }
        }
        Ok(Published(rows))
    }

    /// Adds rows; they replace those with the same id.
    pub fn extend(&mut self, more: Published) {
        self.0.extend(more.0);
    }

    /// The row with this id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Row> {
        self.0.get(id)
    }

    /// All ids.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl Row {
    fn check(&self) -> Result<(), String> {
        for (name, text) in [("low", &self.low), ("high", &self.high)] {
            if !text.is_empty() && number(text).is_none() {
                return Err(format!("{name} = {text:?} is not a number as it is printed, such as 90, -0.5 or 1,270"));
            }
        }
        if !self.within.is_empty() && tolerance::given(&self.within).is_none() {
            return Err(format!("within = {:?} is not a tolerance, such as 10% or \"20% or 1\"", self.within));
        }
        let numbers = !self.low.is_empty() || !self.high.is_empty();
        if numbers && self.unit().is_none() {
            let known: Vec<_> = aqmkit_formulas::unit::UNITS.iter().map(|u| u.name).collect();
            return Err(format!("the unit {:?} is not one of {}", self.unit, known.join(", ")));
        }
        match (number(&self.low), number(&self.high)) {
            (Some(low), Some(high)) if low > high => Err(format!("low = {low} is above high = {high}")),
            _ => Ok(()),
        }
    }

    /// The unit; `None` for an ordering.
    #[must_use]
    pub fn unit(&self) -> Option<&'static Unit> {
        Unit::named(&self.unit)
    }

    /// Lowest and highest accepted value, in the row's unit.
    #[must_use]
    pub fn accepted(&self) -> (Option<f64>, Option<f64>) {
        let exact = self.low == self.high;
        let tolerance = |text: &str| match self.kind {
            Kind::Equation => tolerance::of_equation(text),
            Kind::Value if exact && !self.within.is_empty() => {
                tolerance::given(&self.within).map_or(0.0, |within| within.of(text))
            }
            // A printed bound or range is exact.
            Kind::Value if exact => tolerance::of_measurement(text, self.unit().and_then(Unit::whole)),
            Kind::Value | Kind::Order => 0.0,
        };
        let widen = |text: &String, sign: f64| number(text).map(|x| x + sign * tolerance(text));
        (widen(&self.low, -1.0), widen(&self.high, 1.0))
    }

    /// Whether a value is accepted.
    pub(super) fn meets(&self, value: f64) -> bool {
        // Allows for floating-point rounding.
        const ROUNDING: f64 = 1e-9;
        let (low, high) = self.accepted();
        value.is_finite() && low.is_none_or(|l| value >= l - ROUNDING) && high.is_none_or(|h| value <= h + ROUNDING)
    }

    /// The printed number; `None` for bounds, ranges and orderings.
    #[must_use]
    pub fn printed(&self) -> Option<f64> {
        number(&self.low).filter(|_| self.low == self.high)
    }

    /// The published range, with equal ends for a single number; `None` for a bound or an ordering.
    #[must_use]
    pub fn range(&self) -> Option<(f64, f64)> {
        number(&self.low).zip(number(&self.high))
    }

    /// Whether the value was computed with the paper's equation for a case that the paper does not have.
    #[must_use]
    pub fn by_hand(&self) -> bool {
        self.what.contains(BY_HAND)
    }

    /// The value as text with its unit: `39.07 packets`, `15 to 20 ms`, `at least 10 Mb/s`; empty for an ordering.
    #[must_use]
    pub fn text(&self) -> String {
        match (self.low.as_str(), self.high.as_str()) {
            ("", "") => String::new(),
            (low, "") => format!("at least {low} {}", self.unit),
            ("", high) => format!("at most {high} {}", self.unit),
            (low, high) if low == high => format!("{low} {}", self.unit),
            (low, high) => format!("{low} to {high} {}", self.unit),
        }
    }
}

/// Text in `what` that marks rows whose value was computed by hand.
const BY_HAND: &str = "worked by hand";

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "id,source,where,what,unit,low,high,kind\n";

    fn row(unit: &str, low: &str, high: &str, kind: &str) -> Row {
        let text = format!("{HEAD}X,CBT,Table 1,something,{unit},{low},{high},{kind}\n");
        Published::parse(&text).unwrap().get("X").unwrap().clone()
    }

    #[track_caller]
    fn accepts(row: &Row, low: Option<f64>, high: Option<f64>) {
        let close = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => (a - b).abs() < 1e-9,
            (a, b) => a == b,
        };
        let got = row.accepted();
        assert!(close(got.0, low) && close(got.1, high), "{got:?}");
    }

    #[test]
    fn tolerances_come_by_kind() {
        accepts(&row("ms", "100", "100", "equation"), Some(99.5), Some(100.5));
        accepts(&row("ratio", "2", "2", "equation"), Some(1.5), Some(2.5));
        accepts(&row("packets", "39.07", "39.07", "equation"), Some(38.87465), Some(39.26535));
        accepts(&row("ms", "100", "100", "value"), Some(80.0), Some(120.0));
        accepts(&row("ms", "7", "7", "value"), Some(5.6), Some(8.4));
        accepts(&row("%", "95", "95", "value"), Some(94.0), Some(96.0));
        accepts(&row("ratio", "0.95", "0.95", "value"), Some(0.76), Some(1.14));
        accepts(&row("share", "0.95", "0.95", "value"), Some(0.94), Some(0.96));
        accepts(&row("ms", "15", "20", "value"), Some(15.0), Some(20.0));
        accepts(&row("Mb/s", "10", "", "value"), Some(10.0), None);
        accepts(&row("ms", "", "1", "value"), None, Some(1.0));
        accepts(&row("frames", "", "0.833", "equation"), None, Some(0.837_165));
        accepts(&row("", "", "", "order"), None, None);
    }

    #[test]
    fn a_value_reads_as_printed() {
        assert_eq!(row("packets", "39.07", "39.07", "equation").text(), "39.07 packets");
        assert_eq!(row("ms", "15", "20", "value").text(), "15 to 20 ms");
        assert_eq!(row("Mb/s", "10", "", "value").text(), "at least 10 Mb/s");
        assert_eq!(row("%", "", "36", "value").text(), "at most 36 %");
    }

    #[test]
    fn a_wrong_file_is_refused_with_the_row() {
        let error = |line: &str| Published::parse(&format!("{HEAD}{line}\n")).unwrap_err();
        for ends in ["1,1", "1,", ",1"] {
            let error_text = error(&format!("X,a,b,c,furlongs,{ends},value"));
            assert!(error_text.contains("X: the unit \"furlongs\" is not one of KB/s"), "{error_text}");
        }
        assert!(error("X,a,b,c,ms,soon,,value").contains("line 2: X: low = \"soon\" is not a number"));
        // The tolerance depends on how a number is printed.
        let error_text = error("Y,a,b,c,ms,90,90,value\nX,a,b,c,ms,9e1,1e2,value");
        assert_eq!(error_text, "line 3: X: low = \"9e1\" is not a number as it is printed, such as 90, -0.5 or 1,270");
        assert!(error("X,a,b,c,ms,3,2,value").contains("above"));
        assert!(error("X,a,b,c,ms,3,3,guess").contains("guess"));
        assert!(error("X,a,b,c,ms,3,3,value\nX,a,b,c,ms,3,3,value").contains("twice"));
        assert!(error("X,a,b").contains("fields"));
    }

    #[test]
    fn a_single_number_is_printed_and_a_range_has_ends() {
        let of =
            |low: &str, high: &str| (row("ms", low, high, "value").printed(), row("ms", low, high, "value").range());
        assert_eq!(of("12.70", "12.70"), (Some(12.7), Some((12.7, 12.7))));
        assert_eq!(of("15", "20"), (None, Some((15.0, 20.0))));
        assert_eq!([of("15", ""), of("", "15"), of("", "")], [(None, None); 3]);
    }

    #[test]
    fn a_new_row_replaces_an_old_one() {
        let parse = |low: &str| {
            Published::parse(&format!(
                "{HEAD}X,a,b,c,ms,{low},{low},value\nY{low},a,b,worked by hand,ms,1,1,equation\n"
            ))
            .unwrap()
        };
        let mut rows = parse("3");
        rows.extend(parse("4"));
        assert_eq!(rows.ids().collect::<Vec<_>>(), ["X", "Y3", "Y4"]);
        assert_eq!(rows.get("X").unwrap().low, "4");
        assert!(rows.get("Y3").unwrap().by_hand() && !rows.get("X").unwrap().by_hand());
    }
}
