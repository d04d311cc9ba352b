//! The catalogue of disciplines by name: those of this crate, and those that a program adds.
//!
//! A program creates a catalogue, adds its disciplines, and passes it to the readers of names, such as that of experiment
//! files; see `examples/own_discipline.rs` of the crate `aqmkit-experiment`.

use aqmkit_base::near::suggest;
use aqmkit_base::read::Value;
use serde::de::Error as _;
use serde::{Deserialize as _, Deserializer};

use crate::added::Added;
use crate::custom;
use crate::discipline::Discipline;
use crate::params::ParamError;
use crate::registry::{ALL, Parameters, Spec, canonical};

/// A discipline to add to a [`Catalogue`].
#[derive(Clone, Debug)]
pub struct Addition(Added);

impl Addition {
    /// The discipline whose parameters are `D`. Raise `version` whenever a change of its code changes results: the
    /// version is part of the key of stored runs, so that runs of earlier code are not reused.
    #[must_use]
    pub fn of<D: Discipline>(version: u32) -> Self {
        Addition(Added::new::<D>(version, false))
    }

    /// The same discipline, which distinguishes flows by the keys of packets: it takes the parameter `flow`, the definition of
    /// a flow.
    #[must_use]
    pub fn tells_flows(mut self) -> Self {
        self.0.set_tells_flows();
        self
    }
}

/// The disciplines of this crate and the added ones. The default has no added ones.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    added: Vec<Added>,
}

impl Catalogue {
    /// Adds a discipline.
    ///
    /// # Errors
    /// When its name is taken.
    pub fn add(&mut self, addition: Addition) -> Result<(), ParamError> {
        let name = addition.0.name();
        if name == custom::NAME || self.has(name) {
            return Err(ParamError::new("name", name, "it must not be that of another discipline"));
        }
        self.added.push(addition.0);
        Ok(())
    }

    /// The names of all disciplines: those of this crate in the order of its registry, then the added ones.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        ALL.iter().map(|e| e.name).chain(self.added.iter().map(Added::name))
    }

    /// Whether a discipline has this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        let name = canonical(name);
        self.names().any(|known| canonical(known) == name)
    }

    /// Reads the parameters of the discipline `name` (without the key `name` itself).
    ///
    /// # Errors
    /// When a key is unknown, a value has the wrong type or unit, or no discipline has this name.
    pub fn spec(&self, name: &str, table: Value) -> Result<Spec, ParamError> {
        let wanted = canonical(name);
        let added = self.added.iter().find(|a| canonical(a.name()) == wanted);
        match added.cloned().map(Parameters::Added).or_else(|| Parameters::named(name)) {
            Some(defaults) => Spec::from(defaults).with(table),
            None => Err(self.unknown(name)),
        }
    }

    fn unknown(&self, name: &str) -> ParamError {
        ParamError::custom(format_args!("there is no discipline {name:?}; {}", suggest(name, self.names())))
    }
}

/// Reading a discipline of this crate: without the added ones of a program.
impl Spec {
    /// Reads the parameters of the discipline `name` (without the key `name` itself).
    ///
    /// # Errors
    /// When a key is unknown, a value has the wrong type or unit, or no discipline has this name.
    pub fn read<'de, D: Deserializer<'de>>(name: &str, table: D) -> Result<Spec, D::Error> {
        let table = Value::deserialize(table)?;
        Spec::of_table(name, table).map_err(|e| D::Error::custom(e.of(&canonical(name))))
    }

    /// Reads the parameters of the discipline `name`, as [`Spec::read`] does, with an error that has a path.
    ///
    /// # Errors
    /// When a key is unknown, a value has the wrong type or unit, or no discipline has this name.
    pub fn of_table(name: &str, table: Value) -> Result<Spec, ParamError> {
        Catalogue::default().spec(name, table)
    }
}
