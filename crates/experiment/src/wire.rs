//! Impairments of a link's wire: `loss`, `mark`, `jitter`, `reorder`.

use aqmkit_base::read::Value;
use aqmkit_base::{Duration, ParamError};
use aqmkit_sim::scenario;
use serde::{Deserialize, Deserializer};

use super::path::Path;
use super::problem::Problem;
use super::tree::Node;

/// A value of `loss` or `mark`.
#[derive(Clone, Copy, Debug)]
pub(super) enum Loss {
    /// `0.01`
    Random(f64),
    /// `{ every = 100, burst = 2 }`
    Every(Every),
    /// `{ p = 0.01, r = 0.25 }`
    Bursts(Bursts),
}

impl Default for Loss {
    fn default() -> Self {
        Loss::Random(0.0)
    }
}

/// Evenly spaced packets.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Every {
    every: u64,
    #[serde(default = "one")]
    burst: u64,
}

fn one() -> u64 {
    1
}

/// The Gilbert-Elliott model.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Bursts {
    p: f64,
    r: f64,
    #[serde(default = "always")]
    bad: f64,
    #[serde(default)]
    good: f64,
}

fn always() -> f64 {
    1.0
}

impl<'de> Deserialize<'de> for Loss {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let loss = match &value {
            Value::Table(entries) if entries.iter().any(|(key, _)| key == "every") => value.read().map(Loss::Every),
            Value::Table(_) => value.read().map(Loss::Bursts),
            _ => value.read().map(Loss::Random),
        };
        loss.map_err(ParamError::raise)
    }
}

/// A value of `reorder`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reorder {
    chance: f64,
    delay: Duration,
}

/// A value of `jitter`: `"50ms"`, or `{ time = "50ms", overtaking = true }`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Jitter {
    time: Duration,
    overtaking: bool,
}

impl<'de> Deserialize<'de> for Jitter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Table {
            time: Duration,
            #[serde(default)]
            overtaking: bool,
        }
        let value = Value::deserialize(deserializer)?;
        let jitter = match &value {
            Value::Table(_) => value.read().map(|Table { time, overtaking }| Jitter { time, overtaking }),
            _ => value.read().map(|time| Jitter { time, overtaking: false }),
        };
        jitter.map_err(ParamError::raise)
    }
}

/// The keys of a table that describe its wire.
pub(super) struct Keys {
    pub(super) loss: Loss,
    pub(super) mark: Loss,
    pub(super) even: bool,
    pub(super) jitter: Jitter,
    pub(super) reorder: Option<Reorder>,
}

/// The wire that the keys of `node` describe.
pub(super) fn wire(keys: &Keys, node: &Node) -> Result<scenario::Wire, Problem> {
    let Keys { loss, mark, even, jitter, reorder } = *keys;
    let spaced = |hits: scenario::Loss| if even { evenly(hits) } else { hits };
    let loss = spaced(hits(loss, node, "loss")?);
    let mark = spaced(hits(mark, node, "mark")?);
    let reorder = match reorder {
        Some(Reorder { delay, .. }) if delay.is_zero() => {
            let problem = Problem::new("the delay of reordered packets is zero");
            return Err(problem.right("for example delay = \"5ms\"").at(&place(node, &["reorder", "delay"]).at));
        }
        Some(Reorder { chance: share, delay }) => {
            Some(scenario::Reorder { chance: chance(share, node, &["reorder", "chance"])?, delay })
        }
        None => None,
    };
    let Jitter { time: jitter, overtaking } = jitter;
    Ok(scenario::Wire { loss, mark, jitter, overtaking, reorder })
}

/// The same share of packets, evenly spaced instead of random.
fn evenly(hits: scenario::Loss) -> scenario::Loss {
    match hits {
        scenario::Loss::Random(share) if share > 0.0 => {
            scenario::Loss::Every { n: (1.0 / share).round().max(1.0) as u64, burst: 1 }
        }
        other => other,
    }
}

/// The packets that are lost or marked, by the value of `key`.
fn hits(value: Loss, node: &Node, key: &str) -> Result<scenario::Loss, Problem> {
    Ok(match value {
        Loss::Random(share) => scenario::Loss::Random(chance(share, node, &[key])?),
        Loss::Every(Every { every, burst }) if burst == 0 || burst >= every => {
            let problem = Problem::new(format!("a burst of {burst} is not possible in every {every} packets"));
            let help = "for example { every = 1000, burst = 2 }; burst must be less than every";
            return Err(problem.right(help).at(&place(node, &[key, "every"]).at));
        }
        Loss::Every(Every { every: n, burst }) => scenario::Loss::Every { n, burst },
        Loss::Bursts(Bursts { p, r, bad, good }) => scenario::Loss::GilbertElliott {
            p: chance(p, node, &[key, "p"])?,
            r: chance(r, node, &[key, "r"])?,
            bad: chance(bad, node, &[key, "bad"])?,
            good: chance(good, node, &[key, "good"])?,
        },
    })
}

/// Checks a probability.
fn chance(value: f64, node: &Node, path: &[&str]) -> Result<f64, Problem> {
    if (0.0..=1.0).contains(&value) {
        return Ok(value);
    }
    Err(Problem::new(format!("{} cannot be {value}", path.join(".")))
        .right("it must be a probability from 0 to 1")
        .at(&place(node, path).at))
}

fn place<'a>(node: &'a Node, path: &[&str]) -> &'a Node {
    node.nearest(&Path(path.iter().map(ToString::to_string).collect()))
}
