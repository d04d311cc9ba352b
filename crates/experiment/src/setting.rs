//! Describes the settings of an experiment in words, for the head of reports.

use std::collections::{BTreeMap, BTreeSet};

use aqmkit_base::units::parse_amount;
use aqmkit_base::{Amount, Duration};
use aqmkit_results::Fact;

use super::delays::Delays;
use super::group::Group;
use super::link::Link;
use super::resolve::Resolved;

/// Up to this number of different values are listed; more are counted.
const MOST_VALUES: usize = 4;

/// Size of a full-sized packet if no transport defines one.
const FULL_PACKET: u64 = 1500;

/// Settings of runs, in the order of the report. If runs differ in one, all values are listed, or the first value and
/// their number.
pub(super) fn setting<'a>(runs: impl Iterator<Item = &'a Resolved>) -> Vec<Fact> {
    let all: Vec<Vec<Fact>> = runs.map(of_run).collect();
    let Some(first) = all.first() else { return Vec::new() };
    let merged = first.iter().map(|fact| {
        let mut values: Vec<&str> = Vec::new();
        for other in all.iter().flatten().filter(|other| other.name == fact.name) {
            if !other.value.is_empty() && !values.contains(&other.value.as_str()) {
                values.push(&other.value);
            }
        }
        Fact::new(&fact.name, joined(&values))
    });
    merged.filter(|fact| !fact.value.is_empty()).collect()
}

/// The congestion control of each class whose TCP flows all have the same one; empty unless classes differ.
pub(super) fn controls<'a>(runs: impl Iterator<Item = &'a Resolved>) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for run in runs {
        for group in senders(run).filter(|group| group.uses_transport()) {
            let Some(class) = run.classes.get(usize::from(group.class)) else { continue };
            found.entry(class.clone()).or_default().insert(group.control());
        }
    }
    let one = |(class, of): (String, BTreeSet<String>)| Some((class, of.first()?.clone())).filter(|_| of.len() == 1);
    let own: BTreeMap<String, String> = found.into_iter().filter_map(one).collect();
    let different: BTreeSet<&String> = own.values().collect();
    if different.len() > 1 { own } else { BTreeMap::new() }
}

fn joined(values: &[&str]) -> String {
    match values {
        [] => String::new(),
        [first, .., last] if values.len() > MOST_VALUES => {
            format!("{} different: {first} … {last}", values.len())
        }
        few => few.join(" | "),
    }
}

fn of_run(run: &Resolved) -> Vec<Fact> {
    let tcp: Vec<&Group> = senders(run).filter(|group| group.uses_transport()).collect();
    let of_tcp = |value: &dyn Fn(&Group) -> String| by_group(&tcp, value);
    vec![
        Fact::new("link", links(run)),
        Fact::new("round trip", round_trips(run)),
        Fact::new("buffer", buffers(run)),
        Fact::new("traffic", senders(run).map(|group| traffic(run, group)).collect::<Vec<_>>().join(", ")),
        Fact::new("hosts", of_tcp(&|group| group.hosts.clone())),
        Fact::new("congestion control", of_tcp(&|group| group.control())),
        Fact::new("ECN", of_tcp(&|group| if group.profile.ecn { "on" } else { "off" }.to_owned())),
        Fact::new("time", times(run)),
    ]
}

/// The traffic that sends.
fn senders(run: &Resolved) -> impl Iterator<Item = &Group> {
    run.groups.iter().filter(|group| group.active && group.population.instances() > 0)
}

/// A value once if all groups have it, otherwise each value with its groups: `cubic (bulk, upload), prague (l4s)`.
fn by_group(groups: &[&Group], value: &dyn Fn(&Group) -> String) -> String {
    let mut found: Vec<(String, Vec<&str>)> = Vec::new();
    for group in groups {
        let own = value(group);
        match found.iter_mut().find(|(known, _)| *known == own) {
            Some((_, names)) => names.push(&group.name),
            None => found.push((own, vec![&group.name])),
        }
    }
    match found.as_slice() {
        [(only, _)] => only.clone(),
        several => {
            several.iter().map(|(v, names)| format!("{v} ({})", names.join(", "))).collect::<Vec<_>>().join(", ")
        }
    }
}

fn reported(run: &Resolved) -> impl Iterator<Item = &Link> {
    run.links.iter().filter(|link| link.report)
}

/// Rates of the reported links, with impairments: `50mbit down, 10mbit up`.
fn links(run: &Resolved) -> String {
    let several = reported(run).nth(1).is_some();
    let one = |link: &Link| {
        let mut text = link.rate.to_string();
        if link.trace.is_some() {
            text.push_str(" on average, varying");
        }
        if several {
            text = format!("{text} {}", link.name);
        }
        if link.wire != aqmkit_base::wire::Wire::default() {
            text.push_str(" with impairments of the wire");
        }
        if link.driver.is_some() {
            text.push_str(" behind a driver");
        }
        text
    };
    reported(run).map(one).collect::<Vec<_>>().join(", ")
}

