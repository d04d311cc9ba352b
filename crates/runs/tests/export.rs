//! Contents of the exported files.

#![allow(clippy::unwrap_used, reason = "a test may panic, and so may what helps it")]

#[path = "../../report/tests/report/synthetic.rs"]
mod synthetic;

use std::fs::File;
use std::path::Path;

use aqmkit_results::{Results, RunData};
use aqmkit_runs::export::{self, Format, Kind, TableWriter};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use synthetic::study;

fn read(path: &Path) -> RecordBatch {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let schema = reader.schema().clone();
    let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
    arrow_select::concat::concat_batches(&schema, &batches).unwrap()
}

fn floats(table: &RecordBatch, name: &str) -> Vec<Option<f64>> {
    table.column_by_name(name).unwrap().as_primitive::<Float64Type>().iter().collect()
}

fn counts(table: &RecordBatch, name: &str) -> Vec<Option<u64>> {
    table.column_by_name(name).unwrap().as_primitive::<UInt64Type>().iter().collect()
}

#[test]
fn json_reads_back_equal_and_is_always_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let study = study(2, 2);
    export::write(dir.path(), &study.results, &study.runs()).unwrap();
    let text = std::fs::read_to_string(dir.path().join("results.json")).unwrap();
    let back: Results = serde_json::from_str(&text).unwrap();
    assert_eq!(back, study.results);
    export::json(&dir.path().join("again.json"), &back).unwrap();
    assert_eq!(std::fs::read_to_string(dir.path().join("again.json")).unwrap(), text);
}

#[test]
fn series_read_back_equal() {
    let dir = tempfile::tempdir().unwrap();
    let study = study(2, 1);
    export::write(dir.path(), &study.results, &study.runs()).unwrap();
    let table = read(&dir.path().join("series.parquet"));
    assert_eq!(table.num_rows(), study.runs.len() * 240);
    let mut row = 0;
    for (labels, output) in &study.runs {
        for (name, values) in &output.series.columns {
            let written = &floats(&table, name)[row..row + values.len()];
            let expected: Vec<_> = values.iter().map(|value| (!value.is_nan()).then_some(*value)).collect();
            assert_eq!(written, expected, "{name}");
        }
        assert_eq!(floats(&table, "t_s")[row + 10], Some(10.0));
        assert_eq!(table.column_by_name("aqm").unwrap().as_string::<i32>().value(row), labels["aqm"]);
        assert_eq!(counts(&table, "seed")[row], Some(labels["seed"].parse().unwrap()));
        row += 240;
    }
    let absent = table.column_by_name("apps.mpeg.frame_rate").unwrap();
    assert!(absent.is_null(100), "a run without such a column has nulls there");
}

/// A program without the feature `parquet` writes the same tables like this.
#[test]
fn a_table_may_be_lines_of_csv() {
    let study = study(2, 1);
    let runs = study.runs();
    let table = export::table(Kind::Series, &runs);
    let mut writer = TableWriter::new(Vec::new(), Format::Csv, &table.columns).unwrap();
    for part in table.parts {
        writer.write(part).unwrap();
    }
    let text = writer.finish().unwrap();
    let mut lines = csv::Reader::from_reader(&text[..]);
    let heads = lines.headers().unwrap().clone();
    let place = |name: &str| heads.iter().position(|head| head == name).unwrap();
    let lines: Vec<csv::StringRecord> = lines.records().map(Result::unwrap).collect();
    assert_eq!(lines.len(), study.runs.len() * 240);
    for (name, values) in &study.runs[0].1.series.columns {
        let written: Vec<Option<f64>> = lines[..240].iter().map(|line| line[place(name)].parse().ok()).collect();
        let expected: Vec<_> = values.iter().map(|value| (!value.is_nan()).then_some(*value)).collect();
        assert_eq!(written, expected, "{name}");
    }
    assert_eq!(lines[10][place("t_s")].parse(), Ok(10.0));
    assert_eq!(lines[0][place("aqm")], study.runs[0].0["aqm"]);
    assert_eq!(&lines[100][place("apps.mpeg.frame_rate")], "", "a run without such a column has nothing there");
}

