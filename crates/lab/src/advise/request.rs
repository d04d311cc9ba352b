//! A question for the adviser: link, traffic, wish, and the budget of the search.

use std::path::PathBuf;

use aqmkit_advise::advice::MOST_CONTENDERS;
use aqmkit_base::{Amount, Duration, Framing, Rates};

use super::{BESIDE, OTHER_LINKS};
use crate::compare::Mix;

/// A question: a link, its traffic, and a wish.
#[derive(Clone, Debug)]
pub struct Request {
    /// Traffic, bounds and aims: `video, web; p99 < 20ms` (`docs/guide/advise.md`).
    pub want: String,
    /// The rate of the link, or of both directions.
    pub rate: Option<Rates>,
    /// The round-trip time, or a range: `15ms..120ms`.
    pub rtt: Option<String>,
    /// The framing of packets in both directions.
    pub framing: Framing,
    /// The rates and round-trip time of a kind of access.
    pub preset: Option<String>,
    /// Traffic beside that of the wish.
    pub mix: Mix,
    /// Whether the traffic of today is left out where `mix` names none.
    pub alone: bool,
    /// The disciplines to choose from: names, `linux`, `kernel`, `all`.
    pub among: Option<Vec<String>>,
    /// The largest number of runs of the search.
    pub budget: usize,
    /// The number of unused seeds under which the best candidates are compared.
    pub fresh: u32,
    /// The limit of every queue.
    pub limit: Option<Amount>,
    /// The measured time of a run.
    pub duration: Duration,
    /// The time before the measurement.
    pub warmup: Duration,
    /// The seed of the search.
    pub seed: Option<u64>,
    /// The number of parallel runs.
    pub jobs: usize,
    /// The directory of the results.
    pub out: Option<PathBuf>,
    /// The file of the page.
    pub page: Option<PathBuf>,
}

impl Request {
    /// A wish, with the defaults of everything else.
    #[must_use]
    pub fn new(want: &str, jobs: usize) -> Request {
        Request {
            want: want.to_owned(),
            rate: None,
            rtt: None,
            framing: Framing::default(),
            preset: None,
            mix: Mix::default(),
            alone: false,
            among: None,
            budget: BUDGET,
            fresh: FRESH,
            limit: None,
            duration: Duration::from_secs(30),
            warmup: Duration::from_secs(15),
            seed: None,
            jobs,
            out: None,
            page: None,
        }
    }

    /// The largest number of runs: those of the search, the candidates under fresh seeds, and the advised one and two others on two other links.
    #[must_use]
    pub fn most_runs(&self) -> usize {
        self.budget.saturating_add(self.fresh_runs())
    }

    /// The largest number of runs under fresh seeds.
    #[must_use]
    pub fn fresh_runs(&self) -> usize {
        let elsewhere = OTHER_LINKS.len() * (1 + BESIDE.len());
        (MOST_CONTENDERS + elsewhere) * self.fresh as usize
    }
}

/// The default number of runs of a search, and of fresh seeds.
pub const BUDGET: usize = 600;
/// The default number of fresh seeds.
pub const FRESH: u32 = 12;
