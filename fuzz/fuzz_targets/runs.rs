//! Any bytes are the file of a stored run: as they are, or packed first, so that what is within is reached.

#![no_main]

#[path = "../../crates/aqmkit/tests/readers/readers.rs"]
mod readers;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else { return };
    if first % 4 == 0 {
        let _ = readers::runs(rest);
    } else if let Ok(packed) = zstd::encode_all(rest, 1) {
        let _ = readers::runs(&packed);
    }
});
