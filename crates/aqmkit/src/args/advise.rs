//! The arguments of `advise`.

use std::path::PathBuf;

use aqmkit_base::units::{parse_amount, parse_duration};
use aqmkit_base::{Amount, Duration, Rates};
use aqmkit_lab::advise::{BUDGET, FRESH};
use aqmkit_lab::compare::Mix;
use clap::Args;

use super::wire::FramingArgs;

/// `advise`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:
  aqmkit advise --rate 50mbit/10mbit --rtt 15ms..120ms --want \"video, web; p99 < 20ms\"
  aqmkit advise --preset home-dsl --want \"call, voip; 2 max call bitrate, max goodput\" --among linux
  aqmkit advise --rate 1gbit --rtt 1ms --bulk 8 --alone --want \"p99 < 2ms; max goodput\" --cc dctcp --ecn
  aqmkit advise --measured measured.toml --want \"call; web page < 2s\"
  aqmkit advise --preset lte --want \"web page < 2s; bulk goodput > 10mbit\" --budget 800

A wish has parts, separated by commas or semicolons:
  video, 2 call, web 30%        traffic that matters: bulk, upload, web, video, call, game, voip, http, mpeg, videoconf
  p99 < 20ms, web page < 1s     a bound, of all traffic that matters or of one kind
  max goodput, 2 min delay      an aim with a weight; the default aims are the quality of the traffic
Quantities: delay p50 p90 p99 loss goodput use fairness page page-p90 page-p99 bitrate stalled missed mos.

Finished runs are kept: after an interruption the same command resumes. docs/guide/advise.md has more.")]
pub(crate) struct Advise {
    /// The wish: traffic, bounds and aims
    #[arg(long, value_name = "WISH")]
    pub want: String,
    /// Rate of the link, or of both directions: DOWN/UP, which then both have a queue [default: 10mbit]
    #[arg(long, allow_hyphen_values = true)]
    pub rate: Option<Rates>,
    /// Take rate and round trip from this estimate of aqmkit measure
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rate", "rtt", "preset"])]
    pub measured: Option<PathBuf>,
    /// Round-trip time without queueing, or a range: FROM..TO [default: 50ms]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub rtt: Option<String>,
    /// Framing of the packets on the link, in both directions
    #[command(flatten)]
    pub framing: FramingArgs,
    /// Rates and round trip of a kind of access, as in compare
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
    /// The traffic of the link beside that of the wish; without any, that of today
    #[command(flatten)]
    pub mix: Mix,
    /// No traffic but that of the wish and of the options
    #[arg(long)]
    pub alone: bool,
    /// Disciplines to choose from: names, linux (those of tc), kernel (those of tc and of aqmkit kernel), all [default: linux; the best of the
    /// others is shown beside it]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub among: Option<Vec<String>>,
    /// Largest number of runs of the search; those under fresh seeds come on top
    #[arg(long, value_name = "RUNS", default_value_t = BUDGET)]
    pub budget: usize,
    /// Number of unused seeds under which the choice is compared with others
    #[arg(long, value_name = "SEEDS", default_value_t = FRESH, value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub fresh: u32,
    /// Capacity of every queue: 1000 (packets) or 90kb; of fifo and others that drop only when full, it is searched [default: 1000, as in tc]
    #[arg(long, value_parser = parse_amount)]
    pub limit: Option<Amount>,
    /// Measured time of a run
    #[arg(long, default_value = "30s", value_parser = parse_duration, allow_hyphen_values = true)]
    pub duration: Duration,
    /// Time before the measurement
    #[arg(long, default_value = "15s", value_parser = parse_duration, allow_hyphen_values = true)]
    pub warmup: Duration,
    /// Another seed
    #[arg(long)]
    pub seed: Option<u64>,
    /// Parallel runs (default: all cores)
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    /// Where results go
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Where the page goes [default: advice.html in the directory of the results]
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
