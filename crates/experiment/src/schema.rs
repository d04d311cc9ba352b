//! The JSON Schema of experiment files, with which editors complete keys, show documentation and check values. `aqmkit
//! check` checks more (docs/experiment-format.md).

use aqmkit_base::page::Entry;
use aqmkit_transport::profile::NAMES;
use serde_json::{Map, Value, json};

use super::link_keys::LinkKeys;

/// The schema in draft 7, the version that editors support.
#[must_use]
pub fn schema() -> Value {
    let of_files = [
        ("title", text("A line for lists and the report.")),
        ("source", text("What it reproduces: a paper, a section, a figure.")),
        ("about", text("A description for the report, in Markdown.")),
        ("duration", time("Measured time; t = 0 is its start.")),
        ("warmup", time("Time before t = 0, which is not measured. Default: none.")),
        ("repeat", whole("Runs of each combination, each with its own seed. Default: 1.")),
        ("seed", whole("Default: 1.")),
        (
            "seeds",
            json!({"enum": ["common", "per-cell"], "description": "Whether all combinations share the seed of a repeat, or each has its own. Default: common."}),
        ),
        ("interval", time("Interval of the time series. Default: 1s.")),
        ("classes", texts("Classes of the traffic. Default: those of the traffic, in order.")),
        ("use", texts("The [[traffic]] to use, by name. Default: all.")),
        ("plot", texts("Further columns of the time series to plot.")),
        (
            "windows",
            json!({"type": "object", "description": "Measurement windows: name = [from, to].", "additionalProperties": span()}),
        ),
        ("changes", list(&change())),
        ("topology", topology()),
        ("transport", transport()),
        ("params", params()),
        ("traffic", list(&traffic())),
        (
            "sweep",
            json!({"type": "object", "description": "Axes whose combinations are run: any key by its path, aqm, or a named axis as [[sweep.name]] with a label."}),
        ),
        ("quick", changes("Changes by --scale quick, by path.")),
        ("null", changes("Changes that switch the scheme off, by path (aqmkit reproduce --null).")),
        ("expect", list(&expect())),
        ("expect_table", list(&any("Claims of a published table, cell by cell."))),
        ("predict", list(&any("Predictions by a formula, drawn over the time series."))),
        ("overview", any("A matrix of two swept axes in the report.")),
        ("figure", list(&any("A figure of the report: cdf, tail, density or curve."))),
    ];
    let mut schema =
        table("An experiment of aqmkit.", of_files.into_iter().map(|(name, value)| (name.to_owned(), value)));
    schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    schema["title"] = json!("aqmkit experiment");
    schema["required"] = json!(["title"]);
    schema
}

fn topology() -> Value {
    let own = [
        ("servers", whole("Default: 1.")),
        ("clients", whole("Default: 1.")),
        ("access", rate("Rate of the access link of each server. Default: none, infinite.")),
        ("inbound", rate("Rate of a shared link before the bottleneck. Default: none.")),
        ("delays", delays()),
        ("measured", text("The link that classes are measured on, by name. Default: the first.")),
        ("uncongested", yes("Ten times the rates and FIFO queues.")),
        ("reverse", link(&[])),
        (
            "links",
            list(&link(&[
                ("name", text("Its name in paths and results.")),
                ("report", yes("Whether results include it. Default: true.")),
            ])),
        ),
    ];
    table(
        "A dumbbell (servers, access, inbound, bottleneck, clients), or listed links.",
        LinkKeys::schema().into_iter().chain(own).map(named),
    )
}

/// Schema of an entry of `[[changes]]`.
fn change() -> Value {
    json!({
        "type": "object",
        "description": "Changes during a run: keys by path, such as topology.rate, params.red.max, traffic.bulk.flows, traffic.blast.active.",
        "properties": {
            "at": json!({"type": "string", "description": "The time t, such as 10s; -2s is in the warm-up.", "pattern": "^\\s*-?[0-9.]+([eE][-+]?[0-9]+)?\\s*([nNuUmM]?[sS]|[mM][iI][nN])\\s*$"}),
            "name": text("Its name in paths. Default: none."),
        },
        "required": ["at"],
    })
}

/// Schema of `driver`.
pub(super) fn driver() -> Value {
    let limits = [
        ("limit_min", size("The lowest limit. Default: 0b.")),
        ("limit_max", size("The highest limit. Default: 1879048192b.")),
        ("hold_time", time("For how long slack is measured before the limit is lowered. Default: 1s.")),
    ];
    let limits = table("Their bounds.", limits.into_iter().map(named));
    let keys = [
        ("ring", whole("Packets in the transmit ring. Default: 256.")),
        (
            "bql",
            json!({"description": "Byte queue limits: true, or a table of their bounds. Default: false.", "anyOf": [{"type": "boolean"}, limits]}),
        ),
        ("coalesce", time("How long an interrupt waits to report further packets. Default: 0.")),
    ];
    let keys = table("Takes packets out of the queue ahead of the wire.", keys.into_iter().map(named));
    json!({"description": "The driver beneath the queue: { ring = 256, bql = true }. Default: none.", "anyOf": [keys, {"enum": ["none"]}]})
}

