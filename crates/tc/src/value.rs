//! Values as `tc` prints them, and as its JSON has them.

use aqmkit_base::Duration;
use aqmkit_base::units::{parse_bytes, parse_duration, parse_rate};
use serde_json::Value;

/// A printed number in bytes, bits per second, seconds or as it is: `18Mbit`, `4Mb`, `2.11ms`, `0.01`, `12p`.
pub(crate) fn number(text: &str) -> Option<f64> {
    let text = text.trim_end_matches('%');
    let counted = text.strip_suffix(['p', 'P']).unwrap_or(text);
    if let Ok(value) = counted.parse::<f64>() {
        return Some(value);
    }
    if !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let lower = text.to_ascii_lowercase();
    if lower.ends_with("bit") {
        parse_rate(&lower).ok().map(|rate| rate.as_bps() as f64)
    } else if lower.ends_with('b') {
        parse_bytes(&lower).ok().map(|size| size.0 as f64)
    } else {
        parse_duration(&lower).ok().map(Duration::as_secs_f64)
    }
}

/// The unit of an option's number in JSON.
enum Unit {
    /// Bytes per second.
    Rate,
    /// Microseconds.
    Time,
    /// Nanoseconds.
    ShortTime,
    /// Bytes.
    Size,
    /// A count.
    None,
}

fn unit(kind: &str, option: &str) -> Unit {
    match option {
        "bandwidth" | "rate" | "ceil" | "peakrate" | "maxrate" | "defrate" | "low_rate_threshold" => Unit::Rate,
        "target" | "interval" | "rtt" | "ce_threshold" | "tupdate" | "lat" | "latency" | "horizon" | "refill_delay"
        | "tshift" => Unit::Time,
        "timer_slack" => Unit::ShortTime,
        "memory_limit" | "burst" | "cburst" | "quantum" | "initial_quantum" | "mtu" | "minburst" => Unit::Size,
        "limit" if matches!(kind, "tbf" | "red" | "bfifo" | "gred") => Unit::Size,
        "min" | "max" if matches!(kind, "red" | "choke") => Unit::Size,
        _ => Unit::None,
    }
}

/// An option of JSON in the notation of the text: its name and its words. `None` for one that is off.
///
/// CAKE names some options by their value only (`"diffserv": "diffserv3"` is the word `diffserv3`).
pub(crate) fn option(kind: &str, name: &str, value: &Value) -> Option<(String, String)> {
    let named = |words: String| Some((name.to_owned(), words));
    match value {
        Value::Bool(true) => named(String::new()),
        Value::String(word) if matches!(name, "diffserv" | "flowmode" | "atm" | "ack-filter") => {
            (word != "disabled").then(|| (word.clone(), String::new()))
        }
        Value::String(word) => named(word.clone()),
        Value::Number(number) => named(match unit(kind, name) {
            Unit::Rate => format!("{}bit", number.as_f64()? * 8.0),
            Unit::Time => format!("{number}us"),
            Unit::ShortTime => format!("{number}ns"),
            Unit::Size => format!("{number}b"),
            Unit::None => number.to_string(),
        }),
        Value::Array(values) => named(values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")),
        // The only option that `tc` prints because it is off.
        Value::Bool(false) if (kind, name) == ("fq", "pacing") => Some(("nopacing".to_owned(), String::new())),
        Value::Bool(false) | Value::Null | Value::Object(_) => None,
    }
}
