//! Adds a traffic model from a crate outside of aqmkit.
//!
//! ```text
//! cargo run --release -p aqmkit-experiment --example own_traffic
//! ```
//!
//! `poll`: meters that keep one connection open each and are asked for a reading of `size` bytes every `every`; the
//! next request waits for the previous response. The program adds it to a catalogue; after that, `kind` of an
//! experiment's `[[traffic]]` can select it.

#![allow(clippy::print_stdout, reason = "it is a command")]

use std::error::Error;

use aqmkit_base::{Bytes, Duration, Instant, Rng};
use aqmkit_experiment::{Catalogues, Experiment, Overrides};
use aqmkit_sim::output::AppStats;
use aqmkit_traffic::model::{Knob, count};
use aqmkit_traffic::{Action, Addition, Application, Conn, Cx, Data, Event, Exchange, Model, ParamError, Population};
use serde::{Deserialize, Serialize};

/// Parameters as they are in an experiment file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Params {
    /// Number of meters.
    meters: usize,
    /// Interval between the requests of a meter.
    every: Duration,
    /// Bytes of a response.
    size: Bytes,
}

impl Default for Params {
    fn default() -> Self {
        Params { meters: 10, every: Duration::from_secs(1), size: Bytes(1000) }
    }
}

/// The model: its name, checks and population.
impl Model for Params {
    const NAME: &'static str = "poll";

    fn check(&self) -> Result<(), ParamError> {
        count("meters", self.meters)?;
        if self.every < Duration::from_millis(1) {
            return Err(ParamError::new("every", self.every, "it must be at least 1ms"));
        }
        if self.size == Bytes::ZERO {
            return Err(ParamError::new("size", self.size, "it must be at least 1b"));
        }
        Ok(())
    }

    /// Calibration to a `load` changes the number of meters.
    fn knob(&mut self) -> Option<Knob<'_>> {
        Some(Knob::Count("meters", &mut self.meters))
    }

    fn prepare(&self, _data: &[Data]) -> Result<Box<dyn Population>, ParamError> {
        self.check()?;
        Ok(Box::new(Meters(self.clone())))
    }
}

/// All meters of an experiment.
struct Meters(Params);

impl Population for Meters {
    fn instances(&self) -> usize {
        self.0.meters
    }

    /// Meters start at random times within the first interval, so that they do not all send at once.
    fn make(&self, index: usize, rng: &mut Rng) -> Box<dyn Application> {
        let Params { every, size, .. } = self.0;
        Box::new(Meter { server: index as u32, first: every.mul_f64(rng.uniform()), every, size, asked: None })
    }
}
struct Meter {
    server: u32,
    first: Duration,
    every: Duration,
    size: Bytes,
    /// When the outstanding request was sent.
    asked: Option<Instant>,
}

/// The one connection of a meter.
const CONN: Conn = Conn(0);
/// Bytes of a request.
const QUESTION: u64 = 50;

/// An application receives events and returns actions, which the simulator carries out.
impl Application for Meter {
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>) {
        match event {
            Event::Start => {
                cx.want(Action::Open { conn: CONN, server: self.server % cx.servers });
                cx.want(Action::WakeAt(cx.now + self.first));
            }
            Event::Wake => {
                if self.asked.is_none() {
                    self.asked = Some(cx.now);
                    let (response, think) = (self.size.0, Duration::ZERO);
                    cx.want(Action::Request { conn: CONN, request: QUESTION, response, think, close: false });
                }
                cx.want(Action::WakeAt(cx.now + self.every));
            }
            Event::Response(_) => {
                if let Some(started) = self.asked.take() {
                    cx.want(Action::Done(Exchange { kind: 0, started, bytes: self.size.0 }));
                }
            }
            Event::Stop | Event::Opened(_) | Event::Closed(_) | Event::Failed(_) => {}
        }
    }

    fn exchange_kinds(&self) -> &'static [&'static str] {
        &["reading"]
    }
}

/// Twenty meters on a link of which they use a small part.
const EXPERIMENT: &str = r#"
title = "Meters"
duration = "30s"
warmup = "10s"

[topology]
rate = "10mbit"
delays = "40ms"

[[traffic]]
kind = "poll"
meters = 20
every = "500ms"
size = "1kb"
"#;

/// Application statistics of the meters. `set` changes the experiment.
fn measure(set: &[&str]) -> Result<AppStats, Box<dyn Error>> {
    let mut catalogues = Catalogues::default();
    catalogues.traffic.add(Addition::of::<Params>(1))?;
    let overrides = Overrides { set: set.iter().map(ToString::to_string).collect(), ..Overrides::default() };
    let experiment = Experiment::parse_with("meters.toml", EXPERIMENT, &overrides, &catalogues)?;
    let run = experiment.plan().swap_remove(0);
    let output = aqmkit_sim::run(run.scenario()?, &mut |_| aqmkit_sim::Control::Continue)?;
    Ok(output.windows[0].apps["poll"].clone())
}

fn main() -> Result<(), Box<dyn Error>> {
    let apps = measure(&[])?;
    let times = &apps.response_time_ms["reading"];
    println!(
        "{} readings, {:.1} ms each in the mean, {:.1} ms at most",
        apps.completed["reading"], times.mean, times.max
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_meter_has_its_readings_after_a_round_trip() {
        let apps = measure(&[]).unwrap();
        // 20 meters for 30 s, two readings per second; each may have one outstanding at the start or end.
        let readings = apps.completed["reading"];
        assert!(readings.abs_diff(20 * 60) <= 20, "{readings}");
        let times = &apps.response_time_ms["reading"];
        assert!(times.mean > 40.0 && times.mean < 45.0, "{} ms", times.mean);
        assert_eq!(apps.population, 20);
    }

    #[test]
    fn a_meter_does_not_ask_again_before_the_answer() {
        // A reading takes a round trip of 40 ms: with requests every 30 ms, every second one is skipped.
        let apps = measure(&["traffic.poll.every=30ms", "traffic.poll.meters=1"]).unwrap();
        let readings = apps.completed["reading"];
        assert!(readings.abs_diff(500) <= 2, "{readings}");
    }

    #[test]
    fn its_parameters_are_checked_in_the_file() {
        let said = |set: &str| measure(&[set]).unwrap_err().to_string();
        assert_eq!(said("traffic.poll.meters=0"), "meters of poll cannot be 0");
        assert_eq!(said("traffic.poll.metres=3"), "metres is not a parameter of poll");
        assert_eq!(said("traffic.poll.kind=\"pol\""), "there is no traffic kind \"pol\"");
    }
}
