//! The disciplines against literal, slow transcriptions of the dissertation's pseudo-code, with the
//! readings that its own text corrects. Both draw from the same stream at the same places, so every
//! decision must be equal.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

#[path = "../common/mod.rs"]
mod common;

mod cbq;
mod cbt;
mod fifo;
mod fred;
mod red;
mod trace;

mod csfq;
mod drr;
mod fq;
mod queues;
mod sfq;
