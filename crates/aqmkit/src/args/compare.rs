//! The arguments of `compare`.

use std::path::PathBuf;

use aqmkit_base::units::{parse_duration, parse_rate, parse_share};
use aqmkit_base::{BitRate, Duration, Rates};
use aqmkit_lab::compare::{Driver, Mix, Room};
use clap::Args;

use super::RunOptions;
use super::wire::{FramingArgs, WireArgs};

/// `compare`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:
  aqmkit compare fifo red codel --rate 10mbit --rtt 50ms --bulk 20
  aqmkit compare fifo fq-codel dualpi2 --preset cable --ecn
  aqmkit compare fifo pie --rate 50mbit/10mbit --web 0.3 --video 2 --upload 1 --call 1
  aqmkit compare fifo fq-codel --measured measured.toml
  aqmkit compare dualpi2 --bulk 4 --cc cubic,prague
  aqmkit compare fifo red --bulk 8 --sweep red.max=20..200

Runs are repeated under different seeds until the means are known to 5 %, which --precision changes; --repeat fixes the number of \
seeds instead.

Without options of traffic, it is that of today: downloads, web pages, a video, calls. \
A discipline may carry parameters after a colon: red:min=5,max=40. With two rates, DOWN/UP, both directions have a queue of \
the discipline (--down DOWN --up UP means the same). Bulk and web traffic are class tcp, uploads class upload, streamed video class video, calls, \
games and telephony class realtime, mpeg and videoconf class multimedia, cbr class other.

Presets (down, up, round trip): home-dsl 16mbit 1mbit 40ms; cable 200mbit 10mbit 30ms; fibre 500mbit 100mbit \
15ms; lte 30mbit 10mbit 60ms; starlink 100mbit 10mbit 50ms; datacentre 10gbit 10gbit 100us, with DCTCP, ECN, and short transfers beside the long ones.")]
pub(crate) struct Compare {
    /// Disciplines, each a name or NAME:PARAMETER=VALUE,…
    #[arg(required = true)]
    pub disciplines: Vec<String>,
    /// Rate of the link, or of both directions: DOWN/UP, which then both have a queue [default: 10mbit, with no congestion in the other
    /// direction]
    #[arg(long, alias = "down", allow_hyphen_values = true)]
    pub rate: Option<Rates>,
    /// Take rate, round trip, and the limit of fifo from this estimate of aqmkit measure
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rate", "up", "rtt", "preset"])]
    pub measured: Option<PathBuf>,
    /// The second rate, as an option of its own
    #[arg(long, value_name = "RATE", value_parser = parse_rate, allow_hyphen_values = true, hide = true)]
    pub up: Option<BitRate>,
    /// Round-trip time without queueing [default: 50ms]
    #[arg(long, value_parser = parse_duration, allow_hyphen_values = true)]
    pub rtt: Option<Duration>,
    /// Framing of packets, in both directions
    #[command(flatten)]
    pub framing: FramingArgs,
    /// Impairments of the wire, in both directions
    #[command(flatten)]
    pub wire: WireArgs,
    /// Transmit ring of the interface beneath each queue: 256 packets, or 256,bql with byte queue limits (default: none)
    #[arg(long, value_name = "RING")]
    pub driver: Option<Driver>,
    /// Rates and round-trip time of a kind of access
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
    /// The traffic
    #[command(flatten)]
    pub mix: Mix,
    /// Limit of every queue: 100 (packets), 90kb, 20ms (at the rate of the link), 2bdp (round trips of it) [default: 1000, as in tc]
    #[arg(long)]
    pub limit: Option<Room>,
    /// Values of a parameter, of the limit, of the rate or of the rtt: red.max=20..200, limit=1bdp,2bdp, rtt=10ms,50ms, rate=1mbit..9mbit/5
    #[arg(long, value_name = "WHAT=VALUES")]
    pub sweep: Vec<String>,
    /// Measured time [default: 60s; 2s with --preset datacentre]
    #[arg(long, value_parser = parse_duration, allow_hyphen_values = true)]
    pub duration: Option<Duration>,
    /// Time before the measurement [default: 10s, 1s with --preset datacentre; longer where the links have not settled by then]
    #[arg(long, value_parser = parse_duration, allow_hyphen_values = true)]
    pub warmup: Option<Duration>,
    /// Repeat runs under further seeds until the means are known to ± this share, or ten times the usual budget is spent [default: 5%]
    #[arg(long, value_name = "SHARE", value_parser = parse_share, conflicts_with = "repeat", allow_hyphen_values = true)]
    pub precision: Option<f64>,
    /// Also write the experiment to this file
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Settings of the runs
    #[command(flatten)]
    pub how: RunOptions,
}
