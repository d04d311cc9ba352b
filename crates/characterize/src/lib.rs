//! Characterises queue disciplines as in RFC 7928, section by section.
//!
//! | module | holds |
//! |---|---|
//! | [`contestant`] | a discipline under study, or a reference |
//! | [`plan`] | the experiments of a card, with its disciplines |
//! | [`sections`] | the list of sections: question, experiment, rules, plot |
//! | `rule` | the bounds of rules |
//! | `quantities` | metrics that rules and plots share |
//! | `evidence` | the measured values of an experiment, by discipline and labels |
//! | `planned` | one experiment of a card |
//! | `pictures` | plots of the sections |
//! | `parameters` | each parameter of a discipline halved and doubled |
//! | [`card`] | builds the report card from the directories of finished experiments |
//!
//! The experiments are in `experiments/rfc7928/*.toml`; a card runs them with its own disciplines instead of those in
//! the files. The RFC defines no bounds: the rules are this crate's, and each card states them.

#![forbid(unsafe_code)]

pub mod card;
pub mod contestant;
mod evidence;
mod parameters;
mod pictures;
pub mod plan;
mod planned;
mod quantities;
mod rule;
pub mod sections;

#[cfg(test)]
mod tests;
