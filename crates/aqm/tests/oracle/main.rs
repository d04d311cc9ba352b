//! The disciplines against literal, slow transcriptions of the sources' pseudo-code, with the
//! readings that their own text corrects. Both draw from the same stream at the same places, so every
//! decision must be equal.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

#[path = "../common/mod.rs"]
mod common;

mod afd;
mod blue;
mod cbq;
mod cbt;
mod choke;
mod fifo;
mod fred;
mod red;
mod red_part;
mod rio;
mod sfb;
mod sred;
mod trace;
