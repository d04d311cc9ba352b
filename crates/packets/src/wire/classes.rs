//! Traffic classes of real packets: named rules, first match wins.

use std::net::IpAddr;
use std::str::FromStr;

use aqmkit_base::{ClassId, Ecn};
use serde::{Deserialize, Serialize};

use super::flow::Flow;
use super::{NoPrefix, Prefix, View};

/// The classes of a link, and the rules that classify packets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Kept", into = "Kept")]
pub struct Classes {
    names: Vec<String>,
    /// In order; the first matching rule decides.
    rules: Vec<(Rule, ClassId)>,
    /// The class of packets without a matching rule.
    rest: ClassId,
}

/// The form in which classes are serialised.
#[derive(Serialize, Deserialize)]
struct Kept {
    names: Vec<String>,
    rules: Vec<(Rule, u8)>,
    rest: u8,
}

impl From<Classes> for Kept {
    fn from(classes: Classes) -> Kept {
        let Classes { names, rules, rest } = classes;
        Kept { names, rules: rules.into_iter().map(|(rule, class)| (rule, class.0)).collect(), rest: rest.0 }
    }
}

impl From<Kept> for Classes {
    fn from(kept: Kept) -> Classes {
        let Kept { names, rules, rest } = kept;
        Classes { names, rules: rules.into_iter().map(|(rule, id)| (rule, ClassId(id))).collect(), rest: ClassId(rest) }
    }
}

/// The class of packets without a matching rule.
const REST: &str = "other";

impl Default for Classes {
    /// `tcp`, `udp`, `other`.
    fn default() -> Self {
        let rule = |name: &str, protocol| Named { name: name.to_owned(), rules: vec![Rule::Protocol(protocol, None)] };
        Classes::new(vec![rule("tcp", 6), rule("udp", 17)])
    }
}

impl Classes {
    /// Classes in this order; `other` is added at the end unless a rule matches everything.
    #[must_use]
    pub fn new(list: Vec<Named>) -> Self {
        let mut classes = Classes { names: Vec::new(), rules: Vec::new(), rest: ClassId(0) };
        for Named { name, rules } in list {
            let id = classes.place(name);
            classes.rules.extend(rules.into_iter().map(|rule| (rule, id)));
        }
        if !classes.rules.iter().any(|(rule, _)| *rule == Rule::Any) {
            classes.rest = classes.place(REST.to_owned());
        }
        classes
    }

    /// The index of a class name, which is added if it is new and there is room.
    fn place(&mut self, name: String) -> ClassId {
        let place = self.names.iter().position(|n| *n == name).unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        });
        ClassId(u8::try_from(place).unwrap_or(u8::MAX))
    }

    /// The class names, indexed by `ClassId`.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The rules in order with their classes, ending with a catch-all.
    pub fn rules(&self) -> impl Iterator<Item = (Rule, ClassId)> {
        self.rules.iter().copied().chain(std::iter::once((Rule::Any, self.rest)))
    }

    /// Classifies a packet.
    #[must_use]
    pub fn of(&self, view: &View) -> ClassId {
        self.rules.iter().find(|(rule, _)| rule.fits(view)).map_or(self.rest, |(_, class)| *class)
    }
}

/// One class and its rules, as in `video=udp:5004-5010,dscp:34`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    name: String,
    rules: Vec<Rule>,
}

impl Named {
    /// A class without rules, which keeps the index of its name.
    #[must_use]
    pub fn nothing(name: &str) -> Self {
        Named { name: name.to_owned(), rules: Vec::new() }
    }
}

/// The condition of a classification rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// IP protocol, optionally with a range that the source or destination port must be in.
    Protocol(u8, Option<(u16, u16)>),
    /// DSCP.
    Dscp(u8),
    /// An ECN codepoint.
    Ecn(Ecn),
    /// Source address in a prefix.
    From(Prefix),
    /// Destination address in a prefix.
    To(Prefix),
    /// Source or destination address in a prefix.
    Net(Prefix),
    /// VLAN id of the outermost tag.
    Vlan(u16),
    /// Matches every packet.
    Any,
}