#[test]
fn flows_and_responses_read_back_equal() {
    let dir = tempfile::tempdir().unwrap();
    let study = study(1, 1);
    export::write(dir.path(), &study.results, &study.runs()).unwrap();
    let flows = read(&dir.path().join("flows.parquet"));
    let all: Vec<_> = study.runs.iter().flat_map(|(_, output)| &output.flows).collect();
    assert_eq!(flows.num_rows(), all.len());
    let delivered: Vec<_> = all.iter().map(|flow| Some(flow.delivered_bytes[1])).collect();
    assert_eq!(counts(&flows, "delivered_bytes.blast"), delivered);
    let responses = read(&dir.path().join("responses.parquet"));
    let taken: Vec<_> =
        study.runs.iter().flat_map(|(_, output)| &output.exchanges).map(|e| Some(e.duration_ms)).collect();
    assert_eq!(floats(&responses, "duration_ms"), taken);
}

#[test]
fn summary_has_a_line_for_each_run_and_window() {
    let dir = tempfile::tempdir().unwrap();
    let mut study = study(1, 2);
    study.results.runs[0].links.get_mut("bottleneck").unwrap().utilization = f64::NAN;
    export::write(dir.path(), &study.results, &study.runs()).unwrap();
    let mut table = csv::Reader::from_path(dir.path().join("runs.csv")).unwrap();
    let heads = table.headers().unwrap().clone();
    let place = |name: &str| heads.iter().position(|head| head == name).unwrap();
    assert_eq!(&heads[0], "aqm");
    let lines: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    assert_eq!(lines.len(), study.results.runs.len());
    assert_eq!(&lines[0][place("links.bottleneck.utilization")], "", "not a number, so nothing");
    let delay: f64 = lines[1][place("links.bottleneck.queue_delay_ms.p99")].parse().unwrap();
    assert_eq!(delay, study.results.runs[1].links["bottleneck"].queue_delay_ms.unwrap().p99);
}

/// `summary.csv`, the table in memory and `results.json` have the same means over the seeds with the ends of their
/// intervals.
#[test]
fn the_summary_has_means_with_intervals() {
    let dir = tempfile::tempdir().unwrap();
    let study = study(1, 3);
    export::write(dir.path(), &study.results, &study.runs()).unwrap();
    let means = aqmkit_results::means(&study.results.runs);
    let mut table = csv::Reader::from_path(dir.path().join("summary.csv")).unwrap();
    let heads = table.headers().unwrap().clone();
    assert_eq!(heads.iter().skip(heads.len() - 5).collect::<Vec<_>>(), ["metric", "mean", "low", "high", "runs"]);
    assert!(!heads.iter().any(|head| head == "seed" || head == "repeat"), "{heads:?}");
    let lines: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    assert_eq!(lines.len(), means.iter().map(|m| m.metrics.len()).sum::<usize>());
    assert_eq!(export::means(&means).rows(), lines.len());
    let (path, first) = means[0].metrics.iter().next().unwrap();
    let last: Vec<&str> = lines[0].iter().skip(heads.len() - 5).collect();
    let end = |end: Option<f64>| end.map(|end| end.to_string()).unwrap_or_default();
    assert_eq!(last, [path.clone(), first.mean.to_string(), end(first.low), end(first.high), first.runs.to_string()]);
}

#[test]
fn an_axis_may_be_named_like_a_column() {
    let dir = tempfile::tempdir().unwrap();
    let mut study = study(1, 1);
    for (labels, _) in &mut study.runs {
        labels.insert("class".into(), "seven".into());
    }
    export::write(dir.path(), &study.results, &study.runs()).unwrap();
    let flows = read(&dir.path().join("flows.parquet"));
    assert_eq!(flows.column_by_name("axis.class").unwrap().as_string::<i32>().value(0), "seven");
    assert_eq!(flows.column_by_name("class").unwrap().as_string::<i32>().value(0), "tcp");
}

#[test]
fn no_runs_make_empty_tables() {
    let dir = tempfile::tempdir().unwrap();
    let none: [RunData<'_>; 0] = [];
    export::write(dir.path(), &Results::default(), &none).unwrap();
    for name in ["series", "flows", "responses"] {
        assert_eq!(read(&dir.path().join(format!("{name}.parquet"))).num_rows(), 0);
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 6, "and nothing else is left behind");
}

#[test]
fn an_error_names_the_file() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("summary.csv")).unwrap();
    let error = export::write(dir.path(), &Results::default(), &[]).unwrap_err();
    assert!(error.to_string().contains("summary.csv"), "{error}");
    assert!(error.to_string().starts_with("cannot write "), "{error}");
}
