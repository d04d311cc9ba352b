//! Warnings about settings that are valid but probably a mistake.

use aqmkit_aqm::Link;
use aqmkit_aqm::registry::Spec;
use aqmkit_base::Amount;
use aqmkit_base::units::{doubtful_rate, parse_amount};
use aqmkit_base::wire::doubtful_loss;
use aqmkit_transport::{LossDetection, Profile};

use super::delays::Delays;
use super::network::Route;
use super::problem::Problem;
use super::resolve::Resolved;
use super::tree::{Node, Value};

/// Keys whose value is the rate of a link or of a sender.
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
    let mut add = |warning: Problem| {
        if !found.iter().any(|known| known.is_same(&warning)) {
            found.push(warning);
        }
    };
    for run in runs {
        lacking_round_trip = lacking_round_trip.or_else(|| no_round_trip(run));
        late_starts(run).chain(lacking_rack(run)).for_each(&mut add);
        run.links.iter().filter_map(|link| doubtful_loss(&link.wire)).map(Problem::new).for_each(&mut add);
        for text in run.links.iter().flat_map(|link| doubts(&link.aqm, &link.at(&run.classes))) {
            add(Problem::new(text));
        }
    }
    found.extend(lacking_round_trip);
    found
}

/// Warns of what a discipline, or one inside of it, has that is probably a mistake on this link.
#[must_use]
pub fn doubts(aqm: &Spec, link: &Link) -> Vec<String> {
    let inner = aqm.inner(link);
    let each = std::iter::once((aqm, link)).chain(inner.iter().map(|one| (&one.spec, &one.link)));
    each.filter_map(|(one, at)| out_of_reach(one, at)).chain(aqm.doubts(link)).collect()
}

/// Warns of a discipline that acts at a queue length, or average queue length, above its limit.
fn out_of_reach(aqm: &Spec, link: &Link) -> Option<String> {
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

/// The last key of a path: `rate` in `topology.rate`.
fn last(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

/// Warns of traffic with starts spread so far into the measurement that the last ones miss more than a twentieth of it.
fn late_starts(run: &Resolved) -> impl Iterator<Item = Problem> + '_ {
    let first = run.windows.iter().min_by_key(|window| window.from);
    let (before, measured) = first.map_or((run.warmup, run.duration), |w| (run.warmup + w.from, w.to - w.from));
    // An explicit start is intentional, and so is a measurement without warm-up.
    let with_warmup = run.groups.iter().filter(move |group| group.start.is_none() && !before.is_zero());
    with_warmup.filter_map(move |group| {
        let (key, spread) = group.population.start_spread().filter(|(_, spread)| *spread > before + measured / 20)?;
        let flows = group.population.instances();
        let late = (flows as f64 * (1.0 - before.as_secs_f64() / spread.as_secs_f64())).round().max(1.0);
        let name = &group.name;
        let what = format!(
            "about {late} of {flows} flows of {name} start after the measurement begins: their starts are spread over {spread}, and {before} \
             pass before it"
        );
        let (warmup, within) = (run.warmup + spread - before, before / 2);
        let right = format!("set warmup = \"{warmup}\" or more, or traffic.{name}.{key} = \"{within}\" or less");
        (flows > 0).then(|| Problem::new(what).right(right))
    })
}

/// Warns of congestion controls that need SACK and RACK but do not have them.
fn lacking_rack(run: &Resolved) -> impl Iterator<Item = Problem> + '_ {
    let lacks = |p: &Profile| p.congestion.wants_rack() && !(p.wants_sack() && p.loss_detection == LossDetection::Rack);
    run.groups.iter().filter(move |group| group.uses_transport() && group.stack.is_none() && lacks(&group.profile)).map(
        |group| {
            let name = &group.name;
            let what = format!(
                "{name} uses {}, which wants SACK and RACK; with the hosts as they are, losses hold it back",
                group.profile.congestion.name()
            );
            Problem::new(what).right(
                "set transport.profile = \"linux-6\", or transport.sack = true and transport.loss_detection = \"rack\"",
            )
        },
    )
}

