//! Filters, as `tc filter show` prints them and as people type them.

use serde_json::{Map, Value};

use super::listing::{Condition, Filter};

type Object = Map<String, Value>;

/// Words whose value says nothing about packets.
const SKIPPED: &[&str] =
    &["chain", "fh", "order", "ht", "bkt", "divisor", "offset", "estimator", "index", "eth_type", "hashkey", "link"];

impl Filter {
    /// Whether packets go somewhere because of it: `tc` also lists the tables in which `u32` keeps its entries.
    pub(crate) fn does_something(&self) -> bool {
        self.target.is_some() || self.redirect.is_some()
    }

    fn must(&mut self, condition: Condition) {
        self.conditions.push(condition);
    }
}

/// The line that begins with `filter`, without that word; and the words of a script behind `tc filter add`.
pub(crate) fn shown(words: &[&str], line: usize) -> Filter {
    let mut filter = Filter { line: Some(line), protocol: "all".to_owned(), ..Filter::default() };
    let mut handle = None;
    let mut words = words.iter().copied().peekable();
    while let Some(word) = words.next() {
        match word {
            "dev" => filter.device = words.next().map(str::to_owned),
            "parent" => filter.parent = words.next().unwrap_or_default().to_owned(),
            "root" | "egress" => "root".clone_into(&mut filter.parent),
            "ingress" => "ffff:".clone_into(&mut filter.parent),
            "protocol" => words.next().unwrap_or_default().clone_into(&mut filter.protocol),
            "pref" | "prio" | "preference" | "priority" => {
                filter.pref = words.next().and_then(|number| number.parse().ok()).unwrap_or(0);
            }
            "handle" => handle = words.next(),
            known if SKIPPED.contains(&known) => drop(words.next()),
            kind => {
                kind.clone_into(&mut filter.kind);
                break;
            }
        }
    }
    let rest: Vec<&str> = words.collect();
    let mark = |text: &str| Condition::Mark(number(text.split('/').next().unwrap_or(text)).unwrap_or(0));
    let later = rest.iter().position(|word| *word == "handle").and_then(|at| rest.get(at + 1).copied());
    match (filter.kind.as_str(), later.or(handle)) {
        ("matchall", _) => filter.must(Condition::Any),
        ("fw", Some(handle)) => filter.must(mark(handle)),
        ("u32" | "flower", _) => {}
        (kind, _) => {
            let condition = Condition::Other(kind.to_owned());
            filter.must(condition);
        }
    }
    detail(&rest, &mut filter);
    filter
}

/// Parses the words that follow the kind, on its line and on those below.
pub(crate) fn detail(words: &[&str], filter: &mut Filter) {
    let at = |i: usize| words.get(i).copied().unwrap_or_default();
    let mut i = 0;
    while i < words.len() {
        i += match words[i] {
            "flowid" | "classid" | "*flowid" => {
                filter.target = Some(at(i + 1).to_owned());
                2
            }
            "action" => {
                action(&words[i..], filter);
                return;
            }
            "police" => {
                filter.must(Condition::Other("police".to_owned()));
                let to = words.iter().position(|word| matches!(*word, "flowid" | "*flowid" | "classid"));
                filter.target = to.and_then(|to| words.get(to + 1)).map(|class| (*class).to_owned());
                return;
            }
            "match" => {
                let end = words[i + 1..].iter().position(|word| ENDS.contains(word)).map_or(words.len(), |n| i + 1 + n);
                let condition = matched(&words[i + 1..end], &filter.protocol);
                filter.must(condition);
                end - i
            }
            "handle" => 2,
            word if SKIPPED.contains(&word) => 2,
            key if filter.kind == "flower" && i + 1 < words.len() => {
                flower(key, at(i + 1), filter);
                2
            }
            _ => 1,
        };
    }
}

/// Words that end what follows `match`.
const ENDS: &[&str] = &["match", "flowid", "*flowid", "classid", "action", "police", "not_in_hw"];

/// `action order 1: mirred (Egress Redirect to device ifb0) stolen`, or `action mirred egress redirect dev ifb0`.
fn action(words: &[&str], filter: &mut Filter) {
    if !words.contains(&"mirred") {
        let other = words.iter().skip(1).find(|word| !word.ends_with(':') && **word != "order").unwrap_or(&"action");
        filter.must(Condition::Other((*other).to_owned()));
        return;
    }
    let to = words.iter().position(|word| matches!(*word, "dev" | "device")).and_then(|at| words.get(at + 1));
    filter.redirect = to.map(|device| device.trim_end_matches(')').to_owned());
}

/// Parses the words that follow `match` of `u32`: `ip dport 5060 0xffff` in a script, `000013c4/0000ffff at 20` in a listing.
fn matched(words: &[&str], protocol: &str) -> Condition {
    let other = || Condition::Other(words.join(" "));
    match *words {
        ["ip" | "ip6", field, value, mask, ..] => field_of(field, value, Some(mask)).unwrap_or_else(other),
        ["ip" | "ip6", field, value] => field_of(field, value, None).unwrap_or_else(other),
        ["u32" | "u16" | "u8", _, mask, ..] if number(mask) == Some(0) => Condition::Any,
        ["tcp" | "udp", side @ ("src" | "dst"), port, ..] => port_of(side == "dst", port).unwrap_or_else(other),
        ["mark", value, ..] => number(value).map_or_else(other, Condition::Mark),
        [word, "at", offset] => raw(word, offset, protocol).unwrap_or_else(other),
        _ => other(),
    }
}

