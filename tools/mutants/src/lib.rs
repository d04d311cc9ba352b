//! Mutation testing of aqmkit: the source is changed in one place at a time, and the tests should notice.
//!
//! A build for each change would take hours, so that one build holds them all: in a copy of the workspace, each
//! place becomes `if is(17) { changed } else { original }`, and an environment variable says which change is on. Each
//! test runs once with none on, which shows how long it takes and which changes it comes by. Then each change is
//! tried with the tests that come by it, those of its own crate first and the quickest of them first, until one fails.
//!
//! | module | does |
//! |---|---|
//! | [`operator`] | the kinds of change |
//! | [`places`] | finds where a file can be changed |
//! | [`changed`] | which lines differ from a commit's |
//! | [`draw`] | lists all changes, and draws a sample |
//! | [`rewrite`], [`tree`] | the copy, with the changes behind their switch |
//! | [`compile`] | builds it, without what does not compile |
//! | [`suite`], [`process`] | the tests, each in a process of its own |
//! | [`trial`] | each change against its tests |
//! | [`equivalent`], [`score`] | what the fates come to |

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
