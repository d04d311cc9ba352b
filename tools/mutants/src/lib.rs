//! Mutation testing of aqmkit: changes the source in one place at a time and checks whether a test fails.
//!
//! A build for each change would take hours. Instead, one build contains all of them: in a copy of the workspace, each
//! place becomes `if is(17) { changed } else { original }`, and an environment variable selects the active change. Each
//! test first runs once without an active change, to measure its duration and the changes that it reaches. Then each change is
//! tested with the tests that reach it, those of its own crate first and fast ones first, until one fails.
//!
//! | module | does |
//! |---|---|
//! | [`operator`] | the kinds of change |
//! | [`places`] | finds the places of a file that can be changed |
//! | [`changed`] | finds the lines that differ from a commit |
//! | [`draw`] | lists all changes, and draws a sample |
//! | [`rewrite`], [`tree`] | write the copy, with each change behind a switch |
//! | [`compile`] | builds the copy, without the changes that do not compile |
//! | [`suite`], [`process`] | run the tests, each in its own process |
//! | [`trial`] | tests each change |
//! | [`equivalent`], [`score`] | the list of equivalent changes; the counts |

pub mod changed;
pub mod cli;
pub mod compile;
pub mod draw;
pub mod equivalent;
pub mod error;
pub mod operator;
mod parallel;
pub mod places;
pub mod process;
mod progress;
pub mod rewrite;
pub mod score;
pub mod suite;
pub mod tree;
pub mod trial;
pub mod workspace;
