//! The precision of a table's means.

use aqmkit_results::{Known, Results};

use crate::columns::{Column, columns};
use crate::format::known;
use crate::grid::{Grid, Group, Row, Table};
use crate::terminal::fitting;

/// Columns are judged in a table of this width, whatever the terminal's: the same command then needs the same number of
/// runs everywhere.
const WIDTH: usize = 100;

/// Means of the displayed columns, least precise first. The target is an interval of ± `share` of the mean, or of the
/// smallest relevant difference in the column's unit ([`aqmkit_measure::metric::Unit::fine`]) if that is wider.
#[must_use]
pub fn least_known(results: &Results, share: f64) -> Vec<Known> {
    let grid = Grid::of(results);
    let all = columns(&grid);
    let shown = fitting(&grid, &all, WIDTH);
    let mut found = Vec::new();
    for group in &grid.groups {
        for table in &group.tables {
            for row in &table.rows {
                let judged = shown.iter().filter_map(|column| judge(&grid, group, table, row, column, share));
                found.extend(judged);
            }
        }
    }
    found.sort_by(|a, b| b.excess.total_cmp(&a.excess));
    found
}

fn judge(grid: &Grid, group: &Group, table: &Table, row: &Row, column: &Column, share: f64) -> Option<Known> {
    let stat = row.metrics.get(&column.path)?;
    let aim = (share * stat.mean.abs()).max(column.kind.fine);
    let excess = match stat.half_width() {
        Some(0.0) => 0.0,
        Some(half) => half / aim,
        None => f64::INFINITY,
    };
    let place = [&row.label, &group.title(), grid.named(&table.window).as_str()].map(str::to_owned);
    Some(Known {
        row: place.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", "),
        column: column.name.clone(),
        value: format!("{} {}", known(Some(stat), column.kind.factor, column.decimals), column.kind.unit)
            .trim_end()
            .to_owned(),
        excess,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use aqmkit_measure::output::{LinkStats, Summary};
    use aqmkit_results::Entry;

    use super::*;

    /// Runs of `fifo` with these mean queue delays in milliseconds.
    fn results(delays: &[f64]) -> Results {
        let entry = |(seed, delay): (usize, &f64)| {
            let labels = [("aqm", "fifo"), ("window", "all")].map(|(k, v)| (k.to_owned(), v.to_owned()));
            let mut labels = BTreeMap::from(labels);
            labels.insert("seed".to_owned(), seed.to_string());
            let summary = Summary { mean: *delay, p50: 0.0, p90: 0.0, p99: 0.0, max: 0.0 };
            let link = LinkStats { queue_delay_ms: Some(summary), ..LinkStats::default() };
            Entry { labels, links: [("b".to_owned(), link)].into(), ..Entry::default() }
        };
        Results { runs: delays.iter().enumerate().map(entry).collect(), ..Results::default() }
    }

    fn delay(delays: &[f64], share: f64) -> Known {
        let found = least_known(&results(delays), share);
        found.into_iter().find(|known| known.column == "queue delay, mean").unwrap()
    }

    /// 1, 2 and 3 ms are 2 ± 2.48 ms (t 4.3027, standard deviation 1).
    #[test]
    fn an_interval_is_held_against_a_share_of_the_mean() {
        let known = delay(&[1.0, 2.0, 3.0], 0.05);
        assert!((known.excess - 4.302_653 / 3.0_f64.sqrt() / 0.1).abs() < 1e-3, "{known:?}");
        assert_eq!((known.row.as_str(), known.value.as_str()), ("fifo", "2.00 ±2.48 ms"));
        assert!((delay(&[1.0, 2.0, 3.0], 0.5).excess - 2.484).abs() < 1e-3, "half of 2 ms is 1 ms");
    }

    #[test]
    fn below_the_smallest_difference_that_matters_nothing_more_is_asked() {
        // 0.02 ± 0.0025 ms: an eighth of the mean, but far below 0.1 ms.
        let known = delay(&[0.019, 0.02, 0.021], 0.05);
        assert!(known.excess < 0.03, "{known:?}");
    }

    #[test]
    fn one_run_knows_nothing_and_equal_runs_everything() {
        assert_eq!(delay(&[5.0], 0.05).excess, f64::INFINITY);
        assert_eq!(delay(&[0.0, 0.0], 0.05).excess, 0.0);
    }
}
