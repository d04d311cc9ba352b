//! Nanoseconds per packet (one enqueue and one dequeue) of every discipline, by number of flows.
//!
//! `AQMKIT_BENCH_FLOWS=1,1000,1000000` chooses the numbers of flows.

#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]

use std::hint::black_box;

use aqmkit_aqm::registry::{self, Link, Spec};
use aqmkit_aqm::{Cx, Discard, Packet};
use aqmkit_base::{BitRate, ClassId, Duration, Ecn, FlowKey, Instant, Rng};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

#[derive(Clone, Copy)]
struct Pkt {
    flow: u64,
}

impl Packet for Pkt {
    fn len(&self) -> u32 {
        1000
    }
    fn flow(&self) -> FlowKey {
        FlowKey(self.flow)
    }
    fn class(&self) -> ClassId {
        ClassId(0)
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn set_ce(&mut self) {}
}

/// Packets that wait while the clock runs: enough that averages are between the usual thresholds.
const STANDING: usize = 12;

fn flows() -> Vec<u64> {
    let text = std::env::var("AQMKIT_BENCH_FLOWS").unwrap_or_else(|_| "1,1000".to_owned());
    text.split(',').filter_map(|n| n.trim().parse().ok()).collect()
}

fn per_packet(c: &mut Criterion) {
    let mut group = c.benchmark_group("per_packet");
    group.throughput(Throughput::Elements(1));
    for entry in registry::ALL {
        for flows in flows() {
            group.bench_with_input(BenchmarkId::new(entry.name, flows), &flows, |b, &flows| {
                let link = Link::new(BitRate::from_mbps(10_000));
                let spec = Spec::named(entry.name).expect("it is in the list");
                let mut queue = spec.build::<Pkt>(&link, Instant::ZERO).expect("defaults build");
                let (mut rng, mut draw) = (Rng::stream(1, "queue"), Rng::stream(1, "flows"));
                let mut now = Instant::ZERO;
                let mut packet = || Pkt { flow: draw.below(flows) };
                for _ in 0..STANDING {
                    queue.enqueue(packet(), &mut Cx { now, rng: &mut rng, sink: &mut Discard });
                }
                b.iter(|| {
                    now += Duration::from_nanos(800);
                    let mut cx = Cx { now, rng: &mut rng, sink: &mut Discard };
                    queue.enqueue(packet(), &mut cx);
                    if queue.backlog().packets > STANDING as u64 {
                        black_box(queue.dequeue(&mut cx));
                    }
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, per_packet);
criterion_main!(benches);
