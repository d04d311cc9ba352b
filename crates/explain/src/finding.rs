//! What a rule found.

use serde::Serialize;

/// How likely a finding is the cause of what a user notices, the heaviest last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Weight {
    /// All is as it should be.
    Fine,
    /// Worth knowing.
    Note,
    /// A setting that costs something.
    Setting,
    /// The discipline does not do what it is there for.
    Fault,
    /// Packets are delayed or lost here without need.
    Cause,
}

/// A cause, the numbers that show it, and what to type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How much it matters.
    pub weight: Weight,
    /// The discipline, such as `fq_codel 8001:`.
    pub queue: String,
    /// The finding in one sentence.
    pub sentence: String,
    /// Why it follows from the numbers.
    pub because: String,
    /// The lines that mend it; empty where nothing needs mending.
    pub mend: Vec<String>,
    /// A command of aqmkit that simulates it: as it is, and mended.
    pub see: Option<String>,
}

impl Finding {
    pub(crate) fn new(weight: Weight, sentence: impl Into<String>, because: impl Into<String>) -> Finding {
        Finding {
            weight,
            queue: String::new(),
            sentence: sentence.into(),
            because: because.into(),
            mend: Vec::new(),
            see: None,
        }
    }

    pub(crate) fn mend(mut self, line: impl Into<String>) -> Finding {
        self.mend.push(line.into());
        self
    }

    pub(crate) fn see(mut self, command: impl Into<String>) -> Finding {
        self.see = Some(command.into());
        self
    }
}
