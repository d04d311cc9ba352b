//! The base round trip: what a packet takes where no queue is.

use crate::measurement::Probe;
use crate::quantile::{Value, quantile, sorted};
use crate::trial::Trial;

/// The quantile of round trips without load that is the base. Round trips have a floor, and noise above it.
const LOW: f64 = 0.1;
/// The smallest number of round trips without load.
const FEWEST: usize = 5;

/// The base round trip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Base {
    /// Seconds, without the time that the link takes to send the packet.
    pub(crate) rtt: Value,
    /// Whether it was measured without load; otherwise it is an upper bound.
    pub(crate) is_idle: bool,
    /// How much round trips vary without load, in seconds.
    pub(crate) noise: f64,
}

/// The base of one source of sparse packets, the time of sending included.
pub(crate) fn of_probe(trial: &Trial, probe: &Probe) -> Option<Base> {
    let all: Vec<f64> = probe.rtts().map(|(_, rtt)| rtt).collect();
    let idle: Vec<f64> = probe.rtts().filter(|(at, _)| trial.is_idle(*at)).map(|(_, rtt)| rtt).collect();
    if idle.len() >= FEWEST {
        let spread = quantile(&idle, 0.9)? - quantile(&idle, LOW)?;
        return Some(Base { rtt: Value::of_quantile(&idle, LOW)?, is_idle: true, noise: spread.max(grain(&all)) });
    }
    lowest(&all)
}

/// The resolution of printed times: ping has three digits. The smallest difference that occurs often.
fn grain(all: &[f64]) -> f64 {
    let sorted = sorted(all);
    let steps: Vec<f64> = sorted.windows(2).map(|pair| pair[1] - pair[0]).filter(|step| *step > 1e-9).collect();
    // Values that are not rounded differ by less and less, the more there are.
    quantile(&steps, 0.1).unwrap_or(0.0)
}

/// The base from round trips under load: the shortest, which may have waited as well.
pub(crate) fn lowest(all: &[f64]) -> Option<Base> {
    let least = all.iter().copied().min_by(f64::total_cmp)?;
    Some(Base { rtt: Value { value: least, low: 0.0, high: least }, is_idle: false, noise: 0.0 })
}

/// The base of the path: the lowest of all sources.
pub(crate) fn base(trial: &Trial, rate_bps: Option<f64>) -> Option<Base> {
    let sent = |probe: &Probe| rate_bps.zip(probe.packet).map_or(0.0, |(bps, packet)| packet * 8.0 / bps);
    let probes = trial.probes.iter().filter_map(|probe| {
        let base = of_probe(trial, probe)?;
        let minus = |rtt: f64| (rtt - sent(probe)).max(0.0);
        let rtt = Value { value: minus(base.rtt.value), low: minus(base.rtt.low), high: base.rtt.high };
        Some(Base { rtt, ..base })
    });
    let flows =
        trial.flows.iter().filter_map(|flow| lowest(&flow.rtts.iter().map(|(_, rtt)| *rtt).collect::<Vec<_>>()));
    let mut all: Vec<Base> = probes.chain(flows).collect();
    all.sort_by(|a, b| b.is_idle.cmp(&a.is_idle).then(a.rtt.value.total_cmp(&b.rtt.value)));
    all.first().copied()
}
