//! From an experiment file to a verdict.

pub mod results;
