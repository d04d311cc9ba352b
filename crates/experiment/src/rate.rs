//! The rate of a link: a number, a trace of delivery opportunities, or steps.

use std::sync::Arc;

use aqmkit_base::read::Value;
use aqmkit_base::trace::Trace;
use aqmkit_base::{BitRate, Duration, ParamError};
use serde::{Deserialize, Deserializer, Serialize};

use super::files::Files;
use super::problem::Problem;
use super::varying::Varying;

/// The value of `rate`.
#[derive(Clone, Debug)]
pub(super) enum Rate {
    /// `"10mbit"`
    Fixed(BitRate),
    /// `{ trace = "file" }`
    Trace(String),
    /// `{ steps = [{ rate = "100mbit", time = "20s" }, …] }`
    Steps(Vec<Step>),
}

/// A rate, and how long it lasts.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    rate: BitRate,
    time: Duration,
}

/// `{ trace = "file" }`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfFile {
    trace: String,
}

/// `{ steps = […] }`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfSteps {
    steps: Vec<Step>,
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let rate = match &value {
            Value::Table(keys) if keys.iter().any(|(key, _)| key == "steps") => {
                value.read().map(|table: OfSteps| Rate::Steps(table.steps))
            }
            Value::Table(_) => value.read().map(|table: OfFile| Rate::Trace(table.trace)),
            _ => value.read().map(Rate::Fixed),
        };
        rate.map_err(ParamError::raise)
    }
}

impl Rate {
    /// Returns the rate, which is the mean for a trace because disciplines need one number, and the trace, read from
    /// the experiment's directory.
    pub(super) fn resolve(&self, files: &Files) -> Result<(BitRate, Option<Varying>), Problem> {
        let varying = match self {
            Rate::Fixed(rate) => return Ok((*rate, None)),
            Rate::Trace(name) => files.trace(name)?,
            Rate::Steps(steps) => of_steps(steps)?,
        };
        Ok((varying.trace.mean_rate(), Some(varying)))
    }
}

/// Converts steps into a trace; the text of the steps identifies it in the hash of a run.
fn of_steps(steps: &[Step]) -> Result<Varying, Problem> {
    let list: Vec<_> = steps.iter().map(|step| (step.rate, step.time)).collect();
    let trace = Trace::of_steps(&list).map_err(|why| Problem::new("these steps do not make a rate").right(why))?;
    let text: String = steps.iter().map(|step| format!("{} {}\n", step.rate, step.time)).collect();
    Ok(Varying { hash: blake3::hash(text.as_bytes()).to_string(), trace: Arc::new(trace) })
}
