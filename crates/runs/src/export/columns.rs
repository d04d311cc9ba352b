//! Tables whose columns are computed run by run.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use aqmkit_files::{ExportError, write_atomically};
use aqmkit_results::RunData;

use super::values::{Column, Table, Type, Values, rows};
use super::writer::{Format, TableWriter};

/// Label columns, which identify the run of a row.
pub(super) struct LabelColumns {
    /// Labels, with the names of their columns.
    names: Vec<(String, String)>,
}

impl LabelColumns {
    /// The columns of these labels. A label with the name of a value column becomes `axis.<name>`.
    fn of<'a>(labels: impl Iterator<Item = &'a Labels>, values: &[Column]) -> Self {
        let labels: BTreeSet<&String> = labels.flat_map(BTreeMap::keys).collect();
        let column = |label: &String| match values.iter().any(|column| column.name == *label) {
            true => format!("axis.{label}"),
            false => label.clone(),
        };
        LabelColumns { names: labels.into_iter().map(|label| (label.clone(), column(label))).collect() }
    }

    /// The columns of a table with these labels before `values`.
    fn before(&self, values: Vec<Column>) -> Vec<Column> {
        let labels = self.names.iter().map(|(label, name)| Column::new(name, type_of(label), true));
        labels.chain(values).collect()
    }

    /// The labels of each row.
    fn values<'a>(&self, of_rows: &[&'a Labels]) -> Vec<Values<'a>> {
        let column = |label: &String| {
            let values = of_rows.iter().map(|labels| labels.get(label));
            match type_of(label) {
                Type::Count => Values::Counts(values.map(|text| text?.parse().ok()).collect()),
                _ => Values::Texts(values.map(|text| Some(Cow::Borrowed(text?.as_str()))).collect()),
            }
        };
        self.names.iter().map(|(label, _)| column(label)).collect()
    }
}

/// The labels of a run.
type Labels = BTreeMap<String, String>;

/// Repeat and seed are numbers; all other labels are text.
fn type_of(label: &str) -> Type {
    if matches!(label, "repeat" | "seed") { Type::Count } else { Type::Text }
}

/// The columns of a table without the labels, and a function that computes them from a run.
pub(super) struct Layout<'a> {
    pub(super) values: Vec<Column>,
    pub(super) rows_of: Box<RowsOf<'a>>,
}

/// Computes the columns of one run.
type RowsOf<'a> = dyn Fn(&RunData<'a>) -> Vec<Values<'a>> + 'a;

/// Writes the labels of each run, then the columns of the layout.
pub(super) fn write<'a>(
    path: &Path,
    format: Format,
    runs: &[RunData<'a>],
    layout: &Layout<'a>,
) -> Result<(), ExportError> {
    let (labels, columns) = head(runs, layout);
    write_atomically(path, |out| {
        let mut writer = TableWriter::new(out, format, &columns)?;
        for run in runs {
            writer.write(part(run, layout, &labels))?;
        }
        writer.finish()?;
        Ok(())
    })
}

/// Like [`write`], in memory.
pub(super) fn gather<'a>(runs: &[RunData<'a>], layout: &Layout<'a>) -> Table<'a> {
    let (labels, columns) = head(runs, layout);
    let parts = runs.iter().map(|run| part(run, layout, &labels)).filter(|part| rows(part) > 0);
    Table { parts: parts.collect(), columns }
}

fn head(runs: &[RunData<'_>], layout: &Layout<'_>) -> (LabelColumns, Vec<Column>) {
    let labels = LabelColumns::of(runs.iter().map(|run| run.labels), &layout.values);
    let columns = labels.before(layout.values.clone());
    (labels, columns)
}

/// The rows of one run.
fn part<'a>(run: &RunData<'a>, layout: &Layout<'a>, labels: &LabelColumns) -> Vec<Values<'a>> {
    let values = (layout.rows_of)(run);
    let mut all = labels.values(&vec![run.labels; rows(&values)]);
    all.extend(values);
    all
}

/// A table with one row per entry of `labels`.
pub(super) fn row_each<'a>(labels: &[&'a Labels], columns: Vec<Column>, values: Vec<Values<'a>>) -> Table<'a> {
    let head = LabelColumns::of(labels.iter().copied(), &columns);
    let mut all = head.values(labels);
    all.extend(values);
    Table { columns: head.before(columns), parts: vec![all] }
}
