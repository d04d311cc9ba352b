//! `exchanges` in `[[expect]]`: the exchanges of a traffic that a claim selects, by size and response time.

use aqmkit_base::{Bytes, Duration};
use serde::Deserialize;

use super::problem::Problem;
use super::read::{Keys, read};
use super::tree::Node;

/// Ranges of sizes and response times; the first value is included, the second is not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exchanges {
    /// In bytes.
    pub size: (f64, f64),
    /// In milliseconds.
    pub time_ms: (f64, f64),
}

/// The table as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Shape {
    size: Option<(Bytes, Bytes)>,
    time: Option<(Duration, Duration)>,
}

/// The quantity of exchanges that a claim measures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Quantity {
    /// The number of exchanges.
    Count,
    /// The share of the exchanges of such a size that have such a response time.
    Share,
    /// The mean time.
    Mean,
    /// A percentile of the response time.
    Percentile(f64),
}

impl Quantity {
    /// Reads `count`, `share`, `time_ms.mean` or `time_ms.p50`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Quantity> {
        match text {
            "count" => Some(Quantity::Count),
            "share" => Some(Quantity::Share),
            "time_ms.mean" => Some(Quantity::Mean),
            _ => {
                let percent: f64 = text.strip_prefix("time_ms.p")?.parse().ok()?;
                (0.0..=100.0).contains(&percent).then_some(Quantity::Percentile(percent))
            }
        }
    }
}

impl Exchanges {
    /// Reads the table.
    pub(super) fn read(node: &Node) -> Result<Exchanges, Problem> {
        let Shape { size, time } = read(node, Keys::of("a key of exchanges"))?;
        let size = size.map_or((0.0, f64::INFINITY), |(from, to)| (from.as_f64(), to.as_f64()));
        let ms = |d: Duration| 1e3 * d.as_secs_f64();
        let time_ms = time.map_or((0.0, f64::INFINITY), |(from, to)| (ms(from), ms(to)));
        for (key, (from, to)) in [("size", size), ("time", time_ms)] {
            if from >= to {
                let problem = Problem::new(format!("the {key} range is empty"));
                return Err(problem.right("give the smaller value first").at(&node.at));
            }
        }
        Ok(Exchanges { size, time_ms })
    }
}
