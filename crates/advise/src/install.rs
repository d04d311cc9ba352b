//! Commands that install a discipline: `tc` if Linux has it, `aqmkit kernel` if it runs inside the kernel as a BPF
//! program, otherwise `aqmkit bridge`.
//!
//! Names and units follow the iproute2 manual pages: `tc-red(8)` uses bytes, `tc-choke(8)` packets, `tc-pie(8)` gains
//! in sixteenths.

use aqmkit_aqm::registry::runs_in_kernel;
use aqmkit_base::BitRate;
use aqmkit_base::units::format_rate;
use aqmkit_results::advice::Install;
use toml::{Table, Value};

use crate::space::Candidate;

/// Example interfaces: towards the users, whose egress is the measured direction, and towards the network.
const INTERFACES: [&str; 2] = ["eth1", "eth0"];

/// Link rates of the measured direction, and of the other one if it has a queue.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    /// Rate towards the users.
    pub down: BitRate,
    /// Rate towards the network.
    pub up: Option<BitRate>,
}

/// Ethernet header length in bytes: the kernel's disciplines include it in packet lengths, the simulated ones do not.
const MAC_HEADER: u64 = 14;

/// Converts a parameter (name, value) into `tc`'s notation; `None` if `tc` does not have it.
type Written = fn(&str, &Value) -> Option<String>;
/// Disciplines of `tc`: name in the catalogue, name in `tc`, and the conversion of parameters.
const LINUX: &[(&str, &str, Written)] = &[
    ("fifo", "pfifo", plain),
    ("red", "red", red),
    ("choke", "choke", choke),
    ("codel", "codel", plain),
    ("fq-codel", "fq_codel", plain),
    ("pie", "pie", pie),
    ("fq-pie", "fq_pie", pie),
    ("dualpi2", "dualpi2", plain),
    ("sfb", "sfb", plain),
    ("sfq", "sfq", plain),
    ("gred", "gred", gred),
    ("hhf", "hhf", plain),
    ("cake", "cake", cake),
];

/// Whether `tc` has a discipline.
#[must_use]
pub fn is_in_linux(name: &str) -> bool {
    LINUX.iter().any(|(discipline, _, _)| *discipline == name)
}

/// The name of a discipline in `tc`; `None` if `tc` does not have it.
#[must_use]
pub fn name_in_tc(name: &str) -> Option<&'static str> {
    LINUX.iter().find(|(discipline, _, _)| *discipline == name).map(|(_, in_tc, _)| *in_tc)
}

/// Names in `tc` of all disciplines that can be advised for it.
pub fn names_in_tc() -> impl Iterator<Item = &'static str> {
    LINUX.iter().map(|(_, in_tc, _)| *in_tc)
}

