//! # dash: adaptive video streaming over HTTP
//!
//! Viewers whose players fetch a video segment by segment and choose the bit rate of each segment: the largest part of
//! today's traffic. The load adapts to the network.
//!
//! ## Model
//!
//! ```text
//! start     a connection to a server drawn with equal chance; the first segment at the lowest bit rate
//! segment   a request; a response of rate * segment / 8 bytes; then the rule chooses the rate of the next one
//! wait      while the buffer has no room for a segment, nothing is requested
//! playing   begins when `startup` is buffered, stops when the buffer is empty, and begins again in the same way
//! ```
//!
//! All segments use one persistent connection. The rules (`player`):
//!
//! **`buffer`** is BBA-0 (huang14, algorithm 1): with `B` buffered, reservoir `r` and cushion `c`,
//!
//! ```text
//! f(B) = lowest                                             B <= r
//!        lowest + (highest - lowest) (B - r) / c            r < B < r + c
//!        highest                                            B >= r + c
//! ```
//!
//! and the rate stays while `f(B)` is between the next lower and the next higher rate of the ladder. If `f(B)` has reached the
//! next higher one, the new rate is the highest below `f(B)`; if it has reached the next lower one, the lowest above `f(B)`.
//!
//! **`rate`** takes its estimate and its steps from FESTIVE (jiang12): the estimate is the harmonic mean of the
//! throughputs of the last 20 segments, and a rate fits if it is at most 85 % of the estimate. If the current rate does not
//! fit, the next is one step lower; if the next higher rate fits, the player goes one step up after as many segments as the
//! number of the current rate in the ladder, counted from 1. It asks for a segment once the buffer has room for it and for a
//! uniform part of another, drawn anew for each segment, which prevents synchronisation of players.
//!
//! ## Parameters
//!
//! | field | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|
//! | `viewers` | | 1 | how many watch; 0 for none |
//! | `player` | | buffer | the rule: `buffer` or `rate` |
//! | `ladder` | rates | 235, 375, 560, 750, 1050, 1750, 2350, 3000, 4300, 5800 kbit | bit rates, rising (aaron15); a link faster than the highest is never filled |
//! | `segment` | time | 4s | video in a segment (huang14); longer segments react later |
//! | `buffer` | time | 240s, or 30s with `rate` | the most video that is buffered |
//! | `reservoir` | time | 90s | below it `buffer` plays the lowest rate |
//! | `cushion` | time | 126s | over it `buffer` rises to the highest rate |
//! | `startup` | time | 4s | video that is buffered before playing begins |
//!
//! Defaults of reservoir, cushion and buffer are those of BBA-0 (huang14): 90 s + 126 s, and 24 s of 240 s above. The
//! buffer of `rate`, the `startup` and the request of 400 bytes are chosen. Short runs of BBA-0 consist mostly of
//! filling the reservoir: on a link of 1.5 times the lowest rate this alone takes three minutes.
//!
//! Exchanges: `startup` (from the viewer's start to the first picture) and `segment`. Counters: `segments`, `switches`,
//! `stalls`, `played_s`, `stalled_s`, `video_s` (seconds of video fetched), `video_bits` (their bits), `bytes_received`,
//! `failures`. From these come the results `video_rate_bps`, `switches_per_min`, `stalled` (the ratio of rebuffering to
//! viewing) and `stalls_per_min`. The first wait is start-up, not a stall.
//!
//! ## Deviations
//!
//! 1. Segments of one rate have one size. Those of real videos vary by a factor of two (huang14), for which BBA-1 has a
//!    dynamic reservoir.
//! 2. `buffer` has neither the start-up phase of BBA-2 nor its protection against outages: it starts with the lowest rate.
//! 3. `rate` lacks FESTIVE's delayed update, which trades efficiency for stability.
//! 4. No download of a segment is aborted, and none is repeated at a higher rate.
//! 5. A connection that closes or fails is opened again at once, and the segment is requested again.
//! 6. The video has no end, and the sound is part of the bit rate.
//! 7. Counters are updated at each event, and at least once a second.
//!
//! ## Evidence
//!
//! `dash/player.rs`: the map of BBA-0 at its corners and its two thresholds, worked by hand; the harmonic mean; steps up and
//! down. `tests/traffic/dash.rs`: bytes and times of a whole session on a server of fixed rate, stalls counted by hand, the
//! cap of the buffer, connections that fail.
//!
//! ## References
//!
//! * huang14: T.-Y. Huang, R. Johari, N. McKeown, M. Trunnell, M. Watson, A Buffer-Based Approach to Rate Adaptation:
//!   Evidence from a Large Video Streaming Service, SIGCOMM 2014.
//! * jiang12: J. Jiang, V. Sekar, H. Zhang, Improving Fairness, Efficiency, and Stability in HTTP-based Adaptive Video
//!   Streaming with FESTIVE, CoNEXT 2012.
//! * aaron15: A. Aaron, Z. Li, M. Manohara, J. De Cock, D. Ronca, Per-Title Encode Optimization, Netflix Technology Blog,
//!   December 2015: the fixed ladder.

