//! Captures through disciplines.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod files;
mod formats;
mod host;
mod worked;
