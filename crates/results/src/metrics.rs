//! The numbers of an entry by their paths, and their statistics over the repeats.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::Entry;

/// Every number of an entry by its path, such as `links.bottleneck.queue_delay_ms.p99`. Missing, NaN and infinite
/// values are left out.
#[must_use]
pub fn flatten(entry: &Entry) -> BTreeMap<String, f64> {
    let mut numbers = BTreeMap::new();
    if let Ok(Value::Object(mut fields)) = serde_json::to_value(entry) {
        fields.remove("labels");
        walk(&mut numbers, String::new(), &Value::Object(fields));
    }
    numbers
}

fn walk(numbers: &mut BTreeMap<String, f64>, path: String, value: &Value) {
    match value {
        Value::Object(fields) => {
            for (name, inner) in fields {
                let inner_path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                walk(numbers, inner_path, inner);
            }
        }
        Value::Number(number) => {
            numbers.extend(number.as_f64().map(|number| (path, number)));
        }
        _ => {}
    }
}

/// Mean and standard deviation of a number over the repeats of one combination.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stat {
    /// Mean.
    pub mean: f64,
    /// Standard deviation of the sample; `None` for a single run.
    pub sd: Option<f64>,
    /// The number of runs that have it.
    pub count: usize,
}

impl Stat {
    /// The statistics of `values`; `None` if there are none.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Stat> {
        let count = values.len();
        if count == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / count as f64;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        let sd = (count > 1).then(|| (squares / (count - 1) as f64).sqrt());
        Some(Stat { mean, sd, count })
    }
}
