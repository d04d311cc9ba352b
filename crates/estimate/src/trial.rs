//! Several files of one test on one time axis.

use crate::measurement::{Bin, Direction, Epoch, Flow, Format, Measurement, Probe};

/// What the user knows beside the files.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Given {
    /// When the load ran, in seconds since the first packet of the ping log.
    pub load: Option<(f64, f64)>,
    /// The result of a speed test, in bits per second.
    pub rate_bps: Option<f64>,
    /// Whether the other direction is measured as well, by a test of its own.
    pub has_other_direction: bool,
}

/// Why files do not make a test.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct TrialError {
    /// The problem.
    pub what: String,
    /// What would be right.
    pub right: String,
}

/// One test: sparse packets and flows on one time axis, in seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trial {
    /// The files and their formats.
    pub files: Vec<(String, Format)>,
    /// Sparse packets.
    pub probes: Vec<Probe>,
    /// Flows that load the path.
    pub flows: Vec<Flow>,
    /// When the load began and ended; `None` if that is unknown, or there was none.
    pub load: Option<(f64, f64)>,
    /// How well the load's times are known on the axis of the sparse packets.
    pub guard: f64,
    /// What the user knows.
    pub given: Given,
    /// Facts that the files do not have.
    pub unseen: Vec<String>,
}

impl Trial {
    /// Puts files on one time axis: by their times of day, or by the given time of the load.
    ///
    /// # Errors
    /// When a file without times of day cannot be placed beside others, or the load ends before it begins.
    pub fn of(files: Vec<Measurement>, given: Given) -> Result<Trial, TrialError> {
        if let Some((from, to)) = given.load.filter(|(from, to)| from >= to) {
            let what = format!("the load begins at {from} s and ends at {to} s");
            return Err(TrialError { what, right: "write the earlier time first: --load 20s..50s".to_owned() });
        }
        let zero = files.iter().filter_map(|file| file.epoch).map(|epoch| epoch.at).min_by(f64::total_cmp);
        let by_clock = |epoch: Epoch| epoch.at - zero.unwrap_or(epoch.at);
        let flows_begin = files
            .iter()
            .filter(|file| file.epoch.is_some() || files.len() == 1)
            .filter_map(|file| Some(begin(file)? + file.epoch.map_or(0.0, by_clock)));
        let flows_begin = flows_begin.min_by(f64::total_cmp).or_else(|| files.iter().find_map(begin));
        let mut trial = Trial { given, ..Trial::default() };
        let several = files.len() > 1;
        for file in files {
            let shift = match (file.epoch, several, given.load, flows_begin) {
                (Some(epoch), ..) => by_clock(epoch),
                (None, false, ..) => 0.0,
                // The given time is that of the load in the log of sparse packets.
                (None, true, Some((from, _)), Some(began)) if !file.probes.is_empty() => began - from,
                (None, true, Some(_), _) if zero.is_none() => 0.0,
                (None, true, ..) => return Err(unplaced(&file)),
            };
            if several {
                trial.guard = trial.guard.max(file.epoch.map_or(0.5, |epoch| epoch.error));
            }
            trial.add(file, shift);
        }
        trial.load = trial.load_of_flows().or_else(|| {
            let first =
                trial.probes.iter().filter_map(|probe| probe.samples.first()).map(|s| s.at).min_by(f64::total_cmp)?;
            given.load.map(|(from, to)| (first + from, first + to))
        });
        Ok(trial)
    }

    fn add(&mut self, file: Measurement, shift: f64) {
        self.files.push((file.file, file.format));
        self.unseen.extend(file.unseen);
        self.probes.extend(file.probes.into_iter().map(|mut probe| {
            probe.samples.iter_mut().for_each(|sample| sample.at += shift);
            probe
        }));
        self.flows.extend(file.flows.into_iter().map(|mut flow| {
            flow.bins.iter_mut().for_each(|bin| *bin = Bin { from: bin.from + shift, to: bin.to + shift, ..*bin });
            flow.rtts.iter_mut().for_each(|(at, _)| *at += shift);
            flow
        }));
    }

    fn load_of_flows(&self) -> Option<(f64, f64)> {
        let spans: Vec<(f64, f64)> = self.flows.iter().filter_map(Flow::span).collect();
        let from = spans.iter().map(|span| span.0).min_by(f64::total_cmp)?;
        let to = spans.iter().map(|span| span.1).max_by(f64::total_cmp)?;
        Some((from, to))
    }

    /// The directions in which flows carry data.
    #[must_use]
    pub fn directions(&self) -> Vec<Direction> {
        let mut all: Vec<Direction> = self.flows.iter().map(|flow| flow.direction).collect();
        all.sort();
        all.dedup();
        all
    }

    /// The longest round trip that was measured, in seconds.
    pub(crate) fn longest(&self) -> f64 {
        let probes = self.probes.iter().flat_map(Probe::rtts);
        let flows = self.flows.iter().flat_map(|flow| flow.rtts.iter().copied());
        probes.chain(flows).map(|(_, rtt)| rtt).fold(0.0, f64::max)
    }

    /// Whether a sparse packet sent at this time met no load: before it, or after its queue has emptied.
    pub(crate) fn is_idle(&self, at: f64) -> bool {
        let Some((from, to)) = self.load else { return true };
        // A packet sent just before the load is still on its way when it begins.
        at + self.longest().min(1.0) < from - self.guard || at > to + self.guard + 2.0 * self.longest() + 1.0
    }

    /// Whether the load ran for certain at this time.
    pub(crate) fn is_loaded(&self, at: f64) -> bool {
        self.load.is_some_and(|(from, to)| at >= from + self.guard && at <= to - self.guard)
    }

    /// The sparse packets of best effort: those with another DSCP may be served before or after others.
    pub(crate) fn best_effort(&self) -> impl Iterator<Item = &Probe> {
        let marked = |name: &str| ["EF", "BK", "CS1", "CS5", "CS6", "VO", "VI"].iter().any(|mark| name.ends_with(mark));
        let all_marked = self.probes.iter().all(|probe| marked(&probe.name));
        self.probes.iter().filter(move |probe| all_marked || !marked(&probe.name))
    }
}

/// When the flows of a file begin, on its own axis.
fn begin(file: &Measurement) -> Option<f64> {
    file.flows.iter().filter_map(Flow::span).map(|span| span.0).min_by(f64::total_cmp)
}

fn unplaced(file: &Measurement) -> TrialError {
    TrialError {
        what: format!("{} has no times of day, so it cannot be placed beside the other files", file.file),
        right: "use ping -D, or say when the load ran in the log, in time since its first packet: --load 20s..50s"
            .to_owned(),
    }
}
