//! An experiment of a card.

use aqmkit_experiment::{Catalogues, Experiment, Overrides, Problem};
use toml::{Table, Value};

/// An experiment of a card.
#[derive(Clone, Debug)]
pub struct Planned {
    /// Name within the study, and name of its directory below that of the card.
    pub name: String,
    /// Number of its section; the first one if several sections use it.
    pub number: &'static str,
    /// Experiment id, such as `rfc7928/mix`.
    pub id: String,
    /// TOML text.
    pub text: String,
}

impl Planned {
    /// Parses the experiment, with the stacks and the other additions of a program.
    ///
    /// # Errors
    /// When the experiment rejects a discipline or a stack.
    pub fn experiment(&self, overrides: &Overrides, catalogues: &Catalogues) -> Result<Experiment, Problem> {
        Experiment::parse_with(&format!("experiments/{}.toml", self.id), &self.text, overrides, catalogues)
    }
}

/// The queue limit of an experiment: that of the first discipline in its sweep.
pub(crate) fn limit(file: &Table) -> Value {
    let first = file.get("sweep").and_then(|sweep| sweep.get("aqm")?.as_array()?.first()?.get("limit"));
    // In packets; disciplines that count bytes accept this, too.
    first.map_or(Value::String("1000p".to_owned()), |limit| Value::String(format!("{limit}p")))
}
