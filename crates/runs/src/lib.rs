//! Runs a plan on all cores; stores and exports the results.
//!
//! | module | holds |
//! |---|---|
//! | [`run`] | executes the runs of a plan on all cores |
//! | [`calibrate`] | searches populations that offer a given load |
//! | [`store`] | the directory of an experiment's results, with every finished run |
//! | [`export`] | `results.json`, `summary.csv` and the Parquet tables |
//! | [`capture`] | writes the packets of a run to a capture file |
//! | [`qlog`] | writes what the senders of a run do as qlog traces |
//! | [`transient`] | whether the start-up transient had ended when the measurement began |
//! | [`tails`] | notes on response times with few responses |
//! | [`clock`] | the cost of a run |

#![forbid(unsafe_code)]

pub mod calibrate;
pub mod capture;
pub mod clock;
pub mod export;
pub mod qlog;
pub mod run;
pub mod store;
pub mod tails;
pub mod transient;
