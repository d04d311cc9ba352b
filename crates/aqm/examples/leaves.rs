//! The cost of a packet in an HTB whose leaves grow in number, and the memory of a leaf.
//!
//! ```text
//! cargo run --release -p aqmkit-aqm --example leaves -- 10 1000 10000
//! ```
//!
//! Forty leaves share an inner class, twenty-five of those another one. A leaf is promised 1 Mbit/s and may have 50; the link carries 1.2 Mbit/s for each,
//! so that leaves borrow, and wait for their ceilings and those of their parents. A tenth of the leaves has packets of 1500 bytes, eight each.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "it is a command that measures time"
)]

use std::time::Instant as Clock;

use aqmkit_aqm::packet::Ends;
use aqmkit_aqm::registry::{Link, Spec};
use aqmkit_aqm::{Cx, Dequeued, Discard, Packet};
use aqmkit_base::{BitRate, ClassId, Ecn, FlowKey, Instant, Rng};

/// A packet to a client.
struct To(u32);

impl Packet for To {
    fn len(&self) -> u32 {
        1500
    }
    fn flow(&self) -> FlowKey {
        FlowKey(self.0.into())
    }
    fn class(&self) -> ClassId {
        ClassId(0)
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn ends(&self) -> Ends {
        Ends { source: 1, destination: Ends::of_client(self.0) }
    }
    fn set_ce(&mut self) {}
}

const PACKETS: u32 = 2_000_000;
const WAITING: u32 = 8;

/// An operator's tree with this many leaves, or nearly.
fn tree(leaves: u32, aqm: &str) -> Spec {
    let below = |all: u32, most: u32| (all.div_ceil(all.div_ceil(most)), all.div_ceil(most));
    let (homes, points) = below(leaves, 40);
    let (points, sites) = below(points, 25);
    let mbit = |n: u32| format!("{n}mbit");
    let table = serde_json::json!({"classes": [
        {"name": "site", "each": sites, "rate": mbit(homes * points), "ceil": mbit(2 * homes * points), "cburst": "64kb"},
        {"name": "point", "parent": "site", "each": points, "rate": mbit(homes), "ceil": mbit(3 * homes), "cburst": "32kb"},
        {"name": "home", "parent": "point", "each": homes, "rate": "1mbit", "ceil": "50mbit", "match": "client *", "aqm": aqm},
    ]});
    Spec::read("htb", table).unwrap()
}

fn main() {
    let counts: Vec<u32> = std::env::args().skip(1).map(|text| text.parse().unwrap()).collect();
    println!("{:>8} {:>10} {:>12} {:>12} {:>14}", "leaves", "queues", "ns a packet", "requests", "KiB a leaf");
    for leaves in counts {
        for aqm in ["fifo", "cake"] {
            measure(leaves, aqm);
        }
    }
}

fn measure(leaves: u32, aqm: &str) {
    let rate = BitRate::from_bps(u64::from(leaves) * 1_200_000);
    let before = resident_kib();
    let mut queue = tree(leaves, aqm).build::<To>(&Link::new(rate), Instant::ZERO).unwrap();
    let (mut rng, mut draw) = (Rng::stream(1, "queue"), Rng::stream(1, "packets"));
    let mut now = Instant::ZERO;
    let busy = (leaves / 10).max(1);
    for packet in 0..WAITING * busy {
        queue.enqueue(To(packet % busy * 10), &mut Cx { now, rng: &mut rng, sink: &mut Discard });
    }
    let (mut sent, mut requests) = (0, 0_u64);
    let started = Clock::now();
    while sent < PACKETS {
        let mut cx = Cx { now, rng: &mut rng, sink: &mut Discard };
        requests += 1;
        match queue.dequeue(&mut cx) {
            Dequeued::Packet(_) => {
                sent += 1;
                queue.enqueue(To(draw.below(busy.into()) as u32 * 10), &mut cx);
                std::hint::black_box(queue.backlog());
                now += rate.time_to_send(aqmkit_base::Bytes(1500));
            }
            Dequeued::NotBefore(at) => now = at,
            Dequeued::Empty => unreachable!("as many come as go"),
        }
    }
    let ns = started.elapsed().as_nanos() as f64 / f64::from(sent);
    let kib = (resident_kib() - before) / f64::from(leaves);
    println!("{leaves:>8} {aqm:>10} {ns:>12.0} {:>12.2} {kib:>14.1}", requests as f64 / f64::from(sent));
}

/// The memory of this process, where Linux tells it.
fn resident_kib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|text| text.trim().trim_end_matches(" kB").trim().parse().ok()).unwrap_or_default()
}
