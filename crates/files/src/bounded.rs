//! Reads files of unknown origin, up to the bounds of their kind.
//!
//! Every text that the command or the Python package reads is read here, except files of the kernel. A file is checked
//! while it is read: if it is too large, has too many lines or one that is too long, or is not text, it is refused with
//! the line number before memory is allocated for the rest. The cost of refusing a file therefore does not depend on
//! its size.
//!
//! The bounds are defined here and listed in `docs/experiment-format.md`. They are far above any useful size, yet any
//! file within them fits into memory. A file of a gigabyte is refused by its length, one of very short lines by their
//! number, within a second and 100 MB. Captures are streamed (`aqmkit_packets::replay`) and unbounded; stored runs are
//! in `aqmkit_runs::store`.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use memchr::{memchr, memchr_iter};
use serde::de::DeserializeOwned;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// The largest size of files of one kind.
#[derive(Debug, PartialEq, Eq)]
pub struct Bound {
    /// The kind of file, with its article.
    pub name: &'static str,
    /// The largest number of bytes.
    pub bytes: u64,
    /// The largest number of bytes in a line, without its end.
    pub line: u64,
    /// The largest number of lines.
    pub lines: u64,
    /// The expected format, for users who named another kind of file.
    pub form: &'static str,
}

/// An experiment.
pub const EXPERIMENT: Bound = Bound {
    name: "an experiment",
    bytes: 16 * MIB,
    line: MIB,
    lines: 1_000_000,
    form: "an experiment is a TOML file (docs/experiment-format.md)",
};

/// The configuration of a bridge, a shaper or a link.
pub const CONFIGURATION: Bound = Bound {
    name: "a configuration",
    bytes: MIB,
    line: 64 * KIB,
    lines: 10_000,
    form: "a configuration is a TOML file with a table [bridge], [shape] or [link]",
};

/// Published values, verdicts and outcomes of the null test.
pub const ROWS: Bound = Bound {
    name: "a list of published values or verdicts",
    bytes: 64 * MIB,
    line: 64 * KIB,
    lines: 1_000_000,
    form: "a CSV file with a heading and one row for each value",
};

/// The trace of a link's rate.
pub const RATES: Bound = Bound {
    name: "a trace of a rate",
    bytes: GIB / 2,
    line: KIB,
    lines: 20_000_000,
    form: "each line is the time of a delivery opportunity in whole milliseconds",
};

/// Connection vectors.
pub const VECTORS: Bound = Bound {
    name: "a file of connection vectors",
    bytes: GIB / 2,
    line: 4 * KIB,
    lines: 20_000_000,
    form: "connection vectors are lines of tmix, the first of a connection beginning with SEQ, CONC, S or C",
};

/// The trace of a film.
pub const FILM: Bound = Bound {
    name: "a trace of a video",
    bytes: 256 * MIB,
    line: KIB,
    // 22 hours of 25 frames per second.
    lines: 2_000_000,
    form: "each line is a frame: its size in bytes and its type",
};

/// The trace of a conference.
pub const CONFERENCE: Bound = Bound {
    name: "a trace of a conference",
    bytes: GIB / 2,
    line: KIB,
    lines: 10_000_000,
    form: "each line is a packet: seconds and bytes",
};

/// A measured distribution.
pub const DISTRIBUTION: Bound = Bound {
    name: "a table of a distribution",
    bytes: 64 * MIB,
    line: KIB,
    lines: 1_000_000,
    form: "each line has a value, its count and its cumulative probability",
};

/// A published cumulative distribution.
pub const CUMULATIVE: Bound = Bound {
    name: "a cumulative distribution",
    bytes: 256 * MIB,
    line: KIB,
    lines: 10_000_000,
    form: "each line has a value and its cumulative probability",
};

/// `results.json`, which aqmkit writes in short lines. Another program may put a file of up to 16 MiB into one.
pub const RESULTS: Bound = Bound {
    name: "a results.json",
    bytes: GIB / 2,
    line: 16 * MIB,
    lines: 30_000_000,
    form: "repeat the command that made it: it is written again from the stored runs",
};

/// The lists stored with runs.
pub const NOTES: Bound = Bound {
    name: "a list of stored runs",
    bytes: GIB / 2,
    line: GIB / 2,
    lines: 30_000_000,
    form: "JSON written by aqmkit in runs/; repeat the command that made it",
};

/// A document into which numbers are written from the verdicts.
pub const DOCUMENT: Bound =
    Bound { name: "a document", bytes: 16 * MIB, line: MIB, lines: 1_000_000, form: "a Markdown text" };

/// The output of `tc`.
pub const TC: Bound = Bound {
    name: "an output of tc",
    bytes: 64 * MIB,
    line: 16 * MIB,
    lines: 1_000_000,
    form: "the output of `tc -s qdisc show`, as text or with -j",
};

