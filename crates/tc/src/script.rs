//! Lines of `tc` as people type them, and what they leave behind.

use std::collections::BTreeMap;

use super::listing::{Class, Filter, Listing, Parent, Qdisc};
use super::text::attached;
use super::{filter, text};

/// The queue disciplines, classes and filters that a script has made so far.
#[derive(Clone, Debug, Default)]
pub struct Script {
    listing: Listing,
    /// Where the discipline of each place is in the listing, and each class: a script may have tens of thousands.
    placed: BTreeMap<(Option<String>, Parent), usize>,
    classes: BTreeMap<(Option<String>, String), usize>,
    /// Handles given out, as the kernel does from 8001 on.
    given: u32,
}

impl Script {
    /// The qdiscs, classes and filters that there are after the commands.
    #[must_use]
    pub fn listing(self) -> Listing {
        let mut listing = self.listing;
        listing.filters.retain(Filter::does_something);
        listing
    }

    /// A command: the words behind `tc`, the line that it is on, and the name in a comment behind it. `false` for a command that changes nothing,
    /// such as `qdisc show`.
    ///
    /// # Errors
    /// When the command is incomplete or has an object that is not `qdisc`, `class` or `filter`.
    pub fn command(&mut self, words: &[&str], line: usize, name: Option<&str>) -> Result<bool, String> {
        let start = words.iter().position(|word| !word.starts_with('-')).unwrap_or(words.len());
        let [object, action, rest @ ..] = &words[start..] else {
            return Err(
                "`tc` is followed by an object and an action, as in `tc qdisc add dev eth0 root fq_codel`".to_owned()
            );
        };
        let (deletes, adds) = (is(action, "delete", 3), is(action, "add", 1) || is(action, "replace", 1));
        let changes = is(action, "change", 1);
        if !deletes && !adds && !changes {
            return Ok(false);
        }
        match *object {
            "qdisc" if deletes => {
                self.remove(rest);
                self.index();
            }
            "qdisc" => self.qdisc(rest, changes, line)?,
            "class" if deletes => {
                self.classes_without(rest);
                self.index();
            }
            "class" => self.class(rest, changes, line, name)?,
            "filter" if deletes => {
                let device = after(rest, "dev");
                self.listing.filters.retain(|filter| filter.device.as_deref() != device);
            }
            "filter" => self.listing.filters.push(filter::shown(rest, line)),
            other => return Err(format!("`tc {other}` is neither qdisc nor class nor filter")),
        }
        Ok(true)
    }

    /// Finds everything again after some was removed.
    fn index(&mut self) {
        let places = self.listing.qdiscs.iter().enumerate();
        self.placed = places.map(|(at, qdisc)| ((qdisc.device.clone(), qdisc.parent.clone()), at)).collect();
        let classes = self.listing.classes.iter().enumerate();
        self.classes = classes.map(|(at, class)| ((class.device.clone(), class.id.clone()), at)).collect();
    }

    fn remove(&mut self, words: &[&str]) {
        let device = after(words, "dev").map(str::to_owned);
        let place = place(words);
        if place == Parent::Root {
            self.listing.qdiscs.retain(|qdisc| qdisc.device != device || qdisc.parent == Parent::Ingress);
            self.listing.classes.retain(|class| class.device != device);
            self.listing
                .filters
                .retain(|filter| filter.device != device || attached(&filter.parent) == Parent::Ingress);
        } else {
            self.listing.qdiscs.retain(|qdisc| qdisc.device != device || qdisc.parent != place);
        }
    }

    fn classes_without(&mut self, words: &[&str]) {
        let (device, id) = (after(words, "dev"), after(words, "classid"));
        self.listing.classes.retain(|class| class.device.as_deref() != device || Some(class.id.as_str()) != id);
    }

