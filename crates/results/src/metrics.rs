//! The metrics of an entry by path.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::Entry;

/// All metrics of an entry by path, such as `links.bottleneck.queue_delay_ms.p99`. Missing, NaN and infinite values are
/// omitted.
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
