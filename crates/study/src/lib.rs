//! Published values compared with measured values.
//!
//! | module | holds |
//! |---|---|
//! | [`verdict`] | published values, and whether the runs of an experiment meet them |
//! | [`null_test`] | which claims are met even without the scheme under study |
//! | [`recorded`] | the verdicts that are stored with the experiments |
//! | [`agree`] | whether live runs and simulated ones agree |

#![forbid(unsafe_code)]

pub mod agree;
pub mod null_test;
pub mod recorded;
mod run;
pub mod verdict;

pub use run::run_all;