fn link(own: &[(&'static str, Value)]) -> Value {
    table("A link.", LinkKeys::schema().into_iter().chain(own.iter().cloned()).map(named))
}

/// Schema of a discipline: a name, or a table with parameters.
pub(super) fn discipline() -> Value {
    let names: Vec<&str> = aqmkit_aqm::registry::ALL.iter().map(|entry| entry.name).collect();
    let name = json!({"anyOf": [{"enum": names}, {"type": "string"}]});
    json!({
        "description": "A discipline of aqmkit list disciplines, or a table with its name and parameters. Default: fifo.",
        "anyOf": [name, {"type": "object", "properties": {"name": name, "label": {"type": "string"}}, "required": ["name"]}],
    })
}

fn params() -> Value {
    let of = |entry: &Entry| {
        let page = aqmkit_aqm::registry::page(entry.name).unwrap_or_default();
        let flow =
            ("flow".to_owned(), any("How flows are distinguished: by connection, hosts, source or destination."));
        (entry.name.to_owned(), table(entry.summary(), parameters(&page).into_iter().chain([flow])))
    };
    let properties: Map<String, Value> = aqmkit_aqm::registry::ALL.iter().map(of).collect();
    json!({"type": "object", "description": "Parameters of disciplines in this experiment.", "properties": properties})
}

fn transport() -> Value {
    let profile = json!({"description": "How TCP endpoints behave. Default: rfc.", "enum": NAMES});
    let controls: Vec<&str> = aqmkit_transport::congestion::ALL.iter().map(|entry| entry.name).collect();
    let control = json!({"description": "The congestion control.", "anyOf": [{"enum": controls}, {"type": "string"}]});
    let stack = text("A stack from outside, which the program must have (docs/stacks/).");
    json!({
        "type": "object",
        "description": "A profile, and changes to its fields (docs/profiles.md).",
        "properties": {"profile": profile, "stack": stack, "congestion": control},
    })
}

fn traffic() -> Value {
    let kinds: Vec<&str> = aqmkit_traffic::registry::ALL.iter().map(|entry| entry.name).collect();
    let of = |entry: &Entry| {
        let page = aqmkit_traffic::registry::page(entry.name).unwrap_or_default();
        let properties: Map<String, Value> = parameters(&page).into_iter().collect();
        json!({"if": {"properties": {"kind": {"const": entry.name}}}, "then": {"properties": properties}})
    };
    let common = [
        (
            "kind",
            json!({"description": "A model of aqmkit list traffic; its parameters follow.", "anyOf": [{"enum": kinds}, {"type": "string"}]}),
        ),
        ("name", text("Its name in paths and results. Default: its kind.")),
        ("class", text("The class that it is measured in. Default: its name.")),
        ("start", time("Time t at which it starts. Default: the start of the warm-up.")),
        ("stop", time("Time t at which it stops. Default: the end.")),
        ("access", rate("Overrides the value of the topology.")),
        ("delays", delays()),
        ("path", texts("The links from sender to receiver, by name.")),
        ("reverse", texts("The links from receiver to sender, by name.")),
        (
            "direction",
            json!({"description": "reverse: its data crosses the reverse link.", "enum": ["forward", "reverse"]}),
        ),
        ("load", text("Load to offer, such as 98%, instead of a population, which is then calibrated.")),
        ("both_ways", yes("The load includes requests and acknowledgements on the reverse path.")),
        ("scattered", yes("Its applications are at clients in a random order instead of that of their numbers.")),
        ("active", yes("Whether it sends: [[changes]] can begin and end it. Default: true.")),
        ("transport", transport()),
    ];
    let properties: Map<String, Value> = common.into_iter().map(named).collect();
    json!({
        "type": "object",
        "description": "Who sends.",
        "properties": properties,
        "required": ["kind"],
        "allOf": aqmkit_traffic::registry::ALL.iter().map(of).collect::<Vec<_>>(),
    })
}

fn expect() -> Value {
    json!({
        "type": "object",
        "description": "A claim about a published value (docs/experiment-format.md).",
        "properties": {
            "id": text("The row of published.csv."),
            "metric": text("A path of docs/metrics.md."),
            "where": any("The combinations that it applies to: axis = label."),
            "note": text("A note for readers."),
            "basis": json!({"enum": ["input", "setting"], "description": "Set or fitted so that it holds, or a setting of the paper's experiment. Default: measured or calculated."}),
            "headline": text("The claim in words, for the summary of the study."),
        },
        "required": ["id"],
    })
}

/// Parameters on a reference page: the rows of the first table in the section "Parameters".
fn parameters(page: &str) -> Vec<(String, Value)> {
    let (_, below) = page.split_once("## Parameters").unwrap_or_default();
    let rows = below.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let heads: Vec<&str> = rows.clone().next().map(cells).unwrap_or_default();
    let place = |head: &str| heads.iter().position(|found| found.starts_with(head));
    let (unit, default, meaning) = (place("unit"), place("default"), place("meaning"));
    let mut all = Vec::new();
    for row in rows.skip(2).map(cells) {
        let cell = |column: Option<usize>| column.and_then(|at| row.get(at)).copied().unwrap_or_default();
        let default = if cell(default).is_empty() { String::new() } else { format!(" Default: {}.", cell(default)) };
        let unit = if cell(unit).is_empty() { String::new() } else { format!(" Unit: {}.", cell(unit)) };
        let about = format!("{}.{unit}{default}", cell(meaning));
        // A second name in parentheses is the one in tc.
        let names = row.first().copied().unwrap_or_default().split('`').skip(1).step_by(2);
        all.extend(names.map(|name| (name.to_owned(), any(&about))));
    }
    all
}

/// The cells of a row of a Markdown table.
fn cells(row: &str) -> Vec<&str> {
    row.trim_matches('|').split('|').map(str::trim).collect()
}

fn named((name, value): (&'static str, Value)) -> (String, Value) {
    (name.to_owned(), value)
}

/// Schema of a table with these keys only.
fn table(about: &str, keys: impl IntoIterator<Item = (String, Value)>) -> Value {
    let properties: Map<String, Value> = keys.into_iter().collect();
    json!({"type": "object", "description": about, "properties": properties, "additionalProperties": false})
}

fn list(of: &Value) -> Value {
    json!({"type": "array", "items": of})
}

pub(super) fn any(about: &str) -> Value {
    json!({"description": about})
}

fn changes(about: &str) -> Value {
    json!({"type": "object", "description": about})
}

fn text(about: &str) -> Value {
    json!({"type": "string", "description": about})
}

fn texts(about: &str) -> Value {
    json!({"type": "array", "items": {"type": "string"}, "description": about})
}

fn whole(about: &str) -> Value {
    json!({"type": "integer", "minimum": 0, "description": about})
}

pub(super) fn yes(about: &str) -> Value {
    json!({"type": "boolean", "description": about})
}

fn delays() -> Value {
    any(
        "The rest of the round trip: \"none\", a time, { uniform = [..] }, { each = [..] }, { matrix = [..] } or \"parris-table-a1\".",
    )
}

fn span() -> Value {
    json!({"type": "array", "items": time("A time t."), "minItems": 2, "maxItems": 2})
}

/// A number with one of these units, in upper or lower case.
pub(super) fn quantity(about: &str, units: &str) -> Value {
    json!({"type": "string", "description": about, "pattern": format!("^\\s*[-+]?[0-9.]+([eE][-+]?[0-9]+)?\\s*({units})\\s*$|^none$")})
}

pub(super) fn time(about: &str) -> Value {
    quantity(about, "[nNuUmM]?[sS]|[mM][iI][nN]")
}

pub(super) fn rate(about: &str) -> Value {
    quantity(about, "[kKmMgGtT]?[iI]?([bB][iI][tT]|[bB][pP][sS])")
}

const SIZE: &str = "[kKmMgG]?[iI]?[bB]([iI][tT])?";

pub(super) fn size(about: &str) -> Value {
    quantity(about, SIZE)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde::de::DeserializeOwned;
    use serde_json::Value;

    use super::super::link_keys::LinkKeys;
    use super::super::shape;
    use super::schema;

    /// The keys that deserializing a `T` accepts.
    fn read<T: DeserializeOwned>() -> BTreeSet<String> {
        let message = toml::from_str::<T>("nonsense = 1").err().expect("nonsense is no key").to_string();
        message.split("expected").nth(1).unwrap().split('`').skip(1).step_by(2).map(str::to_owned).collect()
    }

    fn keys_of(of: &Value) -> BTreeSet<String> {
        of["properties"].as_object().unwrap().keys().cloned().collect()
    }

    #[test]
    fn the_schema_has_the_keys_that_are_read() {
        let schema = schema();
        let topology = &schema["properties"]["topology"];
        assert_eq!(keys_of(&schema), read::<shape::Root>());
        let with_link = |own: BTreeSet<String>| &own | &LinkKeys::NAMES.iter().map(ToString::to_string).collect();
        assert_eq!(keys_of(topology), with_link(read::<shape::Topology>()));
        assert_eq!(keys_of(&topology["properties"]["reverse"]), with_link(BTreeSet::new()));
        assert_eq!(keys_of(&topology["properties"]["links"]["items"]), with_link(read::<shape::ListedLink>()));
        assert_eq!(keys_of(&schema["properties"]["traffic"]["items"]), read::<shape::Traffic>());
    }

    #[test]
    fn every_discipline_and_model_has_its_parameters() {
        let schema = schema();
        let red = &schema["properties"]["params"]["properties"]["red"]["properties"];
        let max_p = red["max_p"]["description"].as_str().unwrap();
        assert!(max_p.contains("Unit: 1.") && max_p.contains("Default: 0.1."), "{max_p}");
        assert_eq!(red["probability"]["description"], max_p, "the name of tc");
        for entry in aqmkit_aqm::registry::ALL {
            assert!(keys_of(&schema["properties"]["params"]["properties"][entry.name]).len() > 1, "{}", entry.name);
        }
        let models = schema["properties"]["traffic"]["items"]["allOf"].as_array().unwrap();
        assert!(models.iter().all(|model| !keys_of(&model["then"]).is_empty()));
    }
}
