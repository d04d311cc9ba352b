//! The file of an estimate, for `advise` and `compare`.

use std::fmt::Write as _;

use aqmkit_base::{BitRate, Duration};
use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;
use crate::quantile::Value;
use crate::queue::Verdict;

/// The version of the file's format.
const VERSION: u32 = 1;
/// Digits of a value: more would pretend that it is known better.
const DIGITS: i32 = 4;

/// The parts of an estimate that other commands use, as a TOML file that can be read and changed by hand.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Measured {
    version: u32,
    /// The rate of the link, or that to the machine that measured.
    pub down: Option<BitRate>,
    /// The rate from that machine, if known.
    pub up: Option<BitRate>,
    /// The base round-trip time.
    pub rtt: Option<Duration>,
    /// The buffer as a time at the rate of the link, if the load filled it.
    pub buffer: Option<Duration>,
    /// Whether a sparse flow has a queue of its own.
    pub fair_queueing: Option<Verdict>,
    /// Whether packets are dropped before the queue is full.
    pub aqm: Option<Verdict>,
}

/// Why a file is no estimate.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct MeasuredError {
    /// The file, the place in it and the problem.
    pub what: String,
    /// What would be right.
    pub right: String,
}

impl Measured {
    /// From an estimate. Where only the rate from the machine is known, it is that of the link.
    #[must_use]
    pub fn of(estimate: &Estimate) -> Measured {
        let rate = |value: Value| BitRate::from_bps(rounded(value.value) as u64);
        let time = |ms: Value| Duration::from_nanos((rounded(ms.value) * 1e6) as u64);
        let (down, up) = (estimate.down_bps.map(rate), estimate.up_bps.map(rate));
        Measured {
            version: VERSION,
            down: down.or(up),
            up: down.and(up),
            rtt: estimate.rtt_ms.map(time),
            buffer: estimate.buffer_ms.map(time),
            fair_queueing: Some(estimate.fair_queueing.answer),
            aqm: Some(estimate.aqm.answer),
        }
    }

    /// The file, with comments at its head.
    #[must_use]
    pub fn text(&self, comments: &[String]) -> String {
        let mut text = String::new();
        for comment in comments.iter().flat_map(|comment| comment.lines()) {
            let _ = writeln!(text, "# {comment}");
        }
        text.push_str(&toml::to_string(self).unwrap_or_default());
        text
    }

    /// Reads the text of a file; `name` is for messages.
    ///
    /// # Errors
    /// When it is no estimate, has another version, or a rate or round trip of zero.
    pub fn parse(name: &str, text: &str) -> Result<Measured, MeasuredError> {
        let right = "it is written by `aqmkit measure FILE... --out measured.toml`".to_owned();
        let read: Measured = toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| text.bytes().take(span.start).filter(|byte| *byte == b'\n').count() + 1);
            let place = line.map(|line| format!(" line {line}")).unwrap_or_default();
            MeasuredError { what: format!("{name}{place}: {}", error.message()), right: right.clone() }
        })?;
        if read.version != VERSION {
            let what = format!("{name} is of version {}, and this program reads version {VERSION}", read.version);
            return Err(MeasuredError { what, right });
        }
        let zero =
            [("down", read.down), ("up", read.up)].into_iter().find(|(_, rate)| rate.is_some_and(|r| r.as_bps() == 0));
        if let Some((key, _)) = zero {
            let what = format!("{name}: the rate {key} is zero");
            return Err(MeasuredError { what, right: "write a rate such as \"50mbit\"".to_owned() });
        }
        Ok(read)
    }
}

/// Rounds to four digits.
fn rounded(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 0.0;
    }
    let scale = 10_f64.powi(DIGITS - 1 - value.log10().floor() as i32);
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured() -> Measured {
        Measured {
            version: VERSION,
            down: Some(BitRate::from_bps(47_930_000)),
            up: None,
            rtt: Some(Duration::from_micros(20_100)),
            buffer: None,
            fair_queueing: Some(Verdict::No),
            aqm: Some(Verdict::Unknown),
        }
    }

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let text = measured().text(&["A link.\nIts queue.".to_owned()]);
        assert_eq!(
            text,
            "# A link.\n# Its queue.\nversion = 1\ndown = \"47.93mbit\"\nrtt = \"20.1ms\"\nfair-queueing = \"no\"\naqm = \"unknown\"\n"
        );
        assert_eq!(Measured::parse("m.toml", &text), Ok(measured()));
    }

    #[test]
    fn other_files_are_refused_with_their_line() {
        let told = |text: &str| Measured::parse("m.toml", text).unwrap_err().what;
        assert!(
            told("version = 1\ndown = \"5mbt\"\n").starts_with("m.toml line 2: "),
            "{}",
            told("version = 1\ndown = \"5mbt\"\n")
        );
        assert!(told("version = 2\n").contains("version 2"));
        assert!(told("version = 1\nup = \"0bit\"\n").contains("the rate up is zero"));
        assert!(told("version = 1\nrate = \"5mbit\"\n").contains("unknown field"));
        assert!(told("down").starts_with("m.toml line 1: "));
    }

    #[test]
    fn values_have_four_digits() {
        assert_eq!([47_931_234.0, 20.1234, 0.0, f64::NAN].map(rounded), [47_930_000.0, 20.12, 0.0, 0.0]);
    }
}
