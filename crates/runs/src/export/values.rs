//! Tables in memory: named columns of text, counts, numbers or flags, with missing values.

use std::borrow::Cow;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Text.
    Text,
    /// Unsigned integers of 64 bits.
    Count,
    /// Floating-point numbers of 64 bits.
    Number,
    /// True or false.
    Flag,
}

/// Name and type of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Type of its values.
    pub of: Type,
    /// Whether values may be missing.
    pub optional: bool,
}

impl Column {
    /// A column.
    pub fn new(name: impl Into<String>, of: Type, optional: bool) -> Self {
        Column { name: name.into(), of, optional }
    }
}

/// Values of a column in some rows; `None` is a missing value.
#[derive(Clone, Debug, PartialEq)]
pub enum Values<'a> {
    /// Values of [`Type::Text`].
    Texts(Vec<Option<Cow<'a, str>>>),
    /// Values of [`Type::Count`].
    Counts(Vec<Option<u64>>),
    /// Values of [`Type::Number`].
    Numbers(Vec<Option<f64>>),
    /// Values of [`Type::Flag`].
    Flags(Vec<Option<bool>>),
}

impl Values<'_> {
    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        match self {
            Values::Texts(values) => values.len(),
            Values::Counts(values) => values.len(),
            Values::Numbers(values) => values.len(),
            Values::Flags(values) => values.len(),
        }
    }
}

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table<'a> {
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows in parts, one for each run that has any; each part has the values of every column.
    pub parts: Vec<Vec<Values<'a>>>,
}

impl Table<'_> {
    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.parts.iter().map(|part| rows(part)).sum()
    }
}

/// Number of rows of a part of a table.
pub(super) fn rows(part: &[Values<'_>]) -> usize {
    part.first().map_or(0, Values::rows)
}

/// A column of numbers; NaN becomes a missing value.
pub(super) fn numbers<'a>(values: impl Iterator<Item = f64>) -> Values<'a> {
    Values::Numbers(values.map(|value| (!value.is_nan()).then_some(value)).collect())
}

/// A column of counts.
pub(super) fn counts<'a>(values: impl Iterator<Item = u64>) -> Values<'a> {
    Values::Counts(values.map(Some).collect())
}

/// A column of text.
pub(super) fn texts<'a>(values: impl Iterator<Item = &'a str>) -> Values<'a> {
    Values::Texts(values.map(|text| Some(Cow::Borrowed(text))).collect())
}
