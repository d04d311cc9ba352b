//! The rate of the bottleneck: what the flows together carry while it is busy.
//!
//! A link that always has packets waiting sends at its rate, and never faster. So the windows with the most data agree: their plateau is the rate. Windows
//! are several round trips long, because a receiver gets what a loss has held back all at once.

use crate::measurement::{Counted, Direction, Flow};
use crate::quantile::{Value, quantile};
use crate::trial::Trial;

/// Windows this close to the highest belong to the plateau.
const CLOSE: f64 = 0.05;
/// The share of windows that makes a plateau.
const SHARE: f64 = 0.25;
/// The smallest number of windows into which a load is divided.
const WINDOWS: f64 = 8.0;
/// The relative error if a file does not say how large packets are: their headers are 40 to 60 bytes.
const HEADERS: f64 = 0.008;

/// The rate of one direction.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rate {
    pub(crate) direction: Direction,
    /// Bits per second of IP packets.
    pub(crate) bps: Value,
    /// Whether the windows have a plateau.
    pub(crate) is_plateau: bool,
    /// The share of the windows that belong to the plateau.
    pub(crate) busy: f64,
}

/// The rate in each direction that has flows.
pub(crate) fn rates(trial: &Trial) -> Vec<Rate> {
    trial.directions().into_iter().filter_map(|direction| rate(trial, direction)).collect()
}

fn rate(trial: &Trial, direction: Direction) -> Option<Rate> {
    let flows: Vec<&Flow> = trial.flows.iter().filter(|flow| flow.direction == direction).collect();
    let span = span(&flows)?;
    let width = width(trial, &flows, span);
    let mut rates: Vec<f64> = windows(&flows, span, width).iter().map(|bytes| bytes * 8.0 / width).collect();
    if rates.len() > 2 {
        // The last window holds what arrives after the load, the first the start of the flows.
        rates.pop();
        rates.remove(0);
    }
    let top = quantile(&rates, 0.9).filter(|top| *top > 0.0)?;
    let plateau: Vec<f64> = rates.iter().copied().filter(|rate| *rate >= top * (1.0 - CLOSE)).collect();
    let busy = plateau.len() as f64 / rates.len() as f64;
    let is_plateau = busy >= SHARE && rates.len() >= 3;
    let known = flows.iter().all(|flow| !matches!(flow.counted, Counted::Payload { known: false, .. }));
    let error = if known { 0.0 } else { HEADERS };
    let plateau = Value::of_mean(&plateau, CLOSE * top)?;
    let highest = rates.iter().copied().fold(top, f64::max);
    let low = if is_plateau { plateau.low } else { quantile(&rates, 0.5)?.min(plateau.low) };
    let high = if is_plateau { plateau.high } else { highest.max(plateau.high) };
    let beside = probes_bps(trial);
    let bps = Value {
        value: plateau.value + beside,
        low: (low * (1.0 - error)).max(0.0) + beside,
        high: high * (1.0 + error) + beside,
    };
    Some(Rate { direction, bps, is_plateau, busy })
}

fn span(flows: &[&Flow]) -> Option<(f64, f64)> {
    let spans: Vec<(f64, f64)> = flows.iter().filter_map(|flow| flow.span()).collect();
    let from = spans.iter().map(|span| span.0).min_by(f64::total_cmp)?;
    let to = spans.iter().map(|span| span.1).max_by(f64::total_cmp)?;
    (to > from).then_some((from, to))
}

/// The width of windows in seconds: several round trips, and no less than the bins of the file.
fn width(trial: &Trial, flows: &[&Flow], (from, to): (f64, f64)) -> f64 {
    let bins: Vec<f64> = flows.iter().flat_map(|flow| &flow.bins).map(|bin| bin.to - bin.from).collect();
    let bin = quantile(&bins, 0.5).unwrap_or(0.1);
    let trips = (4.0 * trial.longest()).max(1.0);
    trips.min((to - from) / WINDOWS).max(bin)
}

/// The IP bytes of all flows in windows of equal width; what is left over at the end is the last.
pub(crate) fn windows(flows: &[&Flow], (from, to): (f64, f64), width: f64) -> Vec<f64> {
    let count = ((to - from) / width).ceil().clamp(1.0, 1e6) as usize;
    let mut windows = vec![0.0; count];
    for flow in flows {
        for bin in &flow.bins {
            let length = bin.to - bin.from;
            let (first, last) = ((bin.from - from) / width, (bin.to - from) / width);
            let skipped = first.max(0.0) as usize;
            let touched = (last.max(0.0) as usize + 1).saturating_sub(skipped);
            for (n, window) in windows.iter_mut().enumerate().skip(skipped).take(touched) {
                let begin = (from + n as f64 * width).max(bin.from);
                let end = (from + (n + 1) as f64 * width).min(bin.to);
                *window += bin.bytes * flow.counted.factor() * ((end - begin) / length).clamp(0.0, 1.0);
            }
        }
    }
    windows
}

/// The bits per second of sparse packets, which share the link.
fn probes_bps(trial: &Trial) -> f64 {
    let of = |probe: &crate::measurement::Probe| {
        let (first, last) = (probe.samples.first()?.at, probe.samples.last()?.at);
        let per_s = (probe.samples.len() as f64 - 1.0) / (last - first);
        Some(probe.packet? * 8.0 * per_s).filter(|bps| bps.is_finite())
    };
    trial.probes.iter().filter_map(of).sum()
}
