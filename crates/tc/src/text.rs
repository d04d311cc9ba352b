//! The text form of `tc`.
//!
//! ```text
//! qdisc fq_codel 8001: dev eth0 root refcnt 2 limit 10240p ... ecn drop_batch 64
//!  Sent 8130 bytes 61 pkt (dropped 0, overlimits 0 requeues 4)
//!  backlog 0b 0p requeues 4
//!   maxpacket 1514 drop_overlimit 0 new_flow_count 31 ecn_mark 0
//! ```

use std::collections::BTreeMap;

use super::listing::{Class, Counters, Filter, Listing, Parent, Qdisc};
use super::tins::Table;
use super::value::number;
use super::{TcError, filter};

/// Options without a value. All others take the next word.
const FLAGS: &[&str] = &[
    "ecn",
    "noecn",
    "offloaded",
    "bytemode",
    "harddrop",
    "adaptive",
    "nodrop",
    "pacing",
    "nopacing",
    "horizon_drop",
    "horizon_cap",
    "dq_rate_estimator",
    "no_dq_rate_estimator",
    "besteffort",
    "precedence",
    "diffserv3",
    "diffserv4",
    "diffserv5",
    "diffserv8",
    "flowblind",
    "srchost",
    "dsthost",
    "hosts",
    "flows",
    "dual-srchost",
    "dual-dsthost",
    "triple-isolate",
    "nat",
    "nonat",
    "wash",
    "nowash",
    "ingress",
    "egress",
    "autorate-ingress",
    "ack-filter",
    "ack-filter-aggressive",
    "no-ack-filter",
    "split-gso",
    "no-split-gso",
    "raw",
    "conservative",
    "atm",
    "noatm",
    "ptm",
    "via-ethernet",
    "total_overhead",
    "unlimited",
    "datacentre",
    "lan",
    "metro",
    "regional",
    "internet",
    "oceanic",
    "satellite",
    "interplanetary",
    "docsis",
    "ethernet",
    "ether-vlan",
    "pppoe-vcmux",
    "pppoe-llcsnap",
    "pppoa-vcmux",
    "pppoa-llc",
    "bridged-vcmux",
    "bridged-llcsnap",
    "ipoa-vcmux",
    "ipoa-llcsnap",
    "pppoe-ptm",
    "bridged-ptm",
    "l4s_ect",
    "any_ect",
    "drop_on_overload",
    "overflow",
    "drop_dequeue",
    "drop_enqueue",
    "split_gso",
    "no_split_gso",
];
/// Options whose value is a list of numbers.
const LISTS: &[&str] = &["priomap", "weights", "quanta"];

/// The discipline or class that the statistics below it belong to.
enum Last {
    Qdisc(usize),
    Class(usize),
    Filter(usize),
}

pub(crate) fn read(text: &str) -> Result<Listing, TcError> {
    let mut listing = Listing::default();
    let mut last = None;
    let mut table = Table::default();
    for (index, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let line_number = index + 1;
        let fail = |what: String| TcError::Line { line: line_number, what };
        match words.as_slice() {
            ["qdisc", rest @ ..] => {
                listing.qdiscs.push(Qdisc { line: Some(line_number), ..qdisc(rest).map_err(fail)? });
                last = Some(Last::Qdisc(listing.qdiscs.len() - 1));
                table = Table::default();
            }
            ["class", rest @ ..] => {
                listing.classes.push(Class { line: Some(line_number), ..class(rest).map_err(fail)? });
                last = Some(Last::Class(listing.classes.len() - 1));
                table = Table::default();
            }
            ["filter", rest @ ..] => {
                listing.filters.push(filter::shown(rest, line_number));
                last = Some(Last::Filter(listing.filters.len() - 1));
            }
            words => match last {
                Some(Last::Qdisc(at)) => {
                    let qdisc = &mut listing.qdiscs[at];
                    if !table.read(&mut qdisc.tins, line) {
                        statistics(words, &mut qdisc.counters, &mut qdisc.details);
                    }
                }
                Some(Last::Class(at)) => {
                    let class = &mut listing.classes[at];
                    statistics(words, &mut class.counters, &mut class.details);
                }
                Some(Last::Filter(at)) => filter::detail(words, &mut listing.filters[at]),
                None => {}
            },
        }
    }
    listing.filters.retain(Filter::does_something);
    Ok(listing)
}

