//! Adds a rate-based transport from a crate outside of aqmkit.
//!
//! ```text
//! cargo run --release -p aqmkit-experiment --example own_transport
//! ```
//!
//! `aimd` sends datagrams at a rate that it controls as TCP controls its window: it adds one packet per round trip in
//! each round trip, and halves the rate after a loss (like RAP: Rejaie, Handley and Estrin, 1999). The receiver reports
//! every packet. The program adds it to a catalogue; after that, `[transport]` of an experiment can select it.

#![allow(clippy::print_stdout, reason = "it is a command")]

use std::error::Error;

use aqmkit_base::param::in_range;
use aqmkit_base::{BitRate, Duration, Instant, ParamError};
use aqmkit_experiment::{Catalogues, Experiment, Overrides};
use aqmkit_sim::Control;
use aqmkit_transport::rate::{Cx, Data, Receiving, Report, Scheme, Sending};
use aqmkit_transport::{Addition, Profile};
use serde::{Deserialize, Serialize};

/// Parameters in the table `aimd` of `[transport]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Params {
    /// The initial rate, which is also the minimum.
    initial_rate: BitRate,
    /// Multiplicative decrease: rate after a loss relative to the rate before it.
    decrease: f64,
}

impl Default for Params {
    fn default() -> Self {
        Params { initial_rate: BitRate::from_bps(100_000), decrease: 0.5 }
    }
}

/// The sending half of one connection. Rates are in bytes of data per second.
#[derive(Clone, Debug)]
struct Sender {
    params: Params,
    rate: f64,
    rtt: Option<Duration>,
    /// Time and number of the last packet.
    sent: Option<(Instant, u64)>,
    /// When the rate last changed.
    changed: Instant,
    /// Losses up to this packet belong to a loss event that has already lowered the rate.
    answered: Option<u64>,
    reported: Instant,
}

impl Sender {
    fn lower(&mut self, now: Instant) {
        self.rate = (self.rate * self.params.decrease).max(self.params.initial_rate.bytes_per_sec());
        self.changed = now;
        self.answered = self.sent.map(|(_, seq)| seq);
    }
}

impl Sending for Sender {
    fn on_report(&mut self, report: &Report, cx: &Cx<'_>) {
        let rtt = cx.now.since(report.echo).saturating_sub(report.held);
        (self.rtt, self.reported) = (Some(rtt), cx.now);
        if report.loss > 0.0 && self.answered.is_none_or(|seq| report.seq > seq) {
            self.lower(cx.now);
        } else if cx.now.since(self.changed) >= rtt {
            self.rate += cx.segment() / rtt.as_secs_f64().max(1e-9);
            self.changed = cx.now;
        }
    }

    fn timer(&self) -> Option<Instant> {
        Some(self.reported + self.rtt.map_or(Duration::from_secs(1), |rtt| rtt * 4))
    }

    fn on_timer(&mut self, cx: &Cx<'_>) {
        self.lower(cx.now);
        self.reported = cx.now;
    }

    fn next(&self, cx: &Cx<'_>) -> Option<Instant> {
        let distance = Duration::from_secs_f64(cx.segment() / self.rate);
        Some(self.sent.map_or(cx.now, |(at, _)| at + distance))
    }

    fn on_sent(&mut self, seq: u64, _more: bool, cx: &Cx<'_>) {
        self.sent = Some((cx.now, seq));
    }

    fn rtt(&self) -> Option<Duration> {
        self.rtt
    }

    fn rate(&self, _cx: &Cx<'_>) -> f64 {
        self.rate
    }
}

/// The receiving half: number of the next expected packet.
#[derive(Clone, Debug)]
struct Receiver {
    expected: u64,
}

impl Receiving for Receiver {
    fn on_data(&mut self, data: &Data, _len: u32, _marked: bool, _cx: &Cx<'_>) -> Option<Report> {
        let loss = if data.seq > self.expected { 1.0 } else { 0.0 };
        self.expected = self.expected.max(data.seq + 1);
        Some(Report { echo: data.sent, seq: data.seq, loss, ..Report::default() })
    }

    fn timer(&self) -> Option<Instant> {
        None
    }

    fn on_timer(&mut self, _cx: &Cx<'_>) -> Option<Report> {
        None
    }
}

/// The name, the parameters, and the two halves of a new connection.
struct Aimd;

