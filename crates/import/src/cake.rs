//! CAKE, whose options are words: each is read, and written, as tc-cake(8) has it.

use std::collections::BTreeMap;

use toml::{Table, Value};

use crate::kinds::{self, Unit, said};

const TINS: &[&str] = &["besteffort", "precedence", "diffserv3", "diffserv4", "diffserv8"];
const FLOWS: &[&str] =
    &["flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate"];

/// Words for round-trip times.
const PATHS: &[(&str, &str)] = &[
    ("datacentre", "100us"),
    ("lan", "1ms"),
    ("metro", "10ms"),
    ("regional", "30ms"),
    ("internet", "100ms"),
    ("oceanic", "300ms"),
    ("satellite", "1s"),
    ("interplanetary", "3600s"),
];

/// Words for the framing of a link: bytes per packet, the shortest packet, and the cells.
const FRAMING: &[(&str, u64, u64, &str)] = &[
    ("ethernet", 38, 84, "noatm"),
    ("docsis", 18, 64, "noatm"),
    ("pppoe-ptm", 30, 0, "ptm"),
    ("bridged-ptm", 22, 0, "ptm"),
    ("conservative", 48, 0, "atm"),
    ("pppoe-vcmux", 32, 0, "atm"),
    ("pppoe-llcsnap", 40, 0, "atm"),
    ("pppoa-vcmux", 10, 0, "atm"),
    ("pppoa-llc", 14, 0, "atm"),
    ("bridged-vcmux", 24, 0, "atm"),
    ("bridged-llcsnap", 32, 0, "atm"),
    ("ipoa-vcmux", 8, 0, "atm"),
    ("ipoa-llcsnap", 16, 0, "atm"),
];

/// Words that change nothing for a packet of the simulator, or say what is the default.
const SILENT: &[&str] = &[
    "refcnt",
    "nonat",
    "nowash",
    "no-ack-filter",
    "egress",
    "raw",
    "split-gso",
    "no-split-gso",
    "split_gso",
    "via-ethernet",
    "total_overhead",
    "noatm",
    "unlimited",
];

/// The parameters of options in the notation of `tc`.
pub(crate) fn parameters(options: &BTreeMap<String, String>, tell: &mut dyn FnMut(String)) -> Table {
    let mut table = Table::new();
    let text = |text: &str| Value::String(text.to_owned());
    table.insert("name".to_owned(), text("cake"));
    let mut set = |key: &str, value: Option<Value>, written: String, say: &mut dyn FnMut(String)| match value {
        Some(value) => drop(table.insert(key.to_owned(), value)),
        None => say(format!("{written} of cake cannot be read, and is left out")),
    };
    for (option, value) in options {
        let option = option.as_str();
        let all = said(option, value);
        match option {
            "bandwidth" if value == "unlimited" => {}
            "bandwidth" => set("bandwidth", kinds::here(Unit::Rate, value), all, tell),
            "rtt" => set("rtt", kinds::here(Unit::Time, value), all, tell),
            "memlimit" | "memory_limit" => set("memlimit", kinds::here(Unit::Size, value), all, tell),
            "mpu" => set("mpu", kinds::here(Unit::Size, value), all, tell),
            "overhead" => set("overhead", value.parse::<i64>().ok().map(|bytes| text(&format!("{bytes}b"))), all, tell),
            "atm" | "ptm" => set("linklayer", Some(text(option)), all, tell),
            "ingress" => set("ingress", Some(Value::Boolean(true)), all, tell),
            "ack-filter" => set("ack_filter", Some(text("on")), all, tell),
            "ack-filter-aggressive" => set("ack_filter", Some(text("aggressive")), all, tell),
            tins if TINS.contains(&tins) => set("diffserv", Some(text(tins)), all, tell),
            flows if FLOWS.contains(&flows) => set("isolation", Some(text(flows)), all, tell),
            "ether-vlan" => tell("ether-vlan of cake is left out: add 4b to its overhead".to_owned()),
            "fwmark" if value == "0" || value == "0x0" => {}
            "nat" => tell("nat of cake has no counterpart: simulated hosts have addresses of their own".to_owned()),
            silent if SILENT.contains(&silent) => {}
            word => {
                if let Some((_, rtt)) = PATHS.iter().find(|(name, _)| *name == word) {
                    set("rtt", Some(text(rtt)), all, tell);
                } else if let Some((_, overhead, mpu, cells)) = FRAMING.iter().find(|(name, ..)| *name == word) {
                    set("overhead", Some(text(&format!("{overhead}b"))), all.clone(), tell);
                    if *mpu > 0 {
                        set("mpu", Some(text(&format!("{mpu}b"))), all.clone(), tell);
                    }
                    if *cells != "noatm" {
                        set("linklayer", Some(text(cells)), all, tell);
                    }
                } else {
                    tell(format!("{all} of cake has no counterpart, and is left out"));
                }
            }
        }
    }
    table
}

/// Writes the options of `tc` for `cake`, and a note for each setting that `tc` has no option for.
pub(crate) fn words(table: &Table, tell: &mut dyn FnMut(String)) -> Vec<String> {
    let mut words = Vec::new();
    for (key, value) in table.iter().filter(|(key, _)| key.as_str() != "name") {
        let text = value.as_str().unwrap_or_default();
        let with = |name: &str, unit| kinds::there(unit, value).map(|value| format!("{name} {value}"));
        let word = match key.as_str() {
            "bandwidth" => with("bandwidth", Unit::Rate),
            "rtt" | "interval" => with("rtt", Unit::Time),
            "memlimit" | "memory_limit" => with("memlimit", Unit::Size),
            "mpu" => kinds::bytes(text).map(|bytes| format!("mpu {}", bytes.0)),
            "overhead" => Some(format!("overhead {}", text.trim_end_matches('b'))),
            "linklayer" | "atm" => Some(if text == "ethernet" { "noatm" } else { text }.to_owned()),
            "diffserv" | "isolation" => Some(text.to_owned()),
            "ingress" => value.as_bool().map(|on| if on { "ingress" } else { "egress" }.to_owned()),
            "ack_filter" => Some(
                match text {
                    "on" => "ack-filter",
                    "aggressive" => "ack-filter-aggressive",
                    _ => "no-ack-filter",
                }
                .to_owned(),
            ),
            _ => None,
        };
        match word {
            Some(word) => words.push(word),
            None => tell(format!("tc cannot set {key} of cake, which is left out")),
        }
    }
    words
}
