//! The work of aqmkit without a command line: run experiments, compare, characterize, advise. The command `aqmkit` and the Python module are
//! built on it.
//!
//! | module | holds |
//! |---|---|
//! | `perform` | runs the plan of an experiment, and writes its files |
//! | `rounds` | the same under as many seeds as the means need |
//! | `library` | the published values, outcomes of the null test and verdicts beside the experiments |
//! | `null_test` | which claims are met even without the scheme under study |
//! | `compare` | several disciplines on one link, as an experiment |
//! | `characterize` | report cards by RFC 7928 |
//! | `advise` | which discipline serves a wish on a link best |
//! | `parameters` | parameters of disciplines as people write them |
//! | `rates` | the rates of two directions |
//! | `estimate` | how long runs take, before they start |
//! | `bench` | the speed of the engine and of disciplines |
//! | `player` | the page of `aqmkit play`, and links into it |
//!
//! Nothing here prints, parses arguments or catches signals: a caller passes in a [`Progress`] and a flag to stop.

#![forbid(unsafe_code)]

pub mod advise;
pub mod bench;
pub mod characterize;
pub mod compare;
mod error;
pub mod estimate;
pub mod library;
pub mod null_test;
pub mod parameters;
mod perform;
pub mod player;
pub mod rates;
mod rounds;

pub use error::LabError;
pub use perform::{Begun, Performed, Progress, Workspace, calibrate, html, perform};
pub use rounds::{Repeated, Until, perform_rounds};
