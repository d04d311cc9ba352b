//! `summary.csv`: one line for each run and window, one column for each number.

use std::collections::BTreeSet;
use std::path::Path;

use aqmkit_files::{ExportError, write_atomically};
use aqmkit_results::{Results, flatten};

/// Writes the labels and every number of each entry; a missing value is an empty field.
pub(super) fn summary(path: &Path, results: &Results) -> Result<(), ExportError> {
    let rows: Vec<_> = results.runs.iter().map(flatten).collect();
    let labels: BTreeSet<&String> = results.runs.iter().flat_map(|entry| entry.labels.keys()).collect();
    let metrics: BTreeSet<&String> = rows.iter().flat_map(|row| row.keys()).collect();
    write_atomically(path, |out| {
        let mut table = csv::Writer::from_writer(out);
        table.write_record(labels.iter().chain(&metrics).map(|name| name.as_str()))?;
        for (entry, row) in results.runs.iter().zip(&rows) {
            let named = labels.iter().map(|name| entry.labels.get(*name).cloned().unwrap_or_default());
            let numbers = metrics.iter().map(|name| row.get(*name).map(ToString::to_string).unwrap_or_default());
            table.write_record(named.chain(numbers))?;
        }
        table.flush()?;
        Ok(())
    })
}
