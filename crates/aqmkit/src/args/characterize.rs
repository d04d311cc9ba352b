//! The arguments of `characterize`.

use std::path::PathBuf;

use clap::Args;

use super::RunOptions;

/// A list of test cases.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum CaseList {
    /// Those of draft-ietf-ccwg-bbr.
    Bbr,
}

/// `characterize`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:
  aqmkit characterize dualpi2 --quick
  aqmkit characterize pie:target=5ms --card card.html
  aqmkit characterize all --quick
  aqmkit characterize mine.py --quick        a discipline written in Python, with the command of the Python package
  aqmkit characterize --control cubic        a congestion control, by RFC 9743
  aqmkit characterize --control rfc/bbr3     the same on hosts of another profile
  aqmkit-stacks characterize --control quinn:bbr   the same of a transport stack from outside
  aqmkit characterize --control bbr3 --cases bbr   the example cases of the BBR draft

Each section of RFC 7928 is an experiment, rfc7928/NAME of `aqmkit list experiments`; fifo and fq-codel are run \
as well, to compare with. Those of RFC 9743 are rfc9743/NAME, and newreno, cubic and bbr3 are run as well. The card is one HTML page with a verdict, its rule and a picture for each section. \
Finished runs are stored: after an interruption, repeat the command to resume. docs/guide/characterize.md has more.")]
pub(crate) struct Characterize {
    /// Disciplines, each a name or NAME:PARAMETER=VALUE,…; `all` stands for all that need no parameters
    #[arg(required_unless_present = "control")]
    pub disciplines: Vec<String>,
    /// Congestion controls instead, by RFC 9743: names of `aqmkit list transports`, each CONTROL or PROFILE/CONTROL, or STACK:CONTROL
    #[arg(long, value_name = "CONTROL", value_delimiter = ',', conflicts_with = "disciplines")]
    pub control: Vec<String>,
    /// Test cases of a draft instead of the card: bbr, the example cases of draft-ietf-ccwg-bbr
    #[arg(long, value_name = "CASES", requires = "control")]
    pub cases: Option<CaseList>,
    /// Shorter runs, five of each kind: a minute instead of five for disciplines
    #[arg(long)]
    pub quick: bool,
    /// File of the card [default: card.html in the directory of the results]
    #[arg(long, value_name = "FILE")]
    pub card: Option<PathBuf>,
    /// Settings of the runs
    #[command(flatten)]
    pub how: RunOptions,
}
