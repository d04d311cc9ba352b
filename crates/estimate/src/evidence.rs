//! Delays in the queue, from round trips: of sparse packets, and of the bulk flows themselves.

use crate::base;
use crate::measurement::Flow;
use crate::quantile::quantile;
use crate::trial::Trial;

/// The size of a full packet, in bytes.
const FULL: f64 = 1500.0;

/// The number of packets after which a smoothed round trip has forgotten earlier ones (RFC 6298 weighs each by an eighth).
const SMOOTHED: f64 = 12.0;

/// A delay in the queue: when, and how long, in seconds.
pub(crate) type Delay = (f64, f64);

/// What was seen of the queue under load.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Evidence {
    /// Delays of sparse packets.
    pub(crate) sparse: Vec<Delay>,
    /// Delays of the bulk flows.
    pub(crate) bulk: Vec<Delay>,
    /// When packets were lost: intervals.
    pub(crate) losses: Vec<(f64, f64)>,
    /// Whether losses would have been seen.
    pub(crate) knows_losses: bool,
    /// How long the link sends a full packet, in seconds; zero if the rate is unknown.
    pub(crate) packet: f64,
    /// Delays below this are noise, in seconds.
    pub(crate) noise: f64,
    /// The number of bulk flows.
    pub(crate) flows: usize,
    /// The base round trip, in seconds; zero if unknown.
    pub(crate) base: f64,
}

/// Collects what was seen. `path` is its base round trip.
pub(crate) fn evidence(trial: &Trial, path: Option<base::Base>, rate_bps: Option<f64>) -> Evidence {
    let packet = rate_bps.map_or(0.0, |bps| FULL * 8.0 / bps);
    let mut found = Evidence { packet, flows: trial.flows.len(), ..Evidence::default() };
    for probe in trial.best_effort() {
        let Some(base) = base::of_probe(trial, probe) else { continue };
        found.noise = found.noise.max(base.noise);
        let loaded = probe.rtts().filter(|(at, _)| trial.is_loaded(*at));
        found.sparse.extend(loaded.map(|(at, rtt)| (at, (rtt - base.rtt.value).max(0.0))));
        if probe.knows_losses {
            let lost = probe.samples.iter().filter(|s| s.rtt.is_none() && trial.is_loaded(s.at));
            found.losses.extend(lost.map(|sample| (sample.at, sample.at)));
        }
    }
    if let Some(path) = path {
        found.base = path.rtt.value;
        let least = path.rtt.value + packet;
        for flow in &trial.flows {
            let loaded = flow.rtts.iter().filter(|(at, _)| trial.is_loaded(*at) && is_fresh(flow, *at));
            // As for sparse packets, the time is that of sending.
            found.bulk.extend(loaded.map(|(at, rtt)| (at - rtt, (rtt - least).max(0.0))));
        }
    }
    for flow in trial.flows.iter().filter(|flow| flow.knows_losses) {
        found.knows_losses = true;
        found.losses.extend(flow.bins.iter().filter(|bin| bin.lost > 0.0).map(|bin| (bin.from, bin.to)));
    }
    for list in [&mut found.sparse, &mut found.bulk] {
        list.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    found.losses.sort_by(|a, b| a.0.total_cmp(&b.0));
    found
}

impl Evidence {
    /// The delay above which a queue is certain, in seconds.
    pub(crate) fn threshold(&self) -> f64 {
        (3.0 * self.packet).max(2.0 * self.noise).max(0.0005)
    }
}

/// The delays alone.
pub(crate) fn lengths(delays: &[Delay]) -> Vec<f64> {
    delays.iter().map(|(_, delay)| *delay).collect()
}

/// The mean of delays without the highest hundredth, in which single packets met something else.
pub(crate) fn mean(delays: &[Delay]) -> Option<f64> {
    let all = lengths(delays);
    let most = quantile(&all, 0.99)?;
    Some(all.iter().map(|delay| delay.min(most)).sum::<f64>() / all.len() as f64)
}

/// Whether a round trip that a sender has smoothed is of this time: a flow that hardly sends keeps an old one.
fn is_fresh(flow: &Flow, at: f64) -> bool {
    if !flow.smoothed {
        return true;
    }
    let end = flow.bins.partition_point(|bin| bin.from < at);
    let since = at - 1.01;
    let recent = flow.bins[..end].iter().rev().take_while(|bin| bin.from >= since);
    recent.map(|bin| bin.bytes).sum::<f64>() >= SMOOTHED * FULL
}
