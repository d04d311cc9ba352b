//! Any bytes are a discipline and a list of operations on it; the driver of the conformance suite holds
//! the queue to its contract after each.

#![no_main]

#[path = "../../crates/aqm/tests/common/mod.rs"]
mod common;

use std::sync::LazyLock;

use aqmkit_aqm::registry::Spec;
use common::catalogue::{defaults, options};
use common::driver::{Op, Play};
use libfuzzer_sys::fuzz_target;

static SPECS: LazyLock<Vec<Spec>> = LazyLock::new(|| [defaults(), options()].concat());

fuzz_target!(|data: &[u8]| {
    let Some((&[which, seed], rest)) = data.split_first_chunk::<2>() else { return };
    let spec = &SPECS[usize::from(which) % SPECS.len()];
    let ops: Vec<Op> = rest.as_chunks::<4>().0.iter().map(|bytes| Op::from(*bytes)).collect();
    Play { seed: seed.into(), ..Play::new(spec, common::link()) }.run(&ops);
});
