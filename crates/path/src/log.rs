//! All events of one direction, from which results and pictures of any part of a run are computed.

use aqmkit_aqm::{Backlog, Packet, Why};
use aqmkit_base::{ClassId, Duration, FlowKey, Instant, Transmission};
use aqmkit_measure::{LinkRecorder, Passed, Seen};

use crate::datagram::Carried;
use crate::shaper::Watch;

/// An event of a packet, which has `len` bytes.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Offered {
        len: u32,
    },
    Departed {
        len: u32,
        waited: Duration,
        transmission: Transmission,
    },
    /// The packet in transmission now takes until then.
    Continued(Instant),
    Dropped {
        len: u32,
        why: Why,
        arrived: Instant,
    },
    Marked {
        len: u32,
        why: Why,
        arrived: Instant,
    },
    /// The number of packets waiting.
    Queue(u64),
    /// The wire loses the packet that began transmission.
    Lost,
    /// It reached the other end, after this time on the way.
    Arrived(Duration),
}

/// The events in the order in which they happened. [`Event::Arrived`] is entered when the packet is polled.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    pub(crate) events: Vec<(Instant, Event)>,
    waiting: u64,
}

impl Log {
    pub(crate) fn add(&mut self, at: Instant, event: Event) {
        self.events.push((at, event));
    }

    /// The time of the last event.
    pub(crate) fn end(&self) -> Instant {
        self.events.iter().map(|(at, _)| *at).max().unwrap_or_default()
    }

    /// The packets that passed the queue from `from` until `to`.
    pub(crate) fn passed(&self, from: Instant, to: Instant) -> Passed {
        let mut recorder = LinkRecorder::new(1, 0);
        let (mut opened, mut closed) = (false, false);
        for (at, event) in self.queue_events() {
            if !opened && *at >= from {
                recorder.open(0, from);
                opened = true;
            }
            if !closed && *at >= to && to > from {
                recorder.close(0, to);
                closed = true;
            }
            record(&mut recorder, *at, event);
        }
        if !opened {
            recorder.open(0, from);
        }
        if !closed {
            recorder.close(0, to);
        }
        recorder.passed(0, to)
    }

    /// All but the arrivals at the other end, which are later than what follows them.
    fn queue_events(&self) -> impl Iterator<Item = &(Instant, Event)> {
        self.events.iter().filter(|(_, event)| !matches!(event, Event::Arrived(_)))
    }

    /// A hash of all events.
    pub(crate) fn digest(&self) -> u64 {
        self.events.iter().fold(0, |hash, (at, event)| {
            let (kind, a, b) = match event {
                Event::Offered { len } => (1, u64::from(*len), 0),
                Event::Departed { waited, transmission, .. } => (2, waited.as_nanos(), transmission.until().as_nanos()),
                Event::Continued(until) => (3, until.as_nanos(), 0),
                Event::Dropped { why, arrived, .. } => (4, *why as u64, arrived.as_nanos()),
                Event::Marked { why, arrived, .. } => (5, *why as u64, arrived.as_nanos()),
                Event::Queue(packets) => (6, *packets, 0),
                Event::Lost => (7, 0, 0),
                Event::Arrived(transit) => (8, transit.as_nanos(), 0),
            };
            [kind, at.as_nanos(), a, b].iter().fold(hash, |hash, word| FlowKey(*word).hash(hash))
        })
    }
}

fn record(recorder: &mut LinkRecorder, at: Instant, event: &Event) {
    let seen = |len: u32| Seen { class: ClassId(0), len, payload: 0 };
    match event {
        Event::Offered { len } => recorder.offered(seen(*len)),
        Event::Departed { len, waited, transmission } => recorder.departed(seen(*len), *waited, transmission.clone()),
        Event::Continued(until) => recorder.continued(at, *until),
        Event::Dropped { len, why, arrived } => recorder.dropped(seen(*len), *why, *arrived),
        Event::Marked { len, why, arrived } => recorder.marked(seen(*len), *why, *arrived),
        Event::Queue(packets) => recorder.queue(*packets, at),
        Event::Lost | Event::Arrived(_) => {}
    }
}

impl<T> Watch<Carried<T>> for Log {
    fn offered(&mut self, packet: &Carried<T>, now: Instant) {
        self.add(now, Event::Offered { len: packet.len() });
    }

    fn departed(&mut self, packet: &Carried<T>, waited: Duration, transmission: Transmission, now: Instant) {
        self.add(now, Event::Departed { len: packet.len(), waited, transmission });
    }

    fn continued(&mut self, until: Instant, now: Instant) {
        self.add(now, Event::Continued(until));
    }

    fn dropped(&mut self, packet: Carried<T>, why: Why, arrived: Instant, now: Instant) {
        self.add(now, Event::Dropped { len: packet.len(), why, arrived });
    }

    fn marked(&mut self, packet: &Carried<T>, why: Why, arrived: Instant, now: Instant) {
        self.add(now, Event::Marked { len: packet.len(), why, arrived });
    }

    fn queue(&mut self, backlog: Backlog, now: Instant) {
        if backlog.packets != self.waiting {
            self.waiting = backlog.packets;
            self.add(now, Event::Queue(backlog.packets));
        }
    }

    fn lost(&mut self, _packet: Carried<T>, now: Instant) {
        self.add(now, Event::Lost);
    }
}
