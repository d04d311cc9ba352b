//! Verdicts: what was published beside what was measured.

pub mod unit;
