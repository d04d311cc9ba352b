//! Helpers that satisfy the kernel's BPF verifier where the compiler would optimise too much away.
//!
//! The verifier explores every path through a program and tracks what it knows of each value. It prunes a path when the
//! state at that point is already known to be safe; values loaded from a map are unknown to it, so they do not prevent
//! pruning. State and arrival are therefore reloaded where many paths meet, and table indices are masked at the point
//! of use, even if they cannot be too large.

use core::hint::black_box;

/// The same reference, opaque to the compiler, so that fields are loaded from memory again.
#[inline(always)]
#[must_use]
pub(crate) fn reread<T>(value: &T) -> &T {
    black_box(value)
}

/// As [`reread`], mutable.
#[inline(always)]
#[must_use]
pub(crate) fn reread_mut<T>(value: &mut T) -> &mut T {
    black_box(value)
}

/// The same bits, opaque to the compiler.
#[inline(always)]
#[must_use]
pub(crate) fn opaque(bits: u32) -> u32 {
    black_box(bits)
}

/// `at`, which is below `SIZE` (a power of two), with a mask that the compiler cannot remove.
#[inline(always)]
#[must_use]
pub(crate) fn masked<const SIZE: usize>(at: u64) -> usize {
    const { assert!(SIZE.is_power_of_two(), "a mask needs a power of two") };
    black_box(at) as usize & (SIZE - 1)
}
