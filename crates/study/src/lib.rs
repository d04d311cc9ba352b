//! Compares published with measured values, and runs experiments with as many seeds as their means need.
//!
//! | module | holds |
//! |---|---|
//! | [`verdict`] | published values, and whether the runs of an experiment meet them |
//! | [`null_test`] | claims that are met even without the scheme under study |
//! | [`recorded`] | the verdicts that are stored with the experiments |
//! | [`rounds`] | additional seeds, until the means are precise enough |
//! | [`agree`] | comparison of live with simulated runs |

#![forbid(unsafe_code)]

pub mod agree;
pub mod null_test;
pub mod recorded;
pub mod rounds;
mod run;
pub mod verdict;

pub use run::run_all;
