//! The description of a run for the page.

use std::collections::BTreeMap;

use aqmkit_aqm::registry::Spec;
use aqmkit_base::Amount;
use aqmkit_base::units::{parse_amount, parse_duration};
use aqmkit_experiment::{Experiment, GroupOutline, LinkOutline, Outline, RunSpec};
use aqmkit_measure::colour::{Colour, of_traffic};
use serde_json::{Value, json};

use crate::gauge;

/// A run of a plan, as the page lists it.
pub(crate) fn run(index: usize, spec: &RunSpec, outline: &Outline) -> Value {
    let labels: BTreeMap<&String, &String> = spec.labels.iter().filter(|(key, _)| *key != "seed").collect();
    let sweep = labels.iter().filter(|(key, _)| **key != "repeat");
    let name = sweep.map(|(_, label)| label.as_str()).collect::<Vec<_>>().join(" ");
    json!({
        "index": index,
        "name": name,
        "discipline": outline.links[outline.measured].aqm.name(),
        "seed": spec.seed.to_string(),
        "labels": labels,
    })
}

/// The warnings of an experiment.
pub(crate) fn warnings(experiment: &Experiment) -> Vec<String> {
    experiment.warnings.iter().map(aqmkit_experiment::Problem::in_one_line).collect()
}

/// The parameters of a link's discipline, including derived ones.
fn parameters(link: &LinkOutline) -> toml::Table {
    let effective = link.aqm.effective(&link.seen).unwrap_or_else(|_| link.aqm.clone());
    toml::Table::try_from(&effective).unwrap_or_default()
}

/// A queue that the page shows: its discipline, parameters and link.
pub(crate) fn queue(link: &LinkOutline) -> Value {
    let parameters = parameters(link);
    json!({
        "name": link.name,
        "discipline": link.aqm.name(),
        "rate": link.rate.as_bps(),
        "varies": link.varies,
        "delay": link.delay.as_secs_f64(),
        "ecn": parameters.get("ecn").and_then(toml::Value::as_bool),
        "thresholds": thresholds(link).keys().collect::<Vec<_>>(),
        "parameters": parameters,
        "gauges": gauges(&link.aqm, &link.seen),
    })
}

/// All traffic, with the colours to draw it in.
pub(crate) fn groups(groups: &[GroupOutline]) -> Value {
    let named: Vec<(&str, &str)> = groups.iter().map(|group| (group.name.as_str(), group.kind)).collect();
    groups.iter().zip(of_traffic(&named)).map(|(of, (colour, _))| group(of, colour)).collect()
}

fn group(group: &GroupOutline, colour: Colour) -> Value {
    json!({
        "name": group.name,
        "kind": group.kind,
        "class": group.class,
        "transport": group.control,
        "count": group.applications,
        "counted": group.counted,
        "rate": group.rate.filter(|_| group.control.is_none()).map(|rate| if group.active { rate.as_bps() } else { 0 }),
        "responsive": group.control.is_some(),
        "ecn": group.ecn,
        "active": group.active,
        "colour": {"light": colour.light, "dark": colour.dark},
    })
}

/// A discipline's thresholds by parameter: queue lengths (in packets or bytes) and delays (in seconds).
pub(crate) fn thresholds(link: &LinkOutline) -> BTreeMap<String, f64> {
    let parameters = parameters(link);
    let length = |name: &&str| {
        let value = parameters.get(*name)?;
        let amount = value.as_str().and_then(|text| parse_amount(text).ok()).map(Amount::value);
        Some(((*name).to_owned(), amount.or_else(|| number(value))?))
    };
    let delay = |name: &&str| {
        let time = parse_duration(parameters.get(*name)?.as_str()?).ok()?;
        Some(((*name).to_owned(), time.as_secs_f64()))
    };
    link.aqm.thresholds().iter().filter_map(length).chain(DELAYS.iter().filter_map(delay)).collect()
}

/// Names of parameters that are thresholds of queue delay.
const DELAYS: &[&str] = &["target", "target_delay", "step_thresh", "l_thresh"];

fn number(value: &toml::Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|n| n as f64))
}

/// The limit of the queue in packets or in bytes; at most one of the two is given.
pub(crate) fn limit(link: &LinkOutline) -> (Option<f64>, Option<f64>) {
    let parameters = parameters(link);
    let amount = match parameters.get("limit") {
        Some(toml::Value::String(text)) => parse_amount(text).ok(),
        Some(value) => number(value).map(Amount::Packets),
        None => None,
    };
    match amount {
        Some(Amount::Packets(packets)) => (Some(packets), None),
        Some(Amount::Bytes(bytes)) => (None, Some(bytes as f64)),
        None => (None, None),
    }
}

/// The gauges of a discipline, each with name, unit and label.
pub(crate) fn gauges(spec: &Spec, link: &aqmkit_aqm::Link) -> Vec<Value> {
    let names = aqmkit_sim::view::gauges(spec, link).unwrap_or_default();
    let described = names.iter().map(|name| {
        let (unit, label) = gauge::words(name);
        json!({"name": name, "unit": unit, "label": label})
    });
    described.collect()
}
