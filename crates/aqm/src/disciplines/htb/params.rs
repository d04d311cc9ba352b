//! The parameters of HTB, as a user writes them and checked.

use aqmkit_base::{Amount, BitRate, Bytes, Instant};
use serde::{Deserialize, Serialize};

use super::Htb;
use super::node::{Bucket, LEVELS, Node, PRIORITIES};
use crate::child::{ChildSpec, TX_QUEUE_LEN, shaped};
use crate::discipline::{Discipline, Inner, discipline};
use crate::filter::{Classifier, Match};
use crate::link::Link;
use crate::packet::Packet;
use crate::params::{ParamError, in_range, usable_limit};
use crate::qdisc::Qdisc;

/// The parameters of HTB as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The leaf for packets that no class matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Makes quanta of rates.
    pub r2q: u32,
    /// Limit of the queue of unlimited packets.
    pub direct_qlen: Amount,
    /// The classes.
    #[serde(alias = "class", skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassParams>,
}

impl Default for Params {
    fn default() -> Self {
        let direct_qlen = Amount::Packets(TX_QUEUE_LEN.into());
        Params { default: None, r2q: 10, direct_qlen, classes: Vec::new() }
    }
}

/// The parameters of one class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClassParams {
    /// The name of the class in results; a class of the link with this name goes here.
    pub name: String,
    /// The class of which it is a part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The rate that it is sure of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
    /// The most it sends; `rate` where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceil: Option<BitRate>,
    /// Size of the bucket of `rate`.
    #[serde(alias = "buffer", alias = "maxburst")]
    pub burst: Bytes,
    /// Size of the bucket of `ceil`.
    #[serde(alias = "cbuffer")]
    pub cburst: Bytes,
    /// From 0, served first, to 7.
    pub prio: u32,
    /// Bytes in a turn; of `rate` where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantum: Option<Bytes>,
    /// The packets of this leaf.
    #[serde(rename = "match", skip_serializing_if = "Match::is_empty")]
    pub matches: Match,
    /// The queue of this leaf.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aqm: Option<ChildSpec>,
}

/// `tc` has this size of packets in mind where it is given none.
const BURST: Bytes = Bytes(1600);

/// The bounds of a quantum that is not given, in bytes.
const QUANTUM: (u64, u64) = (1000, 200_000);

/// A full packet.
const FULL: Bytes = Bytes(1500);

impl Default for ClassParams {
    fn default() -> Self {
        ClassParams {
            name: String::new(),
            parent: None,
            rate: None,
            ceil: None,
            burst: BURST,
            cburst: BURST,
            prio: 0,
            quantum: None,
            matches: Match::default(),
            aqm: None,
        }
    }
}

impl ClassParams {
    /// The quantum that follows from the rate, before it is bounded.
    fn by_rate(&self, r2q: u32) -> u64 {
        self.rate.map_or(0, |rate| (rate.bytes_per_sec() / f64::from(r2q)) as u64)
    }

    /// Fills in what follows from other parameters; those that only leaves have are completed in leaves.
    fn complete(&mut self, leaf: bool, r2q: u32, link: &Link) -> Result<(), ParamError> {
        let Some(rate) = self.rate else {
            return Err(ParamError::new("rate", "nothing", "a class needs a rate"));
        };
        let ceil = *self.ceil.get_or_insert(rate);
        in_range("rate", rate.as_bps() as f64, 8.0, f64::MAX)?;
        in_range("ceil", ceil.as_bps() as f64, 8.0, f64::MAX)?;
        in_range("burst", self.burst.as_f64(), 1.0, f64::from(u32::MAX))?;
        in_range("cburst", self.cburst.as_f64(), 1.0, f64::from(u32::MAX))?;
        in_range("prio", self.prio.into(), 0.0, (PRIORITIES - 1) as f64).map_err(|e| e.cite("tc-htb(8)"))?;
        if leaf {
            let by_rate = self.by_rate(r2q).clamp(QUANTUM.0, QUANTUM.1);
            let quantum = *self.quantum.get_or_insert(Bytes(by_rate));
            in_range("quantum", quantum.as_f64(), 1.0, f64::from(u32::MAX))?;
            self.aqm = Some(self.aqm.clone().unwrap_or_default().effective(&shaped(link, ceil))?);
            return Ok(());
        }
        let refuse = |field: &str| {
            let want = "the class has others as its parts, so it has no packets of its own";
            Err(ParamError::new(field, "something", want))
        };
        match self {
            ClassParams { aqm: Some(_), .. } => refuse("aqm"),
            ClassParams { quantum: Some(_), .. } => refuse("quantum"),
            ClassParams { matches, .. } if !matches.is_empty() => refuse("match"),
            _ => Ok(()),
        }
    }
}

