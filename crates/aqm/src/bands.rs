//! The bands of `prio` and `ets`: which band a packet goes to, and which is served next.

use std::collections::VecDeque;
use std::marker::PhantomData;

use aqmkit_base::{Bytes, Instant};
use serde::{Deserialize, Serialize};

use crate::child::{Child, ChildSpec, check_changes, total};
use crate::discipline::{Discipline, Inner};
use crate::filter::{Classifier, Match};
use crate::link::Link;
use crate::packet::Packet;
use crate::params::{AnyParams, ParamError};
use crate::priority::priority;
use crate::qdisc::{Backlog, Cx, Dequeued, InnerQueue, Qdisc, Stats};

/// The parameters of one band.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BandParams {
    /// Its name in results; a class of the link with this name goes here, unless `match` says otherwise.
    pub name: String,
    /// The packets that go here, whatever their priority.
    #[serde(rename = "match", skip_serializing_if = "Match::is_empty")]
    pub matches: Match,
    /// Its queue.
    pub aqm: ChildSpec,
}

/// Fills in the bands that have no entry, and everything that entries leave open: a band without a name has its number.
///
/// # Errors
/// When there are more entries than bands, or the queue of a band cannot be on this link.
pub fn complete(entries: &[BandParams], bands: usize, link: &Link) -> Result<Vec<BandParams>, ParamError> {
    if entries.len() > bands {
        let got = format!("{} entries", entries.len());
        return Err(ParamError::new("classes", got, format!("there are {bands} bands; set bands")));
    }
    let mut full = entries.to_vec();
    full.resize(bands, BandParams::default());
    for (i, band) in full.iter_mut().enumerate() {
        if band.name.is_empty() {
            band.name = i.to_string();
        }
        band.aqm = band.aqm.effective(link).map_err(|e| e.within(&format!("classes[{i}]")))?;
    }
    Ok(full)
}

/// The disciplines of these bands.
#[must_use]
pub fn inner(entries: &[BandParams], link: &Link) -> Vec<Inner> {
    let one = |(i, band): (usize, &BandParams)| Inner {
        path: format!("classes[{i}].aqm"),
        spec: band.aqm.spec().clone(),
        link: link.clone(),
    };
    entries.iter().enumerate().map(one).collect()
}

/// The checked parameters of a discipline with bands.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The bands, with the first one served first.
    pub bands: Vec<BandParams>,
    /// The band of each priority.
    pub priomap: Vec<u8>,
    /// For each band after the strict ones: bytes per round.
    pub quanta: Vec<Bytes>,
    /// Finds the band of a packet that a band matches.
    pub classifier: Classifier,
    /// The link, as the queues of the bands see it.
    pub link: Link,
}

impl Plan {
    /// How many bands are served in the order of their numbers, before all others.
    fn strict(&self) -> usize {
        self.bands.len() - self.quanta.len()
    }

    fn children(&self) -> impl ExactSizeIterator<Item = (&ChildSpec, Link)> {
        self.bands.iter().map(|band| (&band.aqm, self.link.clone()))
    }
}

/// Parameters of a discipline with bands.
pub trait Banded: Discipline {
    /// The checked parameters.
    ///
    /// # Errors
    /// When a parameter cannot be used on this link.
    fn plan(&self, link: &Link) -> Result<Plan, ParamError>;
}

/// A queue for each band: the strict ones in order, then the others by deficit round robin.
pub struct Bands<P, D> {
    plan: Plan,
    children: Vec<Child<P>>,
    /// Bytes that each band may still send in its turn.
    deficits: Vec<u64>,
    /// The bands with packets that take turns; the first is served next.
    turns: VecDeque<usize>,
    stats: Stats,
    discipline: PhantomData<D>,
}

