//! The arguments of `measure`.

use std::path::PathBuf;

use aqmkit_base::units::{parse_duration, parse_rate};
use aqmkit_base::{BitRate, Duration};
use clap::Args;

/// `measure`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  aqmkit measure rrul-2026-03-01.flent.gz
  aqmkit measure ping.txt iperf3.json --out measured.toml
  aqmkit measure irtt.json iperf3.json && aqmkit advise --measured measured.toml --want \"video, web\"
  aqmkit measure ping.txt --load 20s..50s --rate 94mbit
  aqmkit measure transfer.pcap --json

The files are of one test: sparse packets (ping -D, irtt) that begin some seconds before the load and end some seconds after it, and the load (iperf3 -J, or a capture \
of the transfer); flent has both. A log of ping without -D has no times of day: --load says when the load ran, in time since the first packet. \
docs/guide/measure.md has more.")]
pub(crate) struct Measure {
    /// Files of one test: flent, irtt, iperf3 or ping, or a capture
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// When the load ran, in time since the first packet of the ping log: FROM..TO
    #[arg(long, value_name = "TIMES", value_parser = parse_span, allow_hyphen_values = true)]
    pub load: Option<(f64, f64)>,
    /// The result of a speed test, if no file has the rate
    #[arg(long, value_parser = parse_rate, allow_hyphen_values = true)]
    pub rate: Option<BitRate>,
    /// Write the estimate to this file, for advise --measured and compare --measured
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Parses `20s..50s` into seconds.
fn parse_span(text: &str) -> Result<(f64, f64), String> {
    let right = "write two times, the earlier first: 20s..50s";
    let (from, to) = text.split_once("..").ok_or_else(|| right.to_owned())?;
    let one = |time: &str| parse_duration(time.trim()).map(Duration::as_secs_f64).map_err(|e| e.to_string());
    let (from, to) = (one(from)?, one(to)?);
    if from < to { Ok((from, to)) } else { Err(right.to_owned()) }
}
