//! Live links as the laboratory sees them: results in the form of simulated runs.

pub mod stats;
