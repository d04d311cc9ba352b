//! `[overview]`: a matrix of small plots over two axes.

use aqmkit_base::{BitRate, Duration};
use serde::Deserialize;

use super::problem::{Problem, suggest};
use super::read::{Keys, read};
use super::scope::Scope;
use super::tree::Node;

/// The table as it is written in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Shape {
    rows: String,
    columns: String,
    rate: BitRate,
    rtt: Option<Duration>,
    #[serde(default)]
    per_flow: bool,
    #[serde(default)]
    note: String,
}

pub(super) fn read_overview(node: &Node, scope: &Scope) -> Result<aqmkit_results::Overview, Problem> {
    let keys: Shape = read(node, Keys::of("a key of [overview]"))?;
    for (key, axis) in [("rows", &keys.rows), ("columns", &keys.columns)] {
        if scope.labels(axis).is_none() {
            return Err(scope.no_axis(axis, &[]).at(&node.get(key).unwrap_or(node).at));
        }
    }
    if keys.rows == keys.columns {
        let others = scope.axes.iter().map(|(name, _)| name.as_str()).filter(|name| *name != keys.rows);
        let problem = Problem::new("rows and columns are the same axis").right(suggest("", others));
        return Err(problem.at(&node.get("columns").unwrap_or(node).at));
    }
    Ok(aqmkit_results::Overview {
        rows: keys.rows,
        columns: keys.columns,
        rate_bps: keys.rate.as_bps() as f64,
        rtt_s: keys.rtt.map(Duration::as_secs_f64),
        per_flow: keys.per_flow,
        note: keys.note,
    })
}
