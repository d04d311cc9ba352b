//! Claims whose value is one number of one run, so that it can be measured outside of a study.

use std::collections::BTreeMap;

use aqmkit_experiment::{Expect, OVER, PLUS, Statistic};

use super::evidence::{paths, quantity, selects};
use super::{Published, in_unit};

/// How the value of a claim is taken from a run's results.
#[derive(Clone, Debug, PartialEq)]
pub struct Plain {
    /// The window.
    pub window: String,
    /// The metric with full paths: see `aqmkit_experiment::number`.
    pub metric: String,
    /// The statistic of the values over time.
    pub seconds: Option<Statistic>,
    /// The factor that converts the number to the unit of the published row.
    pub factor: f64,
}

impl Plain {
    /// How the value of this claim is taken.
    ///
    /// # Errors
    /// When the claim is about more than one number: exchanges, a comparison with another run, or an ordering.
    pub fn of(expect: &Expect, published: &Published) -> Result<Plain, String> {
        let single = expect.exchanges.is_none() && expect.responses.is_none() && expect.order.is_none();
        let Some(window) = expect.window.clone().filter(|_| single && expect.against.is_empty()) else {
            return Err(format!("{}: the claim is not about one number of one run", expect.id));
        };
        let row = published.get(&expect.id).ok_or_else(|| format!("published.csv has no row {}", expect.id))?;
        let factor = in_unit(row, quantity(expect, 1.0)?)?;
        let sides: Vec<String> = paths(expect).iter().map(|side| side.join(PLUS)).collect();
        Ok(Plain { window, metric: sides.join(OVER), seconds: expect.seconds, factor })
    }
}

/// The first of the runs that a claim is about, by its labels.
///
/// # Errors
/// When it is about none, or about several combinations of the sweep.
pub fn first_run<'a>(
    expect: &Expect,
    planned: impl Iterator<Item = &'a BTreeMap<String, String>>,
) -> Result<usize, String> {
    let found: Vec<_> = planned.enumerate().filter(|(_, labels)| selects(expect, labels)).collect();
    let combination = |labels: &BTreeMap<String, String>| {
        let axes = labels.iter().filter(|(axis, _)| !["repeat", "seed"].contains(&axis.as_str()));
        axes.map(|(axis, label)| (axis.clone(), label.clone())).collect::<Vec<_>>()
    };
    let Some((index, first)) = found.first() else { return Err(format!("{}: no run is selected", expect.id)) };
    if found.iter().any(|(_, labels)| combination(labels) != combination(first)) {
        return Err(format!("{}: the claim is about several combinations", expect.id));
    }
    Ok(*index)
}
