//! The tables of an experiment file as serde deserializes them.
//!
//! A key whose value has several forms is read by a module of its own from the same node; here it is only listed, so
//! that the list of known keys is complete.

use std::collections::BTreeMap;

use aqmkit_base::read::Value;
use aqmkit_base::{BitRate, Bytes, Duration, ParamError};
use aqmkit_results::FigureKind;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

use super::plan::Seeds;

/// The value of a key that another module reads.
type Elsewhere = Option<IgnoredAny>;

/// The root table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "some keys are only named here")]
pub(super) struct Root {
    pub(super) title: String,
    #[serde(default)]
    pub(super) source: String,
    #[serde(default)]
    pub(super) about: String,
    pub(super) duration: Option<Duration>,
    #[serde(default)]
    pub(super) warmup: Duration,
    #[serde(default = "one")]
    pub(super) repeat: u32,
    #[serde(default = "first_seed")]
    pub(super) seed: u64,
    #[serde(default)]
    pub(super) seeds: Seeds,
    #[serde(default = "one_second")]
    pub(super) interval: Duration,
    pub(super) classes: Option<Vec<String>>,
    pub(super) r#use: Option<Vec<String>>,
    #[serde(default)]
    pub(super) plot: Vec<String>,
    #[serde(default)]
    pub(super) windows: BTreeMap<String, (Duration, Duration)>,
    changes: Elsewhere,
    topology: Elsewhere,
    transport: Elsewhere,
    params: Elsewhere,
    traffic: Elsewhere,
    sweep: Elsewhere,
    quick: Elsewhere,
    null: Elsewhere,
    expect: Elsewhere,
    expect_table: Elsewhere,
    predict: Elsewhere,
    overview: Elsewhere,
    figure: Elsewhere,
}

/// `[topology]` without the keys of a link.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "some keys are only named here")]
pub(super) struct Topology {
    #[serde(default = "one")]
    pub(super) servers: u32,
    #[serde(default = "one")]
    pub(super) clients: u32,
    #[serde(default)]
    pub(super) access: OrNone<BitRate>,
    #[serde(default)]
    pub(super) inbound: OrNone<BitRate>,
    pub(super) measured: Option<String>,
    #[serde(default)]
    pub(super) uncongested: bool,
    delays: Elsewhere,
    reverse: Elsewhere,
    links: Elsewhere,
}

/// `reverse` in `[topology]`: it has only the keys of a link.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reverse {}

/// An entry of `[[topology.links]]` without the keys of a link.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListedLink {
    pub(super) name: String,
    #[serde(default = "yes")]
    pub(super) report: bool,
}

/// The keys of `[[traffic]]` that every kind has.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "some keys are only named here")]
pub(super) struct Traffic {
    pub(super) kind: String,
    pub(super) name: Option<String>,
    pub(super) class: Option<String>,
    pub(super) start: Option<Duration>,
    pub(super) stop: Option<Duration>,
    pub(super) access: Option<OrNone<BitRate>>,
    pub(super) path: Option<Vec<String>>,
    pub(super) reverse: Option<Vec<String>>,
    #[serde(default)]
    pub(super) direction: Direction,
    pub(super) load: Option<String>,
    #[serde(default)]
    pub(super) both_ways: bool,
    #[serde(default = "yes")]
    pub(super) active: bool,
    #[serde(default)]
    pub(super) scattered: bool,
    delays: Elsewhere,
    transport: Elsewhere,
}

/// Direction in which a traffic's data crosses a dumbbell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Direction {
    /// Across the bottleneck.
    #[default]
    Forward,
    /// Across the reverse link.
    Reverse,
}

impl Traffic {
    /// Keys that are not parameters of the model.
    pub(super) const KEYS: &[&str] = &[
        "kind",
        "name",
        "class",
        "start",
        "stop",
        "access",
        "path",
        "reverse",
        "direction",
        "load",
        "both_ways",
        "active",
        "scattered",
        "delays",
        "transport",
    ];
}

/// `[[expect]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "some keys are only named here")]
pub(super) struct Expect {
    pub(super) id: String,
    pub(super) metric: Option<String>,
    pub(super) seconds: Option<String>,
    pub(super) responses: Option<String>,
    pub(super) along: Option<String>,
    pub(super) order: Option<String>,
    pub(super) every: Option<String>,
    pub(super) formula: Option<String>,
    #[serde(default)]
    pub(super) args: toml::Table,
    #[serde(default)]
    pub(super) note: String,
    pub(super) basis: Option<String>,
    pub(super) average: Option<String>,
    pub(super) ours: Option<String>,
    pub(super) headline: Option<String>,
    r#where: Elsewhere,
    exchanges: Elsewhere,
    against: Elsewhere,
}

/// `[[figure]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "some keys are only named here")]
pub(super) struct Figure {
    pub(super) title: String,
    pub(super) kind: FigureKind,
    pub(super) app: Option<String>,
    pub(super) response: Option<String>,
    pub(super) upto: Option<Duration>,
    pub(super) metric: Option<String>,
    pub(super) along: Option<String>,
    #[serde(default)]
    pub(super) law: Vec<Law>,
    #[serde(default)]
    pub(super) note: String,
    r#where: Elsewhere,
}

/// `[[figure.law]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Law {
    pub(super) label: String,
    pub(super) formula: String,
    pub(super) argument: String,
    #[serde(default)]
    pub(super) args: toml::Table,
    pub(super) packet: Option<Bytes>,
}

/// `[[predict]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "some keys are only named here")]
pub(super) struct Predict {
    pub(super) quantity: String,
    pub(super) label: String,
    pub(super) formula: String,
    #[serde(default)]
    pub(super) args: toml::Table,
    pub(super) points: Vec<toml::Table>,
    r#where: Elsewhere,
}

/// A value, or `"none"`.
#[derive(Clone, Copy, Debug)]
pub(super) struct OrNone<T>(pub(super) Option<T>);

impl<T> Default for OrNone<T> {
    fn default() -> Self {
        OrNone(None)
    }
}

impl<'de, T: serde::de::DeserializeOwned> Deserialize<'de> for OrNone<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if value == Value::Text("none".to_owned()) {
            return Ok(OrNone(None));
        }
        value.read().map(|v| OrNone(Some(v))).map_err(ParamError::raise)
    }
}

fn one() -> u32 {
    1
}

fn first_seed() -> u64 {
    1
}

fn one_second() -> Duration {
    Duration::from_secs(1)
}

fn yes() -> bool {
    true
}
