//! The arguments of `characterize`.

use std::path::PathBuf;

use clap::Args;

use super::RunOptions;

/// `characterize`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:
  aqmkit characterize dualpi2 --quick
  aqmkit characterize pie:target=5ms --card card.html
  aqmkit characterize all --quick
  aqmkit characterize mine.py --quick        a discipline written in Python, with the command of the Python package

Each section of RFC 7928 is an experiment, rfc7928/NAME of `aqmkit list experiments`; fifo and fq-codel are run \
as well, to compare with. The card is one HTML page with a verdict, its rule and a picture for each section. \
Finished runs are stored: after an interruption, repeat the command to resume. docs/guide/characterize.md has more.")]
pub(crate) struct Characterize {
    /// Disciplines, each a name or NAME:PARAMETER=VALUE,…; `all` stands for all that need no parameters
    #[arg(required = true)]
    pub disciplines: Vec<String>,
    /// Runs of a minute, five of each kind, instead of three to five of five minutes
    #[arg(long)]
    pub quick: bool,
    /// File of the card [default: card.html in the directory of the results]
    #[arg(long, value_name = "FILE")]
    pub card: Option<PathBuf>,
    /// Settings of the runs
    #[command(flatten)]
    pub how: RunOptions,
}
