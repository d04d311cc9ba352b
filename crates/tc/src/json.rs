//! The JSON form of `tc` (`-j`): a list of objects.

use std::collections::BTreeMap;

use aqmkit_base::{BitRate, Duration};
use serde_json::{Map, Value};

use super::listing::{Class, Counters, Listing, Parent, Qdisc, Tin};
use super::text::attached;
use super::tins::names;
use super::value::option;
use super::{TcError, filter};

/// Keys that are not statistics of the discipline's own.
const COMMON: &[&str] =
    &["refcnt", "bytes", "packets", "drops", "overlimits", "requeues", "backlog", "qlen", "rate", "pps"];

type Object = Map<String, Value>;

pub(crate) fn read(text: &str) -> Result<Listing, TcError> {
    let mut listing = Listing::default();
    for document in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        match document.map_err(|e| TcError::Json(e.to_string()))? {
            Value::Array(entries) => entries.iter().try_for_each(|entry| add(entry, &mut listing))?,
            entry => add(&entry, &mut listing)?,
        }
    }
    Ok(listing)
}

fn add(entry: &Value, listing: &mut Listing) -> Result<(), TcError> {
    let Some(entry) = entry.as_object() else {
        return Err(TcError::Json("its entries must be objects".to_owned()));
    };
    if entry.contains_key("class") {
        listing.classes.push(class(entry));
        return Ok(());
    }
    let Some(kind) = entry.get("kind").and_then(Value::as_str) else {
        // `tc` prints an empty object for a device without a discipline.
        return if entry.is_empty() { Ok(()) } else { Err(TcError::Json("an entry has no `kind`".to_owned())) };
    };
    if entry.contains_key("protocol") {
        listing.filters.extend(filter::of_json(entry, kind));
        return Ok(());
    }
    listing.qdiscs.push(qdisc(entry, kind));
    Ok(())
}

fn qdisc(entry: &Object, kind: &str) -> Qdisc {
    let tins = entry.get("tins").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let named = names(tins.len());
    Qdisc {
        kind: kind.to_owned(),
        handle: word(entry, "handle"),
        device: entry.get("dev").and_then(Value::as_str).map(str::to_owned),
        parent: if matches!(kind, "ingress" | "clsact") { Parent::Ingress } else { parent(entry) },
        options: entry.get("options").and_then(Value::as_object).map(|o| options(o, kind)).unwrap_or_default(),
        counters: counters(entry),
        details: details(entry),
        tins: tins.iter().filter_map(Value::as_object).zip(named).map(|(object, name)| tin(object, name)).collect(),
        line: None,
    }
}

/// Classes have their options beside their names, not in an object of their own.
fn class(entry: &Object) -> Class {
    let kind = word(entry, "class");
    let own = |key: &str| !COMMON.contains(&key) || key == "rate";
    let known = |key: &str| matches!(key, "class" | "handle" | "parent" | "root" | "stats");
    let options =
        entry.iter().filter(|(key, _)| own(key) && !known(key)).filter_map(|(key, value)| option(&kind, key, value));
    let nested = entry.get("stats").and_then(Value::as_object).unwrap_or(entry);
    Class {
        id: word(entry, "handle"),
        device: None,
        parent: parent(entry),
        options: options.collect(),
        counters: counters(nested),
        details: details(nested),
        line: None,
        name: None,
        kind,
    }
}

fn word(entry: &Object, key: &str) -> String {
    entry.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn parent(entry: &Object) -> Parent {
    entry.get("parent").and_then(Value::as_str).map_or(Parent::Root, attached)
}

fn options(object: &Object, kind: &str) -> BTreeMap<String, String> {
    object.iter().filter_map(|(name, value)| option(kind, name, value)).collect()
}

fn counters(entry: &Object) -> Option<Counters> {
    let count = |key: &str| entry.get(key).and_then(Value::as_u64);
    Some(Counters {
        bytes: count("bytes")?,
        packets: count("packets")?,
        dropped: count("drops").unwrap_or(0),
        overlimits: count("overlimits").unwrap_or(0),
        requeues: count("requeues").unwrap_or(0),
        backlog_bytes: count("backlog").unwrap_or(0),
        backlog_packets: count("qlen").unwrap_or(0),
    })
}

fn details(entry: &Object) -> BTreeMap<String, f64> {
    let own = entry.iter().filter(|(key, _)| !COMMON.contains(&key.as_str()));
    own.filter_map(|(key, value)| value.as_f64().map(|value| (key.clone(), value))).collect()
}

/// Rates are in bytes per second, times in microseconds.
fn tin(object: &Object, name: String) -> Tin {
    let count = |key: &str| object.get(key).and_then(Value::as_u64).unwrap_or(0);
    let time = |key: &str| Duration::from_micros(count(key));
    Tin {
        name,
        threshold: BitRate::from_bps(count("threshold_rate").saturating_mul(8)),
        target: time("target_us"),
        interval: time("interval_us"),
        peak_delay: time("peak_delay_us"),
        mean_delay: time("avg_delay_us"),
        sparse_delay: time("base_delay_us"),
        packets: count("sent_packets"),
        bytes: count("sent_bytes"),
        drops: count("drops"),
        marks: count("ecn_mark"),
        ack_drops: count("ack_drops"),
        sparse_flows: count("sparse_flows"),
        bulk_flows: count("bulk_flows"),
        unresponsive_flows: count("unresponsive_flows"),
        max_len: count("max_pkt_len"),
    }
}
