//! The catalogue of congestion controls and rate-based transports by name: those of this crate, and those that a program adds.
//!
//! A program creates a catalogue, adds its controls, and passes it to the readers of names, such as that of experiment files;
//! see `examples/own_control.rs` and `own_transport.rs` of the crate `aqmkit-experiment`.

use aqmkit_base::ParamError;
use aqmkit_base::near::suggest;
use aqmkit_base::read::Value;
use serde::de::Error as _;

use crate::congestion::{self, Added, Kind, Scheme};
use crate::profile::Overrides;
use crate::rate;

/// A congestion control or rate-based transport to add to a [`Catalogue`].
#[derive(Clone, Debug)]
pub struct Addition(Added);

impl Addition {
    /// This congestion control. Raise `version` whenever a change of its code changes results: the version is part of the
    /// key of stored runs, so that runs of earlier code are not reused.
    #[must_use]
    pub fn of<S: Scheme>(version: u32) -> Self {
        Addition(Added::new::<S>(version))
    }

    /// This rate-based transport, with a version as in [`Addition::of`].
    #[must_use]
    pub fn of_rate<S: rate::Scheme>(version: u32) -> Self {
        Addition(Added::of_rate::<S>(version))
    }
}

/// The congestion controls and rate-based transports of this crate and the added ones. The default has no added ones.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    added: Vec<Added>,
}

/// The field of a profile that chooses the control.
const CONGESTION: &str = "congestion";

impl Catalogue {
    /// Adds a congestion control.
    ///
    /// # Errors
    /// When its name is taken, by a control or by a field of profiles, beside which its parameters stand.
    pub fn add(&mut self, addition: Addition) -> Result<(), ParamError> {
        let name = addition.0.name();
        if self.names().chain(Overrides::FIELDS.iter().copied()).any(|known| known == name) {
            return Err(ParamError::new(
                "name",
                name,
                "it must not be that of another control or of a profile's field",
            ));
        }
        self.added.push(addition.0);
        Ok(())
    }

    /// The names of all controls: those of TCP, the rate-based transports, and the added ones.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let own = congestion::ALL.iter().chain(rate::ALL).map(|e| e.name);
        own.chain(self.added.iter().map(Added::name))
    }

    /// Reads changes to a profile, as [`Overrides`] are read, where `congestion` may also be the name of an added control; the
    /// table with its name holds its parameters.
    ///
    /// # Errors
    /// When a key is unknown, or a value has the wrong type or unit.
    pub fn overrides(&self, mut table: Value) -> Result<Overrides, ParamError> {
        let mut own = Vec::new();
        for added in &self.added {
            let params = table.remove(added.name()).unwrap_or(Value::Table(Vec::new()));
            own.push(added.with(&params).map_err(|e| e.within(added.name()))?);
        }
        let chosen = match table.remove(CONGESTION) {
            Some(Value::Text(name)) => match own.into_iter().find(|added| added.name() == name) {
                Some(added) => Some(Kind::Added(added)),
                None => Some(self.built_in(&name).map_err(|e| e.within(CONGESTION))?),
            },
            Some(other) => Some(other.read().map_err(|e: ParamError| e.within(CONGESTION))?),
            None => None,
        };
        let overrides: Overrides = table.read()?;
        Ok(Overrides { congestion: chosen, ..overrides })
    }

    fn built_in(&self, name: &str) -> Result<Kind, ParamError> {
        let kind = Value::Text(name.to_owned()).read();
        if self.added.is_empty() || kind.is_ok() {
            return kind;
        }
        let right = suggest(name, self.names());
        Err(ParamError::custom(format_args!("there is no congestion control {name:?}; {right}")))
    }
}

#[cfg(test)]
mod tests;
