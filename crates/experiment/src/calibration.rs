//! Trial runs that find the population which offers a given load.
//!
//! As in the papers (le04 4.2, parris01 A.3.4.1), the load of a population is the average rate at which it would send
//! over the link if no link were congested. A trial therefore runs the traffic alone, over the same network with ten
//! times the link rates, drop-tail queues and the same round-trip times.

use std::collections::BTreeMap;
use std::sync::Arc;

use aqmkit_base::{BitRate, Duration};
use aqmkit_sim::scenario;

use super::Experiment;
use super::group::Group;
use super::link::Link;
use super::load::{FASTER, Load};
use super::plan::RunSpec;
use super::problem::Problem;
use super::queue::plain;
use super::resolve::{Resolved, Window};

/// Upper limit for the measurement of a trial: bounds the cost for experiments that last hours.
const LONGEST: Duration = Duration::from_secs(20 * 60);
/// The seed of all trials: a population does not depend on the seed of the runs that use it.
const SEED: u64 = 1;
/// Largest amount in a first trial: small enough that most trial links stay uncongested.
const FIRST: f64 = 100.0;

/// A traffic whose population is to be calibrated, so that it offers a given load.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// Name of the traffic.
    pub traffic: String,
    /// The load as written in the experiment file.
    pub load: String,
    /// The load in bits per second.
    pub bps: u64,
    /// The parameter that is calibrated, such as the number of users.
    pub parameter: &'static str,
    /// Amount for the first trial.
    pub first: f64,
    /// Index of the reverse link whose load counts, too (`both_ways`).
    back: Option<usize>,
    /// The network of the trials, with the traffic alone.
    pub(super) network: Arc<Resolved>,
    /// Equal for calibrations that have the same result.
    key: String,
}

/// A run that measures the load of a population.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The run to execute.
    pub run: RunSpec,
    /// The amount whose load the trial measures.
    pub amount: f64,
    /// The value of the parameter at this amount.
    pub value: f64,
    /// The links on which the load is measured; their loads are added.
    pub links: Vec<String>,
}

impl Calibration {
    fn of(group: &Group, load: &Load, run: &Resolved) -> Result<Calibration, Problem> {
        let mut spec = group.spec.clone();
        let (parameter, first) = spec.knob().map_or(("population", 1.0), |k| (k.field(), k.amount()));
        let duration = run.duration.min(LONGEST);
        let mut alone = group.clone();
        (alone.start, alone.stop, alone.class, alone.load) = (None, None, 0, None);
        let network = Resolved {
            duration,
            warmup: run.warmup,
            interval: duration,
            classes: vec![group.name.clone()],
            windows: vec![Window { name: "all".to_owned(), from: Duration::ZERO, to: duration }],
            links: run.links.iter().map(reported).collect::<Result<_, _>>()?,
            measured: load.link,
            groups: vec![alone],
            uncongested: false,
            changes: Vec::new(),
        };
        // JSON serialization only fails for maps with keys other than strings.
        let key = serde_json::to_string(&(load, &network)).expect("all keys of an experiment are texts");
        Ok(Calibration {
            traffic: group.name.clone(),
            load: load.written.clone(),
            bps: load.bps,
            parameter,
            first: first.min(FIRST),
            back: load.back,
            network: Arc::new(network),
            key,
        })
    }

    /// The trial with this amount, or with the nearest amount that the model allows; `None` if it allows none near it.
    ///
    /// # Errors
    /// When the model cannot be prepared.
    pub fn trial(&self, amount: f64) -> Result<Option<Trial>, Problem> {
        let found = self.network.groups.iter().map(|g| g.with_amount(amount)).next().transpose();
        let Some((group, became)) = found.map_err(|e| Problem::new(e.to_string()))?.flatten() else { return Ok(None) };
        let value = group.spec.clone().knob().map_or(became, |k| k.value());
        let labels = BTreeMap::from([
            ("calibration".to_owned(), format!("{} at {}", self.traffic, self.load)),
            (self.parameter.to_owned(), value.to_string()),
        ]);
        let links = [self.network.measured].into_iter().chain(self.back);
        let links = links.map(|l| self.network.links[l].name.clone()).collect();
        let network = Arc::new(Resolved { groups: vec![group], ..(*self.network).clone() });
        Ok(Some(Trial { run: RunSpec::new(&labels, &network, SEED, 1), amount: became, value, links }))
    }
}

