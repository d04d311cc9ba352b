//! The table of parameters on a discipline's page.

use aqmkit_aqm::registry;
use aqmkit_aqm::registry::Spec;
use serde_json::{Map, Value, json};

/// One parameter of it.
pub struct Row {
    /// The key, without its other names.
    pub name: String,
    /// `queue length`, `time`, `size`; empty where it has none.
    pub unit: String,
    /// As the page writes it.
    pub default: String,
}

/// The parameters on a discipline's page. A row may have several, one after the other, each with a default of its own or all with one.
pub fn rows(discipline: &str) -> Vec<Row> {
    let page = registry::page(discipline).expect("it is in the list");
    let table = page.split("\n## ").find(|part| part.starts_with("Parameters")).expect("each page has this section");
    table.lines().flat_map(parameters).collect()
}

fn parameters(line: &str) -> Vec<Row> {
    let cells: Vec<_> = line.split('|').map(str::trim).collect();
    let [_, names, _, unit, default, ..] = cells[..] else { return Vec::new() };
    // Words in brackets are other names of the preceding parameter.
    let own = names.split('(').map(|part| part.rsplit(')').next().unwrap_or(part)).collect::<String>();
    let each: Vec<&str> = own.split('`').skip(1).step_by(2).collect();
    let defaults: Vec<_> = default.split(", ").collect();
    let default_of = |i: usize| if defaults.len() == each.len() { defaults[i] } else { default };
    let row = |(i, name): (usize, &&str)| Row {
        name: (*name).to_owned(),
        unit: unit.to_owned(),
        default: default_of(i).to_owned(),
    };
    each.iter().enumerate().map(row).collect()
}

/// A discipline's parameters as a table; those left open are not in it.
pub fn plain(spec: &Spec) -> Map<String, Value> {
    match serde_json::to_value(spec).expect("parameters are plain data") {
        Value::Object(fields) => fields,
        other => panic!("parameters are a table, not {other}"),
    }
}

/// The table with this value where the parameter belongs, at the top or in a class, and the table without it. A class needs what is not left
/// open.
pub fn in_its_place(discipline: &str, parameter: &str, value: &Value) -> (Value, Value) {
    let alone = json!({ parameter: value });
    let of_class = |e: serde_json::Error| e.to_string().contains("is not a parameter");
    if !Spec::read(discipline, alone.clone()).is_err_and(of_class) {
        return (alone, json!({}));
    }
    let needed = match discipline {
        "cbt" => json!({ "max": 10 }),
        "cbq" => json!({ "share": 0.5 }),
        "htb" => json!({ "name": "a", "rate": "1mbit" }),
        _ => json!({}),
    };
    let mut class = needed.clone();
    class[parameter] = value.clone();
    (json!({ "classes": [class] }), json!({ "classes": [needed] }))
}
