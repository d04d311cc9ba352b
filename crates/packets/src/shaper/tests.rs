use std::sync::Arc;

use aqmkit_aqm::registry::Spec;
use aqmkit_aqm::{Backlog, Packet};
use aqmkit_base::trace::Trace;
use aqmkit_base::wire::{Loss, Reorder, Wire};
use aqmkit_base::{BitRate, ClassId, Duration, Ecn, FlowKey, FlowKind, Framing, Instant};

use super::*;
use proptest::prelude::*;

mod replaced;

/// A packet without contents.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Pkt {
    pub(super) id: u64,
    pub(super) class: ClassId,
    pub(super) flow: FlowKey,
    pub(super) len: u32,
    pub(super) ecn: Ecn,
}

impl Packet for Pkt {
    fn len(&self) -> u32 {
        self.len
    }
    fn flow(&self) -> FlowKey {
        self.flow
    }
    fn class(&self) -> ClassId {
        self.class
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }
}

impl crate::meter::Measured for Pkt {
    fn payload(&self) -> u32 {
        self.len.saturating_sub(40)
    }

    fn connection(&self) -> FlowKey {
        self.flow
    }
}

/// 8 Mbit/s, that is, 1 µs per byte; 10 ms to the far end.
fn setup() -> Setup {
    Setup::new("down", BitRate::from_mbps(8), Duration::from_millis(10), Spec::named("fifo").unwrap())
}

fn shaper() -> Shaper<Pkt> {
    Shaper::new(&setup(), Meter::whole(&[]), Instant::ZERO).unwrap()
}

fn us(us: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(us)
}

fn pkt(id: u64) -> Pkt {
    Pkt { id, len: 1000, ..Pkt::default() }
}

fn released(s: &mut Shaper<Pkt>, now: Instant) -> Vec<(u64, Instant)> {
    s.advance(now);
    std::iter::from_fn(|| s.release(now)).map(|r| (r.packet.id, r.due)).collect()
}

#[test]
fn a_packet_takes_its_transmission_and_the_delay() {
    let mut s = shaper();
    s.arrive(pkt(1), us(0));
    s.arrive(pkt(2), us(100));
    assert_eq!(s.wakeup(), Some(us(1000)));
    assert_eq!(released(&mut s, us(10_999)), []);
    assert_eq!(s.wakeup(), Some(us(11_000)));
    assert_eq!(released(&mut s, us(11_000)), [(1, us(11_000))]);
    assert_eq!(released(&mut s, us(50_000)), [(2, us(12_000))]);
    assert_eq!(s.wakeup(), None);
    assert_eq!(s.backlog(), Backlog::default());
}

/// A CBQ class that may not borrow waits for its next turn; a packet of another class need not wait with it.
#[test]
fn a_packet_that_may_go_does_not_wait_for_others_that_are_held_back() {
    let classes =
        serde_json::json!([{ "class": "slow", "share": 0.1, "borrow": false }, { "class": "fast", "share": 0.9 }]);
    let aqm = Spec::read("cbq", serde_json::json!({ "classes": classes })).unwrap();
    let names = ["slow", "fast"].map(str::to_owned).to_vec();
    let setup = Setup { aqm, classes: names.clone(), ..setup() };
    let mut s = Shaper::new(&setup, Meter::whole(&names), Instant::ZERO).unwrap();
    (0..6).for_each(|id| s.arrive(pkt(id), us(0)));
    s.advance(us(5_000));
    assert!(s.backlog().packets > 0 && s.wakeup().is_some(), "0.8 Mbit/s: a packet each 10 ms");
    s.arrive(Pkt { class: ClassId(1), ..pkt(9) }, us(5_000));
    assert!(released(&mut s, us(16_000)).contains(&(9, us(16_000))), "1 ms of transmission and 10 ms of delay");
    let slow: Vec<u64> = released(&mut s, us(200_000)).iter().map(|(id, _)| *id).collect();
    assert!(slow.ends_with(&[4, 5]), "{slow:?}: the others go when it is their turn");
}

/// Queued packets keep their keys; new ones get keys by the new discipline's definition of a flow.
#[test]
fn what_a_flow_is_follows_the_discipline() {
    let fred = |table: serde_json::Value| Setup { aqm: Spec::read("fred", table).unwrap(), ..setup() };
    let mut s = Shaper::<Pkt>::new(&fred(serde_json::json!({})), Meter::whole(&[]), Instant::ZERO).unwrap();
    assert_eq!(s.flow(), FlowKind::Connection);
    s.arrive(pkt(1), us(0));
    s.reconfigure(&fred(serde_json::json!({ "flow": "source" })), us(10)).unwrap();
    assert_eq!((s.flow(), s.backlog().packets), (FlowKind::Source, 0));
    s.reconfigure(&setup(), us(20)).unwrap();
    assert_eq!(s.flow(), FlowKind::Connection);
}