impl<P: Packet + 'static, D: Banded> Bands<P, D> {
    /// Empty queues.
    ///
    /// # Errors
    /// When a parameter cannot be used on this link.
    pub fn new(params: &D, link: &Link, now: Instant) -> Result<Self, ParamError> {
        let plan = params.plan(link)?;
        let child = |(i, band): (usize, &BandParams)| {
            Child::new(&band.aqm, &plan.link, now).map_err(|e| e.within(&format!("classes[{i}]")))
        };
        let children = plan.bands.iter().enumerate().map(child).collect::<Result<Vec<_>, _>>()?;
        let bands = children.len();
        Ok(Bands {
            plan,
            children,
            deficits: vec![0; bands],
            turns: VecDeque::with_capacity(bands),
            stats: Stats::default(),
            discipline: PhantomData,
        })
    }

    fn band(&self, packet: &P) -> usize {
        let by_priority = || usize::from(self.plan.priomap[priority(packet.dscp())]);
        self.plan.classifier.entry(packet).unwrap_or_else(by_priority)
    }

    /// Serves the strict bands. Gives the earliest time at which a queue that holds packets back lets one go, if there is no packet.
    fn strict(&mut self, cx: &mut Cx<'_, P>) -> Result<P, Option<Instant>> {
        let mut held = None;
        for child in &mut self.children[..self.plan.strict()] {
            match child.dequeue(&mut self.stats, cx) {
                Dequeued::Packet(packet) => return Ok(packet),
                Dequeued::NotBefore(at) => held = earlier(held, at),
                Dequeued::Empty => {}
            }
        }
        Err(held)
    }

    /// Serves the bands that take turns, likewise.
    fn by_turns(&mut self, cx: &mut Cx<'_, P>) -> Result<P, Option<Instant>> {
        let (mut held, mut passed) = (None, 0);
        while let Some(&band) = self.turns.front().filter(|_| passed < self.turns.len()) {
            let child = &mut self.children[band];
            match child.peek(&mut self.stats, cx) {
                Dequeued::Packet(len) if u64::from(len) <= self.deficits[band] => {
                    self.deficits[band] -= u64::from(len);
                    let packet = child.dequeue(&mut self.stats, cx).packet();
                    if child.is_empty() {
                        self.turns.pop_front();
                    }
                    return packet.ok_or(held);
                }
                Dequeued::Packet(_) => {
                    self.deficits[band] += self.plan.quanta[band - self.plan.strict()].0;
                    self.turns.rotate_left(1);
                    passed = 0;
                }
                Dequeued::NotBefore(at) => {
                    held = earlier(held, at);
                    self.turns.rotate_left(1);
                    passed += 1;
                }
                Dequeued::Empty => _ = self.turns.pop_front(),
            }
        }
        Err(held)
    }
}

fn earlier(held: Option<Instant>, at: Instant) -> Option<Instant> {
    Some(held.map_or(at, |other| other.min(at)))
}

impl<P: Packet + 'static, D: Banded> Qdisc<P> for Bands<P, D> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        self.stats.enqueued += 1;
        let band = self.band(&packet);
        let child = &mut self.children[band];
        let idle = child.is_empty();
        child.enqueue(packet, &mut self.stats, cx);
        let turn = band.checked_sub(self.plan.strict()).filter(|_| idle && !child.is_empty());
        if let Some(turn) = turn {
            // A queue that has dropped what it had is still in the list.
            self.turns.retain(|other| *other != band);
            self.turns.push_back(band);
            self.deficits[band] = self.plan.quanta[turn].0;
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Dequeued<P> {
        let found = self.strict(cx).or_else(|held| {
            let later = |other: Option<Instant>| other.map_or(held, |at| earlier(held, at));
            self.by_turns(cx).map_err(later)
        });
        match found {
            Ok(packet) => {
                self.stats.dequeued += 1;
                Dequeued::Packet(packet)
            }
            Err(held) => held.map_or(Dequeued::Empty, Dequeued::NotBefore),
        }
    }

    fn wakeup(&self) -> Option<Instant> {
        self.children.iter().filter_map(Child::wakeup).min()
    }

    fn on_wakeup(&mut self, cx: &mut Cx<'_, P>) {
        self.children.iter_mut().for_each(|child| child.on_wakeup(&mut self.stats, cx));
    }

    fn backlog(&self) -> Backlog {
        total(&self.children)
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn reconfigure(&mut self, params: &dyn AnyParams, link: &Link, cx: &mut Cx<'_, P>) -> Result<(), ParamError> {
        let plan = params.of::<D>()?.plan(link)?;
        if plan.bands.len() != self.plan.bands.len() || plan.strict() != self.plan.strict() {
            return Err(ParamError::new("bands", plan.bands.len(), "the bands cannot change while packets wait"));
        }
        if plan.classifier != self.plan.classifier {
            let want = "the classes of the bands cannot change while packets wait";
            return Err(ParamError::new("match", "another list", want));
        }
        if plan.priomap != self.plan.priomap {
            return Err(ParamError::new("priomap", "another map", "it cannot change while packets wait"));
        }
        check_changes::<P>(self.plan.children(), plan.children(), cx.now)?;
        for (child, band) in self.children.iter_mut().zip(&plan.bands) {
            child.reconfigure(&band.aqm, &plan.link, &mut self.stats, cx)?;
        }
        self.plan = plan;
        Ok(())
    }

    fn probe(&self, out: &mut dyn FnMut(&str, f64)) {
        for (band, child) in self.plan.bands.iter().zip(&self.children) {
            out(&format!("queue.{}", band.name), child.backlog().packets as f64);
            child.probe(&band.name, out);
        }
    }

    fn waiting(&self, see: &mut dyn FnMut(InnerQueue<'_>, &P)) {
        for (band, child) in self.plan.bands.iter().zip(&self.children) {
            child.waiting(&band.name, see);
        }
    }
}
