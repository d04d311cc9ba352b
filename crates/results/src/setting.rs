//! The settings of an experiment, in words.

use serde::{Deserialize, Serialize};

/// One property of the experiment, for the head of a report: `link`, `50mbit down, 10mbit up`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// The property: `link`, `round trip`, `buffer`, `traffic`, `hosts`, `congestion control`, `ECN`, `time`.
    pub name: String,
    /// Its value with units as in `tc`, or several values if runs differ in it.
    pub value: String,
}

impl Fact {
    /// A property and its value.
    #[must_use]
    pub fn new(name: &str, value: impl Into<String>) -> Self {
        Fact { name: name.to_owned(), value: value.into() }
    }
}
