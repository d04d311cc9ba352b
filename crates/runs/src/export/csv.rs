//! `summary.csv` and `runs.csv`.

use std::collections::BTreeSet;
use std::path::Path;

use aqmkit_files::{ExportError, write_atomically};
use aqmkit_results::{Results, flatten, means};

/// One line per combination, window and metric: labels, path, mean over the runs, ends of the 95 % interval (empty for
/// a single run), and number of runs.
pub(super) fn summary(path: &Path, results: &Results) -> Result<(), ExportError> {
    let all = means(&results.runs);
    let labels: BTreeSet<&String> = all.iter().flat_map(|means| means.labels.keys()).collect();
    write_atomically(path, |out| {
        let mut table = csv::Writer::from_writer(out);
        let columns = ["metric", "mean", "low", "high", "runs"];
        table.write_record(labels.iter().map(|name| name.as_str()).chain(columns))?;
        for (means, (metric, mean)) in all.iter().flat_map(|m| m.metrics.iter().map(move |metric| (m, metric))) {
            let named = labels.iter().map(|name| means.labels.get(*name).cloned().unwrap_or_default());
            let end = |end: Option<f64>| end.map(|end| end.to_string()).unwrap_or_default();
            let numbers = [mean.mean.to_string(), end(mean.low), end(mean.high), mean.runs.to_string()];
            table.write_record(named.chain([metric.clone()]).chain(numbers))?;
        }
        table.flush()?;
        Ok(())
    })
}

/// One line per run and window: labels and all metrics; a missing value is an empty field.
pub(super) fn runs(path: &Path, results: &Results) -> Result<(), ExportError> {
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
