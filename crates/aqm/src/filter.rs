//! Which class of a tree a packet goes to: the parameter `match`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use aqmkit_base::ClassId;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::classes::REST;
use crate::dscp::Dscp;
use crate::link::Link;
use crate::packet::{Ends, Packet};
use crate::params::ParamError;

/// One condition of `match`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The packet is of this class of the link (`--class`, or `class` of a traffic).
    Class(String),
    /// The packet has this codepoint: `dscp ef`.
    Dscp(Dscp),
    /// The packet is to or from this client of a simulation: `client 17`.
    Client(u32),
    /// `client *`: each copy of a class with `each` takes the next client that no earlier class has.
    NextClient,
    /// Every packet: `*`.
    Any,
}

/// The most clients that can be told apart.
pub const MAX_CLIENTS: u32 = 1 << 20;

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some(REST), None, _) => Ok(Condition::Any),
            (Some(class), None, _) => Ok(Condition::Class(class.to_owned())),
            (Some("dscp"), Some(name), None) => name.parse().map(Condition::Dscp),
            (Some("client"), Some(REST), None) => Ok(Condition::NextClient),
            (Some("client"), Some(number), None) => match number.parse() {
                Ok(client) if client < MAX_CLIENTS => Ok(Condition::Client(client)),
                _ => Err(format!("{number:?} is not the number of a client: write one below {MAX_CLIENTS}, or \"*\"")),
            },
            _ => {
                Err(format!("{text:?} is not a match: write the name of a class, \"dscp ef\", \"client 17\", or \"*\""))
            }
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::Class(name) => f.write_str(name),
            Condition::Dscp(dscp) => write!(f, "dscp {dscp}"),
            Condition::Client(client) => write!(f, "client {client}"),
            Condition::NextClient => f.write_str("client *"),
            Condition::Any => f.write_str(REST),
        }
    }
}

/// The packets of a class: those for which one condition holds. Written as a string, or as a list of strings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Match(pub Vec<Condition>);

impl Match {
    /// Whether nothing was given.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Match {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [one] => s.collect_str(one),
            all => s.collect_seq(all.iter().map(ToString::to_string)),
        }
    }
}

impl<'de> Deserialize<'de> for Match {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "it must be a string such as \"dscp ef\", or a list of such strings")]
        enum Written {
            One(String),
            Several(Vec<String>),
        }
        let all = match Written::deserialize(deserializer)? {
            Written::One(text) => vec![text],
            Written::Several(all) => all,
        };
        all.iter().map(|text| text.parse()).collect::<Result<_, _>>().map(Match).map_err(serde::de::Error::custom)
    }
}

/// Finds the class of a packet: the first in the list with a condition that holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classifier {
    /// By [`ClassId`].
    by_class: Vec<Option<usize>>,
    by_dscp: [Option<u16>; 64],
    /// By the number of a client; empty where no condition names one.
    by_client: Vec<Option<u16>>,
    rest: Option<usize>,
    /// The classes that packets can get to.
    reached: Vec<bool>,
}

/// The most classes of a tree's discipline.
pub const MAX_CLASSES: usize = 65_535;

impl Classifier {
    /// One for classes with these names and conditions. A class without a condition that has the name of a class of the link takes its packets.
    ///
    /// # Errors
    /// When a condition names a class that the link does not have, two classes have the same name, or there are more than
    /// [`MAX_CLASSES`].
    pub fn new<'a>(link: &Link, classes: impl Iterator<Item = (&'a str, &'a Match)>) -> Result<Self, ParamError> {
        let classes: Vec<(&str, &Match)> = classes.collect();
        if classes.len() > MAX_CLASSES {
            let want = format!("at most {MAX_CLASSES} are allowed");
            return Err(ParamError::new("classes", format!("{} classes", classes.len()), want));
        }
        let mut found = Classifier {
            by_class: vec![None; link.classes.len()],
            by_dscp: [None; 64],
            by_client: Vec::new(),
            rest: None,
            reached: vec![false; classes.len()],
        };
        let mut names = BTreeSet::new();
        for (i, (name, given)) in classes.iter().enumerate() {
            if !names.insert(*name) {
                let error = ParamError::new("name", name, "each class has a name of its own");
                return Err(error.within(&format!("classes[{i}]")));
            }
            let implied = given.is_empty() && link.classes.iter().any(|class| class == name);
            let own = implied.then(|| Condition::Class((*name).to_owned()));
            for condition in given.0.iter().chain(&own) {
                found.add(i, condition, link).map_err(|e| e.within(&format!("classes[{i}]")))?;
            }
        }
        Ok(found)
    }

    fn add(&mut self, entry: usize, condition: &Condition, link: &Link) -> Result<(), ParamError> {
        let has_it = match condition {
            Condition::Any => *self.rest.get_or_insert(entry),
            Condition::Dscp(dscp) => usize::from(*self.by_dscp[dscp.index()].get_or_insert(entry as u16)),
            Condition::Client(client) => {
                let client = *client as usize;
                if client >= self.by_client.len() {
                    self.by_client.resize(client + 1, None);
                }
                usize::from(*self.by_client[client].get_or_insert(entry as u16))
            }
            Condition::NextClient => entry,
            Condition::Class(name) => match link.classes.iter().position(|class| class == name) {
                Some(class) => *self.by_class[class].get_or_insert(entry),
                None => {
                    let known = link.classes.join(", ");
                    let want = format!(
                        "it must be a class of the link ({known}), such as \"dscp ef\" or \"client 17\", or \"*\""
                    );
                    return Err(ParamError::new("match", name, want));
                }
            },
        };
        self.reached[entry] |= has_it == entry;
        Ok(())
    }

    /// The class of this packet, if one takes it.
    #[must_use]
    pub fn entry(&self, packet: &impl Packet) -> Option<usize> {
        let ClassId(class) = packet.class();
        let by_class = self.by_class.get(usize::from(class)).copied().flatten();
        let by_dscp = self.by_dscp[packet.dscp().index()].map(usize::from);
        let by_client = if self.by_client.is_empty() { None } else { self.of_client(packet.ends()) };
        [by_class, by_dscp, by_client, self.rest].into_iter().flatten().min()
    }

    /// The class of the client at either end.
    fn of_client(&self, ends: Ends) -> Option<usize> {
        let of = |host| self.by_client.get(Ends::client(host)? as usize).copied().flatten();
        of(ends.destination).or_else(|| of(ends.source)).map(usize::from)
    }

    /// Whether a packet can get to this class.
    #[must_use]
    pub fn reaches(&self, entry: usize) -> bool {
        self.reached.get(entry).is_some_and(|reached| *reached)
    }
}