impl Scheme for Aimd {
    const NAME: &'static str = "aimd";

    type Params = Params;
    type Sender = Sender;
    type Receiver = Receiver;

    fn check(params: &Params) -> Result<(), ParamError> {
        in_range("decrease", params.decrease, 0.1, 0.99)
    }

    fn sender(params: &Params, cx: &Cx<'_>) -> Sender {
        Sender {
            params: params.clone(),
            rate: params.initial_rate.bytes_per_sec(),
            rtt: None,
            sent: None,
            changed: cx.now,
            answered: None,
            reported: cx.now,
        }
    }

    fn receiver(_params: &Params, _profile: &Profile) -> Receiver {
        Receiver { expected: 0 }
    }
}

/// One connection over a wide link with an RTT of 40 ms that loses every 500th packet, which determines its rate.
const EXPERIMENT: &str = r#"
title = "A rate that rises and falls as TCP's window"
duration = "120s"
warmup = "20s"

[topology]
rate = "100mbit"
delays = "40ms"
loss = { every = 500 }
aqm = { name = "fifo", limit = 1000 }

[transport]
profile = "rfc"
congestion = "aimd"

[[traffic]]
name = "flow"
kind = "bulk"
flows = 1
"#;

/// Goodput of the connection in Mbit/s. `set` changes the experiment.
fn measure(set: &[&str]) -> Result<f64, Box<dyn Error>> {
    let mut catalogues = Catalogues::default();
    catalogues.controls.add(Addition::of_rate::<Aimd>(1))?;
    let overrides = Overrides { set: set.iter().map(ToString::to_string).collect(), ..Overrides::default() };
    let experiment = Experiment::parse_with("aimd.toml", EXPERIMENT, &overrides, &catalogues)?;
    let run = experiment.plan().swap_remove(0);
    let output = aqmkit_sim::run(run.scenario()?, &mut |_| Control::Continue)?;
    Ok(output.windows[0].classes["flow"].goodput_bps / 1e6)
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("{:.2} Mbit/s", measure(&[])?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The limit for many round trips between losses. Between losses `n` packets apart, the packets per RTT rise by one
    /// per RTT from `d W` to `W`: `n = W^2 (1 - d^2) / 2`, with `W (1 + d) / 2` packets per RTT on average.
    fn law(decrease: f64, packets: f64) -> f64 {
        let highest = (2.0 * packets / (1.0 - decrease * decrease)).sqrt();
        highest * (1.0 + decrease) / 2.0 * 1460.0 * 8.0 / 0.040 / 1e6
    }

    #[test]
    fn its_rate_is_that_of_the_law() {
        for (set, decrease, packets) in [
            (&[][..], 0.5, 500.0),
            (&["topology.loss.every=2000"], 0.5, 2000.0),
            (&["topology.loss.every=2000", "transport.aimd.decrease=0.8"], 0.8, 2000.0),
        ] {
            let (rate, law) = (measure(set).unwrap(), law(decrease, packets));
            assert!((rate / law - 1.0).abs() < 0.06, "{rate} Mbit/s, the law says {law}: {set:?}");
        }
    }

    #[test]
    fn its_parameters_are_checked_in_the_file() {
        let message = |set: &str| measure(&[set]).unwrap_err().to_string();
        assert_eq!(message("transport.aimd.decrease=2"), "aimd.decrease of the transport cannot be 2");
        assert_eq!(message("transport.aimd.increase=1"), "increase is not a known key of aimd");
        assert!(message("transport.congestion=\"aimb\"").contains("no congestion control \"aimb\""));
    }

    #[test]
    fn runs_with_other_parameters_or_code_are_stored_apart() {
        let key = |version: u32, decrease: f64| {
            let mut catalogues = Catalogues::default();
            catalogues.controls.add(Addition::of_rate::<Aimd>(version)).unwrap();
            let set = vec![format!("transport.aimd.decrease={decrease}")];
            let overrides = Overrides { set, ..Overrides::default() };
            Experiment::parse_with("aimd.toml", EXPERIMENT, &overrides, &catalogues).unwrap().hash()
        };
        assert_eq!(key(1, 0.5), key(1, 0.5));
        assert_ne!(key(1, 0.5), key(2, 0.5));
        assert_ne!(key(1, 0.5), key(1, 0.6));
    }
}
