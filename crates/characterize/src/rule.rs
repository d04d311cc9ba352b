//! Rules for verdicts: a metric and its bound.

use crate::quantities::Quantity;

/// The bound of a rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bound {
    /// At least this value.
    AtLeast(f64),
    /// At most this value.
    AtMost(f64),
    /// At most this multiple of drop-tail's value.
    OfFifo(f64),
    /// At least this multiple of drop-tail's value.
    AtLeastOfFifo(f64),
}

impl Bound {
    /// The bound in words.
    pub(crate) fn words(self, unit: &str) -> String {
        let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
        match self {
            Bound::AtLeast(least) => format!("at least {least}{unit}"),
            Bound::AtMost(most) => format!("at most {most}{unit}"),
            Bound::OfFifo(0.5) => "at most half of fifo's".to_owned(),
            Bound::OfFifo(1.0) => "at most fifo's".to_owned(),
            Bound::OfFifo(share) => format!("at most {share} times fifo's"),
            Bound::AtLeastOfFifo(share) => format!("at least {share} times fifo's"),
        }
    }

    /// The distance of a value from the bound, negative if it violates the bound; `None` if the bound depends on
    /// drop-tail's value and there is none.
    pub(crate) fn margin(self, value: f64, fifo: Option<f64>) -> Option<f64> {
        match self {
            Bound::AtLeast(least) => Some(value - least),
            Bound::AtMost(most) => Some(most - value),
            Bound::OfFifo(share) => fifo.map(|fifo| share * fifo - value),
            Bound::AtLeastOfFifo(share) => fifo.map(|fifo| value - share * fifo),
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
}

pub(crate) const fn rule(words: &'static str, unit: &'static str, bound: Bound, of: Quantity) -> Rule {
    Rule { words, unit, bound, of }
}
