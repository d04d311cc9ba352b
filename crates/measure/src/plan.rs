//! The plan of a measurement: names of everything that is counted by index, and windows.

use std::ops::Range;
use std::sync::Arc;

use aqmkit_base::trace::Trace;
use aqmkit_base::{BitRate, Duration, Instant};

/// The plan of a run's measurement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Time zero of the output.
    pub origin: Instant,
    /// The interval of the series.
    pub interval: Duration,
    /// Maximum number of listed exchanges; with more, none is listed.
    pub max_exchanges: usize,
    /// Links, indexed as in the scenario.
    pub links: Vec<LinkInfo>,
    /// Index in `links` of the link at which classes are measured.
    pub measured: usize,
    /// The names of the traffic classes.
    pub classes: Vec<String>,
    /// Groups of applications.
    pub groups: Vec<GroupInfo>,
    /// Measurement windows.
    pub windows: Vec<WindowSpec>,
}

/// A part of the run's time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowSpec {
    /// Name in results.
    pub name: String,
    /// Start time.
    pub from: Instant,
    /// End time (exclusive).
    pub to: Instant,
}

/// Name and properties of a link for results.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkInfo {
    /// Name in results.
    pub name: String,
    /// Whether the results report it.
    pub report: bool,
    /// Link rate; with a trace, its mean.
    pub rate: BitRate,
    /// The trace of a varying rate.
    pub trace: Option<Arc<Trace>>,
    /// Changes of the rate during the run: time and new rate.
    pub changes: Vec<(Instant, BitRate)>,
}

/// Name and properties of a group of applications for results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupInfo {
    /// Name in results.
    pub name: String,
    /// Index of its traffic class.
    pub class: usize,
    /// Indices of the applications that exist from the start.
    pub apps: Range<usize>,
    /// Indices of the applications that joined during the run.
    pub joined: Vec<usize>,
    /// Kinds of exchanges that its model reports.
    pub exchange_kinds: &'static [&'static str],
    /// Counters of its model.
    pub counters: &'static [&'static str],
}

impl Plan {
    /// The number of flows of a class.
    #[must_use]
    pub fn flows_of_class(&self, class: usize) -> usize {
        self.groups.iter().filter(|g| g.class == class).map(GroupInfo::population).sum()
    }
}

impl LinkInfo {
    /// The link's mean rate from `from` until just before `to`, in bits per second.
    #[must_use]
    pub fn capacity_bps(&self, from: Instant, to: Instant) -> f64 {
        match &self.trace {
            None if self.changes.is_empty() => self.rate.as_bps() as f64,
            None => self.mean_rate_bps(from, to),
            Some(trace) => {
                let bytes = trace.deliverable_before(to) - trace.deliverable_before(from);
                crate::arithmetic::bits_per_s(bytes as f64, to.since(from).as_secs_f64())
            }
        }
    }

    /// Like [`capacity_bps`](Self::capacity_bps), but up to and including `now`, for a run in progress: a delivery
    /// opportunity of a trace at `now` may have been used.
    #[must_use]
    pub fn capacity_so_far_bps(&self, from: Instant, now: Instant) -> f64 {
        let Some(trace) = &self.trace else { return self.capacity_bps(from, now) };
        let bytes = trace.deliverable_before(now + Duration::from_nanos(1)) - trace.deliverable_before(from);
        crate::arithmetic::bits_per_s(bytes as f64, now.since(from).as_secs_f64())
    }
}

impl LinkInfo {
    /// The mean over time of a rate that changes, between two instants.
    fn mean_rate_bps(&self, from: Instant, to: Instant) -> f64 {
        let (mut rate, mut since, mut sent) = (self.rate, from, 0.0);
        for &(at, next) in &self.changes {
            let until = at.clamp(since, to.max(since));
            sent += rate.as_bps() as f64 * until.since(since).as_secs_f64();
            (rate, since) = (next, until);
        }
        sent += rate.as_bps() as f64 * to.max(since).since(since).as_secs_f64();
        let span = to.since(from).as_secs_f64();
        if span > 0.0 { sent / span } else { rate.as_bps() as f64 }
    }
}

impl GroupInfo {
    /// The number of applications so far.
    #[must_use]
    pub fn population(&self) -> usize {
        self.apps.len() + self.joined.len()
    }

    /// The indices of its applications; those that joined come last.
    pub fn members(&self) -> impl Iterator<Item = usize> {
        self.apps.clone().chain(self.joined.iter().copied())
    }

    /// Complete and playable frames per second and flow, from the rates of the model's counters.
    #[must_use]
    pub fn frames(&self, rates: &[f64]) -> [Option<f64>; 2] {
        let find = |name| self.counters.iter().position(|c| *c == name).map(|i| rates[i]);
        [find("frames_received"), find("frames_playable")]
    }
}
