//! Results of an experiment: the contents of `results.json`, the standing of its verdicts, and its numbers by path.
//!
//! | module | holds |
//! |---|---|
//! | [`card`] | a report card: disciplines judged section by section |
//! | [`cases`] | the verdicts of a list of test cases |
//! | `shape` | [`Results`] and its parts, as `results.json` has them |
//! | `standing` | the basis of a claim, and its line in the scoreboard |
//! | `skill` | how well published tables are reproduced |
//! | [`statistics`] | means with their intervals, differences of paired runs, start-up transients, effective sample sizes |
//! | `known` | a mean and its precision |
//! | `metrics`, `means` | metrics of an entry by path; means over the runs of a combination |
//! | [`place`] | the axis that distinguishes simulated runs from those with real packets |
//! | `player` | how the page of `aqmkit play` opens the runs |
//! | `ruler` | labels of an axis as numbers of one unit |
//! | `setting` | what the experiment sets, in words |

#![forbid(unsafe_code)]

pub mod advice;
pub mod card;
pub mod cases;
mod known;
mod means;
mod metrics;
pub mod place;
mod player;
mod ruler;
mod setting;
mod shape;
mod skill;
mod standing;
pub mod statistics;

pub use known::Known;
pub use means::{Mean, Means, combination, means};
pub use metrics::flatten;
pub use player::Player;
pub use ruler::Ruler;
pub use setting::Fact;
pub use shape::{
    Agreement, Axis, Cells, Curve, Entry, Expectation, Figure, FigureKind, Law, Overlay, Overview, PublishedPoint,
    Results, RunData, Table, TableCell, Verdict, claim_numbers,
};
pub use skill::{Overall, Skill, skills};
pub use standing::{Basis, Standing, WithoutScheme};
pub use statistics::Stat;