/// A link of a trial: uncongested, and included in the results.
fn reported(link: &Link) -> Result<Link, Problem> {
    let mut link = uncongested(link)?;
    link.simulated.report = true;
    Ok(link)
}

/// The link without congestion: faster, with a drop-tail queue and without a driver; a rate that follows a trace is
/// replaced by its mean.
pub(super) fn uncongested(link: &Link) -> Result<Link, Problem> {
    let rate = BitRate::from_bps(link.rate.as_bps().saturating_mul(FASTER));
    let simulated = scenario::Link { rate, trace: None, aqm: plain()?, driver: None, ..link.simulated.clone() };
    Ok(Link { simulated, trace_hash: None, path: link.path.clone() })
}

impl Experiment {
    /// The calibrations that the experiment needs before it can run, each listed once.
    ///
    /// # Errors
    /// When the network of the trials cannot be built.
    pub fn calibrations(&self) -> Result<Vec<Calibration>, Problem> {
        let mut all: Vec<Calibration> = Vec::new();
        for (_, run) in &self.runs {
            for group in &run.groups {
                let Some(load) = &group.load else { continue };
                let calibration = Calibration::of(group, load, run)?;
                if !all.iter().any(|s| s.key == calibration.key) {
                    all.push(calibration);
                }
            }
        }
        Ok(all)
    }

    /// The runs that use a calibration, as labels by axis. An axis is left out if all of its labels use it.
    ///
    /// # Errors
    /// When the network of the trials cannot be built.
    pub fn calibrated_runs(&self, calibration: &Calibration) -> Result<BTreeMap<String, Vec<String>>, Problem> {
        let mut there: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (labels, run) in &self.runs {
            let loads = run.groups.iter().filter_map(|group| Some((group, group.load.as_ref()?)));
            let keys = loads.map(|(group, load)| Calibration::of(group, load, run).map(|s| s.key));
            if !keys.collect::<Result<Vec<_>, _>>()?.contains(&calibration.key) {
                continue;
            }
            for axis in &self.axes {
                let (found, label) = (there.entry(axis.name.clone()).or_default(), &labels[&axis.name]);
                if !found.contains(label) {
                    found.push(label.clone());
                }
            }
        }
        let all = |name: &String| self.axes.iter().find(|axis| axis.name == *name).map_or(0, |axis| axis.labels.len());
        there.retain(|name, labels| labels.len() < all(name));
        Ok(there)
    }

    /// The experiment with the calibrated amounts instead of loads.
    ///
    /// # Errors
    /// When a model cannot be prepared.
    pub fn settled(&self, found: &[(Calibration, f64)]) -> Result<Experiment, Problem> {
        let mut settled = self.clone();
        for (_, run) in &mut settled.runs {
            let mut changed = (**run).clone();
            for group in &mut changed.groups {
                let Some(load) = group.load.clone() else { continue };
                let key = Calibration::of(group, &load, run)?.key;
                let Some((_, amount)) = found.iter().find(|(s, _)| s.key == key) else { continue };
                let with = group.with_amount(*amount).map_err(|e| Problem::new(e.to_string()))?;
                if let Some((with, _)) = with {
                    *group = with;
                }
            }
            for group in changed.changes.iter_mut().flat_map(|stage| &mut stage.groups) {
                // A calibrated population stays the same for the whole run.
                let start = changed.groups.iter().find(|g| g.name == group.name && group.load.is_some());
                if let Some(start) = start {
                    group.take_population(start);
                }
            }
            *run = Arc::new(changed);
        }
        Ok(settled)
    }
}
