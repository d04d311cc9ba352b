//! Values of TOML.

use toml::{Table, Value};

pub(super) fn string(text: impl std::fmt::Display) -> Value {
    Value::String(text.to_string())
}

/// A table of these entries.
pub(super) fn table<const N: usize>(entries: [(&str, Value); N]) -> Table {
    entries.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()
}