    fn qdisc(&mut self, words: &[&str], changes: bool, line: usize) -> Result<(), String> {
        let head = Head::of(words);
        let [kind, options @ ..] = head.rest.as_slice() else {
            return Err(
                "the command has no discipline: it comes last, as in `tc qdisc add dev eth0 root fq_codel`".to_owned()
            );
        };
        let Some(device) = head.device else {
            return Err(format!("the command has no device: write `dev eth0` before {kind}"));
        };
        let handle = head.handle.map_or_else(|| self.fresh(), str::to_owned);
        // The place is known: `ingress` among the options is one of cake.
        let mut line_of = vec![*kind, handle.as_str(), "dev", device, "root"];
        line_of.extend(options);
        let read = text::qdisc(&line_of)?;
        let parent = if matches!(*kind, "ingress" | "clsact") { Parent::Ingress } else { head.place };
        let mut qdisc = Qdisc { parent, line: Some(line), ..read };
        if !head.stab.is_empty() {
            qdisc.options.insert("stab".to_owned(), head.stab.join(" "));
        }
        let place = (qdisc.device.clone(), qdisc.parent.clone());
        let next = self.listing.qdiscs.len();
        let at = *self.placed.entry(place).or_insert(next);
        match self.listing.qdiscs.get_mut(at) {
            Some(old) if changes && old.kind == qdisc.kind => old.options.extend(qdisc.options),
            Some(old) => *old = qdisc,
            None => self.listing.qdiscs.push(qdisc),
        }
        Ok(())
    }

    fn class(&mut self, words: &[&str], changes: bool, line: usize, name: Option<&str>) -> Result<(), String> {
        let head = Head::of(words);
        let ([kind, options @ ..], Some(id)) = (head.rest.as_slice(), head.class) else {
            let right = "as in `tc class add dev eth0 parent 1: classid 1:10 htb rate 5mbit`";
            return Err(format!("the command needs a classid and a kind, {right}"));
        };
        let mut line_of = vec![*kind, id];
        line_of.extend(options);
        let class = Class {
            device: head.device.map(str::to_owned),
            parent: head.place,
            line: Some(line),
            name: name.map(str::to_owned),
            ..text::class(&line_of)?
        };
        let next = self.listing.classes.len();
        let at = *self.classes.entry((class.device.clone(), class.id.clone())).or_insert(next);
        match self.listing.classes.get_mut(at) {
            Some(old) if changes => old.options.extend(class.options),
            Some(old) => *old = class,
            None => self.listing.classes.push(class),
        }
        Ok(())
    }

    fn fresh(&mut self) -> String {
        self.given += 1;
        format!("{:x}:", 0x8000 + self.given)
    }
}

/// `tc` takes any beginning of a word that is long enough.
fn is(word: &str, whole: &str, least: usize) -> bool {
    word.len() >= least && whole.starts_with(word)
}

fn after<'a>(words: &[&'a str], key: &str) -> Option<&'a str> {
    words.iter().position(|word| *word == key).and_then(|at| words.get(at + 1).copied())
}

fn place(words: &[&str]) -> Parent {
    if words.iter().any(|word| matches!(*word, "ingress" | "clsact" | "ffff:")) {
        return Parent::Ingress;
    }
    after(words, "parent").map_or(Parent::Root, attached)
}

/// The words before the kind.
struct Head<'a> {
    device: Option<&'a str>,
    handle: Option<&'a str>,
    class: Option<&'a str>,
    place: Parent,
    /// Options of `stab`: the framing of packets.
    stab: Vec<&'a str>,
    rest: Vec<&'a str>,
}

/// Options of `stab`.
const STAB: &[&str] = &["overhead", "linklayer", "mpu", "mtu", "tsize"];

impl<'a> Head<'a> {
    fn of(words: &[&'a str]) -> Self {
        let mut head =
            Head { device: None, handle: None, class: None, place: Parent::Root, stab: Vec::new(), rest: Vec::new() };
        let mut words = words.iter().copied().peekable();
        while let Some(word) = words.next() {
            match word {
                "dev" => head.device = words.next(),
                "handle" => head.handle = words.next(),
                "classid" => head.class = words.next(),
                "parent" => head.place = words.next().map_or(Parent::Root, attached),
                "root" => head.place = Parent::Root,
                "estimator" => drop((words.next(), words.next())),
                "stab" => {
                    while let Some(option) = words.next_if(|next| STAB.contains(next)) {
                        head.stab.push(option);
                        head.stab.extend(words.next());
                    }
                }
                kind => {
                    head.rest.push(kind);
                    head.rest.extend(words);
                    break;
                }
            }
        }
        head
    }
}