impl Params {
    fn is_leaf(&self, class: &ClassParams) -> bool {
        self.classes.iter().all(|other| other.parent.as_ref() != Some(&class.name))
    }

    fn index(&self, name: &str) -> Option<usize> {
        self.classes.iter().position(|class| class.name == name)
    }

    /// The levels of the classes: 0 for a leaf, and one less than the level of its parent for an inner class.
    fn levels(&self) -> Result<Vec<usize>, ParamError> {
        let depth = |i: usize| {
            let (mut at, mut depth) = (i, 0);
            while let Some(parent) = &self.classes[at].parent {
                let want = "it must be the name of another class";
                at =
                    self.index(parent).filter(|to| *to != at).ok_or_else(|| ParamError::new("parent", parent, want))?;
                depth += 1;
                if depth >= LEVELS {
                    return Err(ParamError::new("parent", parent, "there are eight levels at most, and no circles"));
                }
            }
            Ok(depth)
        };
        let level = |(i, class): (usize, &ClassParams)| {
            let depth = depth(i).map_err(|e| e.within(&format!("classes[{i}]")))?;
            Ok(if self.is_leaf(class) { 0 } else { LEVELS - 1 - depth })
        };
        self.classes.iter().enumerate().map(level).collect()
    }

    /// Finds the leaf of a packet, by the place of its class in the list.
    fn classifier(&self, link: &Link) -> Result<Classifier, ParamError> {
        // The name of a class of the link means nothing for a class that has no packets.
        let none = Match(Vec::new());
        let unnamed: Vec<String> = (0..self.classes.len()).map(|i| format!("({i})")).collect();
        let name = |(i, class): (usize, &'_ ClassParams)| if self.is_leaf(class) { None } else { Some(i) };
        let inner: Vec<Option<usize>> = self.classes.iter().enumerate().map(name).collect();
        let entries = self.classes.iter().zip(&inner).map(|(class, inner)| match inner {
            Some(i) => (unnamed[*i].as_str(), &none),
            None => (class.name.as_str(), &class.matches),
        });
        Classifier::new(link, entries)
    }

    fn check_names(&self) -> Result<(), ParamError> {
        for (i, class) in self.classes.iter().enumerate() {
            let wrong = match class.name.as_str() {
                "" => Some("each class needs a name"),
                name if self.index(name) != Some(i) => Some("each class has a name of its own"),
                _ => None,
            };
            if let Some(want) = wrong {
                return Err(ParamError::new(format!("classes[{i}].name"), &class.name, want));
            }
        }
        let Some(default) = &self.default else { return Ok(()) };
        if self.classes.iter().any(|class| class.name == *default && self.is_leaf(class)) {
            return Ok(());
        }
        let leaves: Vec<&str> =
            self.classes.iter().filter(|class| self.is_leaf(class)).map(|class| class.name.as_str()).collect();
        Err(ParamError::new("default", default, format!("it must be a class without parts: {}", leaves.join(", "))))
    }
}

impl Discipline for Params {
    discipline!("htb");

    const TELLS_HOSTS: bool = true;

    fn marks(&self) -> bool {
        self.classes.iter().any(|class| class.aqm.as_ref().is_some_and(|aqm| aqm.spec().marks()))
    }