/// The commands that install a candidate on a link.
#[must_use]
pub fn install(candidate: &Candidate, rates: Rates) -> Install {
    let directions = || {
        [Some(rates.down), rates.up]
            .into_iter()
            .zip(INTERFACES)
            .filter_map(|(rate, interface)| Some((rate?, interface)))
    };
    let ways =
        if rates.up.is_some() { "eth1 leads to the users, eth0 to the network." } else { "eth1 leads to the users." };
    let slightly = "Give rates slightly below those of the link, so that the queue builds up here: where the link is slower than what is typed, the queue is in \
                    the modem, and nothing here changes it.";
    if let Some(lines) =
        directions().map(|(rate, interface)| with_tc(candidate, rate, interface)).collect::<Option<Vec<_>>>()
    {
        let more = match candidate.discipline.as_str() {
            "dualpi2" => " dualpi2 needs Linux 6.17, built with it, and an iproute2 that knows it.",
            "cake" => " cake also has a shaper of its own: `root cake bandwidth RATE` in place of all three lines.",
            _ => "",
        };
        return Install { with: "tc".to_owned(), note: format!("{ways} {slightly}{more}"), lines: lines.concat() };
    }
    if runs_in_kernel(&candidate.discipline).is_ok() {
        let line = |(rate, interface)| {
            format!(
                "aqmkit kernel install {} dev {interface} rate {}{}",
                candidate.discipline,
                format_rate(rate),
                words(&candidate.parameters, " ", "")
            )
        };
        let note = format!("Linux's tc does not have it; it runs in the kernel as a BPF program. {ways} {slightly}");
        return Install { with: "aqmkit kernel".to_owned(), note, lines: directions().map(line).collect() };
    }
    let back = rates.up.map_or_else(String::new, |up| format!("/{}", format_rate(up)));
    let parameters = words(&candidate.parameters, ",", ":");
    let line = format!(
        "aqmkit bridge eth0 eth1 --rate {}{back} --aqm {}{parameters}",
        format_rate(rates.down),
        candidate.discipline
    );
    let why = match candidate.discipline.as_str() {
        "drr" => "tc's drr needs a class and a filter for each flow",
        "cobalt" => "tc has cobalt only within cake",
        _ => "Neither Linux's tc nor aqmkit kernel has it",
    };
    let note = format!("{why}; aqmkit bridge runs it between two interfaces. {ways} {slightly}");
    Install { with: "aqmkit bridge".to_owned(), note, lines: vec![line] }
}

