//! Tables in Arrow's C interface, which consumers read without copying.

use std::sync::Arc;

use aqmkit_runs::export::{self, Type, Values};
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, RecordBatch, RecordBatchIterator, StringArray, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// A table for any library that supports the Arrow C interface; its memory is shared, not copied.
#[pyclass(frozen, module = "aqmkit._aqmkit")]
pub(crate) struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Table {
    /// The Arrow table with these rows.
    ///
    /// # Errors
    /// When the columns differ in length, or from their types.
    pub(crate) fn of(table: &export::Table<'_>) -> Result<Table, ArrowError> {
        let field = |column: &export::Column| Field::new(&column.name, arrow_type(column.of), column.optional);
        let schema: SchemaRef = Arc::new(Schema::new(table.columns.iter().map(field).collect::<Vec<_>>()));
        let batch = |part: &Vec<Values<'_>>| RecordBatch::try_new(schema.clone(), part.iter().map(array).collect());
        let batches = table.parts.iter().map(batch).collect::<Result<_, _>>()?;
        Ok(Table { schema, batches })
    }
}

fn arrow_type(of: Type) -> DataType {
    match of {
        Type::Text => DataType::Utf8,
        Type::Count => DataType::UInt64,
        Type::Number => DataType::Float64,
        Type::Flag => DataType::Boolean,
    }
}

fn array(values: &Values<'_>) -> ArrayRef {
    match values {
        Values::Texts(texts) => Arc::new(texts.iter().map(Option::as_deref).collect::<StringArray>()),
        Values::Counts(counts) => Arc::new(counts.iter().copied().collect::<UInt64Array>()),
        Values::Numbers(numbers) => Arc::new(numbers.iter().copied().collect::<Float64Array>()),
        Values::Flags(flags) => Arc::new(flags.iter().copied().collect::<BooleanArray>()),
    }
}

/// Converts an Arrow error to an exception.
pub(crate) fn arrow_error(error: &ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

#[pymethods]
impl Table {
    /// Number of rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// Names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The schema, as a `PyCapsule` of the Arrow C interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref()).map_err(|e| arrow_error(&e))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The rows, as a `PyCapsule` of the Arrow C interface. `requested_schema` is ignored.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The protocol allows a producer that cannot cast to ignore the requested schema.
        drop(requested_schema);
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, self.schema.clone());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }
}
