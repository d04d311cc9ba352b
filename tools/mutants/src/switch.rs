//! Part of the rewritten copy only: the switch that selects the active change, by its number in `AQMKIT_MUTANT`. With
//! `AQMKIT_MUTANTS_REACHED` instead, no change is active, and the number of each change that is reached is written to that file.

use std::fs::File;
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

const NOT_READ: u32 = u32::MAX;
const NOTING: u32 = u32::MAX - 1;
const MOST: usize = 1 << 16;

static ON: AtomicU32 = AtomicU32::new(NOT_READ);
static REACHED: [AtomicBool; MOST] = [const { AtomicBool::new(false) }; MOST];
static NOTES: OnceLock<Option<File>> = OnceLock::new();

/// Whether change `id` is active.
#[inline(always)]
pub fn is(id: u32) -> bool {
    let on = ON.load(Relaxed);
    if on < NOTING { on == id } else { look(id) }
}

#[cold]
#[inline(never)]
fn look(id: u32) -> bool {
    if ON.load(Relaxed) == NOT_READ {
        let number = std::env::var("AQMKIT_MUTANT").ok().and_then(|text| text.parse().ok());
        let notes = NOTES.get_or_init(|| {
            let path = std::env::var_os("AQMKIT_MUTANTS_REACHED")?;
            File::options().create(true).append(true).open(path).ok()
        });
        ON.store(number.unwrap_or(if notes.is_some() { NOTING } else { 0 }), Relaxed);
        return is(id);
    }
    if !REACHED[id as usize % MOST].swap(true, Relaxed)
        && let Some(Some(mut notes)) = NOTES.get().map(Option::as_ref)
    {
        // One write, and no allocation: some tests count those.
        let mut line = [b' '; 11];
        let _ = write!(&mut line[..10], "{id}");
        line[10] = b'\n';
        let _ = notes.write_all(&line);
    }
    false
}