/// Parameters as `NAME=VALUE`, each prefixed by `before`, the first one by `first` instead unless that is empty.
fn words(parameters: &Table, before: &str, first: &str) -> String {
    let word = |(i, (name, value)): (usize, (&String, &Value))| {
        let start = if i == 0 && !first.is_empty() { first } else { before };
        format!("{start}{name}={}", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    parameters.iter().enumerate().map(word).collect()
}

/// A shaper with the discipline as its queue; `None` if `tc` does not have the discipline or one of its parameters.
fn with_tc(candidate: &Candidate, rate: BitRate, interface: &str) -> Option<Vec<String>> {
    let (_, name, written) = LINUX.iter().find(|(discipline, _, _)| *discipline == candidate.discipline)?;
    // tc's sfb always marks; its sfq marks only with a RED in each queue, which is not searched.
    let unsaid = |key: &str| key == "ecn" && (*name == "sfb" || *name == "sfq");
    let mut said = String::new();
    // tc derives other parameters from the limit, so it must come first.
    let (limit, others): (Vec<_>, Vec<_>) = candidate.parameters.iter().partition(|(key, _)| *key == "limit");
    for (key, value) in limit.into_iter().chain(others).filter(|(key, _)| !unsaid(key)) {
        said.push(' ');
        said.push_str(&written(key, value)?);
    }
    let (place, rate) = (format!("dev {interface} parent 1:1 handle 10:"), format_rate(rate));
    let mut lines = vec![
        format!("tc qdisc replace dev {interface} root handle 1: htb default 1"),
        format!("tc class replace dev {interface} parent 1: classid 1:1 htb rate {rate}"),
    ];
    lines.extend(match *name {
        "red" => vec![format!("tc qdisc replace {place} red{said} avpkt 1000 bandwidth {rate}")],
        "choke" => vec![format!("tc qdisc replace {place} choke{said} bandwidth {rate}")],
        "gred" => with_virtual_queue(candidate, &place, &rate)?,
        _ => vec![format!("tc qdisc replace {place} {name}{said}")],
    });
    Some(lines)
}

/// gred is configured in two steps: the number of virtual queues, here one, and then the parameters of that queue.
fn with_virtual_queue(candidate: &Candidate, place: &str, rate: &str) -> Option<Vec<String>> {
    let limit = red("limit", candidate.parameters.get("limit")?)?;
    let ecn = if candidate.parameters.get("ecn").and_then(Value::as_bool) == Some(true) { " ecn" } else { "" };
    let queue = candidate.parameters.get("classes")?.as_array()?.first()?.as_table()?;
    let own = queue.iter().map(|(key, value)| red(key, value)).collect::<Option<Vec<_>>>()?.join(" ");
    Some(vec![
        format!("tc qdisc replace {place} gred setup vqs 1 default 0 {limit}{ecn}"),
        format!("tc qdisc change {place} gred vq 0 {limit} {own} avpkt 1000 bandwidth {rate}"),
    ])
}

/// A parameter that `tc` writes like the catalogue; packets and bytes are `tc`'s default units, so that numbers need
/// none.
fn plain(name: &str, value: &Value) -> Option<String> {
    if name == "ecn" {
        return Some(if value.as_bool()? { "ecn" } else { "noecn" }.to_owned());
    }
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if name == "quantum" {
        let bytes: u64 = text.strip_suffix('b').unwrap_or(&text).parse().ok()?;
        return Some(format!("quantum {}", bytes + MAC_HEADER));
    }
    let number = text.strip_suffix('p').or_else(|| text.strip_suffix('b').filter(|rest| rest.parse::<f64>().is_ok()));
    Some(format!("{name} {}", number.unwrap_or(&text)))
}

/// Thresholds in bytes, and the probability under `tc`'s name.
fn red(name: &str, value: &Value) -> Option<String> {
    match name {
        "limit" | "min" | "max" => value.as_str()?.ends_with('b').then(|| plain(name, value))?,
        "max_p" => plain("probability", value),
        "burst" | "ecn" => plain(name, value),
        _ => None,
    }
}

fn choke(name: &str, value: &Value) -> Option<String> {
    match name {
        "limit" | "min" | "max" => value.as_str()?.ends_with('p').then(|| plain(name, value))?,
        "max_p" => plain("probability", value),
        "burst" | "ecn" => plain(name, value),
        _ => None,
    }
}

/// GRED's virtual queue is configured by a separate command.
fn gred(name: &str, value: &Value) -> Option<String> {
    match name {
        "classes" => Some(String::new()),
        "limit" | "ecn" => red(name, value),
        _ => None,
    }
}

/// Other parameters do not exist in `tc`, or are keywords without a value.
fn cake(name: &str, value: &Value) -> Option<String> {
    matches!(name, "rtt" | "memlimit").then(|| plain(name, value))?
}

/// Gains as integer multiples of 1/16.
fn pie(name: &str, value: &Value) -> Option<String> {
    if name != "alpha" && name != "beta" {
        return plain(name, value);
    }
    let sixteenths = value.as_float()? * 16.0;
    (sixteenths.fract() == 0.0 && (0.0..=32.0).contains(&sixteenths)).then(|| format!("{name} {sixteenths}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Space;

    fn lines(name: &str, place: &[f64], up: Option<u64>) -> Vec<String> {
        let rates = Rates { down: BitRate::from_mbps(50), up: up.map(BitRate::from_mbps) };
        let space = Space::of(name, "1000p", false, &[rates.down]).unwrap();
        let candidate = if place.is_empty() { space.defaults() } else { space.at(place).unwrap().0 };
        install(&candidate, rates).lines
    }

    #[test]
    fn tc_has_its_own_names_and_units() {
        let last = |name: &str, place: &[f64]| lines(name, place, None).pop().unwrap();
        let queue = "tc qdisc replace dev eth1 parent 1:1 handle 10: ";
        assert_eq!(last("fifo", &[-1.0]), format!("{queue}pfifo limit 100"));
        assert_eq!(
            last("fq-codel", &[-0.7, 0.0, -0.7]),
            format!("{queue}fq_codel limit 1000 noecn interval 100ms quantum 314 target 1ms")
        );
        assert_eq!(
            last("pie", &[0.0; 4]),
            format!("{queue}pie limit 1000 alpha 2 beta 20 noecn target 15ms tupdate 15ms")
        );
        assert_eq!(
            last("red", &[0.0; 4]),
            format!(
                "{queue}red limit 1500000 burst 12 max 22000 probability 0.02 min 7500 avpkt 1000 bandwidth 50mbit"
            )
        );
        assert_eq!(
            last("choke", &[-0.9, -0.8, 0.0, -0.8]),
            format!("{queue}choke limit 1000 burst 22 max 40 probability 0.02 min 10 bandwidth 50mbit")
        );
    }

    #[test]
    fn gred_gets_a_virtual_queue_and_hhf_and_cake_their_words() {
        let of = |name: &str, place: &[f64]| lines(name, place, None).split_off(2);
        let queue = "dev eth1 parent 1:1 handle 10: ";
        assert_eq!(
            of("gred", &[0.0, 0.0, 0.0, 0.0]),
            [
                format!("tc qdisc replace {queue}gred setup vqs 1 default 0 limit 1500000"),
                format!(
                    "tc qdisc change {queue}gred vq 0 limit 1500000 burst 12 max 22000 probability 0.02 min 7500 \
                     avpkt 1000 bandwidth 50mbit"
                ),
            ]
        );
        assert_eq!(
            of("hhf", &[-1.0, 0.0, 0.0, 0.0, 0.0]),
            [format!(
                "tc qdisc replace {queue}hhf limit 100 admit_bytes 130000 non_hh_weight 2 quantum 1514 reset_timeout 40ms"
            )]
        );
        assert_eq!(of("cake", &[-0.3]), [format!("tc qdisc replace {queue}cake rtt 50ms")]);
    }

    /// `tc` parses all options before it looks up the device, so a nonexistent device shows whether it accepts a line.
    #[test]
    #[allow(clippy::print_stderr, reason = "a test that is skipped says so")]
    fn tc_understands_every_line() {
        let tc = |line: &str| {
            let words = line.replace("eth1", "no-such-device");
            std::process::Command::new("tc").args(words.split(' ').skip(1)).output()
        };
        if tc("tc -V").is_err() {
            eprintln!("skipped: there is no tc here");
            return;
        }
        let rates = Rates { down: BitRate::from_mbps(50), up: None };
        for (name, _, _) in LINUX {
            for ecn in [false, true] {
                let space = Space::of(name, "1000p", ecn, &[rates.down]).unwrap();
                let searched = space.at(&vec![0.0; space.knobs().len()]).unwrap().0;
                for line in [space.defaults(), searched].iter().flat_map(|candidate| install(candidate, rates).lines) {
                    let said = String::from_utf8(tc(&line).unwrap().stderr).unwrap();
                    if said.contains("Unknown qdisc") {
                        eprintln!("skipped: this tc is older than {name}");
                        continue;
                    }
                    assert!(said.contains("Cannot find device"), "{line}\n{said}");
                }
            }
        }
        let wrong = tc("tc qdisc replace dev eth1 root cake limit 5").unwrap();
        assert!(String::from_utf8(wrong.stderr).unwrap().contains("What is"), "a wrong word is noticed");
    }

    /// Defaults of Linux 6.17 (`sch_*.c`) and iproute2 for options that a `tc` line omits, under the names of the
    /// catalogue.
    fn of_the_kernel(name: &str) -> Vec<(&'static str, &'static str)> {
        match name {
            "codel" => vec![("target", "5ms"), ("interval", "100ms")],
            "fq-codel" => vec![("target", "5ms"), ("interval", "100ms"), ("quantum", "1500b"), ("flows", "1024")],
            "pie" => vec![("target", "15ms"), ("tupdate", "15ms"), ("alpha", "0.125"), ("beta", "1.25")],
            "fq-pie" => {
                vec![("target", "15ms"), ("tupdate", "15ms"), ("alpha", "0.125"), ("beta", "1.25"), ("flows", "1024")]
            }
            "dualpi2" => vec![
                ("target", "15ms"),
                ("tupdate", "16ms"),
                ("alpha", "0.16"),
                ("beta", "3.2"),
                ("step_thresh", "1ms"),
                ("min_qlen_step", "0"),
                ("classic_protection", "0.1"),
                ("coupling_factor", "2.0"),
                ("random", "true"),
            ],
            "red" => vec![("max_p", "0.02"), ("burst", "12"), ("harddrop", "false")],
            "choke" => {
                vec![("min", "83p"), ("max", "250p"), ("max_p", "0.02"), ("burst", "139"), ("harddrop", "false")]
            }
            "hhf" => {
                vec![("quantum", "1500b"), ("hh_limit", "2048"), ("non_hh_weight", "2"), ("reset_timeout", "40ms")]
            }
            "sfq" => vec![("divisor", "1024"), ("depth", "127")],
            "cake" => vec![("rtt", "100ms")],
            _ => Vec::new(),
        }
    }

    /// A candidate is simulated with the parameters that its `tc` line gives the kernel: those in the line, and the
    /// kernel's defaults for the others.
    #[test]
    fn what_is_simulated_is_what_is_typed() {
        let link = aqmkit_aqm::Link::new(BitRate::from_mbps(50));
        for (name, _, _) in LINUX {
            let space = Space::of(name, "1000p", false, &[link.rate]).unwrap();
            let searched = space.at(&vec![0.01; space.knobs().len()]).unwrap().0;
            for candidate in [space.defaults(), searched] {
                let mut entry = candidate.entry();
                entry.remove("name");
                entry.remove("label");
                let spec = aqmkit_aqm::registry::Spec::read(name, serde_json::to_value(&entry).unwrap()).unwrap();
                let full = Table::try_from(spec.effective(&link).unwrap()).unwrap();
                for (parameter, value) in of_the_kernel(name) {
                    if candidate.parameters.contains_key(parameter) {
                        continue;
                    }
                    let own = &full[parameter];
                    let own = own.as_str().map_or_else(|| own.to_string(), str::to_owned);
                    assert_eq!(own, value, "{parameter} of {}", candidate.label);
                }
            }
        }
    }

    /// The kernel counts the MAC header of a packet, so that a quantum of one full-sized packet is 1514 bytes there.
    #[test]
    fn a_quantum_is_typed_with_the_mac_header() {
        assert!(lines("fq-codel", &[0.0, 0.0, 0.0], None).pop().unwrap().contains("quantum 1514"));
    }

    #[test]
    fn marks_are_asked_for_where_tc_takes_the_word() {
        let of = |name: &str| {
            let rates = Rates { down: BitRate::from_mbps(50), up: None };
            let space = Space::of(name, "1000p", true, &[rates.down]).unwrap();
            install(&space.defaults(), rates).lines.pop().unwrap()
        };
        assert!(of("codel").ends_with("codel limit 1000 ecn"), "{}", of("codel"));
        for unsaid in ["sfb", "sfq", "fifo"] {
            assert!(!of(unsaid).contains("ecn"), "{}", of(unsaid));
        }
    }

    #[test]
    fn both_directions_have_a_shaper() {
        let both = lines("codel", &[], Some(10));
        assert_eq!(both[1], "tc class replace dev eth1 parent 1: classid 1:1 htb rate 50mbit");
        assert_eq!(both[4], "tc class replace dev eth0 parent 1: classid 1:1 htb rate 10mbit");
        assert_eq!(both.len(), 6);
    }

    #[test]
    fn what_linux_lacks_runs_in_the_kernel_or_on_a_bridge() {
        assert_eq!(lines("blue", &[], None), ["aqmkit kernel install blue dev eth1 rate 50mbit limit=1000p"]);
        assert_eq!(lines("pi2", &[], Some(10)), ["aqmkit bridge eth0 eth1 --rate 50mbit/10mbit --aqm pi2:limit=1000p"]);
    }
}
