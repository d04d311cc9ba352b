//! Links from a report into the page of `aqmkit play`.

use std::path::Path;

use aqmkit_experiment::{Experiment, Overrides};
use aqmkit_files::{ExportError, put};
use aqmkit_runs::store::Players;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::page;

/// Name of the page beside a report.
const FILE: &str = "play.html";

/// More combinations than a reader would go through have no links.
const MOST: usize = 100;

/// Bytes of an experiment that the page takes from a link.
const LONGEST: usize = 256 * 1024;

/// The links of an experiment: one for the first run of each combination. Empty where the page cannot open its runs, because they read
/// files or their loads are calibrated first.
pub(crate) fn links(exp: &Experiment) -> Players {
    let calibrated = !exp.calibrations().is_ok_and(|list| list.is_empty());
    if calibrated || exp.plan().len() / exp.repeat as usize > MOST {
        return Players::new();
    }
    let runs = exp.first_runs().unwrap_or_default();
    if !runs.iter().all(|run| run.text.len() <= LONGEST && stands_alone(&run.text)) {
        return Players::new();
    }
    runs.into_iter().map(|run| (run.labels, format!("e={}", packed(&run.text)))).collect()
}

/// Whether a text needs no file beside it: it is read as if it were in a directory that does not exist.
fn stands_alone(text: &str) -> bool {
    Experiment::parse("no such directory/experiment.toml", text, &Overrides::default()).is_ok()
}

/// A text as the page reads it from an address: a raw deflate stream (RFC 1951) in base64url. Its blocks are stored and not compressed,
/// which needs no compressor; in a file, length matters less than in a link that is sent.
fn packed(text: &str) -> String {
    let blocks: Vec<&[u8]> = text.as_bytes().chunks(usize::from(u16::MAX)).collect();
    let mut stream = Vec::new();
    for (i, block) in blocks.iter().enumerate() {
        let length = block.len() as u16;
        stream.push(u8::from(i + 1 == blocks.len()));
        stream.extend(length.to_le_bytes());
        stream.extend((!length).to_le_bytes());
        stream.extend_from_slice(block);
    }
    URL_SAFE_NO_PAD.encode(stream)
}

/// Writes the page into the directory of a report, if it is not there.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn page_beside(dir: &Path) -> Result<(), ExportError> {
    let file = dir.join(FILE);
    let there = std::fs::read(&file).is_ok_and(|there| there == page().as_bytes());
    if there { Ok(()) } else { put(&file, page()) }
}