impl Rule {
    fn fits(&self, view: &View) -> bool {
        match *self {
            Rule::Protocol(protocol, None) => view.flow.protocol() == Some(protocol),
            Rule::Protocol(protocol, Some((low, high))) => match view.flow {
                Flow::Ip(t) => {
                    let inside = |port| (low..=high).contains(&port);
                    t.protocol == protocol && t.ports.is_some_and(|(s, d)| inside(s) || inside(d))
                }
                Flow::Link(_) => false,
            },
            Rule::Dscp(dscp) => view.network.is_some() && view.dscp == dscp,
            Rule::Ecn(ecn) => view.network.is_some() && view.ecn == ecn,
            Rule::From(network) => ends(view).is_some_and(|(source, _)| network.contains(source)),
            Rule::To(network) => ends(view).is_some_and(|(_, destination)| network.contains(destination)),
            Rule::Net(network) => ends(view).is_some_and(|(s, d)| network.contains(s) || network.contains(d)),
            Rule::Vlan(number) => view.vlan == Some(number),
            Rule::Any => true,
        }
    }
}

/// Source and destination address of an IP packet.
fn ends(view: &View) -> Option<(IpAddr, IpAddr)> {
    match view.flow {
        Flow::Ip(tuple) => Some((tuple.source, tuple.destination)),
        Flow::Link(_) => None,
    }
}

/// A class specification that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a class: {why}")]
pub struct NoClass {
    text: String,
    why: String,
}

impl NoClass {
    /// How to write a class, for error messages.
    pub const RIGHT: &str = "write a name and its rules, for example web=tcp:80,tcp:443 or voice=dscp:46 or video=udp:5004-5010 or guests=net:192.0.2.0/24 or \
         office=vlan:7 or rest=*";
}

impl FromStr for Named {
    type Err = NoClass;

    fn from_str(text: &str) -> Result<Self, NoClass> {
        let no_class = |why: String| NoClass { text: text.to_owned(), why };
        let (name, list) = text.split_once('=').ok_or_else(|| no_class("it has no =".to_owned()))?;
        let name = name.trim();
        if name.is_empty() || name == "*" {
            return Err(no_class("it has no name".to_owned()));
        }
        let rules = list.split(',').map(|r| rule(r.trim())).collect::<Result<Vec<_>, _>>().map_err(no_class)?;
        Ok(Named { name: name.to_owned(), rules })
    }
}

/// Protocols that rules can name, and whether they have ports.
const PROTOCOLS: [(&str, u8, bool); 6] = [
    ("icmp", 1, false),
    ("tcp", 6, true),
    ("udp", 17, true),
    ("esp", 50, false),
    ("icmp6", 58, false),
    ("sctp", 132, true),
];

/// Parses a rule; the error says what is wrong.
fn rule(text: &str) -> Result<Rule, String> {
    let (kind, value) = text.split_once(':').map_or((text, None), |(k, v)| (k, Some(v)));
    match (kind, value) {
        ("*", None) => return Ok(Rule::Any),
        ("dscp", Some(value)) => {
            let dscp = value.parse().ok().filter(|dscp| *dscp < 64);
            return dscp.map(Rule::Dscp).ok_or_else(|| format!("{value:?} is not a DSCP (0 to 63)"));
        }
        ("ecn", Some(value)) => {
            let known = "not-ect, ect0, ect1 and ce";
            return codepoint(value)
                .map(Rule::Ecn)
                .ok_or_else(|| format!("{value:?} is not an ECN codepoint ({known})"));
        }
        ("from", Some(value)) => return network(value).map(Rule::From),
        ("to", Some(value)) => return network(value).map(Rule::To),
        ("net", Some(value)) => return network(value).map(Rule::Net),
        ("vlan", Some(value)) => {
            let vlan = value.parse().ok().filter(|vlan| *vlan < 4095);
            return vlan.map(Rule::Vlan).ok_or_else(|| format!("{value:?} is not a VLAN (0 to 4094)"));
        }
        _ => {}
    }
    let Some((name, protocol, has_ports)) = PROTOCOLS.into_iter().find(|(name, ..)| *name == kind) else {
        let names = PROTOCOLS.map(|(name, ..)| name).join(", ");
        return Err(format!(
            "{text:?} is not a rule: rules begin with {names}, dscp:, ecn:, from:, to:, net: or vlan:, or are *"
        ));
    };
    let Some(value) = value else { return Ok(Rule::Protocol(protocol, None)) };
    if !has_ports {
        return Err(format!("{text:?} is not a rule: {name} has no ports"));
    }
    let port = |port: &str| port.parse().map_err(|_| format!("{port:?} is not a port (0 to 65535)"));
    let (low, high) = value.split_once('-').unwrap_or((value, value));
    let ports = (port(low)?, port(high)?);
    if ports.0 > ports.1 {
        return Err(format!("the port range {value} is reversed"));
    }
    Ok(Rule::Protocol(protocol, Some(ports)))
}

