//! Tables whose columns are computed run by run.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::repeat_n;
use std::path::Path;
use std::sync::Arc;

use aqmkit_files::{Cause, ExportError, write_atomically};
use aqmkit_results::RunData;
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use super::parquet::ParquetWriter;

/// A table as batches with a common schema.
#[derive(Clone, Debug)]
pub struct Table {
    /// Column names and types.
    pub schema: SchemaRef,
    /// One batch per run.
    pub batches: Vec<RecordBatch>,
}

/// Label columns, which identify the run of a row.
pub(super) struct LabelColumns {
    /// Labels, with the names of their columns.
    names: Vec<(String, String)>,
}

impl LabelColumns {
    /// The columns of these labels. A label with the name of a value column becomes `axis.<name>`.
    fn of<'a>(labels: impl Iterator<Item = &'a Labels>, values: &[Field]) -> Self {
        let labels: BTreeSet<&String> = labels.flat_map(BTreeMap::keys).collect();
        let column = |label: &String| match values.iter().any(|field| field.name() == label) {
            true => format!("axis.{label}"),
            false => label.clone(),
        };
        LabelColumns { names: labels.into_iter().map(|label| (label.clone(), column(label))).collect() }
    }

    /// The schema of a table with these labels before `values`.
    fn schema(&self, values: Vec<Field>) -> SchemaRef {
        let labels = self.names.iter().map(|(label, column)| Field::new(column, kind(label), true));
        Arc::new(Schema::new(labels.chain(values).collect::<Vec<_>>()))
    }

    /// The labels of one run, repeated for `rows` rows.
    fn arrays(&self, labels: &Labels, rows: usize) -> Vec<ArrayRef> {
        self.names.iter().map(|(label, _)| column(label, repeat_n(labels.get(label), rows))).collect()
    }
}

/// The labels of a run.
type Labels = BTreeMap<String, String>;

/// Repeat and seed are numbers; all other labels are text.
fn kind(label: &str) -> DataType {
    if matches!(label, "repeat" | "seed") { DataType::UInt64 } else { DataType::Utf8 }
}

/// The column of a label with these values.
fn column<'a>(label: &str, values: impl Iterator<Item = Option<&'a String>>) -> ArrayRef {
    if kind(label) == DataType::UInt64 {
        return Arc::new(values.map(|text| text?.parse().ok()).collect::<UInt64Array>());
    }
    Arc::new(values.collect::<StringArray>())
}

/// A column of numbers; NaN becomes null.
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

/// The columns of a table without the labels, and a function that computes them from a run.
pub(super) struct Layout<'a> {
    pub(super) values: Vec<Field>,
    pub(super) rows_of: Box<RowsOf<'a>>,
}

/// Computes the columns of one run.
type RowsOf<'a> = dyn Fn(&RunData<'_>) -> Vec<ArrayRef> + 'a;

/// Writes at least one row group for each run: its labels, then the columns of the layout.
pub(super) fn write(path: &Path, runs: &[RunData<'_>], layout: &Layout<'_>) -> Result<(), ExportError> {
    let (labels, schema) = head(runs, layout);
    write_atomically(path, |out| {
        let mut writer = ParquetWriter::new(out, &schema).map_err(Cause::table)?;
        for run in runs {
            if let Some(batch) = batch(run, layout, &labels, &schema).map_err(Cause::table)? {
                writer.write(batch).map_err(Cause::table)?;
            }
        }
        writer.finish().map_err(Cause::table)?;
        Ok(())
    })
}

/// Like [`write`], in memory: one batch per run.
pub(super) fn gather(runs: &[RunData<'_>], layout: &Layout<'_>) -> Result<Table, ArrowError> {
    let (labels, schema) = head(runs, layout);
    let batches = runs.iter().filter_map(|run| batch(run, layout, &labels, &schema).transpose());
    Ok(Table { batches: batches.collect::<Result<_, _>>()?, schema })
}

fn head(runs: &[RunData<'_>], layout: &Layout<'_>) -> (LabelColumns, SchemaRef) {
    let labels = LabelColumns::of(runs.iter().map(|run| run.labels), &layout.values);
    let schema = labels.schema(layout.values.clone());
    (labels, schema)
}

/// The rows of one run, or `None` if it has none.
fn batch(
    run: &RunData<'_>,
    layout: &Layout<'_>,
    labels: &LabelColumns,
    schema: &SchemaRef,
) -> Result<Option<RecordBatch>, ArrowError> {
    let columns = (layout.rows_of)(run);
    let rows = columns.first().map_or(0, |column| column.len());
    if rows == 0 {
        return Ok(None);
    }
    let all = labels.arrays(run.labels, rows).into_iter().chain(columns).collect();
    RecordBatch::try_new(Arc::clone(schema), all).map(Some)
}

/// A table with one row per entry of `labels`.
pub(super) fn row_each(labels: &[&Labels], values: Vec<Field>, columns: Vec<ArrayRef>) -> Result<Table, ArrowError> {
    let head = LabelColumns::of(labels.iter().copied(), &values);
    let schema = head.schema(values);
    let named = head.names.iter().map(|(label, _)| column(label, labels.iter().map(|l| l.get(label))));
    let all = named.chain(columns).collect();
    Ok(Table { batches: vec![RecordBatch::try_new(Arc::clone(&schema), all)?], schema })
}
