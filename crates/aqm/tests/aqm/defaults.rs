//! The defaults that the pages print, against those that the code has.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use crate::common::link;
use crate::common::page::{Row, in_its_place, plain, rows};
use aqmkit_aqm::registry::{self, Spec};
use serde_json::{Value, json};

/// The value in a page's cell, as an experiment could give it: `1024`, `1/256`, `true`, `"rate"`, `5ms`. `None` for words.
fn value(cell: &str) -> Option<Value> {
    if cell.is_empty() || cell == "none" || cell.contains(' ') || cell.contains('`') && !cell.starts_with("`\"") {
        return None;
    }
    let cell = cell.trim_matches('`');
    if let Some((above, below)) = cell.split_once('/') {
        let parts = (above.parse::<f64>(), below.parse::<f64>());
        return if let (Ok(a), Ok(b)) = parts { Some(json!(a / b)) } else { None };
    }
    Some(serde_json::from_str(cell).unwrap_or_else(|_| json!(cell)))
}

/// The parameters with everything filled in, or why not.
fn read(discipline: &str, table: Value) -> Result<Spec, String> {
    let spec = Spec::read(discipline, table).map_err(|e| e.to_string())?;
    spec.effective(&link()).map_err(|e| e.to_string())
}

#[test]
fn a_default_on_a_page_is_the_default_in_the_code() {
    let (mut checked, mut words, mut wrong) = (0, Vec::new(), Vec::new());
    for entry in registry::ALL {
        let name = entry.name;
        for row in rows(name) {
            let Some(value) = value(&row.default) else {
                words.push((name, row));
                continue;
            };
            let (with, without) = in_its_place(name, &row.name, &value);
            let (with, without) = (read(name, with), read(name, without));
            if with != without || with.is_err() {
                wrong.push(format!("{name}: {} = {}: {with:?} in place of {without:?}", row.name, row.default));
            }
            checked += 1;
        }
    }
    for (name, Row { name: field, default, .. }) in words {
        // Values that the code fills in without other input have to be printed as values.
        let fixed = plain(&Spec::named(name).unwrap()).get(&field).is_some_and(|v| !v.is_array() && !v.is_object());
        if fixed {
            wrong.push(format!("{name}: the page says {default:?} of {field}, which has a value of its own"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 300, "{checked}");
}

/// A value that the page writes in words or leaves empty may not be found by accident: another default is noticed.
#[test]
fn another_default_would_be_noticed() {
    assert_eq!(value("1/256"), Some(json!(1.0 / 256.0)));
    assert_eq!(value("`\"rate\"`"), Some(json!("rate")));
    assert_eq!((value("5ms"), value("true")), (Some(json!("5ms")), Some(json!(true))));
    assert_eq!((value("the link's"), value("`max`"), value("")), (None, None, None));
    let default = Spec::named("fq-codel").unwrap();
    let other = Spec::read("fq-codel", json!({ "flows": 512 })).unwrap();
    assert_ne!(plain(&other), plain(&default));
}
