//! Part of the rewritten copy only: the switch that selects the active change, by its number in `AQMKIT_MUTANT`. With
//! `AQMKIT_MUTANTS_REACHED` instead, no change is active, and the number of each change that is reached is written to that file.

use std::borrow::Cow;
use std::env::var;
use std::fs::File;
use std::io::{Read, Write};
use std::str::from_utf8;
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
        let mut room = [0; 1 << 16];
        let given = given(&mut room);
        let number = variable(given, "AQMKIT_MUTANT").and_then(|text| text.parse().ok());
        let notes = NOTES.get_or_init(|| {
            let path = variable(given, "AQMKIT_MUTANTS_REACHED")?;
            File::options().create(true).append(true).open(&*path).ok()
        });
        ON.store(number.unwrap_or(if notes.is_some() { NOTING } else { 0 }), Relaxed);
        return is(id);
    }
    if !REACHED[id as usize % MOST].swap(true, Relaxed)
        && let Some(Some(mut notes)) = NOTES.get().map(Option::as_ref)
    {
        // One write, and no allocation.
        let mut line = [b' '; 11];
        let _ = write!(&mut line[..10], "{id}");
        line[10] = b'\n';
        let _ = notes.write_all(&line);
    }
    false
}

/// The variables that the process was started with, where the system shows them. `std::env` allocates: some tests count allocations, and
/// the first change may be reached where they do.
fn given(room: &mut [u8]) -> Option<&[u8]> {
    let mut file = File::open("/proc/self/environ").ok()?;
    let mut len = 0;
    while let Ok(more @ 1..) = file.read(&mut room[len..]) {
        len += more;
    }
    (len < room.len()).then_some(&room[..len])
}

/// The value of one of them.
fn variable<'a>(given: Option<&'a [u8]>, name: &str) -> Option<Cow<'a, str>> {
    let Some(given) = given else { return var(name).ok().map(Cow::Owned) };
    let value = |entry: &'a [u8]| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=");
    let found = given.split(|&byte| byte == 0).find_map(value)?;
    from_utf8(found).ok().map(Cow::Borrowed)
}
