//! Writes the fate of every packet as a table, in Parquet or CSV.

use std::borrow::Cow;
use std::io::BufWriter;
use std::mem::take;
use std::path::Path;

use aqmkit_base::Ecn;
use aqmkit_files::{ExportError, Temporary};
use aqmkit_packets::replay::{End, Fate};
use aqmkit_runs::export::{Column, Format, TableWriter, Type, Values};

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

/// The columns of the table, and whether a packet may have no value.
const COLUMNS: [(&str, Type, bool); 10] = [
    ("packet", Type::Count, false),
    ("arrival_s", Type::Number, false),
    ("length", Type::Count, false),
    ("class", Type::Text, false),
    ("flow", Type::Text, false),
    ("ecn", Type::Text, false),
    ("fate", Type::Text, false),
    ("reason", Type::Text, true),
    ("queue_delay_ms", Type::Number, true),
    ("departure_s", Type::Number, true),
];

/// An open table, and the rows that have not been written yet.
pub(super) struct Fates {
    writer: TableWriter<'static, BufWriter<Temporary>>,
    counts: [Vec<Option<u64>>; 2],
    texts: [Vec<Option<Cow<'static, str>>>; 5],
    times: [Vec<Option<f64>>; 3],
}

impl Fates {
    /// Creates a table at `path`; the extension determines the format.
    pub(super) fn create(path: &Path) -> Result<Fates, Failure> {
        let format = format_of(path)?;
        let out = Temporary::beside(path).map(BufWriter::new).map_err(|e| unexported(&e))?;
        let columns = COLUMNS.map(|(name, of, optional)| Column::new(name, of, optional));
        let writer = TableWriter::new(out, format, &columns).map_err(|e| ExportError::new(path, e))?;
        let (counts, texts, times) = Default::default();
        Ok(Fates { writer, counts, texts, times })
    }

    /// Adds a packet.
    pub(super) fn add(&mut self, fate: &Fate<'_>, classes: &[String], path: &Path) -> Result<(), ExportError> {
        let row = Row::of(fate, classes);
        self.counts[0].push(Some(row.packet));
        self.counts[1].push(Some(row.length));
        self.texts[0].push(Some(Cow::Owned(row.class.to_owned())));
        self.texts[1].push(Some(Cow::Owned(row.flow)));
        self.texts[2].push(Some(Cow::Borrowed(row.ecn)));
        self.texts[3].push(Some(Cow::Borrowed(row.fate)));
        self.texts[4].push(row.reason.map(Cow::Borrowed));
        self.times[0].push(Some(row.arrival_s));
        self.times[1].push(row.queue_delay_ms);
        self.times[2].push(row.departure_s);
        if self.counts[0].len() >= BATCH { self.flush(path) } else { Ok(()) }
    }

    fn flush(&mut self, path: &Path) -> Result<(), ExportError> {
        let [packet, length] = self.counts.each_mut().map(|column| Values::Counts(take(column)));
        let [class, flow, ecn, fate, reason] = self.texts.each_mut().map(|column| Values::Texts(take(column)));
        let [arrival, delay, departure] = self.times.each_mut().map(|column| Values::Numbers(take(column)));
        let part = vec![packet, arrival, length, class, flow, ecn, fate, reason, delay, departure];
        self.writer.write(part).map_err(|e| ExportError::new(path, e))
    }

    /// Writes the rest of the table, and renames it to its path.
    pub(super) fn finish(mut self, path: &Path) -> Result<(), ExportError> {
        self.flush(path)?;
        let out = self.writer.finish().map_err(|e| ExportError::new(path, e))?;
        let file = out.into_inner().map_err(|e| ExportError::new(path, e.into_error()))?;
        file.take_its_place()
    }
}

/// The format that the extension of a path names.
fn format_of(path: &Path) -> Result<Format, Failure> {
    let extension = path.extension().and_then(|e| e.to_str());
    if let Some(format) = Format::ALL.iter().find(|format| Some(format.extension()) == extension) {
        return Ok(*format);
    }
    let what = format!("{} is not a supported table format", path.display());
    if extension == Some("parquet") {
        return wrong(what, "this program was built without the feature parquet: give a file that ends in .csv");
    }
    wrong(what, "the file of --fates must end in .parquet or .csv")
}