fn network(text: &str) -> Result<Prefix, String> {
    text.parse().map_err(|e: NoPrefix| e.to_string())
}

fn codepoint(text: &str) -> Option<Ecn> {
    match text {
        "not-ect" => Some(Ecn::NotEct),
        "ect0" => Some(Ecn::Ect0),
        "ect1" => Some(Ecn::Ect1),
        "ce" => Some(Ecn::Ce),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_and_a_vlan_are_classes() {
        let list = ["a=from:10.0.0.0/8", "b=to:2001:db8::/32", "c=net:192.0.2.1", "d=vlan:7"];
        let classes = Classes::new(list.iter().map(|text| text.parse().unwrap()).collect());
        let packet = |tag: &[u8], source: [u8; 4], destination: [u8; 4]| {
            let header = [&[0x45, 0, 0, 20, 0, 0, 0, 0, 64, 59, 0, 0], &source[..], &destination].concat();
            [&[0; 12][..], tag, &[8, 0], &header].concat()
        };
        let six = [&[0; 12][..], &[0x86, 0xdd, 0x60, 0, 0, 0, 0, 0, 59, 64], &[1; 16], &[0x20, 1, 0xd, 0xb8], &[0; 12]];
        let tag = [0x81, 0, 0xe0, 7];
        let class = |frame: &[u8]| classes.names()[classes.of(&View::of(Default::default(), frame)).index()].clone();
        assert_eq!(class(&packet(&[], [10, 1, 1, 1], [192, 0, 2, 1])), "a");
        assert_eq!(class(&six.concat()), "b");
        assert_eq!(class(&packet(&[], [9, 1, 1, 1], [192, 0, 2, 1])), "c");
        assert_eq!(class(&packet(&[], [192, 0, 2, 1], [9, 1, 1, 1])), "c");
        assert_eq!(class(&packet(&tag, [9, 1, 1, 1], [8, 1, 1, 1])), "d");
        assert_eq!(class(&packet(&[0x81, 0, 0, 8], [9, 1, 1, 1], [8, 1, 1, 1])), "other");
        assert_eq!(class(&[&[0; 12][..], &tag, &[0x88, 0xb5]].concat()), "d", "whatever it carries");
        let kept = serde_json::to_string(&classes).unwrap();
        assert_eq!(serde_json::from_str::<Classes>(&kept).unwrap(), classes);
    }

    #[test]
    fn what_is_wrong_with_a_class_is_named() {
        let why = |text: &str| text.parse::<Named>().unwrap_err().why;
        assert_eq!(why("web"), "it has no =");
        assert_eq!(why("=tcp"), "it has no name");
        assert_eq!(why("foo=tcp:80,tcp:99999"), "\"99999\" is not a port (0 to 65535)");
        assert_eq!(why("foo=tcp:10-5"), "the port range 10-5 is reversed");
        assert_eq!(why("foo=dscp:99"), "\"99\" is not a DSCP (0 to 63)");
        assert!(why("foo=ecn:ect2").starts_with("\"ect2\" is not an ECN codepoint"));
        assert!(why("foo=net:10.0.0.0/33").starts_with("\"10.0.0.0/33\" is not a network"));
        assert_eq!(why("foo=vlan:4095"), "\"4095\" is not a VLAN (0 to 4094)");
        assert!(why("foo=icmp:8").ends_with("icmp has no ports"));
        for text in ["bar", "*:1", "dscp", "", "tcp80"] {
            assert!(why(&format!("foo={text}")).starts_with(&format!("{text:?} is not a rule")), "{text}");
        }
        assert!("foo=tcp:0-65535,udp,sctp:9,esp,dscp:63,ecn:ce,*".parse::<Named>().is_ok());
    }
}