/// Warns of TCP traffic whose RTT consists of queueing and transmission only.
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

    const PLAIN: &str = "title = 'x'\nduration = '9s'\nwarmup = '10s'\n[topology]\nrate = '10mbit'\ndelays = '50ms'\n[[traffic]]\nkind = 'bulk'\n";

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
        assert!(text.starts_with("Some(5)") && text.contains("write 10mbit if bits were meant"), "{text}");
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
    fn what_a_tree_cannot_keep_is_doubted() {
        let of = |aqm: &str| warnings(PLAIN, &[&format!("topology.aqm={aqm}")]).join("\n");
        assert!(of("{name='tbf',rate='20mbit'}").contains("above the 10mbit of the link"));
        let inside = of("{name='tbf',rate='5mbit',aqm={name='red',limit=1,min=20,max=200}}");
        assert!(inside.contains("red: min of 20p is above the limit of 1p"), "{inside}");
        assert_eq!(of("{name='tbf',rate='5mbit',aqm='fq-codel'}"), "");
    }

    /// Starts uniform on 10 s after 4 s of warm-up: six tenths are late.
    #[test]
    fn starts_after_the_warm_up_are_doubted() {
        let of = |set: &[&str]| warnings(PLAIN, &[&["warmup=4s"], set].concat());
        let text = of(&[]).join("\n");
        assert!(text.contains("about 12 of 20 flows of bulk start after the measurement begins"), "{text}");
        assert!(text.contains("set warmup = \"10s\" or more, or traffic.bulk.stagger = \"2s\" or less"), "{text}");
        assert_eq!(of(&["traffic.bulk.stagger=4s"]), [""; 0]);
        assert_eq!(of(&["duration=2min"]), [""; 0], "what 6 s in 120 s change is little");
        assert_eq!(of(&["warmup=10s"]), [""; 0]);
        assert_eq!(of(&["warmup=0s"]), [""; 0], "the start itself is measured");
        assert_eq!(of(&["windows={late=['6s','9s']}"]), [""; 0], "nothing is measured before");
        assert_eq!(of(&["traffic.bulk.start=2s"]), [""; 0], "that is set");
    }

    #[test]
    fn what_a_control_wants_is_said() {
        let of = |set: &[&str]| warnings(PLAIN, &[&["warmup=10s", "transport.congestion=bbr"], set].concat());
        let text = of(&[]).join("\n");
        assert!(text.contains("bulk uses bbr, which wants SACK and RACK") && text.contains("\"linux-6\""), "{text}");
        assert_eq!(of(&["transport.sack=true"]).len(), 1);
        assert_eq!(of(&["transport.sack=true", "transport.loss_detection=rack"]), [""; 0]);
        assert_eq!(of(&["transport.profile=linux-6"]), [""; 0]);
    }

    /// A control's page says what it needs; the warning must agree.
    #[test]
    fn what_a_page_wants_is_warned_of() {
        for entry in aqmkit_transport::congestion::ALL {
            let set = format!("transport.congestion={}", entry.name);
            let warned = warnings(PLAIN, &["warmup=10s", &set]).iter().any(|text| text.contains("wants SACK and RACK"));
            assert_eq!(
                warned,
                aqmkit_transport::registry::page(entry.name)
                    .unwrap_or_default()
                    .contains("It needs SACK and `loss_detection"),
                "{}",
                entry.name
            );
        }
    }

    #[test]
    fn a_round_trip_of_zero_is_doubted() {
        let text = warnings(&PLAIN.replace("delays = '50ms'", ""), &[]).join("\n");
        assert!(text.contains("the connections of bulk have a round-trip time of 0"), "{text}");
        assert_eq!(warnings(&PLAIN.replace("delays = '50ms'", "delay = '1ms'"), &[]), [""; 0]);
    }
}
