//! CoDel, with the delay predicted on arrival, and at the head of the queue.

use std::collections::VecDeque;

use aqmkit_aqm::{Aqm, Env, PacketView, QueueView, Verdict};
use aqmkit_base::{ClassId, Duration, Ecn, FlowKey, Instant, Rng};
use aqmkit_kernel_laws::disciplines::codel::{AtHead, Config, Judged};
use serde_json::{Value, json};

use super::trace::link;
use super::{Pair, hold, notice, pair, spec};

/// Tolerated differences among 720,000 decisions.
const ALLOWED: u64 = 0;

pair!(Codel, codel, "codel", Predicted);

#[test]
fn decisions_are_those_of_the_discipline() {
    // On arrival each packet is judged separately, so the number of consecutive drops is unbounded.
    let tables = [
        json!({ "max_drops": 1_000_000 }),
        json!({ "max_drops": 1_000_000, "reentry": "2012" }),
        json!({ "max_drops": 1_000_000, "target": "3ms", "interval": "20ms", "ecn": true }),
        json!({ "max_drops": 1_000_000, "target": "10ms", "interval": "30ms", "limit": 40, "mtu": "6000b" }),
        json!({ "max_drops": 1_000_000, "ce_threshold": "4ms", "interval": "50ms" }),
        json!({ "max_drops": 1_000_000, "limit": "40kb", "interval": "8ms", "ecn": true, "ce_threshold": "2ms" }),
    ];
    hold::<Codel>(&tables, ALLOWED);
}

#[test]
fn a_wrong_constant_is_noticed() {
    let table = json!({ "max_drops": 1_000_000, "target": "3ms", "interval": "20ms" });
    notice::<Codel>(&table, ALLOWED, "target", |c| c.target += 100_000);
    notice::<Codel>(&table, ALLOWED, "interval", |c| c.interval += 500_000);
    notice::<Codel>(&table, ALLOWED, "root", |c| c.per_root[0][2] += c.per_root[0][2] / 20);
    notice::<Codel>(&table, ALLOWED, "rate", |c| c.byte_time.mantissa.high -= 1 << 24);
    notice::<Codel>(&table, ALLOWED, "packet", |c| c.mtu = 9000);
}

/// Judges departing packets by the discipline and by the law at the head of the queue. Returns the numbers judged,
/// judged differently, and dropped.
fn at_the_head(table: &Value, change: impl Fn(&mut Config)) -> (u64, u64, u64) {
    type Discipline = aqmkit_aqm::disciplines::codel::Codel;
    let spec = spec("codel", table);
    let params = Codel::params(spec.parameters());
    let config = Discipline::config(params, &link()).unwrap();
    let mut fixed = Codel::fixed(params, &link());
    change(&mut fixed);
    let (mut rng, mut draws) = (Rng::stream(1, "queue"), Rng::stream(1, "draws"));
    let mut now = Instant::from_nanos(1_000_000_000);
    let (mut aqm, mut law) = (Discipline::new(&config, now), AtHead::ZERO);
    let mut queue: VecDeque<(Instant, u64)> = VecDeque::new();
    let (mut judged, mut different, mut dropped, mut load) = (0, 0, 0, 1.0);
    for _ in 0..200_000 {
        // Packets of random sizes arrive while the link sends one, a few more or less than depart; not so many more
        // that `count` exceeds the exact part of the table.
        let sent = Duration::from_micros(300 + rng.below(900));
        load = if rng.chance(0.002) { [0.5, 0.8, 1.0, 1.1][rng.below(4) as usize] } else { load };
        while rng.chance(load / (1.0 + load)) && queue.len() < 2000 {
            queue.push_back((now + sent.mul_f64(rng.uniform()), [40, 576, 1500][rng.below(3) as usize]));
        }
        queue.make_contiguous().sort();
        now += sent;
        while let Some((arrived, _)) = queue.pop_front() {
            let (bytes, packets) = (queue.iter().map(|(_, bytes)| bytes).sum(), queue.len());
            let pkt = PacketView {
                flow: FlowKey(1),
                sojourn: now.since(arrived),
                len: 1000,
                class: ClassId(0),
                ecn: Ecn::NotEct,
            };
            let rest = QueueView { packets: packets as u32, bytes, full: false };
            let wanted = aqm.on_departure(&config, pkt, rest, &mut Env { now, rng: &mut draws });
            if packets == 0 {
                aqm.on_empty(&config, now);
            }
            let delay = pkt.sojourn.as_nanos();
            let drops = law.drops(&fixed, &Judged { now: now.as_nanos(), delay, bytes, packets: packets as u64 });
            judged += 1;
            different += u64::from(drops != matches!(wanted, Verdict::Drop(_)));
            if wanted == Verdict::Pass {
                break;
            }
            dropped += 1;
        }
    }
    (judged, different, dropped)
}

#[test]
fn decisions_at_the_head_are_those_of_the_discipline() {
    let tables = [
        json!({}),
        json!({ "reentry": "2012" }),
        json!({ "target": "3ms", "interval": "20ms", "max_drops": 2 }),
        json!({ "target": "10ms", "interval": "30ms", "mtu": "6000b" }),
        json!({ "target": "3ms", "interval": "4ms", "max_drops": 1 }),
    ];
    for table in tables {
        let (judged, different, dropped) = at_the_head(&table, |_| {});
        assert!(different == 0 && dropped > 300, "{table}: {different} of {judged}, {dropped} dropped");
    }
}

/// A deliberate error in a parameter.
type Change = fn(&mut Config);

#[test]
fn a_wrong_constant_is_noticed_at_the_head() {
    let table = json!({ "target": "3ms", "interval": "20ms", "max_drops": 2 });
    let changes: [(&str, Change); 4] = [
        ("target", |c| c.target += 100_000),
        ("interval", |c| c.interval += 500_000),
        ("root", |c| c.per_root[0][2] += c.per_root[0][2] / 20),
        ("packet", |c| c.mtu = 9000),
    ];
    for (what, change) in changes {
        let (_, different, _) = at_the_head(&table, change);
        assert!(different > 10, "a wrong {what} makes {different} differ");
    }
    let quick = json!({ "target": "3ms", "interval": "4ms", "max_drops": 1 });
    let (_, different, _) = at_the_head(&quick, |c| c.max_drops = 2);
    assert!(different > 10, "one more drop makes {different} differ");
}
