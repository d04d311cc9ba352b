//! Which filter puts packets into which class.

use aqmkit_tc::{Condition, Filter, Listing};

use crate::{Note, id};

/// The filters of a device, in the order in which they are asked.
pub(crate) struct Filters<'a>(Vec<&'a Filter>);

/// The packets of a class.
#[derive(Default)]
pub(crate) struct Chosen {
    /// Names of codepoints.
    pub(crate) codepoints: Vec<String>,
    /// Rules of `--class` of a live link.
    pub(crate) rules: Vec<String>,
    /// Whether they are of the kind that must not wait.
    pub(crate) urgent: bool,
    pub(crate) notes: Vec<Note>,
}

impl<'a> Filters<'a> {
    pub(crate) fn of(listing: &'a Listing, device: Option<&str>) -> Self {
        let here = |filter: &&Filter| filter.device.is_none() || device.is_none() || filter.device.as_deref() == device;
        let mut filters: Vec<&Filter> = listing.filters.iter().filter(here).collect();
        filters.sort_by_key(|filter| filter.pref);
        Filters(filters)
    }

    /// Those of the discipline with this handle, with their classes.
    fn with(&self, handle: &str) -> impl Iterator<Item = (&'a Filter, String)> {
        let major = id::major(handle);
        self.0.iter().filter_map(move |filter| {
            let target = filter.target.as_ref().filter(|_| filter.redirect.is_none())?;
            let own = filter.parent == "root" || id::major(&filter.parent) == major;
            let target = if target.starts_with(':') {
                format!("{}{}", handle.trim_end_matches(':'), target)
            } else {
                target.clone()
            };
            (own && id::major(&target) == major).then(|| (*filter, id::plain(&target)))
        })
    }

    /// The class of a filter that takes all packets.
    pub(crate) fn rest(&self, handle: &str) -> Option<String> {
        self.with(handle).find(|(filter, _)| takes_all(filter)).map(|(_, target)| target)
    }

    /// The packets that the filters of a discipline send to one of its classes.
    pub(crate) fn of_class(&self, handle: &str, class: &str) -> Chosen {
        let mut chosen = Chosen::default();
        for (filter, _) in self.with(handle).filter(|(filter, target)| target == class && !takes_all(filter)) {
            let conditions: Vec<&Condition> = filter.conditions.iter().filter(|one| **one != Condition::Any).collect();
            chosen.urgent |= conditions.iter().any(|one| urgent(one));
            if let [Condition::Dscp(bits)] = conditions.as_slice() {
                let name = dscp(*bits);
                if !chosen.codepoints.contains(&name) {
                    chosen.codepoints.push(name);
                }
                continue;
            }
            match rules(&conditions) {
                Some(rules) => chosen.rules.extend(rules.into_iter().filter(|rule| !chosen.rules.contains(rule)).collect::<Vec<_>>()),
                None => chosen.notes.push(Note {
                    line: filter.line,
                    part: 0,
                    text: format!("no --class says what this filter ({}) takes; its packets are those of the traffic of class {class}", words(&conditions)),
                }),
            }
        }
        chosen
    }
}

fn takes_all(filter: &Filter) -> bool {
    filter.conditions.iter().all(|condition| *condition == Condition::Any)
}

/// Whether packets like these are of calls or of control.
fn urgent(condition: &Condition) -> bool {
    match condition {
        Condition::Dscp(bits) => *bits >= 40,
        Condition::Port { port, .. } => matches!(port, 22 | 53 | 123 | 3478 | 5060 | 5061),
        _ => false,
    }
}

/// The name of a codepoint, or its number.
fn dscp(bits: u8) -> String {
    match (bits, bits / 8, bits % 8) {
        (46, ..) => "ef".to_owned(),
        (44, ..) => "va".to_owned(),
        (1, ..) => "le".to_owned(),
        (0, ..) => "be".to_owned(),
        (_, class, 0) => format!("cs{class}"),
        (_, class @ 1..=4, drop @ (2 | 4 | 6)) => format!("af{class}{}", drop / 2),
        _ => bits.to_string(),
    }
}

/// The same in rules of `--class`, one of which suffices; `None` where they cannot say it.
fn rules(conditions: &[&Condition]) -> Option<Vec<String>> {
    let both = |name: &dyn Fn(&str) -> String| Some(vec![name("tcp"), name("udp")]);
    match conditions {
        [Condition::Port { port, .. }] => both(&|protocol| format!("{protocol}:{port}")),
        [Condition::Protocol(number), Condition::Port { port, .. }]
        | [Condition::Port { port, .. }, Condition::Protocol(number)] => {
            Some(vec![format!("{}:{port}", protocol(*number)?)])
        }
        [Condition::Protocol(number)] => Some(vec![protocol(*number)?.to_owned()]),
        [Condition::Network { destination, network }] => {
            Some(vec![format!("{}:{network}", if *destination { "to" } else { "from" })])
        }
        _ => None,
    }
}

fn protocol(number: u8) -> Option<&'static str> {
    match number {
        6 => Some("tcp"),
        17 => Some("udp"),
        _ => None,
    }
}

fn words(conditions: &[&Condition]) -> String {
    let one = |condition: &&Condition| match condition {
        Condition::Any => "everything".to_owned(),
        Condition::Dscp(bits) => format!("dscp {}", dscp(*bits)),
        Condition::Protocol(number) => format!("protocol {number}"),
        Condition::Port { destination, port } => {
            format!("{} port {port}", if *destination { "destination" } else { "source" })
        }
        Condition::Network { destination, network } => {
            format!("{} {network}", if *destination { "to" } else { "from" })
        }
        Condition::Mark(mark) => format!("firewall mark {mark}"),
        Condition::Other(words) => words.clone(),
    };
    conditions.iter().map(one).collect::<Vec<_>>().join(" and ")
}