/// After a stall, due departures must be processed before packets read meanwhile are admitted; otherwise a late packet
/// would depart before its arrival.
#[test]
fn after_a_stall_no_packet_departs_before_it_came() {
    let mut s = shaper();
    s.arrive(pkt(1), us(0));
    // Nothing is processed for 40 ms; then a packet is read. The link has been idle since 1 ms.
    s.arrive(pkt(2), us(40_000));
    assert_eq!(released(&mut s, us(60_000)), [(1, us(11_000)), (2, us(51_000))]);
}

#[test]
fn departures_after_a_stall_have_the_times_of_a_punctual_program() {
    let (mut late, mut punctual) = (shaper(), shaper());
    for id in 0..20 {
        late.arrive(pkt(id), us(id * 10));
        punctual.arrive(pkt(id), us(id * 10));
    }
    let all: Vec<_> = (0..4000).flat_map(|ms| released(&mut punctual, us(ms * 10))).collect();
    assert_eq!(released(&mut late, us(40_000)), all);
    assert_eq!(all.len(), 20);
    assert_eq!(
        late.meter_mut().windows(us(40_000))[0].delay.summary(),
        punctual.meter_mut().windows(us(40_000))[0].delay.summary()
    );
}

#[test]
fn framing_takes_time_but_does_not_count() {
    let mut s =
        Shaper::new(&Setup { framing: Framing::bytes(500), ..setup() }, Meter::whole(&[]), Instant::ZERO).unwrap();
    s.arrive(pkt(1), us(0));
    s.arrive(pkt(2), us(0));
    assert_eq!(released(&mut s, us(90_000)), [(1, us(11_500)), (2, us(13_000))]);
    assert_eq!(s.meter_mut().windows(us(90_000))[0].total.sent_bytes, 2000);
}

/// A trace with opportunities of 1500 bytes at 5 ms and 6 ms, repeated every 10 ms.
#[test]
fn a_trace_says_when_packets_go() {
    let trace = Trace::parse("t", "5\n6\n10\n").unwrap();
    let varying = Setup { trace: Some(Arc::new(trace)), ..setup() };
    let mut s: Shaper<Pkt> = Shaper::new(&varying, Meter::whole(&[]), Instant::ZERO).unwrap();
    for id in 0..3 {
        s.arrive(pkt(id), us(1000));
    }
    // 1000 bytes and half of the second packet at 5 ms, the rest of it and the third at 6 ms; then 10 ms to the end.
    assert_eq!(released(&mut s, us(90_000)), [(0, us(15_000)), (1, us(16_000)), (2, us(16_000))]);
    s.arrive(pkt(3), us(91_000));
    assert_eq!(released(&mut s, us(200_000)), [(3, us(105_000))], "unused capacity is lost");
}

#[test]
fn a_rate_of_zero_is_refused() {
    let zero = Setup { rate: BitRate::default(), ..setup() };
    assert!(Shaper::<Pkt>::new(&zero, Meter::whole(&[]), Instant::ZERO).is_err());
    assert!(shaper().reconfigure(&zero, us(1)).is_err());
}

#[test]
fn a_new_rate_holds_at_once() {
    let mut s = shaper();
    for id in 0..3 {
        s.arrive(pkt(id), us(0));
    }
    // Half of the first packet has been sent by then.
    s.reconfigure(&Setup { rate: BitRate::from_mbps(4), ..setup() }, us(500)).unwrap();
    assert_eq!(released(&mut s, us(90_000)), [(0, us(11_500)), (1, us(13_500)), (2, us(15_500))]);
    let wrong = Spec::read("red", serde_json::json!({ "min": 9, "max": 3 })).unwrap();
    assert!(s.reconfigure(&Setup { aqm: wrong, ..setup() }, us(90_000)).is_err());
    assert_eq!(s.rates(), [(us(0), BitRate::from_mbps(8)), (us(500), BitRate::from_mbps(4))]);
}

/// Fails if the packet in transmission keeps its rate: it would take over two hours.
#[test]
fn a_packet_at_a_crawl_is_freed_by_a_higher_rate() {
    let crawl = Setup { rate: BitRate::from_bps(1), ..setup() };
    let mut s: Shaper<Pkt> = Shaper::new(&crawl, Meter::whole(&[]), Instant::ZERO).unwrap();
    s.arrive(pkt(0), us(0));
    s.arrive(pkt(1), us(0));
    s.reconfigure(&setup(), us(2_000_000)).unwrap();
    // 7998 bits are left of the first: 999.75 µs.
    let second = Instant::from_nanos(2_011_999_750);
    assert_eq!(released(&mut s, us(3_000_000)), [(0, Instant::from_nanos(2_010_999_750)), (1, second)]);
    // A new delay applies to later packets only, and none overtakes another.
    s.arrive(pkt(2), us(4_000_000));
    s.reconfigure(&Setup { delay: Duration::ZERO, rate: BitRate::from_mbps(16), ..setup() }, us(4_000_200)).unwrap();
    s.arrive(pkt(3), us(4_000_300));
    assert_eq!(released(&mut s, us(5_000_000)), [(2, us(4_010_600)), (3, us(4_010_600))]);
}

