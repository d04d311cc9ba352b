//! The parameters of HTB, as a user writes them and checked.

use std::collections::{BTreeMap, BTreeSet};

use aqmkit_base::{Amount, BitRate, Bytes, Instant};
use serde::{Deserialize, Serialize};

use super::Htb;
use super::node::{LEVELS, PRIORITIES};
use super::plan::Plan;
use crate::child::{ChildSpec, TX_QUEUE_LEN, shaped};
use crate::discipline::{Circuit, Discipline, Inner, discipline};
use crate::filter::{Classifier, MAX_CLASSES, Match};
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
    /// How many classes it stands for below each parent.
    #[serde(skip_serializing_if = "is_one")]
    pub each: u32,
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

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_one(each: &u32) -> bool {
    *each == 1
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
            each: 1,
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
        in_range("each", self.each.into(), 1.0, MAX_CLASSES as f64)?;
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

/// Finds classes by their names.
pub(super) struct Names<'a> {
    /// The first class with this name.
    first: BTreeMap<&'a str, usize>,
    parents: BTreeSet<&'a str>,
}

impl<'a> Names<'a> {
    pub(super) fn new(classes: &'a [ClassParams]) -> Self {
        let mut first = BTreeMap::new();
        for (i, class) in classes.iter().enumerate() {
            first.entry(class.name.as_str()).or_insert(i);
        }
        Names { first, parents: classes.iter().filter_map(|class| class.parent.as_deref()).collect() }
    }

    pub(super) fn is_leaf(&self, class: &ClassParams) -> bool {
        !self.parents.contains(class.name.as_str())
    }

    pub(super) fn index(&self, name: &str) -> Option<usize> {
        self.first.get(name).copied()
    }
}

impl Params {
    /// The levels of the classes: 0 for a leaf, and one less than the level of its parent for an inner class.
    pub(super) fn levels(&self, names: &Names<'_>) -> Result<Vec<usize>, ParamError> {
        let depth = |i: usize| {
            let (mut at, mut depth) = (i, 0);
            while let Some(parent) = &self.classes[at].parent {
                let want = "it must be the name of another class";
                at = names
                    .index(parent)
                    .filter(|to| *to != at)
                    .ok_or_else(|| ParamError::new("parent", parent, want))?;
                depth += 1;
                if depth >= LEVELS {
                    return Err(ParamError::new("parent", parent, "there are eight levels at most, and no circles"));
                }
            }
            Ok(depth)
        };
        let level = |(i, class): (usize, &ClassParams)| {
            let depth = depth(i).map_err(|e| e.within(&format!("classes[{i}]")))?;
            Ok(if names.is_leaf(class) { 0 } else { LEVELS - 1 - depth })
        };
        self.classes.iter().enumerate().map(level).collect()
    }

    /// Finds the leaf of a packet, by the place of its class in the list.
    pub(super) fn classifier(&self, names: &Names<'_>, link: &Link) -> Result<Classifier, ParamError> {
        // The name of a class of the link means nothing for a class that has no packets.
        let none = Match(Vec::new());
        let unnamed: Vec<String> = (0..self.classes.len()).map(|i| format!("({i})")).collect();
        let entries = self.classes.iter().zip(&unnamed).map(|(class, unnamed)| {
            if names.is_leaf(class) { (class.name.as_str(), &class.matches) } else { (unnamed.as_str(), &none) }
        });
        Classifier::new(link, entries)
    }

    fn check_names(&self, names: &Names<'_>) -> Result<(), ParamError> {
        for (i, class) in self.classes.iter().enumerate() {
            let wrong = match class.name.as_str() {
                "" => Some("each class needs a name"),
                name if names.index(name) != Some(i) => Some("each class has a name of its own"),
                _ => None,
            };
            if let Some(want) = wrong {
                return Err(ParamError::new(format!("classes[{i}].name"), &class.name, want));
            }
        }
        let Some(default) = &self.default else { return Ok(()) };
        if names.index(default).is_some_and(|class| names.is_leaf(&self.classes[class])) {
            return Ok(());
        }
        let leaves = self.classes.iter().filter(|class| names.is_leaf(class)).map(|class| class.name.as_str());
        let mut known: Vec<&str> = leaves.take(MOST_NAMED + 1).collect();
        if known.len() > MOST_NAMED {
            known[MOST_NAMED] = "…";
        }
        Err(ParamError::new("default", default, format!("it must be a class without parts: {}", known.join(", "))))
    }
}

