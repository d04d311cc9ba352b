use aqmkit_base::Duration;
use aqmkit_traffic::Population;
use aqmkit_traffic::model::Knob;
use aqmkit_traffic::registry::{self, ALL};

use crate::harness::{Host, population, spec};
use crate::pcap;

/// A model with default parameters; `pcap`, which needs a file, gets one.
fn example(name: &str) -> Box<dyn Population> {
    if name == "pcap" { pcap::example() } else { population(name, "{}") }
}

#[test]
fn the_same_seed_is_the_same_run() {
    for entry in ALL {
        let p = example(entry.name);
        let trace = |index: usize, seed| {
            let mut host = Host::new(&*p, index, seed);
            host.run(Duration::from_secs(300));
            let sent: Vec<_> = host.sent.iter().map(|s| (s.at, s.len, s.tag)).collect();
            (host.opens, host.requests, sent, host.done)
        };
        assert_eq!(trace(0, 1), trace(0, 1), "{}", entry.name);
        // A replayed capture does not depend on the seed.
        let same = trace(0, 1) == trace(0, 2);
        assert_eq!(same, entry.name == "pcap", "{} takes nothing from its seed", entry.name);
    }
}

#[test]
fn counters_and_kinds_are_named_and_answer() {
    for entry in ALL {
        let p = example(entry.name);
        let mut host = Host::new(&*p, p.instances() - 1, 1);
        host.run(Duration::from_secs(200));
        for packet in host.sent.clone() {
            host.app.on_datagram(packet.tag, packet.len, packet.at, packet.at + Duration::from_millis(5));
        }
        let names = host.app.counters();
        assert!(names.iter().all(|n| n.chars().all(|c| c.is_ascii_lowercase() || c == '_')));
        assert!((0..names.len()).all(|i| host.app.counter(i) >= 0.0));
        assert_eq!(host.app.counter(names.len()), 0.0);
        let page = registry::page(entry.name).unwrap();
        for name in names.iter().chain(host.app.exchange_kinds()) {
            assert!(page.contains(&format!("`{name}`")) || page.contains("those of `cbr`"), "{} {name}", entry.name);
        }
        if let Some(mean) = p.mean_payload() {
            let sent: f64 = host.sent.iter().map(|s| f64::from(s.len)).sum();
            assert!((sent / host.sent.len() as f64 / mean - 1.0).abs() < 0.2, "{}", entry.name);
        }
    }
}

/// A model rejects more files than it asked for.
#[test]
fn a_file_too_many_is_refused() {
    for entry in ALL.iter().filter(|entry| entry.name != "pcap") {
        let spec = spec(entry.name, "{}");
        assert!(spec.prepare(&[]).is_ok(), "{}", entry.name);
        assert!(spec.prepare(&["1 1 1\n".into()]).is_err(), "{}", entry.name);
    }
}

/// A model, parameters with `$` as a placeholder, accepted boundary values, and rejected values just beyond them.
type Bound = (&'static str, &'static str, &'static [&'static str], &'static [&'static str]);

