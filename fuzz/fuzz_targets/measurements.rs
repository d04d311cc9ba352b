//! Measurements of a path: any bytes are a file of this kind, and are read or refused with words that help.

#![no_main]

#[path = "../../crates/aqmkit/tests/readers/readers.rs"]
mod readers;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = readers::measurements(data);
});