/// `fq_codel 8001: dev eth0 root refcnt 2 ...`
pub(crate) fn qdisc(words: &[&str]) -> Result<Qdisc, String> {
    let [kind, handle, rest @ ..] = words else {
        return Err("`qdisc` is followed by a kind and a handle, as in `qdisc fq_codel 0: dev eth0 root`".to_owned());
    };
    let mut rest = rest.iter().copied().peekable();
    let mut device = None;
    let mut parent = None;
    let mut options = BTreeMap::new();
    while let Some(word) = rest.next() {
        match word {
            "dev" => device = rest.next().map(str::to_owned),
            "root" => parent = Some(Parent::Root),
            "parent" => parent = rest.next().map(attached),
            "ingress" | "clsact" if parent.is_none() => parent = Some(Parent::Ingress),
            "refcnt" => drop(rest.next()),
            _ => option(word, &mut rest, &mut options, kind),
        }
    }
    Ok(Qdisc {
        kind: (*kind).to_owned(),
        handle: (*handle).to_owned(),
        device,
        parent: parent.unwrap_or(if matches!(*kind, "ingress" | "clsact") { Parent::Ingress } else { Parent::Root }),
        options,
        counters: None,
        details: BTreeMap::new(),
        tins: Vec::new(),
        line: None,
    })
}

/// `htb 1:10 parent 1:1 leaf 8005: prio 0 rate 18Mbit ...`
pub(crate) fn class(words: &[&str]) -> Result<Class, String> {
    let [kind, id, rest @ ..] = words else {
        return Err("`class` is followed by a kind and an identifier, as in `class htb 1:10 parent 1:1`".to_owned());
    };
    let mut rest = rest.iter().copied().peekable();
    let mut parent = Parent::Root;
    let mut device = None;
    let mut options = BTreeMap::new();
    while let Some(word) = rest.next() {
        match word {
            "root" => parent = Parent::Root,
            "parent" => parent = rest.next().map_or(Parent::Root, attached),
            "dev" => device = rest.next().map(str::to_owned),
            _ => option(word, &mut rest, &mut options, kind),
        }
    }
    let (kind, id) = ((*kind).to_owned(), (*id).to_owned());
    let (line, name) = (None, None);
    Ok(Class { kind, id, device, parent, options, counters: None, details: BTreeMap::new(), line, name })
}

/// The hook for arriving packets has the handle `ffff:`.
pub(crate) fn attached(handle: &str) -> Parent {
    if handle.starts_with("ffff:") { Parent::Ingress } else { Parent::Class(handle.to_owned()) }
}

fn option<'a>(
    word: &str,
    words: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
    options: &mut BTreeMap<String, String>,
    kind: &str,
) {
    // `flows 1024` of fq_codel is a number, `flows` of CAKE a way to tell flows apart.
    let flag = FLAGS.contains(&word) && (word != "flows" || kind.starts_with("cake"));
    let mut value = Vec::new();
    if !flag {
        value.extend(words.next());
        let numbers = |next: &str| match kind {
            // `delay 20ms 5ms 25%`, `loss random 1%`.
            "netem" => next.starts_with(|c: char| c.is_ascii_digit()),
            _ => LISTS.contains(&word) && next.parse::<u64>().is_ok(),
        };
        while let Some(next) = words.next_if(|next| numbers(next)) {
            value.push(next);
        }
    }
    options.insert(word.to_owned(), value.join(" "));
}

/// A line below a discipline or class: counters that all have, or statistics of its own.
fn statistics(words: &[&str], counters: &mut Option<Counters>, details: &mut BTreeMap<String, f64>) {
    let after = |name: &str| {
        let at = words.iter().position(|word| word.trim_start_matches('(') == name)?;
        number(words.get(at + 1)?.trim_end_matches([',', ')'])).map(|value| value as u64)
    };
    if words.first() == Some(&"Sent") {
        let [_, bytes, _, packets, ..] = words else { return };
        let plain = |word: &str| word.parse().unwrap_or(0);
        *counters = Some(Counters {
            bytes: plain(bytes),
            packets: plain(packets),
            dropped: after("dropped").unwrap_or(0),
            overlimits: after("overlimits").unwrap_or(0),
            requeues: after("requeues").unwrap_or(0),
            ..counters.unwrap_or_default()
        });
    } else if let (Some(at), Some(known)) = (words.iter().position(|word| *word == "backlog"), counters.as_mut()) {
        let waiting = |offset: usize| words.get(at + offset).and_then(|word| number(word)).unwrap_or(0.0) as u64;
        (known.backlog_bytes, known.backlog_packets) = (waiting(1), waiting(2));
    } else {
        pairs(words, details);
    }
}

/// `maxpacket 1514 drop_overlimit 0`, and CAKE's `memory used: 1221Kb of 4Mb`: words up to a number are its name.
fn pairs(words: &[&str], details: &mut BTreeMap<String, f64>) {
    let mut name: Vec<&str> = Vec::new();
    for word in words {
        let word = word.trim_matches(['(', ')', ',', ':']);
        match number(word) {
            Some(value) if name == ["of"] => drop(details.insert("memory_limit".to_owned(), value)),
            Some(value) if !name.is_empty() => drop(details.insert(name.join("_"), value)),
            Some(_) => {}
            None => {
                name.push(word);
                continue;
            }
        }
        name.clear();
    }
}
