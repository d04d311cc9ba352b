//! Classification rules of a program.

use aqmkit_aqm::ParamError;
use aqmkit_aqm::registry::Link;
use aqmkit_base::{ClassId, Ecn};
use aqmkit_kernel_laws::law::CLASSES;

/// Maximum number of rules, as in `bpf/classifier.bpf.c`.
pub const RULES: usize = 32;

/// Assigns matching packets to a class; the first matching rule decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The condition.
    pub matches: Match,
    /// The class of matching packets.
    pub class: ClassId,
}

/// The condition of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// Every packet.
    Any,
    /// Packets of an IP protocol.
    Protocol(u8),
    /// Packets of a protocol with a source or destination port in this range, inclusive.
    Ports(u8, u16, u16),
    /// Packets with this DSCP.
    Dscp(u8),
    /// Packets with this ECN codepoint.
    Ecn(Ecn),
}

/// Encodes kind, class, a value and two ports in one word; 0 means no rule.
fn word(rule: Rule) -> u64 {
    let (kind, value, low, high) = match rule.matches {
        Match::Any => (1_u64, 0, 0, 0),
        Match::Protocol(protocol) => (2, protocol, 0, 0),
        Match::Ports(protocol, low, high) => (3, protocol, low, high),
        Match::Dscp(dscp) => (4, dscp, 0, 0),
        Match::Ecn(ecn) => (5, ecn as u8, 0, 0),
    };
    kind | u64::from(rule.class.0) << 8 | u64::from(value) << 16 | u64::from(low) << 32 | u64::from(high) << 48
}

/// The rules, as encoded in the settings map.
pub(crate) fn words(link: &Link, rules: &[Rule]) -> Result<[u64; RULES], ParamError> {
    let too_many = |what: &str, n: usize, most: usize| {
        let what = format!("{n} {what} are too many for the kernel");
        Err(ParamError::sentence("classes", what, format!("it has room for {most}")))
    };
    if link.classes.len() > CLASSES {
        return too_many("classes", link.classes.len(), CLASSES);
    }
    if rules.len() > RULES {
        return too_many("rules of classes", rules.len(), RULES);
    }
    let mut words = [0; RULES];
    words.iter_mut().zip(rules).for_each(|(to, rule)| *to = word(*rule));
    Ok(words)
}

#[cfg(test)]
mod tests {
    use aqmkit_base::BitRate;

    use super::*;

    #[test]
    fn a_rule_is_a_word() {
        let ports = Rule { matches: Match::Ports(17, 5004, 5010), class: ClassId(2) };
        let any = Rule { matches: Match::Any, class: ClassId(0) };
        let link = Link::new(BitRate::from_mbps(10));
        let words = words(&link, &[ports, any]).expect("two are few");
        assert_eq!(words[..3], [0x1392_138c_0011_0203, 1, 0]);
    }

    #[test]
    fn too_many_are_refused() {
        let any = Rule { matches: Match::Any, class: ClassId(0) };
        let link = Link::new(BitRate::from_mbps(10));
        let error = words(&link, &[any; RULES + 1]).expect_err("33 rules").to_string();
        assert!(error.contains("33 rules") && error.contains("room for 32"), "{error}");
        let many = Link { classes: vec!["a".to_owned(); 9], ..link };
        assert!(words(&many, &[any]).is_err());
    }
}
