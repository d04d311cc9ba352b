//! Runs a plan on all cores; stores and exports the results.
//!
//! | module | holds |
//! |---|---|
//! | [`run`] | the runs of a plan on all cores |
//! | [`calibrate`] | the calibration of populations that offer a load |
//! | [`store`] | the directory of an experiment's results, with every finished run |
//! | [`export`] | `results.json`, `summary.csv` and the Parquet tables |
//! | [`capture`] | the packets of a run as a capture file |
//! | [`transient`] | whether the start-up transient had ended when the measurement began |
//! | [`tails`] | response times that rest on few responses |
//! | [`clock`] | the cost of a run |

#![forbid(unsafe_code)]

pub mod calibrate;
pub mod capture;
pub mod clock;
pub mod export;
pub mod run;
pub mod store;
pub mod tails;
pub mod transient;
