//! The experiment around imported queues: links, and traffic for their classes.

use aqmkit_base::units::parse_rate;
use aqmkit_base::{BitRate, Duration};
use toml::{Table, Value};

use crate::{Direction, Leaf, MOST_BY_CLASS};

/// The round-trip time without queues where none is given.
const RTT: Duration = Duration::from_millis(50);

/// Rates of ports, for a link in front of a shaper whose own rate is not given.
const PORTS: [u64; 3] = [1_000_000_000, 10_000_000_000, 100_000_000_000];

#[allow(clippy::needless_pass_by_value, reason = "most callers make what they pass")]
fn text(shown: impl ToString) -> Value {
    Value::String(shown.to_string())
}

fn table<const N: usize>(keys: [(&str, Value); N]) -> Table {
    keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// The rate of the link of a direction: that given, that of `netem`, or that of a port that is faster than the shaper.
pub(crate) fn link_rate(direction: &Direction, given: Option<BitRate>) -> Option<BitRate> {
    let wire = direction.wire.get("rate").and_then(Value::as_str).and_then(|rate| parse_rate(rate).ok());
    given.or(wire).or_else(|| {
        let shaped = direction.rate?.as_bps();
        PORTS.iter().find(|port| **port > shaped).map(|port| BitRate::from_bps(*port))
    })
}

/// The experiment. `links` has the rate of each direction's link.
pub(crate) fn experiment(source: &str, directions: &[Direction], links: &[BitRate], rtt: Option<Duration>) -> Table {
    let rtt = rtt.unwrap_or(RTT);
    let mut traffic = Vec::new();
    let topology = match directions {
        [one] => {
            let mut topology = table([("rate", text(links[0])), ("delays", text(rtt))]);
            topology.extend(one.wire.clone());
            topology.insert("rate".to_owned(), text(links[0]));
            topology.insert("aqm".to_owned(), Value::Table(one.aqm.clone()));
            traffic.extend(flows(one, None));
            topology
        }
        both => {
            let link = |(direction, rate): (&Direction, &BitRate)| {
                let mut link = direction.wire.clone();
                link.insert("name".to_owned(), text(direction.way()));
                link.insert("rate".to_owned(), text(rate));
                link.insert("aqm".to_owned(), Value::Table(direction.aqm.clone()));
                Value::Table(link)
            };
            traffic.extend(both.iter().flat_map(|direction| flows(direction, Some(direction.way()))));
            let list: Vec<Value> = both.iter().zip(links).map(link).collect();
            table([("delays", text(rtt)), ("measured", text("down")), ("links", Value::Array(list))])
        }
    };
    let clients = directions.iter().map(|direction| direction.leaves.len()).max().unwrap_or(0);
    let mut topology = topology;
    if clients > MOST_BY_CLASS {
        topology.insert("clients".to_owned(), Value::Integer(clients as i64));
    }
    table([
        ("title", text(format!("The queues of {source}"))),
        (
            "about",
            text(
                "Imported. The queues are those of the source; the traffic is an example, to be replaced by that of the users.",
            ),
        ),
        ("duration", text("20s")),
        ("warmup", text("10s")),
        ("topology", Value::Table(topology)),
        ("traffic", Value::Array(traffic)),
    ])
}

/// Traffic for each class: calls where packets must not wait, and downloads elsewhere.
fn flows(direction: &Direction, way: Option<&'static str>) -> Vec<Value> {
    let whole = [("bulk", false), ("voip", true)].map(|(name, urgent)| Leaf {
        name: name.to_owned(),
        urgent,
        rules: Vec::new(),
    });
    if direction.leaves.len() > MOST_BY_CLASS {
        return users(direction, way);
    }
    let leaves: &[Leaf] = if direction.leaves.is_empty() { &whole } else { &direction.leaves };
    let one = |leaf: &Leaf| {
        let name = way.map_or_else(|| leaf.name.clone(), |way| format!("{} {way}", leaf.name));
        let mut flow = table([("name", text(name)), ("class", text(&leaf.name))]);
        flow.extend(if leaf.urgent {
            table([("kind", text("voip")), ("calls", Value::Integer(2))])
        } else {
            table([("kind", text("bulk")), ("flows", Value::Integer(2))])
        });
        flow.extend(way.map(path).into_iter().flatten());
        Value::Table(flow)
    };
    leaves.iter().map(one).collect()
}

/// The keys of a traffic that goes this way.
fn path(way: &'static str) -> Table {
    let back = if way == "down" { "up" } else { "down" };
    table([("path", Value::Array(vec![text(way)])), ("reverse", Value::Array(vec![text(back)]))])
}

/// Users of an operator, in an evening: a tenth of the circuits watch video, a fifth read pages, one in a hundred loads something down or up.
fn users(direction: &Direction, way: Option<&'static str>) -> Vec<Value> {
    let part = |of: usize| Value::Integer((direction.leaves.len() / of) as i64);
    let of = |kind: &str, name: &str, more: Vec<(&str, Value)>| {
        let name = way.map_or_else(|| name.to_owned(), |way| format!("{name} {way}"));
        let mut flow = table([("name", text(name)), ("kind", text(kind)), ("scattered", Value::Boolean(true))]);
        flow.extend(more.into_iter().map(|(key, value)| (key.to_owned(), value)));
        flow.extend(way.map(path).into_iter().flatten());
        Value::Table(flow)
    };
    let load = of("bulk", "loads", vec![("flows", part(100))]);
    if way == Some("up") {
        return vec![load];
    }
    vec![
        of("dash", "video", vec![("viewers", part(10)), ("player", text("rate"))]),
        of("pages", "pages", vec![("users", part(5))]),
        load,
    ]
}
