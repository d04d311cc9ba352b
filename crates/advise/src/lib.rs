//! Searches the queue discipline, with its parameters, that meets a wish on a link best, and determines how certain
//! this is.
//!
//! | module | holds |
//! |---|---|
//! | [`quantity`] | the quantities that a wish can name: names, units, and the metrics of a run that hold them |
//! | [`wish`] | a wish: traffic, bounds and aims, from `video, web; p99 < 20ms` |
//! | [`goals`] | evaluates a wish on a link with its traffic: the metrics that it concerns, and the score that compares candidates |
//! | [`space`] | the searched parameters of a discipline: their ranges and steps |
//! | [`search`] | the search: races of disciplines and of their parameters, within a budget of runs |
//! | [`trials`] | the runs of candidates, on all cores, stored as those of any experiment |
//! | [`attack`] | the search turned round: the scenario that brings out the worst of a discipline or a control |
//! | [`advice`] | the result, from runs with seeds that the search did not use |
//! | [`install`] | the commands that install a discipline: `tc`, `aqmkit kernel`, `aqmkit bridge` |
//!
//! The search only uses [`search::Measure`] to evaluate candidates, so that tests can use functions with known minima.

#![forbid(unsafe_code)]

pub mod advice;
pub mod attack;
mod draw;
pub mod goals;
pub mod install;
pub mod quantity;
pub mod search;
pub mod space;
pub mod trials;
pub mod wish;
