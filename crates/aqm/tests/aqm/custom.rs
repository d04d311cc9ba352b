//! Disciplines defined by a program.

use std::sync::Arc;

use aqmkit_aqm::custom::{Customs, Decide, Make, Params};
use aqmkit_aqm::registry::{Link, Parameters, Spec};
use aqmkit_aqm::{Cx, Dequeued, Discard, Env, Packet, PacketView, Qdisc, QueueView, Verdict, Why};
use aqmkit_base::{Amount, BitRate, ClassId, Duration, Ecn, FlowKey, Instant, Rng};

#[derive(Clone, Debug, PartialEq)]
struct Pkt(u32);

impl Packet for Pkt {
    fn len(&self) -> u32 {
        1000
    }
    fn flow(&self) -> FlowKey {
        FlowKey(1)
    }
    fn class(&self) -> ClassId {
        ClassId(0)
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn set_ce(&mut self) {}
}

/// Drops every third packet on arrival, and counts its ticks.
#[derive(Default)]
struct Third {
    seen: u32,
    ticks: f64,
}

impl Decide for Third {
    fn on_arrival(&mut self, _: PacketView, _: QueueView, _: &mut Env<'_>) -> Verdict {
        self.seen += 1;
        if self.seen.is_multiple_of(3) { Verdict::Drop(Why::Early) } else { Verdict::Pass }
    }
    fn on_departure(&mut self, _: PacketView, _: QueueView, _: &mut Env<'_>) -> Verdict {
        Verdict::Pass
    }
    fn on_discard(&mut self, _: PacketView, _: QueueView, _: Instant) {}
    fn on_empty(&mut self, _: Instant) {}
    fn on_tick(&mut self, _: QueueView, _: Instant) {
        self.ticks += 1.0;
    }
    fn probe(&self, out: &mut dyn FnMut(&str, f64)) {
        out("ticks", self.ticks);
    }
}

struct Thirds;

impl Make for Thirds {
    fn make(&self, _: &Link) -> Box<dyn Decide> {
        Box::<Third>::default()
    }
}

fn params(id: &str) -> Params {
    Params { id: id.to_owned(), limit: Amount::Packets(4.0), tick: Some(Duration::from_millis(10)) }
}

fn customs() -> Customs {
    let mut customs = Customs::default();
    customs.insert("third", Arc::new(Thirds));
    customs
}

fn link() -> Link {
    Link::new(BitRate::from_mbps(10))
}

#[test]
fn it_governs_a_fifo_as_any_other() {
    let mut queue: Box<dyn Qdisc<Pkt>> = customs().build(&params("third"), &link(), Instant::ZERO).unwrap();
    let (mut rng, mut sink) = (Rng::stream(1, "custom"), Discard);
    let mut cx = Cx { now: Instant::ZERO + Duration::from_millis(35), rng: &mut rng, sink: &mut sink };
    for i in 1..=9 {
        queue.enqueue(Pkt(i), &mut cx);
    }
    let stats = *queue.stats();
    assert_eq!(stats.dropped[Why::Early as usize], 3, "every third");
    assert_eq!(stats.dropped[Why::Overflow as usize], 2, "six were passed, and four fit");
    let left: Vec<Pkt> = std::iter::from_fn(|| queue.dequeue(&mut cx).packet()).collect();
    assert_eq!(left, [1, 2, 4, 5].map(Pkt));
    assert_eq!(queue.dequeue(&mut cx), Dequeued::Empty);
    let mut ticks = 0.0;
    queue.probe(&mut |_, value| ticks = value);
    assert_eq!(ticks, 3.0);
}

#[test]
fn each_queue_has_its_own_state() {
    let both =
        [0, 1].map(|_| -> Box<dyn Qdisc<Pkt>> { customs().build(&params("third"), &link(), Instant::ZERO).unwrap() });
    let (mut rng, mut sink) = (Rng::stream(1, "custom"), Discard);
    let mut cx = Cx { now: Instant::ZERO, rng: &mut rng, sink: &mut sink };
    for mut queue in both {
        queue.enqueue(Pkt(1), &mut cx);
        queue.enqueue(Pkt(2), &mut cx);
        assert_eq!(queue.stats().drops(), 0);
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |params: &Params| customs().build::<Pkt>(params, &link(), Instant::ZERO).err().map(|e| e.field);
    assert_eq!(refused(&params("fourth")).as_deref(), Some("id"));
    assert_eq!(refused(&Params { limit: Amount::Packets(0.0), ..params("third") }).as_deref(), Some("limit"));
    assert_eq!(refused(&Params { tick: Some(Duration::ZERO), ..params("third") }).as_deref(), Some("tick"));
    assert_eq!(refused(&params("third")), None);
    let spec = Spec::from(Parameters::Custom(params("third")));
    assert_eq!(spec.build::<Pkt>(&link(), Instant::ZERO).err().map(|e| e.field).as_deref(), Some("id"));
}
