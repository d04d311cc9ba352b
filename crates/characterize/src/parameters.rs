//! Sensitivity to parameters: each parameter of a discipline is halved and doubled (RFC 7928 sections 8.3 and 12).

use aqmkit_aqm::registry::{Link, Spec};
use toml::{Table, Value};

use crate::contestant::{Contestant, RATE};
use crate::evidence::{ALL, Evidence};
use crate::planned::{Planned, limit};

/// Name of the experiment that is repeated with each change.
pub(crate) const BASE: &str = "parameters";
/// Prefix of the directories of these experiments.
pub(crate) const NAME: &str = "parameters-";
/// Label of the discipline with its defaults.
const DEFAULT: &str = "default";
/// Factors applied to a parameter, with their names.
const FACTORS: [(f64, &str); 2] = [(0.5, "halved"), (2.0, "doubled")];
/// Parameters that are not varied: the queue limit, which RFC 7928 treats separately (section 3.2), and sizes of hash
/// tables.
const NO_KNOBS: [&str; 5] = ["limit", "flows", "buckets", "divisor", "hash_seed"];

/// The directory of a discipline's experiment.
pub(crate) fn name_of(contestant: &Contestant) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    format!("{NAME}{}", contestant.label().chars().map(plain).collect::<String>())
}

/// The changed parameters that a discipline accepts: name, kind of change, value.
pub(crate) fn changes(contestant: &Contestant) -> Vec<(String, &'static str, Value)> {
    let Some(spec) = contestant.spec() else { return Vec::new() };
    let Ok(effective) = spec.effective(&Link::new(RATE)) else { return Vec::new() };
    let Ok(table) = Table::try_from(&effective) else { return Vec::new() };
    let mut all = Vec::new();
    for (parameter, value) in table.iter().filter(|(name, _)| !NO_KNOBS.contains(&name.as_str())) {
        for (factor, what) in FACTORS {
            let Some(changed) = scaled(value, factor).filter(|changed| changed != value) else { continue };
            if accepts(spec, &contestant.entry(&Value::String("83p".to_owned())), parameter, &changed) {
                all.push((parameter.clone(), what, changed));
            }
        }
    }
    all
}

/// Whether a discipline accepts this value of a parameter.
fn accepts(spec: &Spec, entry: &Table, parameter: &str, value: &Value) -> bool {
    let mut table = entry.clone();
    table.remove("name");
    table.remove("label");
    table.insert(parameter.to_owned(), value.clone());
    let read = serde_json::to_value(&table).ok().and_then(|table| Spec::read(spec.name(), table).ok());
    read.is_some_and(|changed| changed.effective(&Link::new(RATE)).is_ok())
}

/// A number, possibly with a unit, times a factor; `None` for zero and for other values.
fn scaled(value: &Value, factor: f64) -> Option<Value> {
    match value {
        Value::Integer(number) if *number > 0 => {
            Some(Value::Integer(((*number as f64) * factor).round().max(1.0) as i64))
        }
        Value::Float(number) if *number > 0.0 => Some(Value::Float(number * factor)),
        Value::String(text) => {
            let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
            let number: f64 = text[..digits].parse().ok().filter(|number| *number > 0.0)?;
            Some(Value::String(format!("{}{}", number * factor, &text[digits..])))
        }
        _ => None,
    }
}

/// The experiment with all changes of a discipline's parameters; `None` if it has no parameters to vary.
pub(crate) fn experiment(contestant: &Contestant, base: &Table, number: &'static str) -> Option<Planned> {
    let limit = limit(base);
    let mut entries = vec![labelled(contestant.entry(&limit), DEFAULT)];
    for (parameter, what, value) in changes(contestant) {
        let mut entry = labelled(contestant.entry(&limit), &format!("{parameter} {what}"));
        entry.insert(parameter, value);
        entries.push(entry);
    }
    if entries.len() == 1 {
        return None;
    }
    let mut file = base.clone();
    if let Some(Value::Table(sweep)) = file.get_mut("sweep") {
        sweep.insert("aqm".to_owned(), Value::Array(entries.into_iter().map(Value::Table).collect()));
    }
    let title = format!("The parameters of {}, each halved and doubled", contestant.label());
    file.insert("title".to_owned(), Value::String(title));
    let name = name_of(contestant);
    Some(Planned { id: format!("rfc7928/{name}"), name, number, text: file.to_string() })
}

fn labelled(mut entry: Table, label: &str) -> Table {
    entry.insert("label".to_owned(), Value::String(label.to_owned()));
    entry
}

/// The effect of one parameter on a quantity.
pub(crate) struct Change {
    /// Name of the changed parameter.
    pub(crate) parameter: String,
    /// The metric with the parameter halved and doubled, divided by that with the default; `None` if it was not run.
    pub(crate) ratios: [Option<f64>; 2],
}

/// The effect of each parameter on the mean queue delay.
pub(crate) fn delays(contestant: &Contestant, evidence: &Evidence<'_>) -> Vec<Change> {
    const PATH: &str = "links.bottleneck.queue_delay_ms.mean";
    let Some(before) = evidence.mean(DEFAULT, ALL, PATH).filter(|delay| *delay > 0.0) else { return Vec::new() };
    let mut all: Vec<Change> = Vec::new();
    for (parameter, what, _) in changes(contestant) {
        let ratio = evidence.mean(&format!("{parameter} {what}"), ALL, PATH).map(|delay| delay / before);
        if all.last().is_none_or(|last| last.parameter != parameter) {
            all.push(Change { parameter, ratios: [None; 2] });
        }
        if let Some(last) = all.last_mut() {
            last.ratios[usize::from(what == FACTORS[1].1)] = ratio;
        }
    }
    all
}

/// The lowest utilisation with any changed parameter.
pub(crate) fn least_use(contestant: &Contestant, evidence: &Evidence<'_>) -> Option<f64> {
    let labels = changes(contestant).into_iter().map(|(parameter, what, _)| format!("{parameter} {what}"));
    let uses = labels.filter_map(|label| evidence.mean(&label, ALL, "links.bottleneck.utilization"));
    uses.fold(None, |least: Option<f64>, used| Some(least.map_or(used, |least| least.min(used))))
}

/// The largest factor by which changing a parameter raises or lowers the mean queue delay.
pub(crate) fn largest_change(contestant: &Contestant, evidence: &Evidence<'_>) -> Option<f64> {
    let ratios = delays(contestant, evidence).into_iter().flat_map(|change| change.ratios).flatten();
    let factors = ratios.filter(|ratio| *ratio > 0.0).map(|ratio| ratio.max(1.0 / ratio));
    factors.fold(None, |most: Option<f64>, factor| Some(most.map_or(factor, |most| most.max(factor))))
}

/// The number of parameters that change the mean queue delay by more than a quarter.
pub(crate) fn that_matter(contestant: &Contestant, evidence: &Evidence<'_>) -> Option<f64> {
    const MATTERS: f64 = 1.25;
    let all = delays(contestant, evidence);
    let matters = |change: &&Change| change.ratios.iter().flatten().any(|ratio| ratio.max(1.0 / ratio) > MATTERS);
    (!all.is_empty()).then(|| all.iter().filter(matters).count() as f64)
}
