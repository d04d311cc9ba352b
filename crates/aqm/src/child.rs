//! Queues inside a queue: the parameter `aqm` of a class, and the queue that it describes.

use std::fmt;

use aqmkit_base::read::Value;
use aqmkit_base::{Instant, Rng};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::link::Link;
use crate::packet::Packet;
use crate::params::ParamError;
use crate::qdisc::{Backlog, Cx, Dequeued, Discard, InnerQueue, Qdisc, Sink, Stats};
use crate::registry::Spec;
use crate::verdict::Why;

/// The discipline of an inner queue with its parameters: a name, or a table with the key `name`, as `aqm` of a link.
#[derive(Clone, PartialEq)]
pub struct ChildSpec(Box<Spec>);

/// Linux's default `txqueuelen` of an Ethernet interface: the limit of the FIFO that a class has by default.
pub const TX_QUEUE_LEN: u32 = 1000;

impl Default for ChildSpec {
    /// A FIFO of [`TX_QUEUE_LEN`] packets.
    fn default() -> Self {
        let limit = aqmkit_base::Amount::Packets(TX_QUEUE_LEN.into());
        let fifo = crate::disciplines::fifo::Params { limit, ..Default::default() };
        ChildSpec(Box::new(Spec::from(crate::registry::Parameters::Fifo(fifo))))
    }
}

impl fmt::Debug for ChildSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl ChildSpec {
    /// The discipline with its parameters.
    #[must_use]
    pub fn spec(&self) -> &Spec {
        &self.0
    }

    /// The discipline with everything that was left open filled in, as for a link of its own.
    ///
    /// # Errors
    /// When a parameter cannot be used on this link.
    pub fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        self.0.effective(link).map(|spec| ChildSpec(Box::new(spec.without_flow()))).map_err(|e| e.within("aqm"))
    }

    /// Refuses a change that the queue of this child would refuse, which an empty queue with the same parameters finds out.
    fn check_change<P: Packet + 'static>(
        &self,
        to: &ChildSpec,
        from_link: &Link,
        link: &Link,
        now: Instant,
    ) -> Result<(), ParamError> {
        let mut twin = self.0.build::<P>(from_link, now)?;
        let mut rng = Rng::stream(0, "check");
        twin.reconfigure(to.spec(), link, &mut Cx { now, rng: &mut rng, sink: &mut Discard })
            .map_err(|e| e.within("aqm"))
    }
}

impl Serialize for ChildSpec {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Named<'a> {
            name: &'static str,
            #[serde(flatten)]
            spec: &'a Spec,
        }
        Named { name: self.0.name(), spec: &self.0 }.serialize(s)
    }
}

impl<'de> Deserialize<'de> for ChildSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let right = "it must be the name of a discipline such as \"fq-codel\", or { name = \"red\", min = 5 }";
        let mut table = Value::deserialize(deserializer)?;
        let name = match &table {
            Value::Text(_) => Some(std::mem::replace(&mut table, Value::Table(Vec::new()))),
            _ => table.remove("name"),
        };
        let Some(Value::Text(name)) = name else {
            return Err(D::Error::custom(format_args!("the discipline of the class has no name: {right}")));
        };
        if table.at("flow").is_some() {
            let outside = "give it to the outermost discipline; it holds for the whole tree";
            return Err(D::Error::custom(format_args!("flow of {name} is inside of a tree: {outside}")));
        }
        match Spec::of_table(&name, table) {
            Ok(spec) => Ok(ChildSpec(Box::new(spec))),
            Err(e) => Err(D::Error::custom(e.of(&name))),
        }
    }
}

/// Reports drops and marks of an inner queue, and counts them for the queue around it.
struct Counted<'a, P> {
    stats: &'a mut Stats,
    sink: &'a mut dyn Sink<P>,
}

impl<P> Sink<P> for Counted<'_, P> {
    fn dropped(&mut self, packet: P, why: Why, now: Instant) {
        self.stats.dropped[why as usize] += 1;
        self.sink.dropped(packet, why, now);
    }

    fn marked(&mut self, packet: &P, why: Why, now: Instant) {
        self.stats.marked[why as usize] += 1;
        self.sink.marked(packet, why, now);
    }
}

/// An inner queue. Its drops and marks are also counted in the [`Stats`] of the queue around it, which every call is given.
pub struct Child<P> {
    queue: Box<dyn Qdisc<P>>,
    /// A packet that was looked at and had to leave the inner queue for that.
    head: Option<P>,
}