    fn inner(&self, link: &Link) -> Vec<Inner> {
        let one = |(i, class): (usize, &ClassParams)| {
            let rate = class.ceil.or(class.rate).unwrap_or(link.rate);
            let leaf = self.is_leaf(class).then(|| class.aqm.clone().unwrap_or_default())?;
            Some(Inner { path: format!("classes[{i}].aqm"), spec: leaf.spec().clone(), link: shaped(link, rate) })
        };
        self.classes.iter().enumerate().filter_map(one).collect()
    }

    fn doubts(&self, link: &Link) -> Vec<String> {
        let Ok(classifier) = self.classifier(link) else { return Vec::new() };
        let each = self.classes.iter().enumerate();
        let mut doubts: Vec<String> =
            each.flat_map(|(i, class)| self.doubts_of(class, link, classifier.reaches(i))).collect();
        doubts.extend(self.classes.iter().filter_map(|whole| self.promises_too_much(whole)));
        doubts
    }

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        let mut full = self.clone();
        in_range("r2q", self.r2q.into(), 1.0, 1e6)?;
        usable_limit("direct_qlen", self.direct_qlen)?;
        self.check_names()?;
        self.levels()?;
        self.classifier(link)?;
        for (i, class) in full.classes.iter_mut().enumerate() {
            let leaf = self.is_leaf(class);
            class.complete(leaf, self.r2q, link).map_err(|e| e.within(&format!("classes[{i}]")))?;
        }
        Ok(full)
    }

    fn build<P: Packet + 'static>(&self, link: &Link, now: Instant) -> Result<Box<dyn Qdisc<P>>, ParamError> {
        Ok(Box::new(Htb::<P>::new(self, link, now)?))
    }
}

/// Warnings of settings that are probably mistakes.
impl Params {
    fn doubts_of(&self, class: &ClassParams, link: &Link, reached: bool) -> Vec<String> {
        let name = &class.name;
        let mut doubts = Vec::new();
        let rates = [("rate", class.rate), ("ceil", class.ceil)];
        if let Some((field, rate)) = rates.iter().find_map(|(f, r)| Some((f, r.filter(|rate| *rate > link.rate)?))) {
            doubts.push(format!(
                "htb: {field} of {name}, {rate}, is above the {} of the link, so the queue is that of the link; lower it",
                link.rate
            ));
        }
        if let (Some(rate), Some(ceil)) =
            (class.rate, class.ceil.filter(|ceil| class.rate.is_some_and(|rate| *ceil < rate)))
        {
            doubts.push(format!("htb: ceil of {name}, {ceil}, is below its rate of {rate}, which it never gets"));
        }
        if !self.is_leaf(class) {
            return doubts;
        }
        if !reached && self.default.as_ref() != Some(name) {
            doubts.push(format!("htb: no packets go to {name}: no class of the link has its name, it has no match and is not the default"));
        }
        let by_rate = class.by_rate(self.r2q);
        match class.quantum {
            Some(quantum) if quantum < FULL => doubts.push(format!(
                "htb: the quantum of {name}, {quantum}, is less than a full packet of {FULL}: what it borrows is not in proportion to quanta"
            )),
            None if by_rate > QUANTUM.1 || by_rate < QUANTUM.0 => doubts.push(format!(
                "htb: the quantum of {name} would be {}, and is {}; set quantum, or another r2q",
                Bytes(by_rate),
                Bytes(by_rate.clamp(QUANTUM.0, QUANTUM.1))
            )),
            _ => {}
        }
        doubts
    }

    fn promises_too_much(&self, whole: &ClassParams) -> Option<String> {
        let rate = whole.rate?;
        let parts = self.classes.iter().filter(|class| class.parent.as_ref() == Some(&whole.name));
        let sum: u64 = parts.filter_map(|class| class.rate).map(BitRate::as_bps).sum();
        (sum > rate.as_bps()).then(|| {
            format!(
                "htb: the rates of the parts of {} are {} in total, above its own of {rate}: they are kept even so, and {} sends more than its rate",
                whole.name,
                BitRate::from_bps(sum),
                whole.name
            )
        })
    }
}

