//! Writes tables to Parquet files, column by column. The Arrow writer of the crate `parquet` supports every type, but
//! takes as long to compile as all disciplines together.

use std::borrow::Cow;
use std::io::Write;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Stored, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types;

use super::values::{Column, Type, Values, rows};

/// Minimum number of rows per row group, except the last: small parts are combined.
const GROUP: usize = 1 << 16;

/// Writes a Parquet file.
pub(super) struct ParquetWriter<'a, W: Write + Send> {
    writer: SerializedFileWriter<W>,
    columns: Vec<Column>,
    /// Rows that have not been written.
    parts: Vec<Vec<Values<'a>>>,
}

impl<'a, W: Write + Send> ParquetWriter<'a, W> {
    /// Starts a file without rows.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(super) fn new(out: W, columns: &[Column]) -> Result<Self> {
        let fields = columns.iter().map(stored).collect::<Result<_>>()?;
        let root = types::Type::group_type_builder("schema").with_fields(fields).build()?;
        let settings = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
        let writer = SerializedFileWriter::new(out, Arc::new(root), Arc::new(settings))?;
        Ok(ParquetWriter { writer, columns: columns.to_vec(), parts: vec![] })
    }

    /// Adds rows: the values of each column.
    ///
    /// # Errors
    /// When the file cannot be written, or the values do not have the types of the columns.
    pub(super) fn write(&mut self, part: Vec<Values<'a>>) -> Result<()> {
        if rows(&part) > 0 {
            self.parts.push(part);
        }
        let rows: usize = self.parts.iter().map(|waiting| rows(waiting)).sum();
        if rows < GROUP { Ok(()) } else { self.flush() }
    }

    /// Ends the file.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(super) fn finish(mut self) -> Result<W> {
        self.flush()?;
        self.writer.into_inner()
    }

    /// Writes the collected rows as a row group.
    fn flush(&mut self) -> Result<()> {
        let parts = std::mem::take(&mut self.parts);
        if parts.is_empty() {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        for (place, column) in self.columns.iter().enumerate() {
            write_column(&mut group, column, parts.iter().filter_map(|part| part.get(place)))?;
        }
        group.close()?;
        Ok(())
    }
}

/// The Parquet type of a column.
fn stored(column: &Column) -> Result<Arc<types::Type>> {
    let (kind, meaning) = match column.of {
        Type::Number => (Stored::DOUBLE, None),
        Type::Count => (Stored::INT64, Some(LogicalType::integer(64, false))),
        Type::Text => (Stored::BYTE_ARRAY, Some(LogicalType::String)),
        Type::Flag => (Stored::BOOLEAN, None),
    };
    let repetition = if column.optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let builder = types::Type::primitive_type_builder(&column.name, kind);
    builder.with_repetition(repetition).with_logical_type(meaning).build().map(Arc::new)
}

/// Writes a column of a row group.
fn write_column<'v, 'a: 'v, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    column: &Column,
    parts: impl Iterator<Item = &'v Values<'a>>,
) -> Result<()> {
    let Some(mut writer) = group.next_column()? else {
        return Err(ParquetError::General(format!("there is no column for {}", column.name)));
    };
    for part in parts {
        let optional = column.optional;
        match (column.of, part) {
            (Type::Number, Values::Numbers(all)) => write_values::<DoubleType>(&mut writer, optional, all)?,
            (Type::Count, Values::Counts(all)) => {
                let all: Vec<_> = all.iter().map(|count| count.map(u64::cast_signed)).collect();
                write_values::<Int64Type>(&mut writer, optional, &all)?;
            }
            (Type::Text, Values::Texts(all)) => write_values::<ByteArrayType>(&mut writer, optional, &shared(all))?,
            (Type::Flag, Values::Flags(all)) => write_values::<BoolType>(&mut writer, optional, all)?,
            _ => return Err(ParquetError::General(format!("the values of {} have another type", column.name))),
        }
    }
    writer.close()
}

/// Writes values; a missing one has level 0, and only the others are stored.
fn write_values<D: DataType>(
    writer: &mut SerializedColumnWriter<'_>,
    optional: bool,
    values: &[Option<D::T>],
) -> Result<()> {
    let levels: Option<Vec<i16>> = optional.then(|| values.iter().map(|value| value.is_some().into()).collect());
    let values: Vec<D::T> = values.iter().flatten().cloned().collect();
    writer.typed::<D>().write_batch(&values, levels.as_deref(), None)?;
    Ok(())
}

/// Texts as parts of one buffer: one for each text takes an allocation per row.
fn shared(texts: &[Option<Cow<'_, str>>]) -> Vec<Option<ByteArray>> {
    let all = Bytes::from(texts.iter().flatten().map(AsRef::as_ref).collect::<String>());
    let mut start = 0;
    let mut part = |text: &Cow<'_, str>| {
        let end = start + text.len();
        ByteArray::from(all.slice(std::mem::replace(&mut start, end)..end))
    };
    texts.iter().map(|text| text.as_ref().map(&mut part)).collect()
}
