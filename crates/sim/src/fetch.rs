//! Prefetching memory into the caches.
//!
//! With many connections the state that an event needs is not in a cache, and successive events wait for
//! memory one after the other. Prefetching overlaps these accesses. It does not affect results.

use branches::prefetch_read_data;

/// Bytes of a cache line.
const LINE: usize = 64;

/// Prefetches the cache line of a value that does not cross a line.
#[inline(always)]
pub(crate) fn fetch_line<T>(value: &T) {
    prefetch_read_data::<u8, 0>(std::ptr::from_ref(value).cast());
}

/// Prefetches a value, not the data behind its pointers.
#[inline(always)]
pub(crate) fn fetch<T: ?Sized>(value: &T) {
    let (start, size) = (std::ptr::from_ref(value).cast::<u8>(), size_of_val(value));
    for offset in (0..size).step_by(LINE) {
        prefetch_read_data::<u8, 0>(start.wrapping_add(offset));
    }
    // An unaligned value may need one more line.
    if align_of_val(value) < LINE {
        prefetch_read_data::<u8, 0>(start.wrapping_add(size.saturating_sub(1)));
    }
}