/// Packets of 1000 bytes back to back through this wire: their ids, and their delays on the wire in microseconds.
fn sent(wire: Wire, ecn: Ecn) -> (Shaper<Pkt>, Vec<(u64, f64, Ecn)>) {
    let mut s: Shaper<Pkt> = Shaper::new(&Setup { wire, ..setup() }, Meter::whole(&[]), Instant::ZERO).unwrap();
    let mut out = Vec::new();
    for n in 0..1000 {
        s.arrive(Pkt { ecn, ..pkt(n) }, us(1000 * n));
        s.advance(us(1000 * n + 999));
    }
    while let Some(r) = s.release(us(2_000_000)) {
        out.push((r.packet.id, r.due.since(us(1000 * r.packet.id)).as_secs_f64() * 1e6, r.packet.ecn));
    }
    (s, out)
}

/// Each takes 1000 µs to transmit and 10 ms to propagate.
#[test]
fn the_wire_does_what_that_of_the_simulator_does() {
    let (s, all) = sent(Wire { loss: Loss::Every { n: 5, burst: 1 }, ..Wire::default() }, Ecn::NotEct);
    assert_eq!((s.lost(), all.len()), (200, 800));
    assert!(all.iter().all(|(n, took, _)| n % 5 != 4 && *took == 11_000.0), "{all:?}");
    let (_, marked) = sent(Wire { mark: Loss::Every { n: 4, burst: 1 }, ..Wire::default() }, Ecn::Ect0);
    assert!(marked.iter().all(|(n, _, ecn)| (*ecn == Ecn::Ce) == (n % 4 == 3)), "{marked:?}");
    let (_, jittered) = sent(Wire { jitter: Duration::from_millis(3), ..Wire::default() }, Ecn::NotEct);
    assert!(jittered.windows(2).all(|two| two[0].0 < two[1].0), "their order is kept");
    let spread =
        jittered.iter().fold((f64::MAX, 0.0_f64), |(low, high), (_, took, _)| (low.min(*took), high.max(*took)));
    assert!(spread.0 >= 11_000.0 && spread.0 < 11_300.0 && spread.1 > 13_700.0 && spread.1 <= 14_000.0, "{spread:?}");
}

#[test]
fn what_is_held_back_is_overtaken() {
    let reorder = Reorder { chance: 0.1, delay: Duration::from_micros(2500) };
    let (_, all) = sent(Wire { reorder: Some(reorder), ..Wire::default() }, Ecn::NotEct);
    let held: Vec<u64> = all.iter().filter(|(_, took, _)| *took == 13_500.0).map(|(n, ..)| *n).collect();
    assert_eq!(all.iter().filter(|(_, took, _)| *took == 11_000.0).count() + held.len(), 1000);
    assert!((60..150).contains(&held.len()), "{}", held.len());
    let place = |id: u64| all.iter().position(|(n, ..)| *n == id).unwrap();
    let alone = held.iter().filter(|n| **n < 997 && !held.contains(&(*n + 1)) && !held.contains(&(*n + 2)));
    for n in alone {
        assert!(place(*n) > place(n + 1) && place(*n) > place(n + 2) && place(*n) < place(n + 3), "{n} in {all:?}");
    }
}

proptest! {
    /// For any arrival times and stalls: packets stay in order, leave once, are never early, and never faster than the
    /// rate.
    #[test]
    fn nothing_beats_the_rate(
        gaps in prop::collection::vec((0_u64..3000, 40_u32..1500, any::<bool>()), 1..300),
    ) {
        let mut s = shaper();
        let (mut now, mut came, mut out) = (0, Vec::new(), Vec::new());
        for (id, (gap, len, look)) in gaps.iter().enumerate() {
            now += gap;
            s.arrive(Pkt { id: id as u64, len: *len, ..Pkt::default() }, us(now));
            came.push(us(now));
            if *look {
                s.advance(us(now));
                out.extend(std::iter::from_fn(|| s.release(us(now))));
            }
        }
        s.advance(us(now + 10_000_000));
        out.extend(std::iter::from_fn(|| s.release(us(now + 10_000_000))));
        let drops = s.stats().drops();
        prop_assert_eq!(out.len() as u64 + drops, came.len() as u64);
        for r in &out {
            let least = came[r.packet.id as usize] + Duration::from_micros(u64::from(r.packet.len)) + setup().delay;
            prop_assert!(r.due >= least, "{} is at {} but came at {}", r.packet.id, r.due, came[r.packet.id as usize]);
        }
        for pair in out.windows(2) {
            prop_assert!(pair[0].packet.id < pair[1].packet.id);
            prop_assert!(pair[1].due >= pair[0].due + Duration::from_micros(u64::from(pair[1].packet.len)));
        }
    }
}
