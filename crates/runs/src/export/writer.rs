//! Writes a table to a file, in Parquet or CSV.

use std::io::Write;
use std::marker::PhantomData;

use aqmkit_files::Cause;

#[cfg(feature = "parquet")]
use super::parquet::ParquetWriter;
use super::values::{Column, Values, rows};

/// The format of a table's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A line of names, and a line for each row; a missing value is an empty field.
    Csv,
    /// Apache Parquet, compressed with zstd. Only with the feature `parquet`.
    #[cfg(feature = "parquet")]
    Parquet,
}

impl Format {
    /// Every format that this program can write, the preferred one first.
    pub const ALL: &[Format] = &[
        #[cfg(feature = "parquet")]
        Format::Parquet,
        Format::Csv,
    ];

    /// The extension of files in this format.
    #[must_use]
    pub const fn extension(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            #[cfg(feature = "parquet")]
            Format::Parquet => "parquet",
        }
    }
}

/// An open table.
pub struct TableWriter<'a, W: Write + Send>(Inner<'a, W>);

enum Inner<'a, W: Write + Send> {
    // Boxed, since a writer of Parquet is much larger.
    Csv(Box<csv::Writer<W>>, PhantomData<&'a ()>),
    #[cfg(feature = "parquet")]
    Parquet(Box<ParquetWriter<'a, W>>),
}

impl<'a, W: Write + Send> TableWriter<'a, W> {
    /// Starts a table without rows.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn new(out: W, format: Format, columns: &[Column]) -> Result<Self, Cause> {
        Ok(TableWriter(match format {
            Format::Csv => {
                let mut writer = csv::Writer::from_writer(out);
                writer.write_record(columns.iter().map(|column| &column.name))?;
                Inner::Csv(Box::new(writer), PhantomData)
            }
            #[cfg(feature = "parquet")]
            Format::Parquet => Inner::Parquet(Box::new(ParquetWriter::new(out, columns).map_err(Cause::table)?)),
        }))
    }

    /// Adds rows: the values of each column.
    ///
    /// # Errors
    /// When the file cannot be written, or the values do not have the types of the columns.
    #[cfg_attr(
        not(feature = "parquet"),
        expect(clippy::needless_pass_by_value, reason = "Parquet keeps rows until they make a group")
    )]
    pub fn write(&mut self, part: Vec<Values<'a>>) -> Result<(), Cause> {
        match &mut self.0 {
            Inner::Csv(writer, _) => lines(writer, &part),
            #[cfg(feature = "parquet")]
            Inner::Parquet(writer) => writer.write(part).map_err(Cause::table),
        }
    }

    /// Ends the table; returns what it was written to.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(self) -> Result<W, Cause> {
        match self.0 {
            Inner::Csv(writer, _) => writer.into_inner().map_err(|error| Cause::Io(error.into_error())),
            #[cfg(feature = "parquet")]
            Inner::Parquet(writer) => writer.finish().map_err(Cause::table),
        }
    }
}

fn lines<W: Write>(writer: &mut csv::Writer<W>, part: &[Values<'_>]) -> Result<(), Cause> {
    for row in 0..rows(part) {
        for values in part {
            match values {
                Values::Texts(all) => writer.write_field(all[row].as_deref().unwrap_or_default())?,
                Values::Counts(all) => writer.write_field(text(all[row]))?,
                Values::Numbers(all) => writer.write_field(text(all[row]))?,
                Values::Flags(all) => writer.write_field(text(all[row]))?,
            }
        }
        writer.write_record(None::<&[u8]>)?;
    }
    Ok(())
}

/// A value as a field of CSV.
fn text(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}
