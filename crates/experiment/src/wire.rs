//! Impairments of a link's wire: `loss`, `mark`, `jitter`, `reorder`, `slot`. Each is a table, or a string as on the
//! command line.

use std::str::FromStr;

use aqmkit_base::read::Value;
use aqmkit_base::wire::{self, WireError};
use aqmkit_base::{Bytes, Duration, ParamError};
use aqmkit_sim::scenario;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

use super::link_keys::LinkKeys;
use super::path::Path;
use super::problem::Problem;
use super::tree::Node;

/// The value of `loss` or `mark`.
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

/// Packets at even distances.
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

/// Parses a string in the command line's notation.
fn written<T: FromStr<Err = WireError>>(text: &str) -> Result<T, ParamError> {
    text.parse().map_err(|error: WireError| serde::de::Error::custom(error))
}

impl<'de> Deserialize<'de> for Loss {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let loss = match &value {
            Value::Text(text) => written::<wire::Loss>(text).map(Loss::from),
            Value::Table(entries) if entries.iter().any(|(key, _)| key == "every") => value.read().map(Loss::Every),
            Value::Table(_) => value.read().map(Loss::Bursts),
            _ => value.read().map(Loss::Random),
        };
        loss.map_err(ParamError::raise)
    }
}

impl From<wire::Loss> for Loss {
    fn from(loss: wire::Loss) -> Loss {
        match loss {
            wire::Loss::Random(share) => Loss::Random(share),
            wire::Loss::Every { n: every, burst } => Loss::Every(Every { every, burst }),
            wire::Loss::GilbertElliott { p, r, bad, good } => Loss::Bursts(Bursts { p, r, bad, good }),
        }
    }
}

/// Reads a string in the command line's notation, or a table.
fn written_or_table<'de, D: Deserializer<'de>, T: FromStr<Err = WireError>, Table: DeserializeOwned>(
    deserializer: D,
    of: impl FnOnce(Table) -> T,
) -> Result<T, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let read = match value.as_written() {
        Some(text) => written(&text),
        None => value.read().map(of),
    };
    read.map_err(ParamError::raise)
}

/// The value of `reorder`: `"1%,5ms"`, or `{ chance = 0.01, delay = "5ms" }`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reorder(wire::Reorder);

impl<'de> Deserialize<'de> for Reorder {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Table {
            chance: f64,
            delay: Duration,
        }
        let of = |Table { chance, delay }| wire::Reorder { chance, delay };
        written_or_table(deserializer, of).map(Reorder)
    }
}

/// The value of `jitter`: `"50ms"`, or `{ time = "50ms", overtaking = true }`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jitter(wire::Jitter);

impl<'de> Deserialize<'de> for Jitter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Table {
            time: Duration,
            #[serde(default)]
            overtaking: bool,
        }
        let of = |Table { time, overtaking }| wire::Jitter { time, overtaking };
        written_or_table(deserializer, of).map(Jitter)
    }
}

/// The value of `slot`: `"5ms..10ms"`, or `{ min = "5ms", max = "10ms", packets = 32 }`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot(wire::Slot);

impl<'de> Deserialize<'de> for Slot {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Table {
            min: Duration,
            max: Duration,
            #[serde(default)]
            packets: u32,
            #[serde(default)]
            bytes: Bytes,
        }
        let of = |Table { min, max, packets, bytes }| wire::Slot { min, max, packets, bytes };
        written_or_table(deserializer, of).map(Slot)
    }
}

/// The impairments in the table `node`.
pub(super) fn wire(keys: &LinkKeys, node: &Node) -> Result<scenario::Wire, Problem> {
    let spaced = |hits: scenario::Loss| if keys.even == Some(true) { evenly(hits) } else { hits };
    let wire::Jitter { time: jitter, overtaking } = keys.jitter.map(|Jitter(jitter)| jitter).unwrap_or_default();
    Ok(scenario::Wire {
        loss: spaced(hits(keys.loss.unwrap_or_default(), node, "loss")?),
        mark: spaced(hits(keys.mark.unwrap_or_default(), node, "mark")?),
        jitter,
        overtaking,
        reorder: keys.reorder.map(|Reorder(reorder)| reordered(reorder, node)).transpose()?,
        slot: keys.slot.map(|Slot(slot)| slotted(slot, node)).transpose()?,
    })
}

fn reordered(reorder: wire::Reorder, node: &Node) -> Result<wire::Reorder, Problem> {
    if reorder.delay.is_zero() {
        let problem = Problem::new("the delay of reordered packets is zero");
        return Err(problem.right("for example delay = \"5ms\"").at(&place(node, &["reorder", "delay"]).at));
    }
    chance(reorder.chance, node, &["reorder", "chance"])?;
    Ok(reorder)
}

fn slotted(slot: wire::Slot, node: &Node) -> Result<wire::Slot, Problem> {
    let help = "for example slot = { min = \"5ms\", max = \"10ms\" }";
    slot.checked().map_err(|why| {
        Problem::new(format!("slots cannot follow each other: {why}")).right(help).at(&place(node, &["slot", "max"]).at)
    })
}

/// The same share of packets, at even distances instead of random.
fn evenly(hits: scenario::Loss) -> scenario::Loss {
    match hits {
        scenario::Loss::Random(share) if share > 0.0 => {
            scenario::Loss::Every { n: (1.0 / share).round().max(1.0) as u64, burst: 1 }
        }
        other => other,
    }
}

/// The packets to lose or mark, from the value of `key`.
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

/// Checks that a value is a probability.
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
