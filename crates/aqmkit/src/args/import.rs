//! The arguments of `import` and `export`.

use std::path::PathBuf;

use aqmkit_base::units::parse_duration;
use aqmkit_base::{Duration, Rates};
use clap::Args;

/// `import`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  aqmkit import /etc/config/sqm --save home.toml
  tc qdisc show | aqmkit import - --rate 100mbit/20mbit
  aqmkit import qos.sh --save qos.toml && aqmkit run qos.toml
  aqmkit import network.json ShapedDevices.csv --site AP_A --save ap.toml
  sudo aqmkit import --from eth0

Reads the output of tc qdisc, class and filter show (text, or -j), a script with lines of tc, OpenWrt's /etc/config/sqm, a .network file of systemd, and \
LibreQoS's queuingStructure.json, or network.json with ShapedDevices.csv. What has no counterpart is said with its line, on standard error and at the head of the file.")]
pub(crate) struct Import {
    /// Files with the configuration, or its parts; - for standard input
    #[arg(required_unless_present = "from", conflicts_with = "from")]
    pub files: Vec<PathBuf>,
    /// Read the queues of this device of this machine
    #[arg(long, value_name = "DEVICE")]
    pub from: Option<String>,
    /// The device to be read, where there are several
    #[arg(long, value_name = "DEVICE", conflicts_with = "from")]
    pub dev: Option<String>,
    /// Rate of the link: of both directions, or two: DOWN/UP (default: a port that is faster than the shaper)
    #[arg(long, allow_hyphen_values = true)]
    pub rate: Option<Rates>,
    /// The usual round-trip time (default: 50ms)
    #[arg(long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true)]
    pub rtt: Option<Duration>,
    /// Read this site of a network alone, with what is below it
    #[arg(long, value_name = "NAME")]
    pub site: Option<String>,
    /// Write the experiment to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
}

/// `export`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  aqmkit export home.toml --dev eth0
  aqmkit export home.toml --link down --dev ifb0

Prints the lines of tc that make the queue of the link, and on standard error what tc cannot do. aqmkit import of these lines gives the same tree.")]
pub(crate) struct Export {
    /// An experiment, or a file that has what [topology.aqm] has
    pub experiment: PathBuf,
    /// The device of the lines
    #[arg(long, value_name = "DEVICE", default_value = "eth0")]
    pub dev: String,
    /// The link, where there are several (default: the measured one)
    #[arg(long, value_name = "NAME")]
    pub link: Option<String>,
}
