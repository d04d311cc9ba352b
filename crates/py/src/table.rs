//! Tables in Arrow's C interface: readers share the memory, and nothing is copied.

use aqmkit_runs::export;
use arrow_array::RecordBatchIterator;
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_schema::ArrowError;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// A table that is read without a copy by every library that knows Arrow's C interface.
#[pyclass(frozen, module = "aqmkit._aqmkit")]
pub(crate) struct Table(pub(crate) export::Table);

/// An error of Arrow as an exception.
pub(crate) fn refused(error: &ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

#[pymethods]
impl Table {
    /// The number of rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.0.batches.iter().map(arrow_array::RecordBatch::num_rows).sum()
    }

    /// The names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.0.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The schema, as a capsule of Arrow's C interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.0.schema.as_ref()).map_err(|e| refused(&e))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The rows, as a capsule of Arrow's C interface. A request for another schema is ignored.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface allows a producer that cannot convert its types to ignore the requested schema.
        drop(requested_schema);
        let batches = self.0.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, self.0.schema.clone());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }
}
