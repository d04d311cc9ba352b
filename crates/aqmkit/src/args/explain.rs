//! The arguments of `explain`.

use std::path::PathBuf;

use aqmkit_base::units::{parse_duration, parse_rate};
use aqmkit_base::{BitRate, Duration};
use clap::Args;

/// `explain`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tc -s qdisc show dev eth0 | aqmkit explain -
  aqmkit explain eth0 --between 10s --rate 20mbit
  aqmkit explain now.txt --earlier before.txt --between 60s
  aqmkit explain router.json --rate 20mbit --rtt 40ms

Statistics count from the moment when a discipline was attached; with two samples, only what happened between them counts. \
--rate and --rtt say what tc does not know. For shapers made of classes, append the output of tc -s class show.")]
pub(crate) struct Explain {
    /// A file with the output of tc -s qdisc show (text, or -j), - for standard input, or a device of this machine (default: all devices)
    pub what: Option<PathBuf>,
    /// Statistics of the same machine at an earlier time
    #[arg(long, value_name = "FILE", requires = "between")]
    pub earlier: Option<PathBuf>,
    /// Time between the two files, or between two samples of this machine
    #[arg(long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true)]
    pub between: Option<Duration>,
    /// Rate of the slowest link on the way, such as the modem's
    #[arg(long, value_parser = parse_rate, allow_hyphen_values = true)]
    pub rate: Option<BitRate>,
    /// The usual round-trip time
    #[arg(long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true)]
    pub rtt: Option<Duration>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
