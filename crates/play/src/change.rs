//! The keys of `change`: short keys for the sliders of every page, and the paths of `[[changes]]` for everything else.
//!
//! | key | value | path |
//! |---|---|---|
//! | `parameters` | a table | `topology.aqm.NAME` of the measured link |
//! | `ecn` | a boolean | `topology.aqm.ecn` |
//! | `rate`, `delay` | texts | `topology.rate`, `topology.delay` |
//! | `count` | a number for each traffic | `traffic.NAME.flows`, or as the model calls it |
//! | `blast` | a rate for each traffic | `traffic.NAME.rate`; `0bit` is `traffic.NAME.active = false` |

use aqmkit_base::units::parse_rate;
use aqmkit_experiment::{GroupOutline, Outline, Problem};
use serde_json::{Map, Value};

/// The settings by path, with their values as TOML.
pub(crate) fn settings(set: &Map<String, Value>, outline: &Outline) -> Result<Vec<(String, String)>, Problem> {
    let link = outline.links[outline.measured].path.clone().unwrap_or_else(|| "topology".to_owned());
    let mut settings = Vec::new();
    for (key, value) in set {
        match (key.as_str(), value) {
            ("parameters", Value::Object(parameters)) => {
                for (name, given) in parameters {
                    settings.push((format!("{link}.aqm.{name}"), written(given)?));
                }
            }
            ("ecn", _) => settings.push((format!("{link}.aqm.ecn"), written(value)?)),
            ("rate" | "delay", _) => settings.push((format!("{link}.{key}"), written(value)?)),
            ("count", Value::Object(counts)) => {
                for (name, given) in counts {
                    let group = find(name, outline)?;
                    let Some(counted) = group.counted else {
                        return Err(Problem::new(format!("{name} has no number that could be changed")));
                    };
                    settings.push((format!("traffic.{}.{counted}", part(name)), written(given)?));
                }
            }
            ("blast", Value::Object(rates)) => {
                for (name, given) in rates {
                    settings.extend(blast(find(name, outline)?, given)?);
                }
            }
            _ => settings.push((key.clone(), written(value)?)),
        }
    }
    if settings.is_empty() {
        return Err(Problem::new("nothing is changed").right("give a path and a value, such as topology.rate"));
    }
    Ok(settings)
}

/// Sets the rate of unresponsive traffic; a rate of 0 pauses it.
fn blast(group: &GroupOutline, given: &Value) -> Result<Vec<(String, String)>, Problem> {
    let path = format!("traffic.{}", part(&group.name));
    if given.as_str().and_then(|text| parse_rate(text).ok()).is_some_and(|rate| rate.as_bps() == 0) {
        return Ok(vec![(format!("{path}.active"), "false".to_owned())]);
    }
    let mut settings = vec![(format!("{path}.rate"), written(given)?)];
    if !group.active {
        settings.push((format!("{path}.active"), "true".to_owned()));
    }
    Ok(settings)
}

fn find<'a>(name: &str, outline: &'a Outline) -> Result<&'a GroupOutline, Problem> {
    let unknown = || {
        let known = outline.groups.iter().map(|g| g.name.as_str()).collect::<Vec<_>>().join(", ");
        Problem::new(format!("there is no traffic {name:?}")).right(format!("known are {known}"))
    };
    outline.groups.iter().find(|group| group.name == name).ok_or_else(unknown)
}

/// A name as a component of a path, quoted where necessary.
fn part(name: &str) -> String {
    if name.contains(['.', '[', ' ']) { format!("\"{name}\"") } else { name.to_owned() }
}

/// A value as TOML.
fn written(value: &Value) -> Result<String, Problem> {
    let value = toml::Value::try_from(value).map_err(|e| Problem::new(format!("{value} is not a value: {e}")))?;
    Ok(value.to_string())
}
