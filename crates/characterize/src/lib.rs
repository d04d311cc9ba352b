//! Characterises queue disciplines as RFC 7928 asks, section by section.
//!
//! | module | holds |
//! |---|---|
//! | [`contestant`] | a discipline that is characterised, or that others are compared with |
//! | [`plan`] | the experiments of a card, with its disciplines in them |
//! | [`sections`] | the one list of sections: question, experiment, rules, picture |
//! | `evidence` | what the runs of an experiment measured, by discipline and labels |
//! | `pictures` | what a section looks like |
//! | `parameters` | each parameter of a discipline halved and doubled |
//! | [`card`] | the report card from the directories of finished experiments |
//!
//! The experiments are ordinary ones, `experiments/rfc7928/*.toml`; a card runs them with its own disciplines in place of those of the file. The
//! RFC defines no bounds: the rules are this crate's, and each card states them.

#![forbid(unsafe_code)]

pub mod card;
pub mod contestant;
mod evidence;
mod parameters;
mod pictures;
pub mod plan;
pub mod sections;

#[cfg(test)]
mod tests;
