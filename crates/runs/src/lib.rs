//! Runs a plan: on all cores, each run once, its output kept and exported.
//!
//! | module | holds |
//! |---|---|
//! | [`run`] | the runs of a plan on all cores |
//! | [`calibrate`] | the search for populations that offer a load |
//! | [`store`] | the directory of an experiment's results, with every finished run |
//! | [`export`] | `results.json`, `summary.csv` and the Parquet tables |
//! | [`capture`] | the packets of a run as a capture file |
//! | [`clock`] | what a run costs |

#![forbid(unsafe_code)]

pub mod calibrate;
pub mod capture;
pub mod clock;
pub mod export;
pub mod run;
pub mod store;
