//! A discipline in a time that passes half as fast.

use aqmkit_aqm::registry::{self, Link, Spec};
use aqmkit_base::BitRate;
use aqmkit_base::units::{format_duration, format_rate, parse_duration, parse_rate};
use serde_json::Value;

/// A link that takes twice as long.
pub fn half_as_fast(link: &Link) -> Link {
    Link { rate: BitRate::from_bps(link.rate.as_bps() / 2), ..link.clone() }
}

/// The same discipline in a time that passes half as fast: each time among its parameters is twice as long,
/// and what its page gives in a unit per time is half as much. That includes what is left open and follows
/// from a time in the code, not from the link.
pub fn slowed(spec: &Spec, link: &Link) -> Spec {
    let plain = |spec: &Spec| serde_json::to_value(spec).expect("parameters are plain data");
    let filled = |link: &Link| plain(&spec.effective(link).unwrap_or_else(|e| panic!("{spec:?}: {e}")));
    let (full, full_slow) = (filled(link), filled(&half_as_fast(link)));
    let units = units(spec.name());
    let mut value = plain(spec);
    let (Value::Object(fields), Value::Object(all)) = (&mut value, full) else { panic!("parameters are a table") };
    for (name, filled_in) in all {
        let follows_from_the_link = full_slow[&name] != filled_in;
        let slow = slow_down(&filled_in, &name, &units);
        if !fields.contains_key(&name) && !follows_from_the_link && slow != filled_in {
            fields.insert(name, filled_in);
        }
    }
    Spec::read(spec.name(), slow_down(&value, "", &units)).expect("changed times and rates read back")
}

/// The names and units in the table of parameters on a discipline's page.
fn units(name: &str) -> Vec<(String, String)> {
    let page = registry::find(name).expect("it is in the list").page();
    let rows = page.lines().map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
    rows.filter(|cells| cells.len() > 4)
        .flat_map(|cells| {
            cells[1].split('`').skip(1).step_by(2).map(|n| (n.to_owned(), cells[3].to_owned())).collect::<Vec<_>>()
        })
        .collect()
}

fn slow_down(value: &Value, name: &str, units: &[(String, String)]) -> Value {
    let unit = units.iter().find(|(n, _)| n == name).map_or("", |(_, unit)| unit.as_str());
    match value {
        Value::Object(fields) => fields.iter().map(|(name, v)| (name.clone(), slow_down(v, name, units))).collect(),
        Value::Array(items) => items.iter().map(|v| slow_down(v, name, units)).collect(),
        Value::Number(n) => match n.as_f64() {
            Some(log2) if unit == "log2 of 1/s" => Value::from(log2 - 1.0),
            Some(per_time) if unit == "Hz" || unit.ends_with("/s") => Value::from(per_time / 2.0),
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
