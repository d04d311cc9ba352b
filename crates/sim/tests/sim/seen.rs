//! The view that a discipline has of simulated packets: their hosts, and labels of routers before it.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::collections::BTreeSet;
use std::sync::Mutex;

use crate::common::{dumbbell, finish, group};
use aqmkit_aqm::disciplines::fifo;
use aqmkit_aqm::{
    Addition, AnyParams, Backlog, Catalogue, Cx, Dequeued, Discipline, Link, Packet, ParamError, Qdisc, Stats,
};
use aqmkit_base::{Amount, BitRate, Duration, Ecn, Instant};
use aqmkit_sim::scenario::{Delays, Group, Route};
use aqmkit_traffic::{self as traffic, Action, Application, Arrival, Conn, Event, Side};
use aqmkit_transport::Profile;
use serde::{Deserialize, Serialize};

/// The packet as the queue saw it: length, source, destination, label.
type Seen = (u32, u32, u32, f32);

static SEEN: Mutex<Vec<Seen>> = Mutex::new(Vec::new());

/// A queue that writes down what it sees of arrivals, and writes a label into each, as an edge router does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Watch {}

impl Discipline for Watch {
    const NAME: &'static str = "watch";
    const TELLS_HOSTS: bool = true;

    fn effective(&self, _: &Link) -> Result<Self, ParamError> {
        Ok(Watch {})
    }

    fn build<P: Packet + 'static>(&self, link: &Link, now: Instant) -> Result<Box<dyn Qdisc<P>>, ParamError> {
        let long = fifo::Params { limit: Amount::Packets(1000.0), ..fifo::Params::default() };
        Ok(Box::new(Watching(long.build(link, now)?)))
    }
}

struct Watching<P>(Box<dyn Qdisc<P>>);

impl<P: Packet> Qdisc<P> for Watching<P> {
    fn enqueue(&mut self, mut packet: P, cx: &mut Cx<'_, P>) {
        let ends = packet.ends();
        SEEN.lock().unwrap().push((packet.len(), ends.source, ends.destination, packet.label()));
        packet.set_label(1e6);
        self.0.enqueue(packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Dequeued<P> {
        self.0.dequeue(cx)
    }

    fn backlog(&self) -> Backlog {
        self.0.backlog()
    }

    fn stats(&self) -> &Stats {
        self.0.stats()
    }

    fn reconfigure(&mut self, params: &dyn AnyParams, link: &Link, cx: &mut Cx<'_, P>) -> Result<(), ParamError> {
        self.0.reconfigure(params, link, cx)
    }
}

/// Asks the server of its number, and sends a datagram that is answered.
struct Talks(u32);

impl Application for Talks {
    fn on_event(&mut self, event: Event, cx: &mut traffic::Cx<'_>) {
        if event == Event::Start {
            cx.want(Action::Open { conn: Conn(0), server: self.0 });
            let (request, response, think) = (100, 3_000, Duration::ZERO);
            cx.want(Action::Request { conn: Conn(0), request, response, think, close: true });
            cx.want(Action::Datagram { len: 200, tag: 0, ecn: Ecn::NotEct });
        }
    }

    fn on_arrival(&mut self, arrival: Arrival, cx: &mut traffic::Cx<'_>) {
        if arrival.to == Side::Client {
            cx.want(Action::Reply { len: 100, tag: 0, ecn: Ecn::NotEct });
        }
    }
}

/// Every host has a number of its own, the same in all groups, and a packet tells who has sent it and to whom. What comes to the first queue of
/// its path has no label; what an edge wrote into it comes to the next one.
#[test]
fn packets_tell_their_hosts_and_their_labels() {
    let mut catalogue = Catalogue::default();
    catalogue.add(Addition::of::<Watch>(1)).unwrap();
    let watch = catalogue.spec("watch", serde_json::from_str("{}").unwrap()).unwrap();
    let groups = ["one", "other"].map(|name| {
        // Three clients, each with every one of three servers.
        let apps = (0..9).map(|i| -> Box<dyn Application> { Box::new(Talks(i / 3)) }).collect();
        let route = Route { forward: vec![0, 0], reverse: vec![0, 0], ..Route::default() };
        Group { clients: 3, routes: vec![route; 3], ..group(name, apps, Profile::rfc(), Delays::None) }
    });
    finish(dumbbell(BitRate::from_mbps(100), watch, groups.into(), 0, 10));
    let seen = std::mem::take(&mut *SEEN.lock().unwrap());
    assert!(seen.len() > 2 * 18 * 10, "{}", seen.len());

    let to_clients: BTreeSet<_> = seen.iter().filter(|s| s.0 > 1_000).map(|s| (s.1, s.2)).collect();
    let [servers, clients]: [BTreeSet<u32>; 2] =
        [to_clients.iter().map(|pair| pair.0).collect(), to_clients.iter().map(|pair| pair.1).collect()];
    assert_eq!((servers.len(), clients.len(), to_clients.len()), (3, 3, 9), "{to_clients:?}");
    assert!(servers.is_disjoint(&clients), "{to_clients:?}");
    for (len, source, destination, _) in &seen {
        let pair = if servers.contains(source) { (*source, *destination) } else { (*destination, *source) };
        assert!(to_clients.contains(&pair), "{len} bytes from {source} to {destination}");
    }

    // Each packet passes the queue twice.
    let labels = |wanted: f32| seen.iter().filter(|s| s.3 == wanted).count();
    assert_eq!((labels(0.0), labels(1e6)), (seen.len() / 2, seen.len() / 2));
}
