//! Type-erased traffic models that other crates add.

use std::any::Any;
use std::fmt;

use aqmkit_base::read::Value;
use serde::{Serialize, Serializer};

use super::model::{Data, Format, Knob, Model, ParamError, Population};

/// The parameters of an added model, type-erased.
trait ErasedModel: fmt::Debug + Send + Sync {
    fn name(&self) -> &'static str;
    fn boxed_clone(&self) -> Box<dyn ErasedModel>;
    fn as_any(&self) -> &dyn Any;
    fn is(&self, other: &dyn Any) -> bool;
    fn serialized(&self) -> &dyn erased_serde::Serialize;
    fn read(&self, table: &Value) -> Result<Box<dyn ErasedModel>, ParamError>;
    fn check(&self) -> Result<(), ParamError>;
    fn files(&self) -> Vec<String>;
    fn format(&self) -> Format;
    fn knob(&mut self) -> Option<Knob<'_>>;
    fn count(&mut self) -> Option<(&'static str, &mut usize)>;
    fn prepare(&self, data: &[Data]) -> Result<Box<dyn Population>, ParamError>;
}

impl<M: Model> ErasedModel for M {
    fn name(&self) -> &'static str {
        M::NAME
    }

    fn boxed_clone(&self) -> Box<dyn ErasedModel> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn is(&self, other: &dyn Any) -> bool {
        other.downcast_ref() == Some(self)
    }

    fn serialized(&self) -> &dyn erased_serde::Serialize {
        self
    }

    fn read(&self, table: &Value) -> Result<Box<dyn ErasedModel>, ParamError> {
        table.read().map(|params: M| Box::new(params) as Box<dyn ErasedModel>)
    }

    fn check(&self) -> Result<(), ParamError> {
        Model::check(self)
    }

    fn files(&self) -> Vec<String> {
        Model::files(self)
    }

    fn format(&self) -> Format {
        M::FORMAT
    }

    fn knob(&mut self) -> Option<Knob<'_>> {
        Model::knob(self)
    }

    fn count(&mut self) -> Option<(&'static str, &mut usize)> {
        Model::count(self)
    }

    fn prepare(&self, data: &[Data]) -> Result<Box<dyn Population>, ParamError> {
        Model::prepare(self, data)
    }
}

/// The parameters of a traffic model that a program has added to the catalogue.
#[derive(Debug)]
pub struct Added {
    model: Box<dyn ErasedModel>,
    version: u32,
}

impl Clone for Added {
    fn clone(&self) -> Self {
        Added { model: self.model.boxed_clone(), version: self.version }
    }
}

impl PartialEq for Added {
    fn eq(&self, other: &Self) -> bool {
        self.version == other.version && self.model.is(other.model.as_any())
    }
}

impl Serialize for Added {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        erased_serde::serialize(self.serialized(), s)
    }
}

impl Added {
    /// Type-erased parameters, for a serializer of any format.
    pub(crate) fn serialized(&self) -> &dyn erased_serde::Serialize {
        self.model.serialized()
    }

    /// The model with its default parameters.
    pub(crate) fn new<M: Model>(version: u32) -> Self {
        Added { model: Box::new(M::default()), version }
    }

    /// The version that the program passed to [`crate::catalogue::Addition::of`].
    #[must_use]
    pub fn version(&self) -> u32 {
        self.version
    }

    pub(crate) fn name(&self) -> &'static str {
        self.model.name()
    }

    pub(crate) fn with(&self, table: &Value) -> Result<Self, ParamError> {
        Ok(Added { model: self.model.read(table)?, version: self.version })
    }

    pub(crate) fn check(&self) -> Result<(), ParamError> {
        self.model.check()
    }

    pub(crate) fn files(&self) -> Vec<String> {
        self.model.files()
    }

    pub(crate) fn format(&self) -> Format {
        self.model.format()
    }

    pub(crate) fn knob(&mut self) -> Option<Knob<'_>> {
        self.model.knob()
    }

    pub(crate) fn count(&mut self) -> Option<(&'static str, &mut usize)> {
        self.model.count()
    }

    pub(crate) fn prepare(&self, data: &[Data]) -> Result<Box<dyn Population>, ParamError> {
        self.model.prepare(data)
    }
}
