//! The time series: one value per metric and interval.

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

    /// Changes a value of a finished interval; it is NaN if there was none.
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

    /// Joins the columns of all parts, padded to the length of the longest.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A column that appears late, or only by changing a finished interval, is NaN elsewhere; all columns have one row
    /// per interval.
    #[test]
    fn columns_have_a_row_for_each_interval() {
        let mut columns = Columns::default();
        for row in 0..4_u32 {
            columns.set("a".to_owned(), f64::from(row));
            if row >= 2 {
                columns.set("late".to_owned(), 10.0);
            }
            columns.end_row();
        }
        columns.change("a", 1, |before| before + 100.0);
        columns.change("new", 2, |before| if before.is_nan() { 7.0 } else { before });
        let mut other = Columns::default();
        other.set("other".to_owned(), 5.0);
        other.end_row();
        let series = Columns::side_by_side([other, columns].into_iter(), Duration::from_millis(500));
        let known = |name: &str| {
            let column = &series.columns[name];
            assert_eq!(column.len(), 4, "{name}");
            column.iter().enumerate().filter(|(_, v)| !v.is_nan()).map(|(i, v)| (i, *v)).collect::<Vec<_>>()
        };
        assert!((series.interval_s - 0.5).abs() < 1e-12);
        assert_eq!(known("a"), [(0, 0.0), (1, 101.0), (2, 2.0), (3, 3.0)]);
        assert_eq!((known("late"), known("new")), (vec![(2, 10.0), (3, 10.0)], vec![(2, 7.0)]));
        assert_eq!(known("other"), [(0, 5.0)]);
    }
}
