//! The disciplines against literal, slow transcriptions of the pseudo-code in their papers, with the
//! readings that the papers' own text corrects. Both draw from the same stream at the same places, so every
//! decision must be equal.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

#[path = "../common/mod.rs"]
mod common;

mod ared;
mod cbq;
mod cbt;
mod curvy_red;
mod dualpi2;
mod dualq;
mod events;
mod fifo;
mod fred;
mod pi;
mod red;
mod rem;
mod trace;
