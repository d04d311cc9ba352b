//! # short-flows: downloads with Poisson arrivals
//!
//! Open-loop downloads, most of which finish in a few round trips while a few are long: the load for plots
//! of completion time against size.
//!
//! ## Model
//!
//! Each source starts downloads as a Poisson process: the time to the next is exponential with mean `interval`.
//! A download opens a connection to a server drawn with equal chance, sends a request of 64 bytes, and receives
//!
//! ```text
//! P(size > x) = (size_min / x)^shape              x >= size_min
//! ```
//!
//! bytes, truncated at `size_max` if that is given (as if larger sizes were drawn again). The server
//! closes after sending (schepper16 7.1). Sources are independent, so that `n` of them with mean `interval` are one
//! Poisson process with mean `interval / n`; the load is proportional to their number.
//!
//! The defaults are the low load of schepper16: one download in 100 ms, shape 0.9, from 1 KB on; the high load is
//! `interval = "10ms"`. With a shape of 1 and below **the mean is infinite**: the load of a run then grows with its
//! length. Cut at 1 MB the mean is 8974 bytes, at 1 GB 26.9 KB.
//!
//! ## Parameters
//!
//! | field | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|
//! | `sources` | | 1 | how many, **each** with this interval; 0 for none |
//! | `interval` | time | 100ms | mean time from download to download of a source |
//! | `shape` | 1 | 0.9 | tail exponent of the sizes; 1 and below and the mean is infinite |
//! | `size_min` | size | 1000b | the smallest download |
//! | `size_max` | size | none | the largest download |
//!
//! Exchanges: `transfer`, from the request for a connection to the last byte, with its size. Counters: `requests`,
//! `completed`, `bytes_received`, `failures`.
//!
//! ## Deviations
//!
//! 1. "1KB" is read as 1000 bytes; schepper16 does not say which it is, and names no largest size.
//! 2. Without `size_max` a size stops at 1 TiB, which one draw in 136 million exceeds with the defaults.
//! 3. A download whose connection fails is given up and counted.
//! 4. A source has at most 65 536 connections; a download beyond that counts as failed.
//!
//! ## Evidence
//!
//! `tests/traffic/short_flows.rs`: gaps and sizes against their distributions (also cut), independence of the
//! arrivals from the responses, closing by the server, failures.
//!
//! ## References
//!
//! * schepper16: K. De Schepper, O. Bondarenko, I. Tsang, B. Briscoe, PI2 and DualQ Coupled AQM, 2015-2016,
//!   section 7.1 and figure 9.

use aqmkit_base::{Bytes, Duration, Rng, dist};
use serde::{Deserialize, Serialize};

use super::downloads::Downloads;
use super::model::{Data, Knob, Model, ParamError, Population, count_or_none, in_range, texts};
use super::{Action, Application, Cx, Event, Exchange};

/// Size of the request in bytes.
const REQUEST: u64 = 64;
/// The largest possible download: the heavy tail is truncated here.
const LARGEST: Bytes = Bytes(1 << 40);

/// The parameters of short flows as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Number of sources, each with this interval; 0 for none.
    pub sources: usize,
    /// Mean time between downloads of a source.
    pub interval: Duration,
    /// Tail exponent of the sizes.
    pub shape: f64,
    /// The smallest download.
    pub size_min: Bytes,
    /// The largest download; `None` to truncate at 1 TiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_max: Option<Bytes>,
}

impl Default for Params {
    fn default() -> Self {
        Params { sources: 1, interval: Duration::from_millis(100), shape: 0.9, size_min: Bytes(1000), size_max: None }
    }
}

impl Model for Params {
    const NAME: &'static str = "short-flows";

    fn check(&self) -> Result<(), ParamError> {
        count_or_none("sources", self.sources)?;
        if self.interval < Duration::from_micros(1) {
            return Err(ParamError::new("interval", self.interval, "it must be at least 1us"));
        }
        in_range("shape", self.shape, 0.1, 100.0)?;
        if !(1..=LARGEST.0).contains(&self.size_min.0) {
            return Err(ParamError::new("size_min", self.size_min, format!("it must be from 1b to {LARGEST}")));
        }
        match self.size_max {
            Some(max) if max <= self.size_min || max > LARGEST => {
                let want = format!("it must be above size_min = {}, and not above {LARGEST}", self.size_min);
                Err(ParamError::new("size_max", max, want))
            }
            _ => Ok(()),
        }
    }

    fn knob(&mut self) -> Option<Knob<'_>> {
        Some(Knob::Count("sources", &mut self.sources))
    }

    fn prepare(&self, data: &[Data]) -> Result<Box<dyn Population>, ParamError> {
        texts(data, 0)?;
        self.check()?;
        Ok(Box::new(Sources { sources: self.sources, law: self.law() }))
    }
}

impl Params {
    fn law(&self) -> Law {
        let min = self.size_min.0 as f64;
        let above = |max: Bytes| libm::pow(min / max.0 as f64, self.shape);
        Law {
            interval: self.interval.as_secs_f64(),
            shape: self.shape,
            min,
            above: self.size_max.map_or(0.0, above),
            max: self.size_max.unwrap_or(LARGEST).0,
        }
    }
}

/// The distributions of the times between downloads and of their sizes.
#[derive(Clone, Copy, Debug)]
struct Law {
    /// Mean time between downloads in seconds.
    interval: f64,
    shape: f64,
    min: f64,
    /// P(size > max) of the distribution before truncation.
    above: f64,
    max: u64,
}

impl Law {
    fn gap(&self, rng: &mut Rng) -> Duration {
        Duration::from_secs_f64(dist::exponential(rng, self.interval))
    }

    fn size(&self, rng: &mut Rng) -> u64 {
        let u = self.above + (1.0 - self.above) * rng.uniform_open();
        ((self.min * libm::pow(u, -1.0 / self.shape)) as u64).min(self.max)
    }
}

struct Sources {
    sources: usize,
    law: Law,
}

impl Population for Sources {
    fn instances(&self) -> usize {
        self.sources
    }

    fn make(&self, _index: usize, _rng: &mut Rng) -> Box<dyn Application> {
        Box::new(Source { law: self.law, downloads: Downloads::new(), over: false })
    }
}
struct Source {
    law: Law,
    downloads: Downloads<()>,
    over: bool,
}

impl Source {
    fn wait(&self, cx: &mut Cx<'_>) {
        let gap = self.law.gap(cx.rng);
        cx.want(Action::WakeAt(cx.now + gap));
    }
}

impl Application for Source {
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>) {
        match event {
            Event::Stop => self.over = true,
            _ if self.over => {}
            Event::Start => self.wait(cx),
            Event::Wake => {
                let server = cx.rng.below(u64::from(cx.servers)) as u32;
                let size = self.law.size(cx.rng);
                self.downloads.begin(server, REQUEST, size, (), cx);
                self.wait(cx);
            }
            Event::Response(conn) => {
                if let Some(done) = self.downloads.on_response(conn) {
                    cx.want(Action::Done(Exchange { kind: 0, started: done.started, bytes: done.bytes }));
                }
            }
            Event::Closed(conn) | Event::Failed(conn) => {
                self.downloads.on_close(conn);
            }
            Event::Opened(_) => {}
        }
    }

    fn exchange_kinds(&self) -> &'static [&'static str] {
        &["transfer"]
    }

    fn counters(&self) -> &'static [&'static str] {
        Downloads::<()>::COUNTERS
    }

    fn counter(&self, index: usize) -> f64 {
        self.downloads.counter(index)
    }
}
