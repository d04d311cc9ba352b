//! Rules for verdicts: a metric and its bound.

use crate::quantities::Quantity;

/// The bound of a rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bound {
    /// At least this value.
    AtLeast(f64),
    /// At most this value.
    AtMost(f64),
    /// At most this multiple of the reference's value.
    OfReference(f64),
    /// At least this multiple of the reference's value.
    AtLeastOfReference(f64),
}

impl Bound {
    /// The bound in words.
    pub(crate) fn words(self, unit: &str, reference: &str) -> String {
        let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
        match self {
            Bound::AtLeast(least) => format!("at least {least}{unit}"),
            Bound::AtMost(most) => format!("at most {most}{unit}"),
            Bound::OfReference(0.5) => format!("at most half of {reference}'s"),
            Bound::OfReference(1.0) => format!("at most {reference}'s"),
            Bound::OfReference(share) => format!("at most {share} times {reference}'s"),
            Bound::AtLeastOfReference(share) => format!("at least {share} times {reference}'s"),
        }
    }

    /// The distance of a value from the bound, negative if it violates the bound; `None` if the bound depends on
    /// the reference's value and there is none.
    pub(crate) fn margin(self, value: f64, reference: Option<f64>) -> Option<f64> {
        match self {
            Bound::AtLeast(least) => Some(value - least),
            Bound::AtMost(most) => Some(most - value),
            Bound::OfReference(share) => reference.map(|of| share * of - value),
            Bound::AtLeastOfReference(share) => reference.map(|of| value - share * of),
        }
    }
}

/// A metric and its bound.
pub(crate) struct Rule {
    /// The quantity in words.
    pub(crate) words: &'static str,
    /// Unit of the quantity.
    pub(crate) unit: &'static str,
    /// Bound on the quantity.
    pub(crate) bound: Bound,
    /// Computes the quantity.
    pub(crate) of: Quantity,
    /// Why the bound is where it is; empty where the words of the bound say it.
    pub(crate) why: &'static str,
}

pub(crate) const fn rule(words: &'static str, unit: &'static str, bound: Bound, of: Quantity) -> Rule {
    Rule { words, unit, bound, of, why: "" }
}

impl Rule {
    pub(crate) const fn because(self, why: &'static str) -> Rule {
        Rule { why, ..self }
    }
}
