//! The tree that parameters describe, with a class for each that an entry stands for.

use aqmkit_base::{Amount, BitRate, Bytes, Instant};

use super::node::{Bucket, Node};
use super::params::{ClassParams, Names, Params};
use crate::child::{ChildSpec, shaped};
use crate::discipline::{Circuit, Discipline};
use crate::filter::{Classifier, Condition, MAX_CLASSES};
use crate::link::Link;
use crate::packet::Packet;
use crate::params::ParamError;

/// A leaf of the tree.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    pub(super) name: String,
    /// Its place among the classes.
    pub(super) class: usize,
    /// The place in the user's list, where an entry may stand for several.
    pub(super) entry: usize,
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

/// The classes that all entries stand for, in the order of the list.
pub(super) struct Expanded {
    pub(super) params: Params,
    /// The entry of each class.
    entries: Vec<usize>,
}

impl Params {
    /// The parameters with `each` written out: below each class of its parent, an entry stands for so many classes. `client *` becomes the next client.
    pub(super) fn expanded(&self) -> Result<Expanded, ParamError> {
        let names = Names::new(&self.classes);
        let paths: Vec<Vec<usize>> = (0..self.classes.len()).map(|entry| self.path(entry, &names)).collect();
        let number =
            |path: &[usize]| path.iter().map(|at| self.classes[*at].each as usize).try_fold(1, usize::checked_mul);
        let total = paths.iter().map(|path| number(path)).try_fold(0, |sum: usize, of| sum.checked_add(of?));
        if total.is_none_or(|total| total > MAX_CLASSES) {
            let got = total.map_or_else(|| "too many classes".to_owned(), |total| format!("{total} classes"));
            return Err(ParamError::new("classes", got, format!("at most {MAX_CLASSES} are allowed")));
        }
        let mut all = Expanded { params: Params { classes: Vec::new(), ..self.clone() }, entries: Vec::new() };
        let mut clients = 0..u32::MAX;
        for (entry, path) in paths.iter().enumerate() {
            for at in 0..number(path).unwrap_or_default() {
                let (name, parent) = self.names_of(path, at);
                let mut class = ClassParams { name, parent, each: 1, ..self.classes[entry].clone() };
                for condition in &mut class.matches.0 {
                    if let (Condition::NextClient, Some(client)) = (&condition, clients.next()) {
                        *condition = Condition::Client(client);
                    }
                }
                all.params.classes.push(class);
                all.entries.push(entry);
            }
        }
        Ok(all)
    }

    /// An entry and those of its parents, from the root on. Levels have been checked.
    fn path(&self, entry: usize, names: &Names<'_>) -> Vec<usize> {
        let parent = |at: &usize| names.index(self.classes[*at].parent.as_ref()?);
        let mut path: Vec<usize> = std::iter::successors(Some(entry), parent).collect();
        path.reverse();
        path
    }

    /// The names of the class with this number among those that the last entry of the path stands for, and of its parent: `ap-2.home-17`.
    fn names_of(&self, path: &[usize], number: usize) -> (String, Option<String>) {
        let (mut rest, mut parts) = (number, Vec::new());
        for at in path.iter().rev() {
            let class = &self.classes[*at];
            let each = class.each as usize;
            parts.push(if each > 1 { format!("{}-{}", class.name, rest % each + 1) } else { class.name.clone() });
            rest /= each;
        }
        parts.reverse();
        let multiplied = |depth: usize| path[..=depth].iter().any(|at| self.classes[*at].each > 1);
        // A class below one that stands for several has a name of its own only with that of its parent.
        let name = |depth: usize| match (0..depth).find(|above| multiplied(*above)) {
            Some(first) => parts[first..=depth].join("."),
            None => parts[depth].clone(),
        };
        let depth = path.len() - 1;
        (name(depth), depth.checked_sub(1).map(name))
    }
}

impl Plan {
    pub(super) fn new(params: &Params, link: &Link) -> Result<Self, ParamError> {
        let Expanded { params: full, entries } = params.effective(link)?.expanded()?;
        let names = Names::new(&full.classes);
        let leaf = |(class, entry): (usize, &ClassParams)| {
            let rate = entry.ceil.unwrap_or(link.rate);
            let (name, aqm) = (entry.name.clone(), entry.aqm.clone()?);
            Some(Leaf { name, class, entry: entries[class], aqm, link: shaped(link, rate) })
        };
        let leaves: Vec<Leaf> = full.classes.iter().enumerate().filter_map(leaf).collect();
        let mut leaf_of = vec![None; full.classes.len()];
        leaves.iter().enumerate().for_each(|(place, of)| leaf_of[of.class] = Some(place));
        let default = match full.default.as_ref().map(|name| names.index(name)) {
            Some(Some(class)) => leaf_of[class],
            Some(None) => {
                let want = "it stands for several classes: give the name of one";
                return Err(ParamError::new("default", full.default.unwrap_or_default(), want));
            }
            None => None,
        };
        Ok(Plan {
            levels: full.levels(&names)?,
            parents: full
                .classes
                .iter()
                .map(|class| class.parent.as_ref().and_then(|name| names.index(name)))
                .collect(),
            classifier: full.classifier(&names, link)?,
            default,
            direct_qlen: full.direct_qlen,
            leaves,
            leaf_of,
            classes: full.classes,
        })
    }

    /// The leaves that have clients of their own, with what they are promised.
    pub(super) fn circuits(&self) -> Vec<Circuit> {
        let circuit = |leaf: &Leaf| {
            let class = &self.classes[leaf.class];
            let clients = class.matches.0.iter().filter_map(|condition| match condition {
                Condition::Client(client) => Some(*client),
                _ => None,
            });
            let clients: Vec<u32> = clients.collect();
            let plan = class.ceil.or(class.rate)?;
            (!clients.is_empty()).then(|| Circuit {
                name: leaf.name.clone(),
                above: class.parent.clone().unwrap_or_default(),
                clients,
                plan,
            })
        };
        self.leaves.iter().filter_map(circuit).collect()
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
