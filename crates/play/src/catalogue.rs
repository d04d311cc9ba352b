//! The catalogue: disciplines with their parameters, transports, traffic models.
//!
//! The description of a parameter combines its row on the discipline's reference page, its default on a link of 10
//! Mbit/s, and its row in `docs/parameters.md`, whose ranges are measured.

use aqmkit_aqm::registry::{self, Link, Spec};
use aqmkit_base::BitRate;
use aqmkit_base::page::Entry;
use aqmkit_base::units::{parse_bytes, parse_duration, parse_rate};
use serde_json::{Value, json};

use crate::describe;

/// The ranges of all parameters, and whether each can change while packets are queued.
const RANGES: &str = include_str!("../../../docs/parameters.md");

/// The link rate for which defaults and ranges hold, in Mbit/s.
const RATE: u64 = 10;

/// The answer to `catalogue`.
pub(crate) fn catalogue() -> Value {
    let disciplines: Vec<Value> = registry::ALL.iter().filter_map(discipline).collect();
    let traffic: Vec<Value> = aqmkit_traffic::registry::ALL.iter().map(|e| named(e.name, e.summary())).collect();
    let (controls, profiles): (Vec<_>, Vec<_>) =
        aqmkit_transport::registry::summaries().partition(|(name, _)| aqmkit_transport::registry::find(name).is_some());
    let list = |of: Vec<(&str, String)>| of.iter().map(|(name, title)| named(name, title)).collect::<Vec<_>>();
    let mut all = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "simulator": aqmkit_experiment::engine::SIMULATOR,
        "disciplines": disciplines,
        "controls": list(controls),
        "profiles": list(profiles),
        "traffic": traffic,
    });
    all["digest"] = json!(format!("{:016x}", fnv(all.to_string().as_bytes())));
    all
}

fn named(name: &str, title: &str) -> Value {
    json!({"name": name, "title": title.rsplit(": ").next().unwrap_or(title)})
}

/// The 64-bit FNV hash; it shows whether two catalogues are equal.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

fn discipline(entry: &Entry) -> Option<Value> {
    let spec = Spec::named(entry.name)?;
    let link = Link::new(BitRate::from_mbps(RATE));
    let defaults = spec.effective(&link).ok().and_then(|s| toml::Table::try_from(&s).ok()).unwrap_or_default();
    let table = registry::parameter_table(entry.name).unwrap_or_default();
    let parameters: Vec<Value> = rows(&table).flat_map(|row| row.parameters(&defaults, entry.name)).collect();
    Some(json!({
        "name": entry.name,
        "title": entry.title,
        "summary": entry.summary(),
        "parameters": parameters,
        "gauges": describe::gauges(&spec, &link),
        "thresholds": spec.thresholds(),
    }))
}

/// A row of a page's parameter table.
struct Row<'a> {
    names: &'a str,
    unit: &'a str,
    help: &'a str,
}

/// The rows of a table of parameters: field, symbol, unit, default, meaning. Some tables lack the column of symbols.
fn rows(table: &str) -> impl Iterator<Item = Row<'_>> {
    let mut lines = table.lines();
    let columns: Vec<&str> = lines.next().unwrap_or("").split('|').map(str::trim).collect();
    let unit = columns.iter().position(|c| *c == "unit").unwrap_or(0);
    let help = columns.len().saturating_sub(2);
    lines.filter(|line| !line.starts_with("|-")).filter_map(move |line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        Some(Row { names: cells.get(1)?, unit: cells.get(unit)?, help: cells.get(help)? })
    })
}

impl Row<'_> {
    /// The parameters of a row: "`a`, `b`" are two, "`max_p` (`probability`)" is one with a second name. They may have
    /// different units: "packets; 1".
    fn parameters(&self, defaults: &toml::Table, discipline: &str) -> Vec<Value> {
        let own: String =
            self.names.split('(').map(|part| part.split_once(')').map_or(part, |(_, rest)| rest)).collect();
        let names = own.split(',').map(|name| name.trim().trim_matches('`')).filter(|name| !name.is_empty());
        let units: Vec<&str> = self.unit.split(';').map(str::trim).collect();
        let unit = |i: usize| *units.get(i).or(units.last()).unwrap_or(&"");
        let row = |(i, name)| Row { unit: unit(i), ..*self }.parameter(discipline, name, defaults.get(name));
        names.enumerate().map(row).collect()
    }

    fn parameter(&self, discipline: &str, name: &str, default: Option<&toml::Value>) -> Value {
        let choices = match default {
            Some(toml::Value::String(value)) if self.dimension().is_none() => choices(self.help, value),
            _ => Vec::new(),
        };
        let kind = match (default, self.dimension()) {
            _ if !choices.is_empty() => "choice",
            (Some(toml::Value::Boolean(_)), _) => "bool",
            (Some(toml::Value::Array(_) | toml::Value::Table(_)), _) => "table",
            (_, Some(dimension)) => dimension,
            (Some(toml::Value::Integer(_)), None) => "integer",
            (Some(toml::Value::Float(_)), None) => "number",
            (None, None) if !self.unit.is_empty() => "number",
            _ => "text",
        };
        let (min, max, live) = range(discipline, name);
        json!({
            "name": name,
            "kind": kind,
            "unit": self.unit,
            "default": default,
            "min": min,
            "max": max,
            "choices": choices,
            "help": plain(self.help),
            "live": live,
        })
    }

    /// The dimension of a quantity that is written with a unit, such as `5ms`; `None` for plain numbers.
    fn dimension(&self) -> Option<&'static str> {
        match self.unit {
            "time" => Some("time"),
            "rate" => Some("rate"),
            "size" => Some("size"),
            "queue length" => Some("queue"),
            _ => None,
        }
    }
}