fn port_of(destination: bool, port: &str) -> Option<Condition> {
    Some(Condition::Port { destination, port: u16::try_from(number(port)?).ok()? })
}

fn field_of(field: &str, value: &str, mask: Option<&str>) -> Option<Condition> {
    let wanted = mask.and_then(number);
    if wanted == Some(0) {
        return Some(Condition::Any);
    }
    let network = |destination| {
        let condition = Condition::Network { destination, network: value.to_owned() };
        Some(if value.ends_with("/0") { Condition::Any } else { condition })
    };
    match field {
        "dport" | "sport" if wanted.is_none_or(|bits| bits == 0xffff) => port_of(field == "dport", value),
        "tos" | "dsfield" | "precedence" | "priority" if wanted.is_none_or(|bits| bits & 0xfc == 0xfc) => {
            Some(Condition::Dscp((number(value)? >> 2) as u8 & 0x3f))
        }
        "protocol" if wanted.is_none_or(|bits| bits == 0xff) => {
            Some(Condition::Protocol(u8::try_from(number(value)?).ok()?))
        }
        "src" | "dst" => network(field == "dst"),
        _ => None,
    }
}

/// Four bytes of the header of IPv4 and their mask.
fn raw(word: &str, offset: &str, protocol: &str) -> Option<Condition> {
    let (value, mask) = word.split_once('/')?;
    let (value, mask) = (u32::from_str_radix(value, 16).ok()?, u32::from_str_radix(mask, 16).ok()?);
    if mask == 0 {
        return Some(Condition::Any);
    }
    if protocol == "ipv6" {
        return (offset == "0" && mask & 0x0fc0_0000 == 0x0fc0_0000)
            .then_some(Condition::Dscp((value >> 22) as u8 & 0x3f));
    }
    let network = |destination| {
        let network = format!("{}/{}", std::net::Ipv4Addr::from(value), mask.leading_ones());
        let whole = mask.leading_ones() + mask.trailing_zeros() == 32;
        whole.then_some(Condition::Network { destination, network })
    };
    match (offset, mask) {
        ("0", mask) if mask & 0xff00_ffff == 0 && mask & 0x00fc_0000 == 0x00fc_0000 => {
            Some(Condition::Dscp((value >> 18) as u8 & 0x3f))
        }
        ("8", 0x00ff_0000) => Some(Condition::Protocol((value >> 16) as u8)),
        ("12", _) => network(false),
        ("16", _) => network(true),
        ("20", 0x0000_ffff) => Some(Condition::Port { destination: true, port: value as u16 }),
        ("20", 0xffff_0000) => Some(Condition::Port { destination: false, port: (value >> 16) as u16 }),
        _ => None,
    }
}

fn flower(key: &str, value: &str, filter: &mut Filter) {
    let other = || Condition::Other(format!("{key} {value}"));
    let condition = match key {
        "ip_proto" => protocol(value).map_or_else(other, Condition::Protocol),
        "dst_port" | "src_port" => port_of(key == "dst_port", value).unwrap_or_else(other),
        "dst_ip" | "src_ip" => Condition::Network { destination: key == "dst_ip", network: value.to_owned() },
        "ip_tos" => {
            let (tos, mask) = value.split_once('/').unwrap_or((value, "0xff"));
            field_of("tos", tos, Some(mask)).unwrap_or_else(other)
        }
        _ => other(),
    };
    filter.must(condition);
}

fn protocol(name: &str) -> Option<u8> {
    match name {
        "tcp" => Some(6),
        "udp" => Some(17),
        "icmp" => Some(1),
        "icmpv6" => Some(58),
        "sctp" => Some(132),
        number => number.parse().ok(),
    }
}

/// A number in decimal, or in hexadecimal with `0x`.
fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// An entry of `tc -j filter show`. Of several keys of `u32`, JSON as `tc` writes it keeps the last.
pub(crate) fn of_json(entry: &Object, kind: &str) -> Option<Filter> {
    let options = entry.get("options").and_then(Value::as_object)?;
    let text = |object: &Object, key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut words: Vec<String> = vec![kind.to_owned()];
    for key in ["handle", "fw"] {
        words.extend(options.get(key).map(plain).into_iter().flat_map(|value| ["handle".to_owned(), value]));
    }
    if let Some(raw) = options.get("match").and_then(Value::as_object) {
        let offset = raw.get("offset").map(plain).unwrap_or_default();
        words.extend([
            "match".to_owned(),
            format!("{}/{}", text(raw, "value"), text(raw, "mask")),
            "at".to_owned(),
            offset,
        ]);
    }
    for (key, value) in options.get("keys").and_then(Value::as_object).into_iter().flatten() {
        words.extend([key.clone(), plain(value)]);
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut filter = shown(&words, 0);
    filter.line = None;
    filter.parent = text(entry, "parent");
    filter.protocol = text(entry, "protocol");
    filter.pref = entry.get("pref").and_then(Value::as_u64).unwrap_or(0) as u32;
    filter.device = entry.get("dev").and_then(Value::as_str).map(str::to_owned);
    filter.target = ["flowid", "classid"].iter().find_map(|key| Some(options.get(*key)?.as_str()?.to_owned()));
    let actions = options.get("actions").and_then(Value::as_array).into_iter().flatten();
    filter.redirect = actions.filter_map(|action| Some(action.get("to_dev")?.as_str()?.to_owned())).next();
    filter.does_something().then_some(filter)
}
