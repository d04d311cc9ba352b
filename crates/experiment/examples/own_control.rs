//! Adds a congestion control from a crate outside of aqmkit.
//!
//! ```text
//! cargo run --release -p aqmkit-experiment --example own_control
//! ```
//!
//! `multcp` behaves like `n` NewReno connections together (Crowcroft and Oechslin, 1998): cwnd grows by `n` segments
//! per RTT, and a loss halves the share of one of the `n`. The program adds it to a catalogue; after that,
//! `[transport]` of an experiment can select it.

#![allow(clippy::print_stdout, reason = "it is a command")]

use std::collections::BTreeMap;
use std::error::Error;

use aqmkit_base::ParamError;
use aqmkit_base::param::in_range;
use aqmkit_experiment::{Catalogues, Experiment, Overrides};
use aqmkit_sim::Control;
use aqmkit_transport::congestion::Cx;
use aqmkit_transport::{Addition, CongestionControl, Profile, Scheme, Window};
use serde::{Deserialize, Serialize};

/// Parameters in the table `multcp` of `[transport]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Params {
    /// Number of connections to emulate.
    n: f64,
}

impl Default for Params {
    fn default() -> Self {
        Params { n: 2.0 }
    }
}

/// State of a connection: the window, and the fractional byte of its growth.
#[derive(Clone, Debug)]
struct MulTcp {
    n: f64,
    window: Window,
    earned: f64,
}

impl MulTcp {
    /// The window of `bytes` bytes after a loss or a mark.
    fn reduced(&self, bytes: u64, cx: &Cx<'_>) -> u64 {
        ((bytes as f64 * (1.0 - 0.5 / self.n)) as u64).max(2 * cx.mss())
    }
}

/// The endpoint detects losses and marks and notifies the control, which changes its window.
impl CongestionControl for MulTcp {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn on_ack(&mut self, acked: u64, cx: &Cx<'_>) {
        if self.window.in_slow_start(cx.profile) {
            return self.window.grow(acked, cx.profile);
        }
        // NewReno's increase per ACK, times n.
        let mss = cx.mss() as f64;
        self.earned += self.n * mss * mss / self.window.cwnd as f64;
        let whole = self.earned as u64;
        self.earned -= whole as f64;
        self.window.cwnd = (self.window.cwnd + whole).min(cx.profile.cwnd_limit.0);
    }

    fn on_loss(&mut self, cx: &Cx<'_>) {
        self.window.enter_recovery(self.reduced(cx.flight, cx), cx);
    }

    fn on_timeout(&mut self, again: bool, cx: &Cx<'_>) {
        self.window.timed_out(again, Window::half(cx), cx);
    }

    fn on_ecn(&mut self, cx: &Cx<'_>) {
        self.window.reduce_to(self.reduced(cx.flight, cx));
    }
}

/// The name, the parameters, and the state of a new connection.
impl Scheme for MulTcp {
    const NAME: &'static str = "multcp";

    type Params = Params;

    fn check(params: &Params) -> Result<(), ParamError> {
        in_range("n", params.n, 1.0, 100.0)
    }

    fn new(params: &Params, profile: &Profile) -> Self {
        MulTcp { n: params.n, window: Window::new(profile), earned: 0.0 }
    }
}

/// One such connection beside one with NewReno, over a wide link with random losses of one packet in 500, which
/// determine both windows.
const EXPERIMENT: &str = r#"
title = "One that counts for four"
duration = "120s"
warmup = "20s"
repeat = 3

[topology]
rate = "100mbit"
delays = "40ms"
loss = 0.002
aqm = { name = "fifo", limit = 1000 }

[transport]
profile = "rfc"
sack = true

[[traffic]]
name = "one"
kind = "bulk"
flows = 1
transport = { congestion = "newreno" }

[[traffic]]
name = "four"
kind = "bulk"
flows = 1
transport = { congestion = "multcp", multcp = { n = 4.0 } }
"#;

/// Mean goodput of each traffic over the repeats, in Mbit/s. `set` changes the experiment.
fn measure(set: &[&str]) -> Result<BTreeMap<String, f64>, Box<dyn Error>> {
    let mut catalogues = Catalogues::default();
    catalogues.controls.add(Addition::of::<MulTcp>(1))?;
    let overrides = Overrides { set: set.iter().map(ToString::to_string).collect(), ..Overrides::default() };
    let experiment = Experiment::parse_with("multcp.toml", EXPERIMENT, &overrides, &catalogues)?;
    let plan = experiment.plan();
    let mut rates = BTreeMap::new();
    for run in &plan {
        let output = aqmkit_sim::run(run.scenario()?, &mut |_| Control::Continue)?;
        for (name, class) in &output.windows[0].classes {
            *rates.entry(name.clone()).or_default() += class.goodput_bps / 1e6 / plan.len() as f64;
        }
    }
    Ok(rates)
}

fn main() -> Result<(), Box<dyn Error>> {
    for (name, rate) in measure(&[])? {
        println!("{name}: {rate:.2} Mbit/s");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_takes_as_much_as_the_law_of_the_square_root_says() {
        let rates = measure(&[]).unwrap();
        // A window that grows by n and loses the share 1/2n is n sqrt((2 - 1/2n) / (2 - 1/2)) times NewReno's.
        let (times, law) = (rates["four"] / rates["one"], 4.0 * (1.875_f64 / 1.5).sqrt());
        assert!((times / law - 1.0).abs() < 0.15, "{times} times as much, the law says {law}: {rates:?}");
    }

    #[test]
    fn as_one_it_takes_as_much_as_newreno() {
        let rates = measure(&["traffic.four.transport.multcp.n=1.0"]).unwrap();
        let times = rates["four"] / rates["one"];
        assert!((times - 1.0).abs() < 0.1, "{times} times as much: {rates:?}");
    }

    #[test]
    fn its_parameters_are_checked_in_the_file() {
        let said = |set: &str| measure(&[set]).unwrap_err().to_string();
        assert_eq!(said("traffic.four.transport.multcp.n=0.5"), "multcp.n of the transport cannot be 0.5");
        assert_eq!(said("traffic.four.transport.multcp.m=1"), "m is not a known key of multcp");
        assert!(said("traffic.four.transport.congestion=\"multpc\"").contains("no congestion control \"multpc\""));
    }
}
