//! A packet record of one run that owes nothing to the simulator's measurement: what a queue was asked and what it did, and what came
//! to the receivers.

use std::sync::{Arc, Mutex};

use aqmkit_aqm::custom::{Customs, Decide, Make, Params};
use aqmkit_aqm::registry::{Link, Parameters, Spec};
use aqmkit_aqm::{Env, PacketView, QueueView, Verdict, Why};
use aqmkit_base::{Amount, Duration, Instant};

/// The fate of a packet at the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Arrived,
    Marked,
    /// Dropped on its arrival.
    Refused(Why),
    /// Dropped after it had waited.
    Taken(Why),
    Left,
}

/// One entry of the record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) at: Instant,
    pub(crate) what: What,
    pub(crate) class: usize,
    pub(crate) len: u32,
    /// How long it had waited.
    pub(crate) waited: Duration,
}

impl Entry {
    /// When the packet came to the queue.
    pub(crate) fn arrived(&self) -> Instant {
        self.at - self.waited
    }
}

pub(crate) type Record = Arc<Mutex<Vec<Entry>>>;

/// Drops and marks at random, on arrival and on departure, and writes down what it does.
struct Recorder(Record);

impl Recorder {
    fn note(&self, at: Instant, packet: PacketView, what: What) {
        let (class, len) = (packet.class.index(), packet.len);
        self.0.lock().unwrap().push(Entry { at, what, class, len, waited: packet.sojourn });
    }
}

impl Decide for Recorder {
    fn on_arrival(&mut self, packet: PacketView, _: QueueView, env: &mut Env<'_>) -> Verdict {
        self.note(env.now, packet, What::Arrived);
        if env.rng.chance(0.03) {
            self.note(env.now, packet, What::Refused(Why::Early));
            return Verdict::Drop(Why::Early);
        }
        Verdict::Pass
    }

    fn on_departure(&mut self, packet: PacketView, _: QueueView, env: &mut Env<'_>) -> Verdict {
        if env.rng.chance(0.02) {
            self.note(env.now, packet, What::Taken(Why::Sojourn));
            return Verdict::Drop(Why::Sojourn);
        }
        let marked = packet.ecn.is_capable() && env.rng.chance(0.1);
        if marked {
            self.note(env.now, packet, What::Marked);
        }
        self.note(env.now, packet, What::Left);
        if marked { Verdict::Mark(Why::Step) } else { Verdict::Pass }
    }

    fn on_discard(&mut self, packet: PacketView, _: QueueView, now: Instant) {
        self.note(now, packet, What::Refused(Why::Overflow));
    }

    fn on_empty(&mut self, _: Instant) {}

    fn on_tick(&mut self, _: QueueView, _: Instant) {}

    fn probe(&self, out: &mut dyn FnMut(&str, f64)) {
        out("entries", self.0.lock().unwrap().len() as f64);
    }
}

struct Recorders(Record);

impl Make for Recorders {
    fn make(&self, _: &Link) -> Box<dyn Decide> {
        Box::new(Recorder(Arc::clone(&self.0)))
    }
}

/// A queue with this limit that keeps a record, and the record.
pub(crate) fn recording(limit: f64) -> (Spec, Customs, Record) {
    let record = Record::default();
    let mut customs = Customs::default();
    customs.insert("recorder", Arc::new(Recorders(Arc::clone(&record))));
    let params = Params { id: "recorder".into(), limit: Amount::Packets(limit), tick: None };
    (Spec::from(Parameters::Custom(params)), customs, record)
}