/// The most names in a message.
const MOST_NAMED: usize = 20;

impl Discipline for Params {
    discipline!("htb");

    const TELLS_HOSTS: bool = true;

    fn marks(&self) -> bool {
        self.classes.iter().any(|class| class.aqm.as_ref().is_some_and(|aqm| aqm.spec().marks()))
    }

    fn inner(&self, link: &Link) -> Vec<Inner> {
        let names = Names::new(&self.classes);
        let one = |(i, class): (usize, &ClassParams)| {
            let rate = class.ceil.or(class.rate).unwrap_or(link.rate);
            let leaf = names.is_leaf(class).then(|| class.aqm.clone().unwrap_or_default())?;
            Some(Inner { path: format!("classes[{i}].aqm"), spec: leaf.spec().clone(), link: shaped(link, rate) })
        };
        self.classes.iter().enumerate().filter_map(one).collect()
    }

    fn doubts(&self, link: &Link) -> Vec<String> {
        let names = Names::new(&self.classes);
        let Ok(classifier) = self.classifier(&names, link) else { return Vec::new() };
        let each = self.classes.iter().enumerate();
        let reached = |i: usize, class: &ClassParams| names.is_leaf(class).then(|| classifier.reaches(i));
        let mut doubts: Vec<String> =
            each.flat_map(|(i, class)| self.doubts_of(class, link, reached(i, class))).collect();
        doubts.extend(self.promise_too_much());
        doubts
    }

    fn circuits(&self, link: &Link) -> Vec<Circuit> {
        Plan::new(self, link).map(|plan| plan.circuits()).unwrap_or_default()
    }

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        let mut full = self.clone();
        in_range("r2q", self.r2q.into(), 1.0, 1e6)?;
        usable_limit("direct_qlen", self.direct_qlen)?;
        let names = Names::new(&self.classes);
        self.check_names(&names)?;
        self.levels(&names)?;
        self.classifier(&names, link)?;
        for (i, class) in full.classes.iter_mut().enumerate() {
            let leaf = names.is_leaf(class);
            class.complete(leaf, self.r2q, link).map_err(|e| e.within(&format!("classes[{i}]")))?;
        }
        if full.classes.iter().any(|class| class.each > 1) {
            full.expanded()?;
        }
        Ok(full)
    }

    fn build<P: Packet + 'static>(&self, link: &Link, now: Instant) -> Result<Box<dyn Qdisc<P>>, ParamError> {
        Ok(Box::new(Htb::<P>::new(self, link, now)?))
    }
}

/// Warnings of settings that are probably mistakes.
impl Params {
    /// `reached` says of a leaf whether packets can get to it.
    fn doubts_of(&self, class: &ClassParams, link: &Link, reached: Option<bool>) -> Vec<String> {
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
        let Some(reached) = reached else { return doubts };
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

    /// The classes whose parts have higher rates in total than their own.
    fn promise_too_much(&self) -> Vec<String> {
        let mut parts: BTreeMap<&str, u64> = BTreeMap::new();
        for class in &self.classes {
            if let (Some(parent), Some(rate)) = (&class.parent, class.rate) {
                let sum = parts.entry(parent).or_default();
                *sum = sum.saturating_add(rate.as_bps().saturating_mul(class.each.into()));
            }
        }
        let too_much = |whole: &ClassParams| {
            let (rate, sum) = (whole.rate?, *parts.get(whole.name.as_str())?);
            (sum > rate.as_bps()).then(|| {
                format!(
                    "htb: the rates of the parts of {} are {} in total, above its own of {rate}: they are kept even so, and {} sends more than its rate",
                    whole.name,
                    BitRate::from_bps(sum),
                    whole.name
                )
            })
        };
        self.classes.iter().filter_map(too_much).collect()
    }
}
