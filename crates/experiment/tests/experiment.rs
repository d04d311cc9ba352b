//! Experiment files: parsing, planning and rejection.

#[path = "experiment/bounds.rs"]
mod bounds;
#[path = "experiment/calibrated.rs"]
mod calibrated;
#[path = "experiment/changes.rs"]
mod changes;
#[path = "experiment/claims.rs"]
mod claims;
#[path = "experiment/curves.rs"]
mod curves;
#[path = "experiment/defaults.rs"]
mod defaults;
#[path = "experiment/editable.rs"]
mod editable;
#[path = "experiment/format.rs"]
mod format;
#[path = "experiment/mixes.rs"]
mod mixes;
#[path = "experiment/network.rs"]
mod network;
#[path = "experiment/null.rs"]
mod null;
#[path = "experiment/plan.rs"]
mod plan;
#[path = "experiment/predict.rs"]
mod predict;
#[path = "experiment/responses.rs"]
mod responses;
#[path = "experiment/robust.rs"]
mod robust;
#[path = "experiment/setting.rs"]
mod setting;
#[path = "experiment/sound.rs"]
mod sound;
#[path = "experiment/stack.rs"]
mod stack;
#[path = "experiment/tables.rs"]
mod tables;
#[path = "experiment/wrong.rs"]
mod wrong;

use aqmkit_experiment::{Experiment, Overrides, Problem, Scale};

/// An experiment that uses many features.
const SMALL: &str = r#"
title = "Small"
source = "nobody 2026"
duration = "20s"
warmup = "5s"
repeat = 2

[topology]
rate = "10mbit"
delay = "1ms"
servers = 2
clients = 2
delays = { matrix = [["1ms", "2ms"], ["3ms", "4ms"]] }

[params.red]
limit = 100

[sweep]
aqm = ["fifo", { name = "red", min = 10, max = 30 }]

[[sweep.mix]]
label = "bulk"
use = ["bulk"]

[[sweep.mix]]
label = "both"
use = ["bulk", "blast"]

[[traffic]]
kind = "bulk"
class = "tcp"
flows = 4

[[traffic]]
name = "blast"
kind = "cbr"
class = "other"
rate = "12mbit"
start = "5s"
stop = "15s"
delays = "none"
access = "10mbit"

[windows]
blast = ["6s", "15s"]
calm = ["0s", "5s"]

[quick]
repeat = 1
warmup = "1s"

[[expect]]
id = "X-1"
where = { aqm = "red", mix = "both", window = "blast", class = "tcp" }
metric = "goodput_bps"
"#;

fn parse(text: &str) -> Result<Experiment, Problem> {
    Experiment::parse("experiments/small.toml", text, &Overrides::default())
}

fn with(text: &str, set: &[&str]) -> Result<Experiment, Problem> {
    let overrides = Overrides { set: set.iter().map(ToString::to_string).collect(), ..Overrides::default() };
    Experiment::parse("experiments/small.toml", text, &overrides)
}

fn quick(text: &str) -> Result<Experiment, Problem> {
    Experiment::parse("experiments/small.toml", text, &Overrides { scale: Scale::Quick, ..Overrides::default() })
}

/// The problem as rendered for a terminal without colours.
fn rendered(problem: &Problem) -> String {
    let theme = miette::GraphicalTheme::unicode_nocolor();
    let mut text = String::new();
    let handler = miette::GraphicalReportHandler::new_themed(theme).with_width(4000).with_context_lines(1);
    handler.render_report(&mut text, problem).expect("a text can be written to");
    text
}
