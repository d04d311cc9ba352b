//! `htb_dequeue` and what it calls, of `sch_htb.c`, in whole nanoseconds: tokens are time at the rate. Classes have numbers from 1; trees of numbers are
//! sorted sets, and a pointer to a node is its number, or 0.

use std::collections::{BTreeMap, BTreeSet};

use aqmkit_aqm::Why;
use aqmkit_base::{Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::trace::{Oracle, START, assert_seen, compare};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Cmode {
    CantSend,
    MayBorrow,
    CanSend,
}

const MAXDEPTH: usize = 8;
const NUMPRIO: usize = 8;
const MBUFFER: i64 = 60_000_000_000;

/// A tree of classes with the pointer of its round, and the number of the class that the pointer lost.
#[derive(Clone, Default)]
struct Round {
    tree: BTreeSet<usize>,
    ptr: usize,
    last_ptr_id: usize,
}

impl Round {
    fn next_node(&mut self) {
        if self.ptr != 0 {
            self.ptr = self.tree.range(self.ptr + 1..).next().copied().unwrap_or(0);
        }
    }
}

#[derive(Clone)]
struct Class {
    parent: usize,
    level: usize,
    q: Vec<Pkt>,
    prio: usize,
    quantum: i64,
    deficit: [i64; MAXDEPTH],
    inner: Vec<Round>,
    prio_activity: u8,
    cmode: Cmode,
    /// Nanoseconds for a byte.
    rate: i64,
    ceil: i64,
    buffer: i64,
    cbuffer: i64,
    tokens: i64,
    ctokens: i64,
    t_c: i64,
}

struct Htb {
    classes: BTreeMap<usize, Class>,
    row: Vec<Vec<Round>>,
    /// When a class is to change its mode, by class.
    wait: BTreeMap<usize, i64>,
    filter: fn(&Pkt) -> Option<usize>,
    direct: Vec<Pkt>,
    now: i64,
}

fn ns(at: Instant) -> i64 {
    at.since(START).as_nanos() as i64
}

fn bits(mask: u8) -> impl Iterator<Item = usize> {
    (0..NUMPRIO).filter(move |prio| mask & (1 << prio) != 0)
}

impl Htb {
    fn new(filter: fn(&Pkt) -> Option<usize>) -> Self {
        let row = vec![vec![Round::default(); NUMPRIO]; MAXDEPTH];
        Htb { classes: BTreeMap::new(), row, wait: BTreeMap::new(), filter, direct: Vec::new(), now: 0 }
    }

    /// Adds a class with 2000 bytes of burst: the next number. `rate` and `ceil` are nanoseconds for a byte.
    fn class(mut self, parent: usize, level: usize, (rate, ceil): (i64, i64), prio: usize, quantum: i64) -> Self {
        let (buffer, cbuffer) = (2000 * rate, 2000 * ceil);
        let class = Class {
            parent,
            level,
            q: Vec::new(),
            prio,
            quantum,
            deficit: [0; MAXDEPTH],
            inner: vec![Round::default(); NUMPRIO],
            prio_activity: 0,
            cmode: Cmode::CanSend,
            rate,
            ceil,
            buffer,
            cbuffer,
            tokens: buffer,
            ctokens: cbuffer,
            t_c: 0,
        };
        self.classes.insert(self.classes.len() + 1, class);
        self
    }

    fn activate_prios(&mut self, mut id: usize) {
        let mut mask = self.classes[&id].prio_activity;
        let mut p = self.classes[&id].parent;
        while self.classes[&id].cmode == Cmode::MayBorrow && p != 0 && mask != 0 {
            let parent = self.classes.get_mut(&p).unwrap();
            for prio in bits(mask) {
                if !parent.inner[prio].tree.is_empty() {
                    mask &= !(1 << prio);
                }
                parent.inner[prio].tree.insert(id);
            }
            parent.prio_activity |= mask;
            id = p;
            p = self.classes[&id].parent;
        }
        if self.classes[&id].cmode == Cmode::CanSend && mask != 0 {
            let level = self.classes[&id].level;
            bits(mask).for_each(|prio| _ = self.row[level][prio].tree.insert(id));
        }
    }

    fn deactivate_prios(&mut self, mut id: usize) {
        let mut mask = self.classes[&id].prio_activity;
        let mut p = self.classes[&id].parent;
        while self.classes[&id].cmode == Cmode::MayBorrow && p != 0 && mask != 0 {
            let m = mask;
            mask = 0;
            let parent = self.classes.get_mut(&p).unwrap();
            for prio in bits(m) {
                let inner = &mut parent.inner[prio];
                if inner.ptr == id {
                    inner.last_ptr_id = id;
                    inner.ptr = 0;
                }
                inner.tree.remove(&id);
                if inner.tree.is_empty() {
                    mask |= 1 << prio;
                }
            }
            parent.prio_activity &= !mask;
            id = p;
            p = self.classes[&id].parent;
        }
        if self.classes[&id].cmode == Cmode::CanSend && mask != 0 {
            let level = self.classes[&id].level;
            for prio in bits(mask) {
                let row = &mut self.row[level][prio];
                if row.ptr == id {
                    row.next_node();
                }
                row.tree.remove(&id);
            }
        }
    }

    /// The mode after `diff`, and how long until it changes.
    fn class_mode(cl: &Class, diff: i64) -> (Cmode, i64) {
        if cl.ctokens + diff < 0 {
            return (Cmode::CantSend, -(cl.ctokens + diff));
        }
        if cl.tokens + diff >= 0 {
            return (Cmode::CanSend, diff);
        }
        (Cmode::MayBorrow, -(cl.tokens + diff))
    }

    fn change_class_mode(&mut self, id: usize, diff: i64) -> i64 {
        let (new_mode, delay) = Htb::class_mode(&self.classes[&id], diff);
        if new_mode != self.classes[&id].cmode {
            if self.classes[&id].prio_activity != 0 && self.classes[&id].cmode != Cmode::CantSend {
                self.deactivate_prios(id);
            }
            self.classes.get_mut(&id).unwrap().cmode = new_mode;
            if self.classes[&id].prio_activity != 0 && new_mode != Cmode::CantSend {
                self.activate_prios(id);
            }
        }
        delay
    }

    fn charge_class(&mut self, leaf: usize, level: usize, bytes: i64) {
        let mut id = leaf;
        while id != 0 {
            let cl = self.classes.get_mut(&id).unwrap();
            let diff = (self.now - cl.t_c).min(MBUFFER);
            let accnt =
                |tokens: i64, buffer: i64, rate: i64| ((diff + tokens).min(buffer) - bytes * rate).max(1 - MBUFFER);
            if cl.level >= level {
                cl.tokens = accnt(cl.tokens, cl.buffer, cl.rate);
            } else {
                cl.tokens += diff;
            }
            cl.ctokens = accnt(cl.ctokens, cl.cbuffer, cl.ceil);
            cl.t_c = self.now;
            let (old_mode, parent) = (cl.cmode, cl.parent);
            let delay = self.change_class_mode(id, 0);
            let cmode = self.classes[&id].cmode;
            if old_mode != cmode {
                self.wait.remove(&id);
                if cmode != Cmode::CanSend {
                    self.wait.insert(id, self.now + delay.max(1));
                }
            }
            id = parent;
        }
    }

    fn do_events(&mut self, level: usize) {
        loop {
            let due = self.wait.iter().filter(|(id, key)| self.classes[id].level == level && **key <= self.now);
            let Some(id) = due.min_by_key(|(_, key)| **key).map(|(id, _)| *id) else { return };
            self.wait.remove(&id);
            let diff = (self.now - self.classes[&id].t_c).min(MBUFFER);
            let delay = self.change_class_mode(id, diff);
            if self.classes[&id].cmode != Cmode::CanSend {
                self.wait.insert(id, self.now + delay.max(1));
            }
        }
    }

    fn round(&mut self, level: usize, prio: usize, stack: &[usize]) -> &mut Round {
        match stack.last() {
            None => &mut self.row[level][prio],
            Some(id) => &mut self.classes.get_mut(id).unwrap().inner[prio],
        }
    }

    fn lookup_leaf(&mut self, level: usize, prio: usize) -> usize {
        let mut stack: Vec<usize> = Vec::new();
        for _ in 0..65_535 {
            let sp = self.round(level, prio, &stack);
            if sp.ptr == 0 && sp.last_ptr_id != 0 {
                sp.ptr = sp.tree.range(sp.last_ptr_id..).next().copied().unwrap_or(0);
            }
            sp.last_ptr_id = 0;
            if sp.ptr == 0 {
                sp.ptr = *sp.tree.first().unwrap();
                if stack.pop().is_some() {
                    self.round(level, prio, &stack).next_node();
                }
                continue;
            }
            let id = sp.ptr;
            if self.classes[&id].level == 0 {
                return id;
            }
            stack.push(id);
        }
        panic!("no leaf");
    }

    fn dequeue_tree(&mut self, prio: usize, level: usize) -> Pkt {
        let id = self.lookup_leaf(level, prio);
        let cl = self.classes.get_mut(&id).unwrap();
        let skb = cl.q.remove(0);
        cl.deficit[level] -= i64::from(skb.len);
        let (over, parent, empty) = (cl.deficit[level] < 0, cl.parent, cl.q.is_empty());
        if over {
            cl.deficit[level] += cl.quantum;
            if level == 0 {
                self.row[0][prio].next_node();
            } else {
                self.classes.get_mut(&parent).unwrap().inner[prio].next_node();
            }
        }
        if empty {
            self.deactivate_prios(id);
            self.classes.get_mut(&id).unwrap().prio_activity = 0;
        }
        self.charge_class(id, level, i64::from(skb.len));
        skb
    }
}

impl Oracle for Htb {
    fn arriving(&mut self, p: Pkt, _now: Instant, _rng: &mut Rng) -> bool {
        let Some(id) = (self.filter)(&p) else {
            let fits = self.direct.len() < 20;
            if fits {
                self.direct.push(p);
            }
            return fits;
        };
        let cl = self.classes.get_mut(&id).unwrap();
        if cl.q.len() >= 20 {
            return false;
        }
        cl.q.push(p);
        if cl.prio_activity == 0 {
            cl.prio_activity = 1 << cl.prio;
            self.activate_prios(id);
        }
        true
    }

    fn departing(&mut self, now: Instant) -> Option<Pkt> {
        if !self.direct.is_empty() {
            return Some(self.direct.remove(0));
        }
        self.now = ns(now);
        if self.classes.values().all(|cl| cl.q.is_empty()) {
            return None;
        }
        for level in 0..MAXDEPTH {
            self.do_events(level);
            for prio in 0..NUMPRIO {
                if !self.row[level][prio].tree.is_empty() {
                    return Some(self.dequeue_tree(prio, level));
                }
            }
        }
        None
    }
}

/// The parameters of a class as a user writes them. Rates are in Mbit/s.
fn class(name: &str, parent: &str, rate: f64, ceil: f64, more: &str) -> String {
    let parent = if parent.is_empty() { String::new() } else { format!(r#""parent": "{parent}","#) };
    let rates = format!(r#""rate": "{}bit", "ceil": "{}bit""#, rate * 1e6, ceil * 1e6);
    format!(r#"{{"name": "{name}", {parent} {rates}, "burst": "2000b", "cburst": "2000b"{more}}}"#)
}

fn leaf(name: &str, parent: &str, rates: (f64, f64), prio: u32, quantum: u32, matches: &str) -> String {
    let more = format!(
        r#", "prio": {prio}, "quantum": "{quantum}b", "match": {matches}, "aqm": {{"name": "fifo", "limit": 20}}"#
    );
    class(name, parent, rates.0, rates.1, &more)
}

fn table(classes: &[String]) -> String {
    format!(r#"{{"direct_qlen": 20, "class": [{}]}}"#, classes.join(", "))
}

/// Flows 0 to 5 have the codepoints be, cs1, ef, af31, 1 and af41; class is the flow by three.
fn by_flow(p: &Pkt) -> usize {
    (p.flow % 6) as usize
}

#[test]
fn a_flat_htb_is_sch_htb() {
    let classes = [
        leaf("a", "", (2.0, 4.0), 0, 1500, r#""dscp be""#),
        leaf("b", "", (1.0, 1.0), 1, 1500, r#"["dscp cs1", "dscp ef"]"#),
    ];
    let filter = |p: &Pkt| [Some(1), Some(2), Some(2), None, None, None][by_flow(p)];
    let stats = compare(&spec("htb", &table(&classes)), &link(), 9, || {
        Htb::new(filter).class(0, 0, (4000, 2000), 0, 1500).class(0, 0, (8000, 8000), 1, 1500)
    });
    assert_seen(&stats, &[Why::Overflow]);
}

/// Borrowing within a parent, with priorities and quanta; a leaf at the root beside it.
#[test]
fn an_htb_of_two_levels_is_sch_htb() {
    let classes = [
        class("all", "", 4.0, 8.0, ""),
        leaf("a", "all", (0.5, 8.0), 0, 1500, r#""dscp ef""#),
        leaf("b", "all", (1.0, 4.0), 1, 900, r#""dscp be""#),
        leaf("c", "all", (0.5, 8.0), 1, 3000, r#""dscp cs1""#),
        leaf("d", "", (1.0, 2.0), 1, 1500, r#""dscp af31""#),
        leaf("e", "all", (0.25, 2.0), 1, 1500, r#"["dscp 1", "dscp af41"]"#),
    ];
    let filter = |p: &Pkt| Some([3, 4, 2, 5, 6, 6][by_flow(p)]);
    let stats = compare(&spec("htb", &table(&classes)), &link(), 9, || {
        Htb::new(filter)
            .class(0, 7, (2000, 1000), 0, 0)
            .class(1, 0, (16_000, 1000), 0, 1500)
            .class(1, 0, (8000, 2000), 1, 900)
            .class(1, 0, (16_000, 1000), 1, 3000)
            .class(0, 0, (8000, 4000), 1, 1500)
            .class(1, 0, (32_000, 4000), 1, 1500)
    });
    assert_seen(&stats, &[Why::Overflow]);
}

/// Four levels, where lenders are inner classes too.
#[test]
fn a_deep_htb_is_sch_htb() {
    let classes = [
        class("root", "", 4.0, 4.0, ""),
        class("left", "root", 1.0, 4.0, ""),
        class("right", "root", 2.0, 4.0, ""),
        class("deep", "right", 0.5, 2.0, ""),
        leaf("a", "left", (0.5, 4.0), 2, 1500, r#""dscp be""#),
        leaf("b", "left", (0.25, 1.0), 2, 1500, r#""dscp cs1""#),
        leaf("c", "right", (0.25, 4.0), 2, 2000, r#""dscp ef""#),
        leaf("d", "deep", (0.125, 4.0), 2, 1000, r#""dscp af31""#),
        leaf("e", "deep", (0.25, 2.0), 3, 1500, r#""dscp 1""#),
        leaf("f", "deep", (0.125, 4.0), 2, 1500, r#""dscp af41""#),
    ];
    let filter = |p: &Pkt| Some([5, 6, 7, 8, 9, 10][by_flow(p)]);
    let stats = compare(&spec("htb", &table(&classes)), &link(), 9, || {
        Htb::new(filter)
            .class(0, 7, (2000, 2000), 0, 0)
            .class(1, 6, (8000, 2000), 0, 0)
            .class(1, 6, (4000, 2000), 0, 0)
            .class(3, 5, (16_000, 4000), 0, 0)
            .class(2, 0, (16_000, 2000), 2, 1500)
            .class(2, 0, (32_000, 8000), 2, 1500)
            .class(3, 0, (32_000, 2000), 2, 2000)
            .class(4, 0, (64_000, 2000), 2, 1000)
            .class(4, 0, (32_000, 4000), 3, 1500)
            .class(4, 0, (64_000, 2000), 2, 1500)
    });
    assert_seen(&stats, &[Why::Overflow]);
}
