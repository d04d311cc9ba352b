//! The arguments of `attack`.

use std::path::PathBuf;

use aqmkit_lab::attack::{BUDGET, FRESH};
use clap::Args;

/// `attack`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:
  aqmkit attack bbr --harm loss --queue fifo --buffer 0.1..1.5
  aqmkit attack newreno --harm unfairness
  aqmkit attack codel --harm bufferbloat
  aqmkit attack dualpi2 --harm \"voip mos\"
  aqmkit-stacks attack quinn:bbr --harm bufferbloat

Harms:
  bufferbloat   packets wait long (99th percentile of the queueing delay of TCP)
  starvation    a flow gets hardly anything; for a control, the flows of other controls beside it
  unfairness    flows get unequal rates; for a control, flows of itself over different round trips
  loss          the queue drops much of what TCP sends
  voip mos      a telephone call beside it is bad
  underuse      the link is not used

Finished runs are kept: after an interruption the same command resumes. docs/guide/attack.md has more.")]
pub(crate) struct Attack {
    /// A queue discipline, a congestion control, or STACK:CONTROL of a stack that the program has
    #[arg(value_name = "DISCIPLINE|CONTROL")]
    pub target: String,
    /// The harm to search for: bufferbloat, starvation, unfairness, loss, "voip mos", underuse
    #[arg(long)]
    pub harm: String,
    /// For a congestion control: the disciplines behind which it is attacked, such as fifo,codel [default: fifo, codel,
    /// pie, red, dualpi2, fq-codel]
    #[arg(long, value_name = "DISCIPLINES", value_delimiter = ',')]
    pub queue: Option<Vec<String>>,
    /// The buffer of a fifo in bandwidth-delay products, or a range: FROM..TO [default: 0.1..8]
    #[arg(long, value_name = "BDP")]
    pub buffer: Option<String>,
    /// About how many runs the hunt may take; those under fresh seeds come on top
    #[arg(long, value_name = "RUNS", default_value_t = BUDGET)]
    pub budget: usize,
    /// Number of unused seeds under which the result is confirmed
    #[arg(long, value_name = "SEEDS", default_value_t = FRESH, value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub fresh: u32,
    /// Another seed
    #[arg(long)]
    pub seed: Option<u64>,
    /// Parallel runs (default: all cores)
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    /// Where results go
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