/// Measurements of a path: the JSON of flent, irtt and iperf3, often in one line, and the output of ping.
pub const MEASUREMENT: Bound = Bound {
    name: "a file of measurements",
    bytes: 64 * MIB,
    line: 64 * MIB,
    lines: 10_000_000,
    form: "data of flent, JSON of irtt or iperf3, or the output of ping",
};

/// An estimate that `aqmkit measure` has written.
pub const MEASURED: Bound = Bound {
    name: "an estimate",
    bytes: MIB,
    line: 64 * KIB,
    lines: 10_000,
    form: "an estimate is a TOML file that `aqmkit measure --out` writes",
};

/// Every bound.
pub const ALL: [&Bound; 15] = [
    &EXPERIMENT,
    &CONFIGURATION,
    &ROWS,
    &RATES,
    &VECTORS,
    &FILM,
    &CONFERENCE,
    &DISTRIBUTION,
    &CUMULATIVE,
    &RESULTS,
    &NOTES,
    &DOCUMENT,
    &TC,
    &MEASUREMENT,
    &MEASURED,
];

/// The bound of the text files of a traffic model.
#[must_use]
pub fn of_traffic(model: &str) -> &'static Bound {
    match model {
        "abt" => &VECTORS,
        "http-unc" => &CUMULATIVE,
        "mpeg" => &FILM,
        "videoconf" => &CONFERENCE,
        _ => &DISTRIBUTION,
    }
}

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum Unread {
    /// The system cannot read it.
    #[error("{file} cannot be read: {error}")]
    System {
        /// Name of the file.
        file: String,
        /// The I/O error.
        error: io::Error,
    },
    /// The content is invalid or too large.
    #[error("{file}{}: {what}", line.map(|n| format!(" line {n}")).unwrap_or_default())]
    Refused {
        /// Name of the file.
        file: String,
        /// The line, from 1, if the error is in one line.
        line: Option<u64>,
        /// The problem.
        what: String,
        /// The remedy.
        right: String,
    },
}

impl Unread {
    /// Whether there is no such file.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self, Unread::System { error, .. } if error.kind() == io::ErrorKind::NotFound)
    }

    /// The remedy, if the content was refused.
    #[must_use]
    pub fn right(&self) -> Option<&str> {
        match self {
            Unread::System { .. } => None,
            Unread::Refused { right, .. } => Some(right),
        }
    }
}

/// The text of a file.
///
/// # Errors
/// When it cannot be read, exceeds a bound of its kind, or is not UTF-8 text.
pub fn text(path: &Path, bound: &Bound) -> Result<String, Unread> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| Unread::System { file: name.clone(), error })?;
    text_of_file(&name, file, bound)
}

/// The text of an open file, which messages call `name`.
///
/// # Errors
/// As [`text`].
pub fn text_of_file(name: &str, file: File, bound: &Bound) -> Result<String, Unread> {
    let about = file.metadata().map_err(|error| Unread::System { file: name.to_owned(), error })?;
    // The size of a pipe or a device is unknown.
    if about.is_file() && about.len() > bound.bytes {
        return Err(Scan::new(name, bound).too_large(about.len()));
    }
    text_of(name, file, bound)
}

/// The text read from `input`, which messages call `name`.
///
/// # Errors
/// As [`text`].
pub fn text_of(name: &str, mut input: impl Read, bound: &Bound) -> Result<String, Unread> {
    let system = |error| Unread::System { file: name.to_owned(), error };
    let mut scan = Scan::new(name, bound);
    let mut text = Vec::new();
    // The number of bytes that are valid UTF-8.
    let mut valid = 0;
    loop {
        let begin = text.len();
        text.try_reserve(CHUNK).map_err(|_| system(io::ErrorKind::OutOfMemory.into()))?;
        let n = input.by_ref().take(CHUNK as u64).read_to_end(&mut text).map_err(system)?;
        scan.scan(&text[begin..])?;
        match str::from_utf8(&text[valid..]) {
            Ok(_) => valid = text.len(),
            // A character may continue in the next chunk.
            Err(e) if e.error_len().is_none() && n > 0 => valid += e.valid_up_to(),
            Err(e) => return Err(scan.not_utf8(&text, valid + e.valid_up_to())),
        }
        if n == 0 {
            break;
        }
    }
    String::from_utf8(text).map_err(|e| system(io::Error::other(e)))
}

/// The text read from `input` in ISO 8859-1: every byte is the character with its number, so that only a zero byte is
/// refused.
///
/// # Errors
/// As [`text`], except that any other byte is text.
pub fn latin1_of(name: &str, mut input: impl Read, bound: &Bound) -> Result<String, Unread> {
    let system = |error| Unread::System { file: name.to_owned(), error };
    let mut scan = Scan::new(name, bound);
    let (mut text, mut part) = (String::new(), Vec::new());
    loop {
        part.clear();
        input.by_ref().take(CHUNK as u64).read_to_end(&mut part).map_err(system)?;
        if part.is_empty() {
            return Ok(text);
        }
        scan.scan(&part)?;
        text.try_reserve(2 * part.len()).map_err(|_| system(io::ErrorKind::OutOfMemory.into()))?;
        text.extend(part.iter().map(|&byte| char::from(byte)));
    }
}

