//! Tables of columns, written run by run.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, StringArray, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::atomic::write_atomically;
use super::error::{Cause, ExportError};
use crate::report::RunData;

/// The columns that say which run a row belongs to.
pub(super) struct LabelColumns {
    /// The labels, and the columns they are in.
    names: Vec<(String, String)>,
}

impl LabelColumns {
    /// The labels of `runs`. One that has the name of a value column is called `axis.<name>`.
    pub(super) fn of(runs: &[RunData<'_>], values: &[Field]) -> Self {
        let labels: BTreeSet<&String> = runs.iter().flat_map(|run| run.labels.keys()).collect();
        let column = |label: &String| match values.iter().any(|field| field.name() == label) {
            true => format!("axis.{label}"),
            false => label.clone(),
        };
        LabelColumns { names: labels.into_iter().map(|label| (label.clone(), column(label))).collect() }
    }

    /// The schema of a table with these labels in front of `values`.
    pub(super) fn schema(&self, values: Vec<Field>) -> SchemaRef {
        let labels = self.names.iter().map(|(label, column)| Field::new(column, kind(label), true));
        Arc::new(Schema::new(labels.chain(values).collect::<Vec<_>>()))
    }

    /// The labels of `run`, `rows` times.
    fn arrays(&self, run: &RunData<'_>, rows: usize) -> Vec<ArrayRef> {
        self.names.iter().map(|(label, _)| repeated(label, run.labels.get(label), rows)).collect()
    }
}

/// Counters are numbers in the tables, and all other labels text.
fn kind(label: &str) -> DataType {
    if matches!(label, "repeat" | "seed") { DataType::UInt64 } else { DataType::Utf8 }
}

fn repeated(label: &str, value: Option<&String>, rows: usize) -> ArrayRef {
    let value = value.map(String::as_str);
    if kind(label) == DataType::UInt64 {
        return Arc::new(UInt64Array::from(vec![value.and_then(|text| text.parse().ok()); rows]));
    }
    Arc::new(StringArray::from(vec![value; rows]))
}

/// A column of numbers; what is not a number is null.
pub(super) fn floats(values: impl Iterator<Item = f64>) -> ArrayRef {
    Arc::new(values.map(|value| (!value.is_nan()).then_some(value)).collect::<Float64Array>())
}

/// A column of counts.
pub(super) fn counts(values: impl Iterator<Item = u64>) -> ArrayRef {
    Arc::new(UInt64Array::from_iter_values(values))
}

/// A column of text.
pub(super) fn texts<'a>(values: impl Iterator<Item = &'a str>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

/// Writes one row group (or more) for each run: its labels, then the columns that `rows_of` makes.
pub(super) fn write(
    path: &Path,
    runs: &[RunData<'_>],
    values: Vec<Field>,
    mut rows_of: impl FnMut(&RunData<'_>) -> Vec<ArrayRef>,
) -> Result<(), ExportError> {
    let labels = LabelColumns::of(runs, &values);
    let schema = labels.schema(values);
    write_atomically(path, |out| {
        let mut writer = open(out, &schema)?;
        for run in runs {
            let columns = rows_of(run);
            let rows = columns.first().map_or(0, |column| column.len());
            if rows > 0 {
                let all = labels.arrays(run, rows).into_iter().chain(columns).collect();
                writer.write(&RecordBatch::try_new(schema.clone(), all)?)?;
            }
        }
        writer.close()?;
        Ok(())
    })
}

fn open<'a, 'b>(
    out: &'a mut BufWriter<&'b File>,
    schema: &SchemaRef,
) -> Result<ArrowWriter<&'a mut BufWriter<&'b File>>, Cause> {
    Ok(ArrowWriter::try_new(out, schema.clone(), Some(settings()))?)
}

/// How Parquet files are written.
#[must_use]
pub fn settings() -> WriterProperties {
    WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build()
}
