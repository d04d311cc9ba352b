//! The rate of a link: a number, or a trace of delivery opportunities.

use aqmkit_base::read::Value;
use aqmkit_base::{BitRate, ParamError};
use serde::{Deserialize, Deserializer, Serialize};

use super::files::Files;
use super::problem::Problem;
use super::varying::Varying;

/// A value of `rate`.
#[derive(Clone, Debug)]
pub(super) enum Rate {
    /// `"10mbit"`
    Fixed(BitRate),
    /// `{ trace = "file" }`
    Trace(String),
}

/// `{ trace = "file" }`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    trace: String,
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let rate = match value {
            Value::Table(_) => value.read().map(|table: Table| Rate::Trace(table.trace)),
            _ => value.read().map(Rate::Fixed),
        };
        rate.map_err(ParamError::raise)
    }
}

/// A rate as the simulator wants it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct LinkRate {
    /// The rate, or a trace's mean rate: the rate that disciplines assume.
    pub(super) mean: BitRate,
    pub(super) trace: Option<Varying>,
}

impl Rate {
    /// The rate, with its trace read from the directory of the experiment.
    pub(super) fn resolve(&self, files: &Files) -> Result<LinkRate, Problem> {
        match self {
            Rate::Fixed(mean) => Ok(LinkRate { mean: *mean, trace: None }),
            Rate::Trace(name) => {
                let varying = files.trace(name)?;
                Ok(LinkRate { mean: varying.trace.mean_rate(), trace: Some(varying) })
            }
        }
    }
}
