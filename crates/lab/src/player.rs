//! The page of `aqmkit play`, and links from a report to it.

use std::fmt::Write as _;
use std::path::Path;

use aqmkit_experiment::{Experiment, Overrides, Portable};
use aqmkit_files::packed::Packed;
use aqmkit_files::{ExportError, put};
use aqmkit_results::Player;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::error::{LabError, wrong};

static ASSETS: Packed = Packed::new(include_bytes!(concat!(env!("OUT_DIR"), "/assets.packed")));

/// The page: a single file with script, style and simulator, built by `make web` from `web/` and `crates/play`.
#[must_use]
pub fn page() -> &'static str {
    ASSETS.get("play.html").and_then(|page| str::from_utf8(page).ok()).unwrap_or_default()
}

/// File name of the page beside a report.
const FILE: &str = "play.html";

/// Maximum size in bytes of an experiment in a link.
const LONGEST: usize = 256 * 1024;

/// Maximum number of runs and of settings, as in `crates/play/src/limits.rs` and `web/src/share.ts`.
const MOST_RUNS: usize = 2000;
const MOST_SETTINGS: usize = 50;

/// How the page can open the runs of an experiment, or why it cannot.
#[must_use]
pub fn player(exp: &Experiment) -> Player {
    match fragment(exp) {
        Ok(fragment) => {
            let plan = exp.plan();
            let repeat = exp.repeat as usize;
            let seeds = plan.iter().take(repeat).filter_map(|run| run.labels.get("seed").cloned()).collect();
            let mut combinations: Vec<_> = plan.iter().step_by(repeat).map(|run| run.labels.clone()).collect();
            combinations.iter_mut().for_each(|labels| labels.retain(|axis, _| axis != "repeat" && axis != "seed"));
            Player { fragment, combinations, seeds, refused: String::new() }
        }
        Err(refused) => Player { refused, ..Player::default() },
    }
}

/// The URL fragment that opens an experiment in the page, or the reason why the page cannot open it, as a sentence.
fn fragment(exp: &Experiment) -> Result<String, String> {
    if !exp.calibrations().is_ok_and(|list| list.is_empty()) {
        return Err("Its loads are calibrated before its runs, which only the command does.".to_owned());
    }
    if exp.plan().len() > MOST_RUNS {
        return Err(format!(
            "It has {} runs, and the page opens experiments of at most {MOST_RUNS}.",
            exp.plan().len()
        ));
    }
    let alone = exp.portable().map_err(|e| format!("Its text alone cannot be read: {}.", e.in_one_line()));
    let Portable { text, set } = alone?;
    if text.len() > LONGEST {
        return Err(format!("Its text has {} bytes, and the page opens at most {LONGEST}.", text.len()));
    }
    if set.len() > MOST_SETTINGS {
        return Err(format!("It was changed by {} settings, and the page takes at most {MOST_SETTINGS}.", set.len()));
    }
    let settings: String = set.iter().map(|setting| format!("&set={}", encoded(setting))).collect();
    Ok(format!("e={}{settings}", packed(&text)))
}

/// The page with an embedded experiment, which it opens.
///
/// # Errors
/// When the experiment is invalid, or the page cannot open it.
pub fn page_with(name_or_path: &str) -> Result<String, LabError> {
    let experiment = Experiment::load(name_or_path, &Overrides::default())?;
    let opened = match fragment(&experiment) {
        Ok(fragment) => fragment.replace('&', "&amp;"),
        Err(why) => {
            let right = format!("leave the experiment out, or run it: aqmkit run {name_or_path}");
            return wrong(format!("the page cannot open {name_or_path}. {}", why.trim_end_matches('.')), right);
        }
    };
    Ok(page().replacen("</head>", &format!("<meta name=\"aqmkit-open\" content=\"#{opened}\" /></head>"), 1))
}

/// Encodes a text as the page expects it in a URL: a raw deflate stream (RFC 1951) in base64url. The blocks are stored
/// uncompressed, which needs no compressor; size matters less inside a file than in a link to share.
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

/// Writes the page to the directory of a report, unless it is there already.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn page_beside(dir: &Path) -> Result<(), ExportError> {
    let file = dir.join(FILE);
    let there = std::fs::read(&file).is_ok_and(|there| there == page().as_bytes());
    if there { Ok(()) } else { put(&file, page()) }
}

/// Percent-encodes a text for a URL (RFC 3986, section 2.1), except for slashes.
#[must_use]
pub fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => encoded.push(byte.into()),
            _ => {
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::encoded;

    #[test]
    fn addresses_have_no_spaces_or_signs() {
        assert_eq!(encoded("a b/é<=1&"), "a%20b/%C3%A9%3C%3D1%26");
    }
}
