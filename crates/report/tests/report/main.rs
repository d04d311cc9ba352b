//! Terminal tables and HTML pages of made-up results.

#![allow(clippy::unwrap_used, reason = "a test may panic, and so may what helps it")]

mod card;
mod html;
mod overview;
mod synthetic;
mod terminal;
