//! `driver = { ring = 256, bql = true }`: the driver of a link's interface.

use aqmkit_base::read::Value;
use aqmkit_base::{Bytes, Duration, ParamError};
use aqmkit_sim::scenario::{self, Bql};
use serde::{Deserialize, Deserializer};

use super::path::Path;
use super::problem::Problem;
use super::tree::Node;

/// Upper limit for the ring; network cards have up to about 8000 descriptors.
const LARGEST: u32 = 65_536;

/// Upper limit for interrupt coalescing.
const LONGEST: Duration = Duration::from_secs(1);

/// A value of `driver`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Driver {
    #[serde(default = "ring")]
    ring: u32,
    #[serde(default)]
    bql: Limits,
    #[serde(default)]
    coalesce: Duration,
}

/// The default ring size of most drivers.
fn ring() -> u32 {
    256
}

/// The value of `bql`: a boolean, or a table of bounds.
#[derive(Clone, Copy, Debug, Default)]
struct Limits(Option<Bql>);

/// The bounds, named like their files in `/sys`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Bounds {
    limit_min: Option<Bytes>,
    limit_max: Option<Bytes>,
    hold_time: Option<Duration>,
}

impl<'de> Deserialize<'de> for Limits {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let limits = match &value {
            Value::Table(_) => value.read().map(|bounds| Some(limits(bounds))),
            _ => value.read().map(|on: bool| on.then(Bql::default)),
        };
        limits.map(Limits).map_err(ParamError::raise)
    }
}

fn limits(bounds: Bounds) -> Bql {
    let usual = Bql::default();
    Bql {
        limit_min: bounds.limit_min.unwrap_or(usual.limit_min),
        limit_max: bounds.limit_max.unwrap_or(usual.limit_max),
        hold_time: bounds.hold_time.unwrap_or(usual.hold_time),
    }
}

/// Converts the value for the simulator. `node` is the table that contains the key `driver`.
pub(super) fn driver(keys: Option<Driver>, node: &Node) -> Result<Option<scenario::Driver>, Problem> {
    let Some(Driver { ring, bql: Limits(bql), coalesce }) = keys else { return Ok(None) };
    let wrong = |key: &str, what: String, right: String| {
        let path = Path(["driver", key].map(ToOwned::to_owned).into());
        Err(Problem::new(what).right(right).at(&node.nearest(&path).at))
    };
    if !(1..=LARGEST).contains(&ring) {
        return wrong(
            "ring",
            format!("a ring of {ring} packets is not possible"),
            format!("it must be from 1 to {LARGEST}"),
        );
    }
    if coalesce > LONGEST {
        return wrong(
            "coalesce",
            format!("{coalesce} is too long for an interrupt"),
            format!("the longest is {LONGEST}"),
        );
    }
    match bql {
        Some(Bql { limit_min, limit_max, .. }) if limit_min > limit_max => {
            let what = format!("limit_min, {limit_min}, is above limit_max, {limit_max}");
            wrong("bql", what, "lower limit_min or raise limit_max".to_owned())
        }
        _ => Ok(Some(scenario::Driver { ring, bql, coalesce })),
    }
}
