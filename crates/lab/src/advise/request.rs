//! Requests for advice.

use std::path::PathBuf;

use aqmkit_advise::advice::MOST_CONTENDERS;
use aqmkit_base::{Amount, Duration, Framing, Rates};

use super::{BESIDE, OTHER_LINKS};
use crate::compare::Mix;

/// A request for advice: a link, its traffic, and a wish.
#[derive(Clone, Debug)]
pub struct Request {
    /// The wish: traffic, bounds and aims, as in `video, web; p99 < 20ms` (`docs/guide/advise.md`).
    pub want: String,
    /// The rate of the link; optionally one for each direction.
    pub rate: Option<Rates>,
    /// The round-trip time, or a range: `15ms..120ms`.
    pub rtt: Option<String>,
    /// The framing of packets in both directions.
    pub framing: Framing,
    /// The name of a preset: rates and round-trip time of a type of access link.
    pub preset: Option<String>,
    /// Traffic in addition to that of the wish.
    pub mix: Mix,
    /// Whether to omit the default mix of present-day traffic if `mix` is empty.
    pub alone: bool,
    /// The disciplines to choose from: names, `linux`, `kernel`, `all`.
    pub among: Option<Vec<String>>,
    /// The maximum number of runs of the search.
    pub budget: usize,
    /// The number of fresh seeds under which the best candidates are compared.
    pub fresh: u32,
    /// The limit of every queue.
    pub limit: Option<Amount>,
    /// The measured time of a run.
    pub duration: Duration,
    /// The warm-up time.
    pub warmup: Duration,
    /// The seed of the search.
    pub seed: Option<u64>,
    /// The number of parallel runs.
    pub jobs: usize,
    /// The results directory.
    pub out: Option<PathBuf>,
    /// The path of the HTML page.
    pub page: Option<PathBuf>,
}

impl Request {
    /// A request with defaults for everything but the wish.
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

    /// The maximum number of runs: the search, the candidates under fresh seeds, and three candidates on two other
    /// links.
    #[must_use]
    pub fn most_runs(&self) -> usize {
        self.budget.saturating_add(self.fresh_runs())
    }

    /// The maximum number of runs under fresh seeds.
    #[must_use]
    pub fn fresh_runs(&self) -> usize {
        let elsewhere = OTHER_LINKS.len() * (1 + BESIDE.len());
        (MOST_CONTENDERS + elsewhere) * self.fresh as usize
    }
}

/// The default budget of the search, in runs.
pub const BUDGET: usize = 600;
/// The default number of fresh seeds.
pub const FRESH: u32 = 12;