#[cfg(test)]
mod tests {
    use aqmkit_base::BitRate;

    use super::*;
    use crate::packet::TestPacket;

    fn classes(json: &str) -> Vec<(String, Match)> {
        serde_json::from_str(json).unwrap()
    }

    fn classifier(json: &str) -> Result<Classifier, ParamError> {
        let link = Link { classes: vec!["tcp".to_owned(), "voice".to_owned()], ..Link::new(BitRate::from_mbps(10)) };
        let classes = classes(json);
        Classifier::new(&link, classes.iter().map(|(name, given)| (name.as_str(), given)))
    }

    #[test]
    fn conditions_read_back_as_written() {
        for text in ["\"dscp ef\"", "[\"dscp cs1\",\"tcp\"]", "\"*\"", "[]", "[\"client 17\",\"client *\"]"] {
            let read: Match = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), text);
        }
        for wrong in
            ["\"dscp\"", "\"dscp ef af41\"", "\"\"", "\"dscp voice\"", "\"client x\"", "\"client 1048576\"", "7"]
        {
            let found = serde_json::from_str::<Match>(wrong);
            assert!(found.is_err() || wrong == "\"dscp\"", "{wrong} {found:?}");
        }
    }

    /// The test packet is of class 0, without a codepoint.
    #[test]
    fn the_first_class_that_fits_has_the_packet() {
        let packet = TestPacket::of(1, 100);
        let found = |json| classifier(json).unwrap().entry(&packet);
        assert_eq!(found(r#"[["a", "voice"], ["b", "dscp be"], ["c", "tcp"]]"#), Some(1));
        assert_eq!(found(r#"[["a", "voice"], ["c", "tcp"], ["b", "dscp be"]]"#), Some(1));
        assert_eq!(found(r#"[["a", "voice"], ["b", "*"], ["tcp", []]]"#), Some(1));
        assert_eq!(found(r#"[["voice", []], ["b", []], ["tcp", []]]"#), Some(2));
        assert_eq!(found(r#"[["a", "voice"], ["b", "dscp ef"], ["tcp", "dscp ef"]]"#), None);
        let map = classifier(r#"[["a", "voice"], ["b", []], ["c", "dscp ef"], ["d", "dscp ef"]]"#).unwrap();
        assert_eq!([0, 1, 2, 3].map(|entry| map.reaches(entry)), [true, false, true, false]);
    }

    #[test]
    fn clients_find_their_classes_from_either_end() {
        let map = classifier(r#"[["a", "client 2"], ["b", ["client 5", "client 2"]], ["c", "*"], ["d", "client 2"]]"#)
            .unwrap();
        let entry = |source, destination| {
            map.entry(&TestPacket { ends: Some(Ends { source, destination }), ..TestPacket::of(1, 100) })
        };
        // Client 5 has number 10, client 2 has 4; servers have odd numbers.
        assert_eq!([entry(1, 10), entry(4, 3), entry(5, 1), entry(12, 1)], [Some(1), Some(0), Some(2), Some(2)]);
        assert_eq!([0, 1, 2, 3].map(|one| map.reaches(one)), [true, true, true, false]);
    }

    #[test]
    fn wrong_classes_are_refused() {
        let wrong = |json| classifier(json).unwrap_err().to_string();
        assert!(wrong(r#"[["a", "tpc"]]"#).contains("classes[0].match = tpc"), "{}", wrong(r#"[["a", "tpc"]]"#));
        assert!(wrong(r#"[["a", []], ["a", []]]"#).contains("classes[1].name = a"));
        let many: Vec<(String, Match)> = (0..=MAX_CLASSES).map(|i| (i.to_string(), Match::default())).collect();
        let link = Link::new(BitRate::from_mbps(10));
        assert!(Classifier::new(&link, many.iter().map(|(name, given)| (name.as_str(), given))).is_err());
    }
}
