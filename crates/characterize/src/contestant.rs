//! A subject of a card: a discipline, or what a connection uses.

use aqmkit_aqm::registry::{Link, Spec};
use aqmkit_base::{BitRate, ParamError};
use toml::{Table, Value};

/// The link rate of most experiments of a card.
pub const RATE: BitRate = BitRate::from_mbps(10);

/// A subject of a card, under study or a reference: a discipline, or a congestion control.
#[derive(Clone, Debug)]
pub struct Contestant {
    label: String,
    /// For a discipline, its entry in the sweep of an experiment, with `name` and `label`; for a connection, its keys of the table
    /// `transport`.
    entry: Table,
    /// The discipline in the catalogue; `None` for one that is defined elsewhere, such as in Python, and for connections.
    spec: Option<Spec>,
    /// Whether it is a stack that can use ECN.
    stack_has_ecn: bool,
}

impl Contestant {
    /// A discipline of the catalogue with these parameters and this label.
    ///
    /// # Errors
    /// When a parameter is invalid or missing.
    pub fn new(label: &str, name: &str, parameters: &Table) -> Result<Contestant, ParamError> {
        let json = serde_json::to_value(parameters).unwrap_or_default();
        let spec = Spec::read(name, json).map_err(|e| ParamError::new(name, "", e.to_string()))?;
        spec.effective(&Link::new(RATE))?;
        let mut entry = parameters.clone();
        entry.insert("name".to_owned(), Value::String(name.to_owned()));
        entry.insert("label".to_owned(), Value::String(label.to_owned()));
        Ok(Contestant { label: label.to_owned(), entry, spec: Some(spec), stack_has_ecn: false })
    }

    /// A discipline of the catalogue with its defaults.
    ///
    /// # Errors
    /// When it has parameters without defaults.
    pub fn named(name: &str) -> Result<Contestant, ParamError> {
        Contestant::new(name, name, &Table::new())
    }

    /// A user-defined discipline: `entry` is its entry in the sweep of an experiment, with the key `label`.
    #[must_use]
    pub fn custom(entry: Table) -> Contestant {
        let label = entry.get("label").and_then(Value::as_str).unwrap_or("custom").to_owned();
        Contestant { label, entry, spec: None, stack_has_ecn: false }
    }

    /// A connection whose `transport` table differs from the experiment's in these keys, such as
    /// `congestion`.
    #[must_use]
    pub fn connection(label: &str, transport: Table) -> Contestant {
        Contestant { label: label.to_owned(), entry: transport, spec: None, stack_has_ecn: false }
    }

    /// A connection of a stack from outside, with one of its congestion controls. It uses ECN where an experiment does, if it can.
    #[must_use]
    pub fn stack(label: &str, stack: &str, congestion: &str, has_ecn: bool) -> Contestant {
        let keys = [("stack", stack), ("congestion", congestion)];
        let entry = keys.map(|(key, value)| (key.to_owned(), Value::String(value.to_owned())));
        Contestant { stack_has_ecn: has_ecn, ..Contestant::connection(label, Table::from_iter(entry)) }
    }

    /// Whether it is a stack from outside.
    #[must_use]
    pub fn is_stack(&self) -> bool {
        self.transport("stack").is_some()
    }

    /// A connection with this congestion control.
    #[must_use]
    pub fn control(name: &str) -> Contestant {
        let congestion = ("congestion".to_owned(), Value::String(name.to_owned()));
        Contestant::connection(name, Table::from_iter([congestion]))
    }

    /// The word that a key of `transport` has, of what a connection uses.
    #[must_use]
    pub fn transport(&self, key: &str) -> Option<&str> {
        self.entry.get(key).and_then(Value::as_str)
    }

    /// Label in tables and plots.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The discipline of the catalogue.
    #[must_use]
    pub fn spec(&self) -> Option<&Spec> {
        self.spec.as_ref()
    }

    /// The value of the sweep of an experiment that sets each of `keys`, all of them tables of a transport, to what the connection uses.
    /// `ecn` is whether the experiment's own hosts use ECN: a stack has nothing of those.
    #[must_use]
    pub fn choice(&self, keys: &[String], ecn: bool) -> Table {
        let label = [("label".to_owned(), Value::String(self.label.clone()))].into_iter();
        let mut entry = self.entry.clone();
        if ecn && self.stack_has_ecn {
            entry.insert("ecn".to_owned(), Value::Boolean(true));
        }
        label.chain(keys.iter().map(|key| (key.clone(), Value::Table(entry.clone())))).collect()
    }

    /// The entry of a discipline in the sweep of an experiment with queues of `limit`. The discipline marks if it can; its own
    /// parameters take precedence.
    #[must_use]
    pub fn entry(&self, limit: &Value) -> Table {
        let mut entry = self.entry.clone();
        let Some(spec) = &self.spec else { return entry };
        for (parameter, value) in [("limit", limit.clone()), ("ecn", Value::Boolean(true))] {
            let mut with = Table::new();
            with.insert(parameter.to_owned(), value.clone());
            let takes = serde_json::to_value(&with).is_ok_and(|table| Spec::read(spec.name(), table).is_ok());
            if takes && !entry.contains_key(parameter) {
                entry.insert(parameter.to_owned(), value);
            }
        }
        entry
    }
}
