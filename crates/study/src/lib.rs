//! Published values compared with measured values, and runs under as many seeds as the means need.
//!
//! | module | holds |
//! |---|---|
//! | [`verdict`] | published values, and whether the runs of an experiment meet them |
//! | [`null_test`] | which claims are met even without the scheme under study |
//! | [`recorded`] | the verdicts that are stored with the experiments |
//! | [`rounds`] | more and more seeds, until the means are known |
//! | [`agree`] | whether live runs and simulated ones agree |

#![forbid(unsafe_code)]

pub mod agree;
pub mod null_test;
pub mod recorded;
pub mod rounds;
mod run;
pub mod verdict;

pub use run::run_all;
