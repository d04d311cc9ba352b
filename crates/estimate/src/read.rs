//! Reads files of measurements; the format is recognised by the contents.

mod capture;
mod flent;
mod iperf3;
mod irtt;
mod ping;

use std::io::Read;

use aqmkit_files::bounded::{self, MEASUREMENT, Unread};
use flate2::read::MultiGzDecoder;
use serde_json::Value;

use crate::measurement::Measurement;

/// Why a file is no measurement.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct ReadError {
    /// The file, the place in it and the problem.
    pub what: String,
    /// What would be right.
    pub right: String,
}

impl ReadError {
    fn new(what: impl Into<String>, right: impl Into<String>) -> ReadError {
        ReadError { what: what.into(), right: right.into() }
    }
}

impl From<Unread> for ReadError {
    fn from(unread: Unread) -> Self {
        let right = unread.right().unwrap_or("give a file that can be read").to_owned();
        ReadError { what: unread.to_string(), right }
    }
}

/// The formats, for error messages.
const FORMATS: &str = "give data of flent (.flent.gz), JSON of irtt or iperf3 (iperf3 -J), the output of ping (ping -D), or a capture (pcap, pcapng)";

/// Reads a file; `name` is for messages. Compressed files are unpacked.
///
/// # Errors
/// When it has none of the formats, is damaged, or holds nothing that was measured.
pub fn read(name: &str, mut input: impl Read + Send) -> Result<Measurement, ReadError> {
    let mut head = [0; 4];
    let mut begun = 0;
    while begun < head.len() {
        match input.read(&mut head[begun..]) {
            Ok(0) => break,
            Ok(n) => begun += n,
            Err(error) => return Err(Unread::System { file: name.to_owned(), error }.into()),
        }
    }
    let whole = head[..begun].chain(input);
    match head[..begun] {
        [] => Err(ReadError::new(format!("{name} is empty"), FORMATS)),
        [0x1f, 0x8b, ..] => unpacked(name, MultiGzDecoder::new(whole)),
        _ => plain(name, head, whole),
    }
}

/// Reads what was compressed.
fn unpacked(name: &str, mut input: impl Read + Send) -> Result<Measurement, ReadError> {
    let mut head = [0; 4];
    match input.read_exact(&mut head) {
        Ok(()) => plain(name, head, head.as_slice().chain(input)),
        Err(error) => {
            Err(ReadError::new(format!("{name} cannot be unpacked: {error}"), "copy it again; it seems to be cut off"))
        }
    }
}

fn plain(name: &str, head: [u8; 4], input: impl Read + Send) -> Result<Measurement, ReadError> {
    if capture::is_one(head) {
        return capture::read(name, input);
    }
    let text = bounded::text_of(name, input, &MEASUREMENT)?;
    of_text(name, &text)
}

/// Reads a text: JSON, or the output of ping.
fn of_text(name: &str, text: &str) -> Result<Measurement, ReadError> {
    if !text.trim_start().starts_with('{') {
        return ping::read(name, text);
    }
    let json: Value =
        serde_json::from_str(text).map_err(|error| ReadError::from(bounded::not_json(name, &error, &MEASUREMENT)))?;
    let has = |key: &str| json.get(key).is_some();
    if has("round_trips") {
        irtt::read(name, &json)
    } else if has("intervals") && has("start") || has("error") {
        iperf3::read(name, &json)
    } else if has("results") && has("metadata") {
        flent::read(name, &json)
    } else {
        let keys: Vec<&str> = json.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).take(4).collect();
        let what = format!("{name} is JSON of another program: its keys are {}", keys.join(", "));
        Err(ReadError::new(what, FORMATS))
    }
}

/// A number at a path of keys.
fn number(json: &Value, path: &[&str]) -> Option<f64> {
    path.iter().try_fold(json, |value, key| value.get(key))?.as_f64().filter(|number| number.is_finite())
}

/// The elements of an array below a key; none if there is no array.
fn list<'a>(json: &'a Value, key: &str) -> &'a [Value] {
    json.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Bytes of an IPv4 and a UDP header.
const IP_AND_UDP: f64 = 28.0;

#[cfg(test)]
mod tests;
