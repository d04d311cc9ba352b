//! From an experiment file to a verdict.

pub mod experiment;
pub mod results;