/// A value from a file of JSON.
///
/// # Errors
/// As [`text`], or when the JSON does not have the expected structure.
pub fn json<T: DeserializeOwned>(path: &Path, bound: &Bound) -> Result<T, Unread> {
    let text = text(path, bound)?;
    serde_json::from_str(&text).map_err(|e| not_json(&path.display().to_string(), &e, bound))
}

/// The error for a file whose JSON does not have the expected structure.
#[must_use]
pub fn not_json(file: &str, error: &serde_json::Error, bound: &Bound) -> Unread {
    let line = u64::try_from(error.line()).ok().filter(|&n| n > 0);
    let told = error.to_string();
    // The message already starts with the line.
    let why = told.rsplit_once(" at line ").map_or(told.as_str(), |(why, _)| why);
    let what = format!("{why}, at column {}", error.column());
    Unread::Refused { file: file.to_owned(), line, what, right: bound.form.to_owned() }
}

/// Refuses a text in memory that exceeds a bound of its kind.
///
/// # Errors
/// When it exceeds one.
pub fn check(name: &str, text: &str, bound: &Bound) -> Result<(), Unread> {
    if text.len() as u64 > bound.bytes {
        return Err(Scan::new(name, bound).too_large(text.len() as u64));
    }
    Scan::new(name, bound).scan(text.as_bytes())
}

/// The number of bytes read at a time.
const CHUNK: usize = 256 << 10;

/// Checks a file while it is read.
struct Scan<'a> {
    file: &'a str,
    bound: &'a Bound,
    bytes: u64,
    /// The number of complete lines.
    lines: u64,
    /// The number of bytes of the incomplete line.
    line: u64,
}

impl<'a> Scan<'a> {
    fn new(file: &'a str, bound: &'a Bound) -> Self {
        Scan { file, bound, bytes: 0, lines: 0, line: 0 }
    }

    /// Checks the next part.
    fn scan(&mut self, part: &[u8]) -> Result<(), Unread> {
        self.bytes += part.len() as u64;
        if self.bytes > self.bound.bytes {
            return Err(self.too_large(self.bytes));
        }
        let text = &part[..memchr(0, part).unwrap_or(part.len())];
        let mut begin = 0;
        for end in memchr_iter(b'\n', text) {
            self.line += (end - begin) as u64;
            self.check_line(true)?;
            (self.lines, self.line, begin) = (self.lines + 1, 0, end + 1);
        }
        self.line += (text.len() - begin) as u64;
        self.check_line(self.line > 0)?;
        if text.len() < part.len() {
            return Err(self.refused("it contains a zero byte, so it is not text".to_owned(), ""));
        }
        Ok(())
    }

    /// Checks the bounds of the line that is being read; `is_one`: whether it is counted as a line.
    fn check_line(&self, is_one: bool) -> Result<(), Unread> {
        let Bound { name, line, lines, .. } = self.bound;
        if is_one && self.lines >= *lines {
            return Err(self.refused(format!("{name} has {lines} lines at most"), "cut it into several; "));
        }
        if self.line > *line {
            return Err(self.refused(format!("a line of {name} has {} at most", size(*line)), ""));
        }
        Ok(())
    }

    fn too_large(&self, bytes: u64) -> Unread {
        let what = format!("it has {}, and {} has {} at most", size(bytes), self.bound.name, size(self.bound.bytes));
        let right = format!("name another file, or cut it into several; {}", self.bound.form);
        Unread::Refused { file: self.file.to_owned(), line: None, what, right }
    }

    fn not_utf8(&self, text: &[u8], at: usize) -> Unread {
        let line = memchr_iter(b'\n', &text[..at]).count() as u64 + 1;
        let what = format!("byte {at} of the file is not UTF-8");
        let right = format!("save it as UTF-8; {}", self.bound.form);
        Unread::Refused { file: self.file.to_owned(), line: Some(line), what, right }
    }

    /// An error about the line that is being read.
    fn refused(&self, what: String, first: &str) -> Unread {
        let right = format!("{first}{}", self.bound.form);
        Unread::Refused { file: self.file.to_owned(), line: Some(self.lines + 1), what, right }
    }
}

/// Formats a size: `64 MiB`, `1000 bytes`.
#[must_use]
pub fn size(bytes: u64) -> String {
    match bytes {
        GIB.. => format!("{} GiB", tenths(bytes, GIB)),
        MIB.. => format!("{} MiB", tenths(bytes, MIB)),
        KIB.. => format!("{} KiB", tenths(bytes, KIB)),
        _ => format!("{bytes} bytes"),
    }
}

/// Rounded up, so that a size above a bound is never shown as the bound.
fn tenths(bytes: u64, unit: u64) -> f64 {
    (bytes as f64 / unit as f64 * 10.0).ceil() / 10.0
}

#[cfg(test)]
mod tests;
