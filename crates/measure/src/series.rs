//! The time series: one value of each quantity for each interval.

use std::collections::BTreeMap;

use aqmkit_base::Duration;

use crate::output::Series;

/// Collects intervals into columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Columns {
    rows: usize,
    columns: BTreeMap<String, Vec<f64>>,
}

impl Columns {
    /// Sets a value of the current interval.
    pub(crate) fn set(&mut self, name: String, value: f64) {
        let column = self.columns.entry(name).or_default();
        // A quantity that appears late has no earlier values.
        column.resize(self.rows, f64::NAN);
        column.push(value);
    }

    /// Ends the current interval.
    pub(crate) fn end_row(&mut self) {
        self.rows += 1;
    }

    /// The columns of all parts side by side, each as long as the longest.
    pub(crate) fn side_by_side(parts: impl Iterator<Item = Columns>, interval: Duration) -> Series {
        let (mut rows, mut columns) = (0, BTreeMap::new());
        for part in parts {
            rows = rows.max(part.rows);
            columns.extend(part.columns);
        }
        columns.values_mut().for_each(|c: &mut Vec<f64>| c.resize(rows, f64::NAN));
        Series { interval_s: interval.as_secs_f64(), columns }
    }
}
