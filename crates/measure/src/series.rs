//! The time series: one value of each metric for each interval.

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
        // A column that appears late has no earlier values.
        column.resize(self.rows, f64::NAN);
        column.push(value);
    }

    /// Changes the value of a finished interval, which is NaN if it had none.
    pub(crate) fn change(&mut self, name: &str, row: usize, of: impl FnOnce(f64) -> f64) {
        if let Some(value) = self.columns.get_mut(name).and_then(|column| column.get_mut(row)) {
            *value = of(*value);
        } else {
            let column = self.columns.entry(name.to_owned()).or_default();
            column.resize(self.rows.max(row + 1), f64::NAN);
            column[row] = of(f64::NAN);
        }
    }

    /// Ends the current interval.
    pub(crate) fn end_row(&mut self) {
        self.rows += 1;
    }

    /// Joins the columns of all parts; each becomes as long as the longest.
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
