//! Writes tables of numbers and text to Parquet files, column by column. The Arrow writer of the crate `parquet`
//! supports every type, but takes as long to compile as all disciplines together.

use std::io::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Stored, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

/// Minimum number of rows per row group, except the last: small batches are combined.
const GROUP: usize = 1 << 16;

/// Writes a Parquet file.
pub struct ParquetWriter<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    /// Rows that have not been written.
    batches: Vec<RecordBatch>,
}

impl<W: Write + Send> ParquetWriter<W> {
    /// Starts a file without rows.
    ///
    /// # Errors
    /// When the file cannot be written, or a column is neither text, counts nor numbers.
    pub fn new(out: W, schema: &Schema) -> Result<Self> {
        let fields = schema.fields().iter().map(|field| stored(field)).collect::<Result<_>>()?;
        let root = Type::group_type_builder("schema").with_fields(fields).build()?;
        let settings = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
        Ok(ParquetWriter {
            writer: SerializedFileWriter::new(out, Arc::new(root), Arc::new(settings))?,
            batches: vec![],
        })
    }

    /// Adds rows of the schema.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&mut self, batch: RecordBatch) -> Result<()> {
        if batch.num_rows() > 0 {
            self.batches.push(batch);
        }
        let rows: usize = self.batches.iter().map(RecordBatch::num_rows).sum();
        if rows < GROUP { Ok(()) } else { self.flush() }
    }

    /// Ends the file.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(mut self) -> Result<W> {
        self.flush()?;
        self.writer.into_inner()
    }

    /// Writes the collected rows as a row group.
    fn flush(&mut self) -> Result<()> {
        let batches = std::mem::take(&mut self.batches);
        let Some(first) = batches.first() else { return Ok(()) };
        let mut group = self.writer.next_row_group()?;
        for (place, field) in first.schema().fields().iter().enumerate() {
            let parts: Vec<&dyn Array> = batches.iter().map(|batch| batch.column(place).as_ref()).collect();
            column(&mut group, field, &parts)?;
        }
        group.close()?;
        Ok(())
    }
}

/// The Parquet type of a column.
fn stored(field: &Field) -> Result<Arc<Type>> {
    let (kind, meaning) = match field.data_type() {
        DataType::Float64 => (Stored::DOUBLE, None),
        DataType::UInt64 => (Stored::INT64, Some(LogicalType::integer(64, false))),
        DataType::Utf8 => (Stored::BYTE_ARRAY, Some(LogicalType::String)),
        other => return Err(ParquetError::NYI(format!("column {}: {other}", field.name()))),
    };
    let repetition = if field.is_nullable() { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let column =
        Type::primitive_type_builder(field.name(), kind).with_repetition(repetition).with_logical_type(meaning);
    column.build().map(Arc::new)
}

/// Writes a column of a row group.
fn column<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    field: &Field,
    parts: &[&dyn Array],
) -> Result<()> {
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General(format!("there is no column for {}", field.name())));
    };
    for part in parts {
        // Missing values have level 0; only the other values are stored.
        let levels: Option<Vec<i16>> =
            field.is_nullable().then(|| (0..part.len()).map(|i| part.is_valid(i).into()).collect());
        let levels = levels.as_deref();
        match field.data_type() {
            DataType::Float64 => {
                let values: Vec<f64> = part.as_primitive::<Float64Type>().iter().flatten().collect();
                column.typed::<DoubleType>().write_batch(&values, levels, None)?;
            }
            DataType::UInt64 => {
                let values: Vec<i64> =
                    part.as_primitive::<UInt64Type>().iter().flatten().map(u64::cast_signed).collect();
                column.typed::<Int64Type>().write_batch(&values, levels, None)?;
            }
            _ => {
                let texts = part.as_string::<i32>();
                let all = Bytes::copy_from_slice(texts.value_data());
                let value = |i: usize| {
                    let ends = &texts.value_offsets()[i..=i + 1];
                    ByteArray::from(all.slice(ends[0] as usize..ends[1] as usize))
                };
                let values: Vec<ByteArray> = (0..texts.len()).filter(|i| texts.is_valid(*i)).map(value).collect();
                column.typed::<ByteArrayType>().write_batch(&values, levels, None)?;
            }
        }
    }
    column.close()
}