/// A leaf of the tree.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    pub(super) name: String,
    /// Its place among the classes.
    pub(super) class: usize,
    pub(super) aqm: ChildSpec,
    /// The link that its queue sees.
    pub(super) link: Link,
}

/// The parameters, checked.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    classes: Vec<ClassParams>,
    levels: Vec<usize>,
    parents: Vec<Option<usize>>,
    classifier: Classifier,
    pub(super) leaves: Vec<Leaf>,
    /// The leaf of each class that is one.
    leaf_of: Vec<Option<usize>>,
    default: Option<usize>,
    pub(super) direct_qlen: Amount,
}

impl Plan {
    pub(super) fn new(params: &Params, link: &Link) -> Result<Self, ParamError> {
        let full = params.effective(link)?;
        let leaf = |(class, entry): (usize, &ClassParams)| {
            let rate = entry.ceil.unwrap_or(link.rate);
            Some(Leaf { name: entry.name.clone(), class, aqm: entry.aqm.clone()?, link: shaped(link, rate) })
        };
        let leaves: Vec<Leaf> = full.classes.iter().enumerate().filter_map(leaf).collect();
        let place = |class: usize| leaves.iter().position(|one| one.class == class);
        let leaf_of: Vec<Option<usize>> = (0..full.classes.len()).map(place).collect();
        let index = |name: &String| full.index(name);
        Ok(Plan {
            levels: full.levels()?,
            parents: full.classes.iter().map(|class| class.parent.as_ref().and_then(index)).collect(),
            classifier: full.classifier(link)?,
            default: full.default.as_ref().and_then(index).and_then(place),
            direct_qlen: full.direct_qlen,
            leaves,
            leaf_of,
            classes: full.classes,
        })
    }

    /// The leaf of a packet, or nothing for the direct queue.
    pub(super) fn leaf(&self, packet: &impl Packet) -> Option<usize> {
        self.classifier.entry(packet).and_then(|class| self.leaf_of[class]).or(self.default)
    }

    /// The classes, with full buckets.
    pub(super) fn nodes(&self, now: Instant) -> Vec<Node> {
        let node = |(i, class): (usize, &ClassParams)| {
            let bucket = |rate: Option<BitRate>, burst: Bytes| {
                Bucket::new(rate.unwrap_or_default().bytes_per_sec(), burst.as_f64())
            };
            let (rate, ceil) = (bucket(class.rate, class.burst), bucket(class.ceil, class.cburst));
            let mut node = Node::new(self.parents[i], self.levels[i], rate, ceil, now);
            node.prio = class.prio as usize;
            node.quantum = class.quantum.unwrap_or_default().as_f64();
            node
        };
        self.classes.iter().enumerate().map(node).collect()
    }

    pub(super) fn children(&self) -> impl ExactSizeIterator<Item = (&ChildSpec, Link)> {
        self.leaves.iter().map(|leaf| (&leaf.aqm, leaf.link.clone()))
    }

    /// Refuses other classes, or other packets in them.
    pub(super) fn same_tree(&self, to: &Plan) -> Result<(), ParamError> {
        let refuse = |field: &str, want: &str| Err(ParamError::new(field, "another list", want));
        let names = |plan: &Plan| plan.classes.iter().map(|class| class.name.clone()).collect::<Vec<_>>();
        if names(self) != names(to) || self.parents != to.parents {
            return refuse("classes", "the classes cannot change while packets wait");
        }
        if self.classifier != to.classifier {
            return refuse("match", "the packets of the classes cannot change while packets wait");
        }
        if self.default != to.default {
            return refuse("default", "it cannot change while packets wait");
        }
        let prios = |plan: &Plan| plan.classes.iter().map(|class| class.prio).collect::<Vec<_>>();
        if prios(self) != prios(to) {
            return refuse("prio", "it cannot change while packets wait");
        }
        Ok(())
    }
}