const PACKET: (&[&str], &[&str]) = (&[r#""29b""#, r#""65535b""#], &[r#""28b""#, r#""65536b""#]);
const COUNT: (&[&str], &[&str]) = (&["1", "1000000"], &["0", "1000001"]);
const COUNT_OR_NONE: (&[&str], &[&str]) = (&["0", "1000000"], &["1000001"]);
const SHAPE: (&[&str], &[&str]) = (&["1.01", "100.0"], &["1.009", "100.001"]);
const PARALLEL: (&[&str], &[&str]) = (&["1", "64"], &["0", "65"]);
const THINK: (&[&str], &[&str]) = (&[r#""2s""#], &[r#""1999999999ns""#]);
const POSITIVE: (&[&str], &[&str]) = (&[r#""1ns""#], &[r#""0s""#]);
const MICROSECOND: (&[&str], &[&str]) = (&[r#""1us""#], &[r#""999ns""#]);
const MEAN: (&[&str], &[&str]) = (&[r#""1b""#, r#""1000000b""#], &[r#""0b""#, r#""1000001b""#]);
const RATE: (&[&str], &[&str]) = (&[r#""1bit""#], &[r#""0bit""#]);

const GAME_TIME: (&[&str], &[&str]) = (&[r#""1ms""#, r#""1s""#], &[r#""999us""#, r#""1001ms""#]);
const GAME_SIZE: (&[&str], &[&str]) = (&[r#""1b""#, r#""1000b""#], &[r#""0b""#, r#""1001b""#]);

const BOUNDS: &[Bound] = &[
    ("ramp", r#"{"packet": $}"#, PACKET.0, PACKET.1),
    (
        "ramp",
        r#"{"points": $}"#,
        &[r#"[["1s", "1bit"], ["1s", "2bit"]]"#],
        &["[]", r#"[["1s", "1bit"], ["999ms", "2bit"]]"#],
    ),
    ("web", r#"{"sessions": $}"#, COUNT.0, COUNT.1),
    ("web", r#"{"pages": $}"#, &["1"], &["0"]),
    ("web", r#"{"objects": $}"#, &["0.001", "10000.0"], &["0.00099", "10000.1"]),
    ("web", r#"{"size": $}"#, &["0.001", "1e9"], &["0.00099", "1.1e9"]),
    ("web", r#"{"shape": $}"#, SHAPE.0, SHAPE.1),
    ("web", r#"{"packet": $}"#, &[r#""1b""#, r#""65535b""#], &[r#""0b""#, r#""65536b""#]),
    ("web", r#"{"interpage": $}"#, POSITIVE.0, POSITIVE.1),
    ("pcap", r#"{"file": $}"#, &[r#""a""#], &[r#""""#]),
    ("pcap", r#"{"file": "a", "speed": $}"#, &["1e-6", "1e6"], &["9.9e-7", "1.01e6"]),
    ("short-flows", r#"{"sources": $}"#, COUNT_OR_NONE.0, COUNT_OR_NONE.1),
    ("short-flows", r#"{"interval": $}"#, MICROSECOND.0, MICROSECOND.1),
    ("short-flows", r#"{"shape": $}"#, &["0.1", "100.0"], &["0.099", "100.1"]),
    ("short-flows", r#"{"size_min": $}"#, &[r#""1b""#, r#""1099511627776b""#], &[r#""0b""#, r#""1099511627777b""#]),
    (
        "short-flows",
        r#"{"size_min": "500b", "size_max": $}"#,
        &[r#""501b""#, r#""1099511627776b""#],
        &[r#""500b""#, r#""1099511627777b""#],
    ),
    ("on-off", r#"{"flows": $}"#, COUNT.0, COUNT.1),
    ("on-off", r#"{"packet": $}"#, PACKET.0, PACKET.1),
    ("on-off", r#"{"shape": $}"#, SHAPE.0, SHAPE.1),
    ("on-off", r#"{"rate": $}"#, RATE.0, RATE.1),
    ("on-off", r#"{"on": $}"#, POSITIVE.0, POSITIVE.1),
    ("cbr", r#"{"flows": $}"#, COUNT.0, COUNT.1),
    ("cbr", r#"{"packet": $}"#, PACKET.0, PACKET.1),
    ("cbr", r#"{"jitter": $}"#, &["0.0", "1.0"], &["-0.001", "1.001"]),
    ("cbr", r#"{"rate": $}"#, RATE.0, RATE.1),
    ("cbr", r#"{"interval": $}"#, POSITIVE.0, POSITIVE.1),
    ("http-mah", r#"{"users": $}"#, COUNT.0, COUNT.1),
    ("http-mah", r#"{"parallel": $}"#, PARALLEL.0, PARALLEL.1),
    ("http-mah", r#"{"think_max": $}"#, THINK.0, THINK.1),
    ("bulk", r#"{"flows": $}"#, COUNT_OR_NONE.0, COUNT_OR_NONE.1),
    ("bulk", r#"{"size": $}"#, &[r#""1b""#], &[r#""0b""#]),
    ("mpeg", r#"{"flows": $}"#, COUNT.0, COUNT.1),
    ("mpeg", r#"{"fps": $}"#, &["0.1", "1000.0"], &["0.099", "1000.1"]),
    ("mpeg", r#"{"mean_i": $}"#, MEAN.0, MEAN.1),
    ("mpeg", r#"{"mean_p": $}"#, MEAN.0, MEAN.1),
    ("mpeg", r#"{"mean_b": $}"#, MEAN.0, MEAN.1),
    ("mpeg", r#"{"fragment": $}"#, &[r#""64b""#, r#""65507b""#], &[r#""63b""#, r#""65508b""#]),
    ("mpeg", r#"{"fps": 1.0, "length": $}"#, &[r#""1s""#, r#""100000000s""#], &[r#""999ms""#, r#""100000001s""#]),
    ("http-unc", r#"{"users": $}"#, COUNT.0, COUNT.1),
    ("http-unc", r#"{"persistent": $}"#, &["0.0", "1.0"], &["-0.001", "1.001"]),
    ("http-unc", r#"{"parallel": $}"#, PARALLEL.0, PARALLEL.1),
    ("videoconf", r#"{"flows": $}"#, COUNT.0, COUNT.1),
    ("videoconf", r#"{"frame": $}"#, &[r#""1590b""#, r#""1690b""#], &[r#""1589b""#, r#""1691b""#]),
    ("dash", r#"{"viewers": $}"#, COUNT_OR_NONE.0, COUNT_OR_NONE.1),
    (
        "dash",
        r#"{"ladder": $}"#,
        &[r#"["1kbit"]"#, r#"["1mbit", "1000001bit"]"#],
        &["[]", r#"["999bit"]"#, r#"["1mbit", "1mbit"]"#, r#"["2mbit", "1mbit"]"#],
    ),
    ("dash", r#"{"segment": $}"#, &[r#""100ms""#, r#""240s""#], &[r#""99ms""#, r#""241s""#]),
    ("dash", r#"{"buffer": $}"#, &[r#""216s""#, r#""86400s""#], &[r#""215s""#, r#""86401s""#]),
    ("dash", r#"{"player": "rate", "buffer": $}"#, &[r#""4s""#], &[r#""3999ms""#]),
    ("dash", r#"{"reservoir": $}"#, &[r#""0s""#, r#""114s""#], &[r#""115s""#]),
    ("dash", r#"{"startup": $}"#, &[r#""0s""#, r#""240s""#], &[r#""241s""#]),
    ("voip", r#"{"calls": $}"#, COUNT_OR_NONE.0, COUNT_OR_NONE.1),
    ("voip", r#"{"packet": $}"#, &[r#""10ms""#, r#""200ms""#], &[r#""0s""#, r#""15ms""#, r#""210ms""#]),
    ("voip", r#"{"path_delay": $}"#, &[r#""0s""#, r#""10s""#], &[r#""10001ms""#]),
    ("voip", r#"{"jitter_buffer": $}"#, &[r#""0s""#, r#""1s""#], &[r#""1001ms""#]),
    ("game", r#"{"players": $}"#, COUNT_OR_NONE.0, COUNT_OR_NONE.1),
    ("game", r#"{"update": $}"#, GAME_TIME.0, GAME_TIME.1),
    ("game", r#"{"command": $}"#, GAME_TIME.0, GAME_TIME.1),
    ("game", r#"{"update_size": $}"#, GAME_SIZE.0, GAME_SIZE.1),
    ("game", r#"{"command_size": $}"#, GAME_SIZE.0, GAME_SIZE.1),
    ("pages", r#"{"users": $}"#, COUNT_OR_NONE.0, COUNT_OR_NONE.1),
    ("pages", r#"{"think": $}"#, &[r#""100ms""#, r#""86400s""#], &[r#""99ms""#, r#""86401s""#]),
    ("pages", r#"{"weight": $}"#, &["0.001", "1000.0"], &["0.0009", "1000.1"]),
    ("call", r#"{"calls": $}"#, COUNT_OR_NONE.0, COUNT_OR_NONE.1),
    ("call", r#"{"fps": $}"#, &["1.0", "120.0"], &["0.99", "120.1"]),
    ("call", r#"{"min_rate": $}"#, &[r#""10kbit""#, r#""300kbit""#], &[r#""9999bit""#, r#""1501kbit""#]),
    ("call", r#"{"max_rate": $}"#, &[r#""150kbit""#, r#""100mbit""#], &[r#""149kbit""#, r#""101mbit""#]),
    ("call", r#"{"start_rate": $}"#, &[r#""150kbit""#, r#""1500kbit""#], &[r#""149kbit""#, r#""1501kbit""#]),
    ("call", r#"{"control": "nada", "priority": $}"#, &["0.01", "100.0"], &["0.009", "100.1"]),
    ("call", r#"{"control": "gcc", "priority": $}"#, &["1.0"], &["0.99", "1.01"]),
    ("call", r#"{"control": "gcc", "ecn": $}"#, &[r#""off""#], &[r#""ect0""#, r#""ect1""#]),
    ("call", r#"{"feedback": $}"#, &[r#""10ms""#, r#""1s""#], &[r#""9ms""#, r#""1001ms""#]),
    ("abt", r#"{"hosts": $}"#, COUNT.0, COUNT.1),
    ("abt", r#"{"scale": $}"#, &["1e-6", "1e9"], &["9.9e-7", "1.01e9"]),
    ("abt", r#"{"interval": $}"#, MICROSECOND.0, MICROSECOND.1),
    ("abt", r#"{"vectors": "x", "block": $}"#, &[r#""1ms""#], &[r#""999999ns""#]),
];

#[test]
fn what_parameters_may_be_ends_where_it_should() {
    for (model, params, taken, refused) in BOUNDS {
        let check = |value: &str| spec(model, &params.replace('$', value)).check().is_ok();
        for value in *taken {
            assert!(check(value), "{model}: {value} in {params}");
        }
        for value in *refused {
            assert!(!check(value), "{model}: {value} in {params}");
        }
    }
}

/// After calibration sets the load parameter, reading it returns the same value; the speed of a capture and the stretch
/// of start times are loads, too.
#[test]
fn a_load_that_is_set_is_the_load_that_is_read() {
    let mut turned = Vec::new();
    for entry in ALL {
        let mut spec = spec(entry.name, "{}");
        let Some(mut knob) = spec.knob() else { continue };
        for amount in [0.25, 1.0, 3.0, 40.0] {
            assert!(knob.set_amount(amount), "{} {amount}", entry.name);
            let count = matches!(knob, Knob::Count(..));
            let wanted: f64 = if count { amount.max(1.0) } else { amount };
            assert!((knob.amount() / wanted - 1.0).abs() < 1e-12, "{} {amount}: {}", entry.name, knob.amount());
            let value = if matches!(knob, Knob::Stretch(..)) { 1.0 / wanted } else { wanted };
            assert!((knob.value() / value - 1.0).abs() < 1e-12, "{} {amount}: {}", entry.name, knob.value());
        }
        let absurd = if matches!(knob, Knob::Count(..)) { 1_000_001.0 } else { 0.0 };
        assert!(!knob.set_amount(absurd), "{}", entry.name);
        turned.push(match knob {
            Knob::Count(..) => 'c',
            Knob::Stretch(..) => 's',
            Knob::Speed(..) => 'v',
        });
    }
    assert!(['c', 's', 'v'].iter().all(|kind| turned.contains(kind)), "each kind is tried: {turned:?}");
}

/// A model with parameters that its check rejects cannot be prepared.
#[test]
fn a_model_with_wrong_parameters_is_not_prepared() {
    for (model, params, _, refused) in BOUNDS {
        for value in *refused {
            let spec = spec(model, &params.replace('$', value));
            let data: Vec<_> = if *model == "pcap" { pcap::file() } else { vec!["".into(); spec.files().len()] };
            let told = spec.prepare(&data).err().map(|e| e.to_string());
            assert_eq!(told, spec.check().err().map(|e| e.to_string()), "{model}: {value} in {params}");
        }
    }
}

/// Models that read marks run on simulated hosts only; with default parameters no model does.
#[test]
fn without_parameters_every_model_runs_on_live_hosts() {
    for entry in ALL {
        assert!(!Host::new(&*example(entry.name), 0, 1).app.reads_marks(), "{}", entry.name);
    }
}

/// Datagrams and endless transfers tolerate losses; transfers that must be complete do not.
#[test]
fn what_bears_losses() {
    for entry in ALL {
        let endless = matches!(entry.name, "bulk" | "call" | "game");
        let p = example(entry.name);
        assert_eq!(p.bears_loss(), p.mean_payload().is_some() || endless, "{}", entry.name);
    }
    assert!(!population("bulk", r#"{"size": "1mb"}"#).bears_loss());
}

/// The rows of a page's parameter table: names and printed defaults.
fn rows(page: &str) -> Vec<(String, String)> {
    let table = page.lines().skip_while(|line| !line.starts_with("| field | unit | default |")).skip(2);
    let mut rows = Vec::new();
    for line in table.take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let names: Vec<String> = cells[1].split(", ").map(|name| name.trim_matches('`').to_owned()).collect();
        let defaults: Vec<&str> = if names.len() == 1 {
            vec![cells[3].strip_prefix('`').and_then(|told| told.strip_suffix('`')).unwrap_or(cells[3])]
        } else {
            cells[3].split(", ").collect()
        };
        assert_eq!(names.len(), defaults.len(), "{line}");
        rows.extend(names.into_iter().zip(defaults.into_iter().map(str::to_owned)));
    }
    rows
}

/// Parameters without a default value, and the words that the page has instead.
const IN_WORDS: [(&str, &str, &str); 19] = [
    ("abt", "block", "none"),
    ("abt", "vectors", "none"),
    ("bulk", "size", "without end"),
    ("call", "start_rate", "by `control`"),
    ("cbr", "interval", "from `rate`"),
    ("cbr", "rate", "10.922mbit"),
    ("dash", "buffer", "240s, or 30s with `rate`"),
    ("http-mah", "data", "built in"),
    ("http-unc", "data", "built in"),
    ("mpeg", "frames", "none"),
    ("pcap", "file", "none"),
    ("pcap", "from", "all"),
    ("pcap", "to", "all"),
    ("ramp", "points", "below"),
    ("short-flows", "size_max", "none"),
    ("videoconf", "frame", "13.3 kb (1662.5 bytes)"),
    ("videoconf", "gap", "none"),
    ("videoconf", "trace", "none"),
    ("voip", "jitter_buffer", "adaptive"),
];

/// Setting a parameter to the default that its page prints does not change the model.
#[test]
fn defaults_are_those_of_the_page() {
    let mut words = Vec::new();
    for entry in ALL {
        let plain = spec(entry.name, "{}");
        let fields = rows(&registry::page(entry.name).unwrap());
        assert!(!fields.is_empty(), "{}", entry.name);
        for (field, default) in fields {
            let default = match default.strip_suffix(" kbit") {
                Some(rates) => {
                    format!("[{}]", rates.split(", ").map(|r| format!("\"{r}kbit\"")).collect::<Vec<_>>().join(", "))
                }
                None => default,
            };
            let try_as = |value: &str| {
                let json = format!(r#"{{"{field}": {value}}}"#);
                registry::Spec::read(entry.name, &mut serde_json::Deserializer::from_str(&json)).ok()
            };
            let read = try_as(&default).or_else(|| try_as(&format!("\"{default}\"")));
            match read {
                Some(with) if !IN_WORDS.iter().any(|w| w.0 == entry.name && w.1 == field) => {
                    assert_eq!(with, plain, "{} {field}", entry.name);
                }
                _ => words.push((entry.name, field, default)),
            }
        }
    }
    words.sort();
    let words: Vec<(&str, &str, &str)> =
        words.iter().map(|(model, field, told)| (*model, field.as_str(), told.as_str())).collect();
    assert_eq!(words, IN_WORDS);
}