/// Minimum and maximum RTT without queueing.
fn round_trips(run: &Resolved) -> String {
    let mut found: BTreeSet<Duration> = BTreeSet::new();
    for group in senders(run) {
        let (low, high) = match &group.delays {
            Delays::None => (Duration::ZERO, Duration::ZERO),
            Delays::Uniform((low, high)) => (*low, *high),
            Delays::Each(list) => ends(list.iter()),
            Delays::Matrix(rows) => ends(rows.iter().flatten()),
        };
        for route in &group.routes {
            let links = route.forward.iter().chain(&route.reverse).filter_map(|link| run.links.get(*link));
            let fixed = links.fold(route.reverse_delay, |sum, link| sum + link.delay);
            found.extend([fixed + low, fixed + high]);
        }
    }
    match (found.first(), found.last()) {
        (Some(low), Some(high)) if low == high => low.to_string(),
        (Some(low), Some(high)) => format!("{low} to {high}"),
        _ => String::new(),
    }
}

fn ends<'a>(delays: impl Iterator<Item = &'a Duration> + Clone) -> (Duration, Duration) {
    (delays.clone().min().copied().unwrap_or_default(), delays.max().copied().unwrap_or_default())
}

/// Limits of the reported queues, with the time to drain a full queue: `1000p (240ms)`. Empty for a discipline without
/// a single limit.
fn buffers(run: &Resolved) -> String {
    let full = senders(run).filter(|g| g.uses_transport()).map(|g| g.profile.mss.0 + g.profile.header.0).max();
    let found = reported(run).filter_map(|link| {
        let (limit, amount) = limit(run, link)?;
        let bytes = match amount {
            Amount::Packets(packets) => packets * full.unwrap_or(FULL_PACKET) as f64,
            Amount::Bytes(bytes) => bytes as f64,
        };
        let seconds = 8.0 * bytes / link.rate.as_bps() as f64;
        Some((limit, Duration::from_secs_f64(two_digits(seconds)).to_string(), link.name.as_str()))
    });
    let found: Vec<(String, String, &str)> = found.collect();
    match found.as_slice() {
        [(limit, time, _)] => format!("{limit} ({time})"),
        [(limit, ..), rest @ ..] if rest.iter().all(|other| other.0 == *limit) => {
            let times = found.iter().map(|(_, time, link)| format!("{time} {link}"));
            format!("{limit} ({})", times.collect::<Vec<_>>().join(", "))
        }
        several => {
            several.iter().map(|(limit, time, link)| format!("{limit} {link} ({time})")).collect::<Vec<_>>().join(", ")
        }
    }
}

/// Limit of a link's queue, as written and as an amount.
fn limit(run: &Resolved, link: &Link) -> Option<(String, Amount)> {
    let table = toml::Table::try_from(&link.aqm.effective(&link.at(&run.classes)).ok()?).ok()?;
    match table.get("limit")? {
        toml::Value::String(text) => Some((text.clone(), parse_amount(text).ok()?)),
        value => {
            let packets = value.as_float().or_else(|| Some(value.as_integer()? as f64))?;
            Some((format!("{packets}p"), Amount::Packets(packets)))
        }
    }
}

/// Rounds seconds to two significant digits.
fn two_digits(seconds: f64) -> f64 {
    format!("{seconds:.1e}").parse().ok().filter(|short: &f64| short.is_finite()).unwrap_or_default()
}

/// Name and amount of a traffic: `bulk: 4 flows`, `upload: 2 flows of bulk over up`.
fn traffic(run: &Resolved, group: &Group) -> String {
    let table = toml::Table::try_from(&group.spec).unwrap_or_default();
    let mut text = match group.spec.clone().count() {
        Some((counted, _)) => {
            let count = group.population.instances();
            // The parameter's name is a plural, such as `flows`.
            let noun = if count == 1 { counted.strip_suffix('s').unwrap_or(counted) } else { counted };
            format!("{}: {count} {noun}", group.name)
        }
        None => group.name.clone(),
    };
    if group.name != group.spec.name() {
        text.push_str(&format!(" of {}", group.spec.name()));
    }
    if let Some(rate) = table.get("rate").and_then(toml::Value::as_str) {
        text.push_str(&format!(" at {rate}"));
    }
    if let Some(directory) = table.get("data").and_then(toml::Value::as_str) {
        text.push_str(&format!(" with the distributions in {directory}"));
    }
    let crossed = |link: &usize| run.links.get(*link).filter(|link| link.report);
    let over = group.routes.first().and_then(|route| route.forward.iter().find_map(crossed));
    match over {
        Some(link) if reported(run).nth(1).is_some() => format!("{text} over {}", link.name),
        _ => text,
    }
}

fn times(run: &Resolved) -> String {
    let mut text = run.duration.to_string();
    if !run.warmup.is_zero() {
        text.push_str(&format!(" after a warm-up of {}", run.warmup));
    }
    let all = |window: &super::resolve::Window| window.from.is_zero() && window.to == run.duration;
    if !run.windows.iter().all(all) {
        let windows = run.windows.iter().map(|window| format!("{} {} to {}", window.name, window.from, window.to));
        text.push_str(&format!("; windows {}", windows.collect::<Vec<_>>().join(", ")));
    }
    text
}
