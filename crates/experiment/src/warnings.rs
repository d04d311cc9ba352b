//! Warnings about settings that are valid but probably a mistake.

use aqmkit_aqm::Link;
use aqmkit_aqm::registry::Spec;
use aqmkit_base::Amount;
use aqmkit_base::units::{doubtful_rate, parse_amount};

use super::delays::Delays;
use super::network::Route;
use super::problem::Problem;
use super::resolve::Resolved;
use super::tree::{Node, Value};

/// Keys whose text is the rate of a link or of a sender.
const RATES: &[&str] = &["rate", "access", "inbound"];

/// All warnings about an experiment, without repetitions: first about the text of its combinations, then about its
/// runs.
pub(super) fn warnings<'a>(
    combinations: impl Iterator<Item = &'a Node>,
    runs: impl Iterator<Item = &'a Resolved>,
) -> Vec<Problem> {
    let mut found: Vec<Problem> = Vec::new();
    for tree in combinations {
        let mut here = Vec::new();
        rates(tree, "", &mut here);
        for warning in here {
            if !found.iter().any(|known| known.is_same(&warning)) {
                found.push(warning);
            }
        }
    }
    let mut lacking_round_trip = None;
    for run in runs {
        lacking_round_trip = lacking_round_trip.or_else(|| no_round_trip(run));
        for text in run.links.iter().filter_map(|link| out_of_reach(&link.aqm, &link.at(&run.classes))) {
            let warning = Problem::new(text);
            if !found.iter().any(|known| known.is_same(&warning)) {
                found.push(warning);
            }
        }
    }
    found.extend(lacking_round_trip);
    found
}

/// A warning if a discipline acts at a queue length, or average queue length, above its limit.
#[must_use]
pub fn out_of_reach(aqm: &Spec, link: &Link) -> Option<String> {
    let table = toml::Table::try_from(aqm.effective(link).ok()?).ok()?;
    let length = |name: &str| match table.get(name)? {
        toml::Value::String(text) => parse_amount(text).ok(),
        number => number.as_float().or_else(|| number.as_integer().map(|n| n as f64)).map(Amount::Packets),
    };
    let limit = length("limit")?;
    let above = |name: &&&str| length(name).is_some_and(|at| at.unit() == limit.unit() && at.value() > limit.value());
    let names: Vec<&str> = aqm.thresholds().iter().filter(above).copied().collect();
    let first = length(names.first()?)?;
    Some(format!(
        "{}: {} of {first} is above the limit of {limit}, so the queue is full before the discipline acts; raise limit or lower {}",
        aqm.name(),
        names[0],
        names.join(" and ")
    ))
}

/// Warns of rates in bytes per second where bits per second were probably meant.
fn rates(node: &Node, key: &str, found: &mut Vec<Problem>) {
    match &node.value {
        Value::Scalar(value) => {
            let warning = value.as_str().filter(|_| RATES.contains(&last(key))).and_then(doubtful_rate);
            found.extend(warning.map(|text| Problem::new(text).at(&node.at)));
        }
        Value::Array(nodes) => nodes.iter().for_each(|inner| rates(inner, key, found)),
        Value::Table(entries) => entries.iter().for_each(|entry| rates(&entry.node, &entry.key, found)),
    }
}

/// The last key of a path: `rate` of `topology.rate`.
fn last(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

/// Warns of TCP traffic whose round-trip time consists of queueing and transmission only.
fn no_round_trip(run: &Resolved) -> Option<Problem> {
    let delayed = |route: &Route| {
        let links = route.forward.iter().chain(&route.reverse);
        !route.reverse_delay.is_zero() || links.into_iter().any(|link| !run.links[*link].delay.is_zero())
    };
    let none = |delays: &Delays| match delays {
        Delays::None => true,
        Delays::Uniform((_, most)) => most.is_zero(),
        Delays::Each(all) => all.iter().all(|d| d.is_zero()),
        Delays::Matrix(rows) => rows.iter().flatten().all(|d| d.is_zero()),
    };
    let mut groups = run.groups.iter().filter(|group| group.uses_transport());
    let group = groups.find(|group| none(&group.delays) && !group.routes.iter().any(delayed))?;
    let what =
        format!("the connections of {} have a round-trip time of 0 apart from queueing and transmission", group.name);
    Some(Problem::new(what).right("give one: delays = \"50ms\" in [topology]"))
}

#[cfg(test)]
mod tests {
    use crate::{Experiment, Overrides};

    fn warnings(text: &str, set: &[&str]) -> Vec<String> {
        let set = set.iter().map(|s| (*s).to_owned()).collect();
        let exp = Experiment::parse("mine.toml", text, &Overrides { set, ..Overrides::default() }).unwrap();
        exp.warnings.iter().map(|d| format!("{:?} {}", d.location().map(|at| at.line), d.in_one_line())).collect()
    }

    const PLAIN: &str =
        "title = 'x'\nduration = '9s'\n[topology]\nrate = '10mbit'\ndelays = '50ms'\n[[traffic]]\nkind = 'bulk'\n";

    #[test]
    fn what_is_plain_raises_no_doubt() {
        assert_eq!(warnings(PLAIN, &[]), [""; 0]);
        assert_eq!(warnings(PLAIN, &["topology.rate=1200kibps"]), [""; 0]);
        let datagrams = PLAIN.replace("delays = '50ms'", "").replace("'bulk'", "'cbr'\nrate = '2mbit'");
        assert_eq!(warnings(&datagrams, &[]), [""; 0], "nothing answers them");
    }

    #[test]
    fn rates_in_bytes_are_doubted_where_they_stand() {
        let text = warnings(&PLAIN.replace("10mbit", "10 Mbps"), &[]).join("\n");
        assert!(text.starts_with("Some(4)") && text.contains("write 10mbit if bits were meant"), "{text}");
        assert_eq!(warnings(PLAIN, &["topology.rate=10mbps"]).len(), 1);
        assert_eq!(warnings(&format!("{PLAIN}[sweep]\n'topology.rate' = ['1mbps', '2mbps', '2mbit']"), &[]).len(), 2);
    }

    #[test]
    fn thresholds_that_no_queue_reaches_are_doubted() {
        let text = warnings(PLAIN, &["topology.aqm={name='red',limit=1,min=20,max=200}"]).join("\n");
        assert!(text.contains("red: min of 20p is above the limit of 1p") && text.contains("min and max"), "{text}");
        assert_eq!(warnings(PLAIN, &["topology.aqm={name='red',limit=200,min=20,max=200}"]), [""; 0]);
        assert_eq!(warnings(PLAIN, &["topology.aqm={name='dcn',q_ref=24,limit=20}"]).len(), 1);
        let flows = "{name='rio-ps',threshold=80,limit=60}";
        assert_eq!(
            warnings(PLAIN, &[&format!("topology.aqm={flows}")]),
            [""; 0],
            "packets of a flow, not of the queue"
        );
        for entry in aqmkit_aqm::registry::ALL {
            let set = format!("topology.aqm={}", entry.name);
            assert_eq!(warnings(PLAIN, &[&set]), [""; 0], "the defaults of {}", entry.name);
        }
    }

    #[test]
    fn a_round_trip_of_zero_is_doubted() {
        let text = warnings(&PLAIN.replace("delays = '50ms'", ""), &[]).join("\n");
        assert!(text.contains("the connections of bulk have a round-trip time of 0"), "{text}");
        assert_eq!(warnings(&PLAIN.replace("delays = '50ms'", "delay = '1ms'"), &[]), [""; 0]);
    }
}