impl<P: Packet + 'static> Child<P> {
    /// The empty queue that `spec` describes.
    ///
    /// # Errors
    /// When a parameter cannot be used on this link.
    pub fn new(spec: &ChildSpec, link: &Link, now: Instant) -> Result<Self, ParamError> {
        spec.0.build(link, now).map(|queue| Child { queue, head: None }).map_err(|e| e.within("aqm"))
    }

    fn call<T>(
        &mut self,
        stats: &mut Stats,
        cx: &mut Cx<'_, P>,
        call: impl FnOnce(&mut dyn Qdisc<P>, &mut Cx<'_, P>) -> T,
    ) -> T {
        let mut sink = Counted { stats, sink: cx.sink };
        call(&mut *self.queue, &mut Cx { now: cx.now, rng: cx.rng, sink: &mut sink })
    }

    /// Offers a packet.
    pub fn enqueue(&mut self, packet: P, stats: &mut Stats, cx: &mut Cx<'_, P>) {
        self.call(stats, cx, |queue, inner| queue.enqueue(packet, inner));
    }

    /// Takes the next packet.
    pub fn dequeue(&mut self, stats: &mut Stats, cx: &mut Cx<'_, P>) -> Dequeued<P> {
        match self.head.take() {
            Some(packet) => Dequeued::Packet(packet),
            None => self.call(stats, cx, |queue, inner| queue.dequeue(inner)),
        }
    }

    /// The length of the next packet. Unless the inner queue can tell ([`Qdisc::next_len`]), the packet leaves it and waits outside.
    pub fn peek(&mut self, stats: &mut Stats, cx: &mut Cx<'_, P>) -> Dequeued<u32> {
        if let Some(len) = self.head.as_ref().map(Packet::len).or_else(|| self.queue.next_len()) {
            return Dequeued::Packet(len);
        }
        match self.call(stats, cx, |queue, inner| queue.dequeue(inner)) {
            Dequeued::Packet(packet) => {
                let len = packet.len();
                self.head = Some(packet);
                Dequeued::Packet(len)
            }
            Dequeued::Empty => Dequeued::Empty,
            Dequeued::NotBefore(at) => Dequeued::NotBefore(at),
        }
    }

    /// When the inner queue wants to be woken.
    #[must_use]
    pub fn wakeup(&self) -> Option<Instant> {
        self.queue.wakeup()
    }

    /// Lets timers of the inner queue fire.
    pub fn on_wakeup(&mut self, stats: &mut Stats, cx: &mut Cx<'_, P>) {
        self.call(stats, cx, |queue, inner| queue.on_wakeup(inner));
    }

    /// The backlog, with the packet that was looked at.
    #[must_use]
    pub fn backlog(&self) -> Backlog {
        let Backlog { packets, bytes } = self.queue.backlog();
        let head = self.head.as_ref();
        Backlog { packets: packets + head.iter().len() as u64, bytes: bytes + head.map_or(0, |p| u64::from(p.len())) }
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.head.is_none() && self.queue.backlog().packets == 0
    }

    /// Gives the inner queue parameters that `check_changes` has found acceptable.
    ///
    /// # Errors
    /// When it refuses them.
    pub fn reconfigure(
        &mut self,
        spec: &ChildSpec,
        link: &Link,
        stats: &mut Stats,
        cx: &mut Cx<'_, P>,
    ) -> Result<(), ParamError> {
        self.call(stats, cx, |queue, inner| queue.reconfigure(spec.spec(), link, inner)).map_err(|e| e.within("aqm"))
    }

    /// Shows the packets that wait as those of the inner queue `name`.
    pub fn waiting(&self, name: &str, see: &mut dyn FnMut(InnerQueue<'_>, &P)) {
        self.head.iter().for_each(|packet| see(InnerQueue::Named(name), packet));
        self.queue.waiting(&mut |_, packet| see(InnerQueue::Named(name), packet));
    }

    /// Shows the packets that wait, with the inner queues of the only child.
    pub fn waiting_inside(&self, see: &mut dyn FnMut(InnerQueue<'_>, &P)) {
        self.head.iter().for_each(|packet| see(InnerQueue::Only, packet));
        self.queue.waiting(see);
    }

    /// Shows the gauges of the inner queue, with `prefix` and a dot before their names.
    pub fn probe(&self, prefix: &str, out: &mut dyn FnMut(&str, f64)) {
        self.queue.probe(&mut |name, value| {
            if prefix.is_empty() { out(name, value) } else { out(&format!("{prefix}.{name}"), value) }
        });
    }
}

/// The sum of backlogs.
pub(crate) fn total<'a, P: Packet + 'static>(children: impl IntoIterator<Item = &'a Child<P>>) -> Backlog {
    let add = |a: Backlog, b: Backlog| Backlog { packets: a.packets + b.packets, bytes: a.bytes + b.bytes };
    children.into_iter().map(Child::backlog).fold(Backlog::default(), add)
}

/// Refuses a change of the parameters of inner queues that one of them would refuse, before any of them has changed.
///
/// # Errors
/// When the number of queues changes, or a queue refuses its parameters.
pub(crate) fn check_changes<'a, P: Packet + 'static>(
    from: impl ExactSizeIterator<Item = (&'a ChildSpec, Link)>,
    to: impl ExactSizeIterator<Item = (&'a ChildSpec, Link)>,
    now: Instant,
) -> Result<(), ParamError> {
    if from.len() != to.len() {
        return Err(ParamError::new("classes", "another list", "the classes cannot change while packets wait"));
    }
    for (i, ((old, old_link), (new, link))) in from.zip(to).enumerate() {
        old.check_change::<P>(new, &old_link, &link, now).map_err(|e| e.within(&format!("classes[{i}]")))?;
    }
    Ok(())
}

/// The link as a child sees it whose packets leave at `rate` at most.
#[must_use]
pub fn shaped(link: &Link, rate: aqmkit_base::BitRate) -> Link {
    Link { rate: rate.min(link.rate), ..link.clone() }
}
