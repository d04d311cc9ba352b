//! Bringing memory into the processor's caches before it is needed.
//!
//! With many connections nothing that an event needs is in a cache, and events that happen one after the other wait
//! for memory one after the other. What is asked for here comes meanwhile. Nothing that can be seen follows from it.

use branches::prefetch_read_data;

/// Bytes of a line of cache.
const LINE: usize = 64;

/// Asks for the line that a value begins in, for one that is known to end there as well.
#[inline(always)]
pub(crate) fn fetch_line<T>(value: &T) {
    prefetch_read_data::<u8, 0>(std::ptr::from_ref(value).cast());
}

/// Asks for a value: not for what it points to.
#[inline(always)]
pub(crate) fn fetch<T: ?Sized>(value: &T) {
    let (start, size) = (std::ptr::from_ref(value).cast::<u8>(), size_of_val(value));
    for offset in (0..size).step_by(LINE) {
        prefetch_read_data::<u8, 0>(start.wrapping_add(offset));
    }
    // One that does not begin with a line may end in one more.
    if align_of_val(value) < LINE {
        prefetch_read_data::<u8, 0>(start.wrapping_add(size.saturating_sub(1)));
    }
}
