//! The catalogue of traffic models by name: those of this crate, and those that a program adds.
//!
//! A program creates a catalogue, adds its models, and passes it to the readers of names, such as that of experiment
//! files; see `examples/own_traffic.rs` of the crate `aqmkit-experiment`.

use aqmkit_base::near::suggest;
use aqmkit_base::read::Value;
use serde::de::Error as _;
use serde::{Deserialize as _, Deserializer};

use super::added::Added;
use super::model::{Model, ParamError};
use super::registry::{ALL, Spec};

/// A traffic model to add to a [`Catalogue`].
#[derive(Clone, Debug)]
pub struct Addition(Added);

impl Addition {
    /// The model whose parameters are `M`. Raise `version` whenever a change of its code changes results: the version
    /// is part of the key of stored runs, so that runs of earlier code are not reused.
    #[must_use]
    pub fn of<M: Model>(version: u32) -> Self {
        Addition(Added::new::<M>(version))
    }
}

/// The traffic models of this crate and the added ones. The default has no added ones.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    added: Vec<Added>,
}

impl Catalogue {
    /// Adds a traffic model.
    ///
    /// # Errors
    /// When its name is taken.
    pub fn add(&mut self, addition: Addition) -> Result<(), ParamError> {
        let name = addition.0.name();
        if self.has(name) {
            return Err(ParamError::new("name", name, "it must not be that of another traffic model"));
        }
        self.added.push(addition.0);
        Ok(())
    }

    /// The names of all models: those of this crate in the order of its registry, then the added ones.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        ALL.iter().map(|e| e.name).chain(self.added.iter().map(Added::name))
    }

    /// Whether a model has this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }

    /// Reads the parameters of the model `name` (without the key that holds the name itself).
    ///
    /// # Errors
    /// When a key is unknown, a value has the wrong type or unit, or no model has this name.
    pub fn spec(&self, name: &str, table: &Value) -> Result<Spec, ParamError> {
        let added = self.added.iter().find(|a| a.name() == name).cloned().map(Spec::Added);
        match added.or_else(|| Spec::named(name)) {
            Some(defaults) => defaults.with(table),
            None => Err(self.unknown(name)),
        }
    }

    fn unknown(&self, name: &str) -> ParamError {
        ParamError::custom(format_args!("there is no traffic model {name:?}; {}", suggest(name, self.names())))
    }
}

/// Reading a model of this crate: without the added ones of a program.
impl Spec {
    /// Reads the parameters of the model `kind` (without the key that holds `kind` itself).
    ///
    /// # Errors
    /// When a key is unknown, a value has the wrong type or unit, or no model has this name.
    pub fn read<'de, D: Deserializer<'de>>(kind: &str, table: D) -> Result<Spec, D::Error> {
        let table = Value::deserialize(table)?;
        Spec::of_table(kind, &table).map_err(|e| D::Error::custom(e.of(kind)))
    }

    /// Reads the parameters of the model `kind`, as [`Spec::read`] does, with an error that has a path.
    ///
    /// # Errors
    /// When a key is unknown, a value has the wrong type or unit, or no model has this name.
    pub fn of_table(kind: &str, table: &Value) -> Result<Spec, ParamError> {
        Catalogue::default().spec(kind, table)
    }
}
