//! Characterises queue disciplines as in RFC 7928, and congestion controls as in RFC 9743, section by section.
//!
//! | module | holds |
//! |---|---|
//! | [`contestant`] | a subject under study, or a reference: a discipline, or what a connection uses |
//! | [`guide`] | a document by whose sections a card judges |
//! | [`rfc7928`], [`rfc9743`] | the sections of the two documents: question, experiment, rules, plot |
//! | [`plan`] | the experiments of a card, with its subjects |
//! | `rule` | the bounds of rules |
//! | `quantities` | metrics that rules and plots share |
//! | `evidence` | the measured values of an experiment, by subject and labels |
//! | `planned` | one experiment of a card |
//! | `pictures` | plots of the sections |
//! | `parameters` | each parameter of a discipline halved and doubled |
//! | [`card`] | builds the report card from the directories of finished experiments |
//! | [`cases`] | the example test cases of draft-ietf-ccwg-bbr |
//!
//! The experiments are in `experiments/rfc7928` and `experiments/rfc9743`; a card runs them with its own subjects instead of those in
//! the files. The RFCs define no bounds: the rules are this crate's, and each card states them.

#![forbid(unsafe_code)]

pub mod card;
pub mod cases;
pub mod contestant;
mod evidence;
pub mod guide;
mod parameters;
mod pictures;
pub mod plan;
mod planned;
mod quantities;
pub mod rfc7928;
pub mod rfc9743;
mod rule;

#[cfg(test)]
mod tests;
