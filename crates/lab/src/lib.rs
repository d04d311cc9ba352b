//! From an experiment file to a verdict.

pub mod export;
pub mod report;
pub mod results;
