//! The arguments of `measure`.

use std::net::IpAddr;
use std::path::PathBuf;

use aqmkit_base::units::{parse_bytes, parse_duration, parse_rate};
use aqmkit_base::{BitRate, Bytes, Duration};
use clap::Args;

/// `measure`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  aqmkit measure rrul-2026-03-01.flent.gz
  aqmkit measure ping.txt iperf3.json --out measured.toml
  aqmkit measure irtt.json iperf3.json && aqmkit advise --measured measured.toml --want \"video, web\"
  aqmkit measure ping.txt --load 20s..50s --rate 94mbit
  aqmkit measure transfer.pcap --json
  aqmkit measure --serve                     on one host, and on another:
  aqmkit measure --to 192.0.2.1 --out measured.toml

The files are of one test: sparse packets (ping -D, irtt) that begin some seconds before the load and end some seconds after it, and the load (iperf3 -J, or a capture \
of the transfer); flent has both. A log of ping without -D has no times of day: --load says when the load ran, in time since the first packet. \
docs/guide/measure.md has more.")]
pub(crate) struct Measure {
    /// Files of one test: flent, irtt, iperf3 or ping, or a capture
    #[arg(required_unless_present_any = ["to", "serve"], value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// When the load ran, in time since the first packet of the ping log: FROM..TO
    #[arg(long, value_name = "TIMES", value_parser = parse_span, allow_hyphen_values = true)]
    pub load: Option<(f64, f64)>,
    /// The result of a speed test, if no file has the rate
    #[arg(long, value_parser = parse_rate, allow_hyphen_values = true)]
    pub rate: Option<BitRate>,
    /// Test the path to this host, which runs aqmkit measure --serve, in both directions
    #[arg(long, value_name = "HOST", conflicts_with_all = ["files", "load", "rate", "serve"])]
    pub to: Option<String>,
    /// Serve other hosts' tests, one at a time, until Ctrl-C; with an address, only there
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, require_equals = true, conflicts_with_all = ["files", "load", "rate", "out", "json"])]
    pub serve: Option<Option<IpAddr>>,
    /// The server's port, in TCP and UDP
    #[arg(long, default_value_t = 7799, value_parser = clap::value_parser!(u16).range(1..))]
    pub port: u16,
    /// How long a test loads each direction, at most 60s
    #[arg(long, default_value = "10s", value_parser = parse_duration, conflicts_with_all = ["files", "serve"], allow_hyphen_values = true)]
    pub time: Duration,
    /// How much data a test sends in each direction at most
    #[arg(long, default_value = "1gb", value_parser = parse_bytes, conflicts_with_all = ["files", "serve"], allow_hyphen_values = true)]
    pub data: Bytes,
    /// The TCP connections of a test, in each direction
    #[arg(long, default_value_t = 4, conflicts_with_all = ["files", "serve"])]
    pub flows: u32,
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
