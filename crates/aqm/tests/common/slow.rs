//! A discipline with all times doubled: each trace at half speed.

use std::collections::BTreeMap;

use aqmkit_aqm::registry::{Link, Spec};
use aqmkit_base::BitRate;
use aqmkit_base::units::{format_duration, format_rate, parse_duration, parse_rate};
use serde_json::Value;

use super::page::rows;

/// A link that takes twice as long.
pub fn half_as_fast(link: &Link) -> Link {
    Link { rate: BitRate::from_bps(link.rate.as_bps() / 2), ..link.clone() }
}

/// The same discipline with all times doubled: each time among its parameters is twice as long,
/// and each rate per time is halved. This includes omitted parameters whose default is a time in the code
/// and does not follow from the link.
pub fn slowed(spec: &Spec, link: &Link) -> Spec {
    let filled = |at: &Link| plain(&spec.effective(at).unwrap_or_else(|e| panic!("{spec:?}: {e}")));
    let (full, full_slow) = (filled(link), filled(&half_as_fast(link)));
    let units = Units::of(spec.name());
    let mut value = plain(spec);
    let (Value::Object(fields), Value::Object(all)) = (&mut value, full) else { panic!("parameters are a table") };
    for (name, filled_in) in all {
        let follows_from_the_link = full_slow[&name] != filled_in;
        if !fields.contains_key(&name) && !follows_from_the_link && units.slow_down(&name, &filled_in) != filled_in {
            fields.insert(name, filled_in);
        }
    }
    Spec::read(spec.name(), units.slow_down("", &value)).expect("changed times and rates read back")
}

fn plain(spec: &Spec) -> Value {
    serde_json::to_value(spec).expect("parameters are plain data")
}

/// The unit of each parameter.
struct Units(BTreeMap<String, String>);

impl Units {
    fn of(discipline: &str) -> Self {
        Units(rows(discipline).into_iter().map(|row| (row.name, row.unit)).collect())
    }

    /// The value of a parameter, or a table or list of them, in slow motion.
    fn slow_down(&self, parameter: &str, value: &Value) -> Value {
        match value {
            Value::Object(fields) => fields.iter().map(|(name, v)| (name.clone(), self.slow_down(name, v))).collect(),
            Value::Array(items) => items.iter().map(|v| self.slow_down(parameter, v)).collect(),
            Value::Number(n) => match (self.0.get(parameter).map_or("", String::as_str), n.as_f64()) {
                ("log2 of 1/s", Some(log2)) => Value::from(log2 - 1.0),
                (unit, Some(number)) if unit == "Hz" || unit.ends_with("/s") => Value::from(number / 2.0),
                _ => value.clone(),
            },
            Value::String(text) => match (parse_duration(text), parse_rate(text)) {
                (Ok(time), _) => Value::from(format_duration(time * 2)),
                (_, Ok(rate)) => Value::from(format_rate(BitRate::from_bps(rate.as_bps() / 2))),
                _ => value.clone(),
            },
            _ => value.clone(),
        }
    }
}
