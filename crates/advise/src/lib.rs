//! Finds the queue discipline, and its parameters, that serve a wish on a link best, and says how sure that is.
//!
//! | module | holds |
//! |---|---|
//! | [`quantity`] | what can be wished for: names, units, and where a run has the number |
//! | [`wish`] | what a user wishes: traffic, bounds and aims, from `video, web; p99 < 20ms` |
//! | [`goals`] | a wish on a link with its traffic: the numbers of a run, and the measure that candidates are compared by |
//! | [`space`] | the parameters of a discipline that are searched, and in which steps |
//! | [`search`] | the search: races of disciplines and of their parameters, within a budget of runs |
//! | [`trials`] | the runs of candidates, on all cores, stored as those of any experiment |
//! | [`advice`] | what came out, from runs with seeds that the search did not use |
//! | [`install`] | the commands that put a discipline to work: `tc`, `aqmkit kernel`, `aqmkit bridge` |
//!
//! The search knows neither links nor disciplines but through [`search::Measure`], so that its tests use functions with known minima.

#![forbid(unsafe_code)]

pub mod advice;
pub mod goals;
pub mod install;
pub mod quantity;
pub mod search;
pub mod space;
pub mod trials;
pub mod wish;
