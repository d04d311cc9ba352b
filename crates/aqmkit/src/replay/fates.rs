//! Writes the fate of every packet as a table, in Parquet or CSV.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use aqmkit_base::Ecn;
use aqmkit_files::{Cause, ExportError, Temporary};
use aqmkit_packets::replay::{End, Fate};
use aqmkit_runs::export::ParquetWriter;
use arrow_array::builder::{Float64Builder, StringBuilder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::unexported;
use crate::fail::{Failure, wrong};

/// Number of rows per write.
const BATCH: usize = 1 << 16;

/// A row of the table.
struct Row<'a> {
    packet: u64,
    arrival_s: f64,
    length: u64,
    class: &'a str,
    flow: String,
    ecn: &'static str,
    fate: &'static str,
    reason: Option<&'static str>,
    queue_delay_ms: Option<f64>,
    departure_s: Option<f64>,
}

/// The names of the columns.
const NAMES: [&str; 10] =
    ["packet", "arrival_s", "length", "class", "flow", "ecn", "fate", "reason", "queue_delay_ms", "departure_s"];

impl<'a> Row<'a> {
    fn of(fate: &Fate<'_>, classes: &'a [String]) -> Row<'a> {
        let (kind, reason, waited, left) = match fate.end {
            End::Sent { waited, left, marked } => {
                (if marked.is_some() { "marked" } else { "sent" }, marked, Some(waited), Some(left))
            }
            End::Dropped { why, .. } => ("dropped", Some(why), None, None),
        };
        Row {
            packet: fate.number,
            arrival_s: fate.arrived.as_secs_f64(),
            length: u64::from(fate.length),
            class: classes.get(fate.class.index()).map_or("", String::as_str),
            flow: fate.flow.to_string(),
            ecn: match fate.ecn {
                Ecn::NotEct => "not-ect",
                Ecn::Ect0 => "ect0",
                Ecn::Ect1 => "ect1",
                Ecn::Ce => "ce",
            },
            fate: kind,
            reason: reason.map(aqmkit_aqm::Why::name),
            queue_delay_ms: waited.map(aqmkit_base::Duration::as_millis_f64),
            departure_s: left.map(aqmkit_base::Instant::as_secs_f64),
        }
    }
}

/// An open table.
pub(super) enum Fates {
    Csv(Box<csv::Writer<BufWriter<Temporary>>>),
    Parquet(Box<Columns>),
}

impl Fates {
    /// Creates a table at `path`; the extension determines the format.
    pub(super) fn create(path: &Path) -> Result<Fates, Failure> {
        let file = || Temporary::beside(path).map(BufWriter::new).map_err(|e| unexported(&e));
        match path.extension().and_then(|e| e.to_str()) {
            Some("csv") => {
                let mut writer = csv::Writer::from_writer(file()?);
                writer.write_record(NAMES).map_err(|e| ExportError::new(path, e))?;
                Ok(Fates::Csv(Box::new(writer)))
            }
            Some("parquet") => Ok(Fates::Parquet(Box::new(
                Columns::new(file()?).map_err(|e| ExportError::new(path, Cause::table(e)))?,
            ))),
            _ => wrong(
                format!("{} is not a supported table format", path.display()),
                "the file of --fates must end in .parquet or .csv",
            ),
        }
    }

    /// Adds a packet.
    pub(super) fn add(&mut self, fate: &Fate<'_>, classes: &[String], path: &Path) -> Result<(), ExportError> {
        let row = Row::of(fate, classes);
        match self {
            Fates::Csv(writer) => add_line(writer, &row).map_err(|e| ExportError::new(path, e)),
            Fates::Parquet(columns) => columns.add(&row).map_err(|e| ExportError::new(path, Cause::table(e))),
        }
    }

    /// Writes the rest of the table, and renames it to its path.
    pub(super) fn finish(self, path: &Path) -> Result<(), ExportError> {
        let out = match self {
            Fates::Csv(writer) => writer.into_inner().map_err(|e| ExportError::new(path, e.into_error()))?,
            Fates::Parquet(columns) => columns.finish().map_err(|e| ExportError::new(path, Cause::table(e)))?,
        };
        let file = out.into_inner().map_err(|e| ExportError::new(path, e.into_error()))?;
        file.take_its_place()
    }
}

fn add_line<W: Write>(writer: &mut csv::Writer<W>, row: &Row<'_>) -> csv::Result<()> {
    let number = |n: Option<f64>| n.map(|n| n.to_string()).unwrap_or_default();
    writer.write_record([
        &row.packet.to_string(),
        &row.arrival_s.to_string(),
        &row.length.to_string(),
        row.class,
        &row.flow,
        row.ecn,
        row.fate,
        row.reason.unwrap_or(""),
        &number(row.queue_delay_ms),
        &number(row.departure_s),
    ])
}

/// A Parquet file, and the columns of the batch that has not been written yet.
pub(super) struct Columns {
    writer: ParquetWriter<BufWriter<Temporary>>,
    schema: SchemaRef,
    numbers: [UInt64Builder; 2],
    texts: [StringBuilder; 5],
    times: [Float64Builder; 3],
    rows: usize,
}

impl Columns {
    fn new(out: BufWriter<Temporary>) -> Result<Columns, parquet::errors::ParquetError> {
        let kinds = [
            (DataType::UInt64, false),
            (DataType::Float64, false),
            (DataType::UInt64, false),
            (DataType::Utf8, false),
            (DataType::Utf8, false),
            (DataType::Utf8, false),
            (DataType::Utf8, false),
            (DataType::Utf8, true),
            (DataType::Float64, true),
            (DataType::Float64, true),
        ];
        let fields = NAMES.iter().zip(kinds).map(|(name, (kind, null))| Field::new(*name, kind, null));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let writer = ParquetWriter::new(out, &schema)?;
        let (numbers, texts, times) = Default::default();
        Ok(Columns { writer, schema, numbers, texts, times, rows: 0 })
    }

    fn add(&mut self, row: &Row<'_>) -> Result<(), parquet::errors::ParquetError> {
        self.numbers[0].append_value(row.packet);
        self.numbers[1].append_value(row.length);
        self.texts[0].append_value(row.class);
        self.texts[1].append_value(&row.flow);
        self.texts[2].append_value(row.ecn);
        self.texts[3].append_value(row.fate);
        self.texts[4].append_option(row.reason);
        self.times[0].append_value(row.arrival_s);
        self.times[1].append_option(row.queue_delay_ms);
        self.times[2].append_option(row.departure_s);
        self.rows += 1;
        if self.rows >= BATCH { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), parquet::errors::ParquetError> {
        let [packet, length] = self.numbers.each_mut().map(|b| Arc::new(b.finish()) as ArrayRef);
        let [class, flow, ecn, fate, reason] = self.texts.each_mut().map(|b| Arc::new(b.finish()) as ArrayRef);
        let [arrival, delay, departure] = self.times.each_mut().map(|b| Arc::new(b.finish()) as ArrayRef);
        self.rows = 0;
        let columns = vec![packet, arrival, length, class, flow, ecn, fate, reason, delay, departure];
        let batch = RecordBatch::try_new(self.schema.clone(), columns);
        self.writer.write(batch.map_err(|e| parquet::errors::ParquetError::General(e.to_string()))?)
    }

    fn finish(mut self) -> Result<BufWriter<Temporary>, parquet::errors::ParquetError> {
        self.flush()?;
        self.writer.finish()
    }
}
