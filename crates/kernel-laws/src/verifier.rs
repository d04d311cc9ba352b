//! What the kernel's verifier needs of a program that the compiler would leave out.
//!
//! The verifier follows every path through a program, with all that it knows of each value on it. It joins two paths where
//! it knows the same on both; of what is read from a map it knows nothing. So state and arrival are read again where many
//! paths meet, and places in tables are masked where they are used, even where they could not be too large.

use core::hint::black_box;

/// The same, to be read from memory again.
#[inline(always)]
#[must_use]
pub(crate) fn reread<T>(value: &T) -> &T {
    black_box(value)
}

/// The same, to be read from memory again.
#[inline(always)]
#[must_use]
pub(crate) fn reread_mut<T>(value: &mut T) -> &mut T {
    black_box(value)
}

/// The same bits, of which the compiler knows nothing.
#[inline(always)]
#[must_use]
pub(crate) fn opaque(bits: u32) -> u32 {
    black_box(bits)
}

/// `at`, which is below `SIZE`, a power of two: masked in a way that the compiler keeps.
#[inline(always)]
#[must_use]
pub(crate) fn masked<const SIZE: usize>(at: u64) -> usize {
    const { assert!(SIZE.is_power_of_two(), "a mask needs a power of two") };
    black_box(at) as usize & (SIZE - 1)
}
