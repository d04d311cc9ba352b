//! `exchanges` in `[[expect]]`: selects the exchanges of a traffic by size and response time.

use aqmkit_base::{Bytes, Duration};
use serde::Deserialize;

use super::problem::Problem;
use super::read::{Keys, read};
use super::tree::Node;

/// Half-open ranges of sizes and response times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exchanges {
    /// Bytes.
    pub size: (f64, f64),
    /// Milliseconds.
    pub time_ms: (f64, f64),
}

/// The table as it is written in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Shape {
    size: Option<(Bytes, Bytes)>,
    time: Option<(Duration, Duration)>,
}

/// A quantity measured over selected exchanges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Quantity {
    /// The number of exchanges.
    Count,
    /// Among the exchanges of the selected size, the share with the selected response time.
    Share,
    /// Mean response time.
    Mean,
    /// A percentile of the response time.
    Percentile(f64),
}

impl Quantity {
    /// Parses `count`, `share`, `time_ms.mean` or `time_ms.p50`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_as_they_are_written() {
        let percentile = |text: &str| match Quantity::parse(text) {
            Some(Quantity::Percentile(percent)) => Some(percent),
            _ => None,
        };
        let texts = ["time_ms.p0", "time_ms.p0.5", "time_ms.p99.9", "time_ms.p100"];
        assert_eq!(texts.map(percentile), [Some(0.0), Some(0.5), Some(99.9), Some(100.0)]);
        let named = ["count", "share", "time_ms.mean"].map(Quantity::parse);
        assert_eq!(named, [Some(Quantity::Count), Some(Quantity::Share), Some(Quantity::Mean)]);
        for text in ["time_ms.p100.1", "time_ms.p-1", "time_ms.p", "time_ms.max", "p50", "counts", ""] {
            assert_eq!(Quantity::parse(text), None, "{text}");
        }
    }
}