mod player;
mod viewer;

pub use player::Rule;

use std::sync::Arc;

use aqmkit_base::{BitRate, Duration, Rng};
use serde::{Deserialize, Serialize};

use super::Application;
use super::model::{Data, Knob, Model, ParamError, Population, count_or_none, texts};
use viewer::Viewer;

/// The fixed ladder of aaron15, in kbit/s.
const LADDER: [u64; 10] = [235, 375, 560, 750, 1050, 1750, 2350, 3000, 4300, 5800];
/// Upper limit for the length of a ladder.
const MOST_RATES: usize = 100;
/// Upper limit for the buffer and for a segment.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// The parameters of adaptive streaming as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The number of viewers; 0 for none.
    pub viewers: usize,
    /// The rule that chooses the bit rate.
    pub player: Rule,
    /// The available bit rates, rising.
    pub ladder: Vec<BitRate>,
    /// Duration of a segment.
    pub segment: Duration,
    /// Maximum of buffered video; the default depends on the player.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Duration>,
    /// Buffer level below which BBA-0 plays the lowest rate (reservoir).
    pub reservoir: Duration,
    /// Range of buffer levels over which BBA-0 rises to the highest rate (cushion).
    pub cushion: Duration,
    /// Buffered video at which playback starts.
    pub startup: Duration,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            viewers: 1,
            player: Rule::Buffer,
            ladder: LADDER.iter().map(|kbit| BitRate::from_bps(kbit * 1000)).collect(),
            segment: Duration::from_secs(4),
            buffer: None,
            reservoir: Duration::from_secs(90),
            cushion: Duration::from_secs(126),
            startup: Duration::from_secs(4),
        }
    }
}

impl Params {
    /// Maximum of buffered video: as given, or the player's default.
    #[must_use]
    pub fn most_buffered(&self) -> Duration {
        let default = match self.player {
            Rule::Buffer => Duration::from_secs(240),
            Rule::Rate => Duration::from_secs(30),
        };
        self.buffer.unwrap_or(default)
    }

    fn check_ladder(&self) -> Result<(), ParamError> {
        let shown = || self.ladder.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        if !(1..=MOST_RATES).contains(&self.ladder.len()) {
            return Err(ParamError::new("ladder", shown(), format!("it must have from 1 to {MOST_RATES} rates")));
        }
        let least = self.ladder.iter().all(|rate| rate.as_bps() >= 1000);
        if !least || !self.ladder.is_sorted_by(|a, b| a < b) {
            return Err(ParamError::new("ladder", shown(), "the rates must rise, from 1kbit on"));
        }
        Ok(())
    }
}

impl Model for Params {
    const NAME: &'static str = "dash";

    fn check(&self) -> Result<(), ParamError> {
        count_or_none("viewers", self.viewers)?;
        self.check_ladder()?;
        if !(Duration::from_millis(100)..=LONGEST).contains(&self.segment) {
            return Err(ParamError::new("segment", self.segment, "it must be from 100ms to 86400s"));
        }
        let buffer = self.most_buffered();
        if buffer < self.segment || buffer > LONGEST {
            let want = format!("it must be from a segment, {}, to 86400s", self.segment);
            return Err(ParamError::new("buffer", buffer, want));
        }
        if self.startup > buffer {
            let want = format!("it must be at most the buffer, {buffer}, which would never be reached");
            return Err(ParamError::new("startup", self.startup, want));
        }
        if self.player == Rule::Buffer && self.reservoir + self.cushion > buffer {
            let want = format!("with the cushion of {} it must be at most the buffer, {buffer}", self.cushion);
            return Err(ParamError::new("reservoir", self.reservoir, want));
        }
        Ok(())
    }

    fn knob(&mut self) -> Option<Knob<'_>> {
        Some(Knob::Count("viewers", &mut self.viewers))
    }

    fn prepare(&self, data: &[Data]) -> Result<Box<dyn Population>, ParamError> {
        texts(data, 0)?;
        self.check()?;
        Ok(Box::new(Viewers(Arc::new(self.clone()))))
    }
}

struct Viewers(Arc<Params>);

impl Population for Viewers {
    fn instances(&self) -> usize {
        self.0.viewers
    }

    fn make(&self, _index: usize, _rng: &mut Rng) -> Box<dyn Application> {
        Box::new(Viewer::new(Arc::clone(&self.0)))
    }
}
