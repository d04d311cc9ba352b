//! Terminal tables and the page, on results that were made up.

#![allow(clippy::unwrap_used, reason = "a test may panic, and so may what helps it")]

mod card;
mod html;
mod overview;
mod synthetic;
mod terminal;
