//! From an experiment file to a verdict.

#![forbid(unsafe_code)]

pub mod bounded;
pub mod calibrate;
pub mod capture;
pub mod cli;
pub mod clock;
pub mod engine;
pub mod experiment;
pub mod export;
pub mod formula;
pub mod full;
pub mod live;
pub mod null_test;
pub mod recorded;
pub mod report;
pub mod results;
pub mod run;
pub mod standing;
pub mod store;
pub mod verdict;
