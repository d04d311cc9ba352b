//! The settings of an experiment, in words.

use serde::{Deserialize, Serialize};

/// A setting of the experiment for the head of a report: `link`, `50mbit down, 10mbit up`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// Name of the setting: `link`, `round trip`, `buffer`, `traffic`, `hosts`, `congestion control`, `ECN`, `time`.
    pub name: String,
    /// Value with units as in `tc`; several values if runs differ.
    pub value: String,
}

impl Fact {
    /// A setting with its value.
    #[must_use]
    pub fn new(name: &str, value: impl Into<String>) -> Self {
        Fact { name: name.to_owned(), value: value.into() }
    }
}
