//! From an experiment file to a verdict.

pub mod cli;
pub mod experiment;
pub mod formula;
pub mod results;
pub mod verdict;
