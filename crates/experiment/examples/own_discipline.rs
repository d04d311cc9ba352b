//! Adds a discipline from a crate outside of aqmkit.
//!
//! ```text
//! cargo run --release -p aqmkit-experiment --example own_discipline
//! ```
//!
//! `delay-cap` drops an arriving packet if the link needs longer than `delay` to send the backlog ahead of it. The
//! program adds it to a catalogue; after that, an experiment can select it like the disciplines of the library.

#![allow(clippy::print_stdout, reason = "it is a command")]

use std::collections::BTreeMap;
use std::error::Error;

use aqmkit_aqm::params::{positive_time, usable_limit};
use aqmkit_aqm::{Addition, Aqm, Discipline, Env, Fifo, Link, Packet, PacketView, ParamError, Qdisc};
use aqmkit_aqm::{QueueView, Verdict, Why};
use aqmkit_base::{Amount, Duration, Instant};
use aqmkit_experiment::{Catalogues, Experiment, Overrides};
use aqmkit_sim::Control;
use serde::{Deserialize, Serialize};

/// Parameters as they are in an experiment file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Params {
    /// Queue limit.
    limit: Amount,
    /// Maximum queueing delay.
    delay: Duration,
}

impl Default for Params {
    fn default() -> Self {
        Params { limit: Amount::Packets(1000.0), delay: Duration::from_millis(20) }
    }
}

/// The discipline: its name, and how a queue is built from its parameters.
impl Discipline for Params {
    const NAME: &'static str = "delay-cap";

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        DelayCap::config(self, link).map(|_| self.clone())
    }

    fn build<P: Packet + 'static>(&self, link: &Link, now: Instant) -> Result<Box<dyn Qdisc<P>>, ParamError> {
        Ok(Box::new(Fifo::<P, DelayCap>::new(self, link, now)?))
    }
}

/// Derived values, recomputed when parameters change.
struct Config {
    limit: Amount,
    /// Bytes that the link sends in `delay`.
    most: f64,
}

/// The algorithm is stateless: it only looks at the queue, which it is passed.
struct DelayCap;

impl Aqm for DelayCap {
    type Params = Params;
    type Config = Config;

    fn config(params: &Params, link: &Link) -> Result<Config, ParamError> {
        positive_time("delay", params.delay)?;
        let most = link.rate.bytes_per_sec() * params.delay.as_secs_f64();
        Ok(Config { limit: usable_limit("limit", params.limit)?, most })
    }

    fn limit(config: &Config) -> Amount {
        config.limit
    }

    fn new(_config: &Config, _now: Instant) -> Self {
        DelayCap
    }

    fn on_arrival(&mut self, config: &Config, _pkt: PacketView, queue: QueueView, _env: &mut Env<'_>) -> Verdict {
        if queue.bytes as f64 > config.most { Verdict::Drop(Why::Step) } else { Verdict::Pass }
    }
}

/// Ten downloads over 10 Mbit/s: with a long queue, and with the cap.
const EXPERIMENT: &str = r#"
title = "A cap on the delay"
duration = "20s"
warmup = "10s"

[topology]
rate = "10mbit"
delays = "40ms"

[params.fifo]
limit = 1000

[sweep]
aqm = ["fifo", { name = "delay-cap", delay = "10ms" }]

[[traffic]]
kind = "bulk"
flows = 10
"#;

/// By discipline: the maximum queueing delay in milliseconds, and the link utilisation.
fn measure() -> Result<BTreeMap<String, (f64, f64)>, Box<dyn Error>> {
    let mut catalogues = Catalogues::default();
    catalogues.disciplines.add(Addition::of::<Params>(1))?;
    let experiment = Experiment::parse_with("cap.toml", EXPERIMENT, &Overrides::default(), &catalogues)?;
    let mut measured = BTreeMap::new();
    for run in experiment.plan() {
        let output = aqmkit_sim::run(run.scenario()?, &mut |_| Control::Continue)?;
        let link = &output.windows[0].links["bottleneck"];
        let longest = link.queue_delay_ms.as_ref().map_or(0.0, |delay| delay.max);
        measured.insert(run.labels["aqm"].clone(), (longest, link.utilization));
    }
    Ok(measured)
}

fn main() -> Result<(), Box<dyn Error>> {
    for (discipline, (longest, used)) in measure()? {
        println!("{discipline}: at most {longest:.1} ms in the queue, {:.0} % of the link used", 100.0 * used);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_packet_waits_longer_than_the_cap() {
        let measured = measure().unwrap();
        // Beyond the cap: the packet in transmission, and one admitted when the backlog is just below the cap; 1.2 ms
        // each.
        let (longest, used) = measured["delay-cap"];
        assert!(longest > 8.0 && longest < 10.0 + 2.5, "{longest} ms");
        assert!(used > 0.9, "{used}");
        assert!(measured["fifo"].0 > 100.0, "{} ms", measured["fifo"].0);
    }

    #[test]
    fn its_parameters_are_checked_in_the_file() {
        let mut catalogues = Catalogues::default();
        catalogues.disciplines.add(Addition::of::<Params>(1)).unwrap();
        let said = |right: &str, wrong: &str| {
            let text = EXPERIMENT.replace(right, wrong);
            Experiment::parse_with("cap.toml", &text, &Overrides::default(), &catalogues).unwrap_err().to_string()
        };
        assert_eq!(said("delay = \"10ms\"", "dealy = \"10ms\""), "dealy is not a parameter of delay-cap");
        assert_eq!(said("delay = \"10ms\"", "delay = \"0ms\""), "delay of delay-cap cannot be 0ms");
        assert_eq!(said("name = \"delay-cap\"", "name = \"delay-cup\""), "there is no discipline \"delay-cup\"");
    }

    #[test]
    fn runs_of_another_version_are_other_runs() {
        let hash = |version| {
            let mut catalogues = Catalogues::default();
            catalogues.disciplines.add(Addition::of::<Params>(version)).unwrap();
            Experiment::parse_with("cap.toml", EXPERIMENT, &Overrides::default(), &catalogues).unwrap().hash()
        };
        assert_eq!(hash(1), hash(1));
        assert_ne!(hash(1), hash(2));
    }
}
