//! Parameters as 64-bit words, the layout of a program's settings map.

use crate::fixed::{DIGIT, DIGITS, Factor, Fixed, Fraction, Powers};

/// A type that can be part of a parameter struct: a whole number of 64-bit words.
pub trait Words {
    /// Number of words.
    const COUNT: usize;
    /// Writes the words in order.
    fn write(&self, out: &mut dyn FnMut(u64));
}

impl Words for u64 {
    const COUNT: usize = 1;
    fn write(&self, out: &mut dyn FnMut(u64)) {
        out(*self);
    }
}

impl Words for Fixed {
    const COUNT: usize = 1;
    fn write(&self, out: &mut dyn FnMut(u64)) {
        out(self.0 as u64);
    }
}

impl Words for Fraction {
    const COUNT: usize = 1;
    fn write(&self, out: &mut dyn FnMut(u64)) {
        out(u64::from(self.high) << 32 | u64::from(self.low));
    }
}

impl Words for Factor {
    const COUNT: usize = 2;
    fn write(&self, out: &mut dyn FnMut(u64)) {
        self.mantissa.write(out);
        out(self.shifts);
    }
}

impl Words for Powers {
    const COUNT: usize = <[[Fraction; 1 << DIGIT]; DIGITS]>::COUNT;
    fn write(&self, out: &mut dyn FnMut(u64)) {
        self.0.write(out);
    }
}

impl<T: Words, const N: usize> Words for [T; N] {
    const COUNT: usize = N * T::COUNT;
    fn write(&self, out: &mut dyn FnMut(u64)) {
        self.iter().for_each(|one| one.write(out));
    }
}

/// Defines a parameter struct, and its encoding as words in field order.
macro_rules! words {
    ($(#[$about:meta])* pub struct $name:ident { $($(#[$of_field:meta])* pub $field:ident: $type:ty,)* }) => {
        $(#[$about])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name { $($(#[$of_field])* pub $field: $type,)* }

        impl $crate::words::Words for $name {
            const COUNT: usize = 0 $(+ <$type as $crate::words::Words>::COUNT)*;
            fn write(&self, out: &mut dyn FnMut(u64)) {
                $(self.$field.write(out);)*
            }
        }
    };
}
pub(crate) use words;