/// Markdown text without backticks.
fn plain(text: &str) -> String {
    text.replace('`', "")
}

/// The values of a parameter with fixed choices: the words in quotation marks or marked as code in its description, if
/// its default is one of them.
fn choices(help: &str, default: &str) -> Vec<String> {
    let words = |sign: char| -> Vec<String> { help.split(sign).skip(1).step_by(2).map(str::to_owned).collect() };
    ['"', '`']
        .into_iter()
        .map(words)
        .find(|found| found.len() > 1 && found.iter().any(|w| w == default))
        .unwrap_or_default()
}

/// Minimum and maximum of a parameter in its base unit, and whether it can change while packets are queued.
fn range(discipline: &str, name: &str) -> (Option<f64>, Option<f64>, bool) {
    let section = RANGES.split("\n## ").find(|part| part.lines().next() == Some(discipline)).unwrap_or("");
    let cells = section.lines().map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    let row = cells.filter(|cells| cells.len() > 3).find(|cells| cells[1].trim_matches('`') == name);
    let Some(row) = row else { return (None, None, false) };
    // "from 1 to 1000", "above 0 to 1"; other ranges have no simple bounds.
    let simple = !row[2].contains(',') && !row[2].starts_with("to ");
    let words: Vec<&str> = row[2].split_whitespace().collect();
    let after = |word: &str| {
        let at = words.iter().position(|w| *w == word).filter(|_| simple)?;
        words.get(at + 1).and_then(|text| quantity(text))
    };
    (after("from").or_else(|| after("above")), after("to"), row[3] == "yes")
}

/// A number, or a quantity in s, bit/s or bytes.
fn quantity(text: &str) -> Option<f64> {
    let number = text.parse::<f64>().ok();
    let time = || parse_duration(text).ok().map(aqmkit_base::Duration::as_secs_f64);
    let rate = || parse_rate(text).ok().map(|rate| rate.as_bps() as f64);
    let size = || parse_bytes(text).ok().map(|size| size.0 as f64);
    number.or_else(time).or_else(|| if text.ends_with("bit") { rate() } else { size() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(discipline: &str, name: &str) -> Value {
        let all = catalogue();
        let found = all["disciplines"].as_array().into_iter().flatten().find(|d| d["name"] == discipline);
        let parameters = found.map(|d| d["parameters"].clone()).unwrap_or_default();
        parameters.as_array().into_iter().flatten().find(|p| p["name"] == name).cloned().unwrap_or_default()
    }

    #[test]
    fn parameters_have_kinds_ranges_and_help() {
        let max_p = parameter("red", "max_p");
        assert_eq!((&max_p["kind"], &max_p["min"], &max_p["max"]), (&json!("number"), &json!(0.0), &json!(1.0)));
        assert_eq!((&max_p["default"], &max_p["live"]), (&json!(0.1), &json!(true)));
        assert!(max_p["help"].as_str().is_some_and(|h| h.starts_with("drop probability")), "{max_p}");
        assert_eq!(parameter("red", "limit")["kind"], "queue");
        assert_eq!(parameter("red", "ecn")["kind"], "bool");
        let target = parameter("codel", "target");
        assert_eq!((&target["kind"], &target["default"]), (&json!("time"), &json!("5ms")));
        let drop = parameter("fifo", "drop");
        assert_eq!(drop["kind"], "choice", "{drop}");
        assert_eq!(drop["choices"], json!(["tail", "front", "random"]));
    }

    #[test]
    fn every_parameter_that_can_be_set_is_described() {
        for entry in registry::ALL {
            let Some(spec) = Spec::named(entry.name) else { panic!("{} is not in the registry", entry.name) };
            let full = spec.effective(&Link::new(BitRate::from_mbps(RATE))).map(|s| toml::Table::try_from(&s));
            for name in full.into_iter().flatten().flat_map(|t| t.keys().cloned().collect::<Vec<_>>()) {
                let found = parameter(entry.name, &name);
                assert!(found["kind"].is_string() && found["help"] != "", "{} {name}: {found}", entry.name);
            }
        }
    }

    #[test]
    fn bounds_are_in_base_units() {
        assert_eq!(range("red", "interval"), (Some(100e-6), None, true));
        assert_eq!(range("red", "bandwidth"), (Some(1.0), None, true));
        assert_eq!(range("red", "nothing"), (None, None, false));
    }

    #[test]
    fn transports_and_traffic_are_listed() {
        let all = catalogue();
        let names = |what: &str| all[what].as_array().map(|l| l.iter().map(|e| e["name"].clone()).collect::<Vec<_>>());
        assert!(names("controls").is_some_and(|l| l.contains(&json!("cubic")) && !l.contains(&json!("rfc"))), "{all}");
        assert!(names("profiles").is_some_and(|l| l.contains(&json!("rfc"))));
        assert!(names("traffic").is_some_and(|l| l.contains(&json!("bulk"))));
        assert_eq!(all["digest"], catalogue()["digest"]);
    }
}
