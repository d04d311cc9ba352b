//! Helpers that build TOML values.

use toml::{Table, Value};

pub(super) fn string(text: impl std::fmt::Display) -> Value {
    Value::String(text.to_string())
}

/// Builds a table.
pub(super) fn table<const N: usize>(entries: [(&str, Value); N]) -> Table {
    entries.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()
}
