//! A driver's ring between a queue and its wire: what arithmetic says of each packet, and what must hold for all.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use crate::common::script::{Arrivals, random_sends, scripted, scripts};
use crate::common::{Bulk, Poisson, dumbbell, finish, group, linux_with, spec};
use aqmkit_base::{BitRate, Bytes, Duration, Ecn, Instant};
use aqmkit_sim::log::{Log, PacketEvent};
use aqmkit_sim::scenario::{Bql, Delays, Driver, Group};
use aqmkit_sim::{Scenario, Simulation};
use aqmkit_transport::Profile;
use proptest::prelude::*;

/// The transmission time of 1000 bytes at 10 Mb/s.
const SERVICE: Duration = Duration::from_micros(800);

const NONE: Driver = Driver { ring: 256, bql: None, coalesce: Duration::ZERO };

fn limited(ring: u32, coalesce: Duration) -> Driver {
    Driver { ring, bql: Some(Bql::default()), coalesce }
}

/// Packets of 1000 bytes that all come at the beginning.
fn burst(packets: usize, driver: Driver) -> (Scenario, Arrivals) {
    let (mut scenario, arrivals) = scripted(&vec![(Instant::ZERO, 1000); packets]);
    scenario.links[0].driver = Some(driver);
    (scenario, arrivals)
}

/// The time in the queue of each packet, in services, in the order in which they left it.
fn in_queue(scenario: Scenario) -> Vec<f64> {
    let mut run = Simulation::new(scenario).unwrap();
    run.set_log(Some(Log::new([0], 100_000)));
    run.advance(run.end()).unwrap();
    let records = run.log().unwrap().take();
    let left = records.iter().filter(|r| r.what == PacketEvent::Departure);
    left.map(|r| r.waited.as_secs_f64() / SERVICE.as_secs_f64()).collect()
}

/// When each packet came, in services.
fn came(arrivals: &Arrivals) -> Vec<f64> {
    let arrivals = arrivals.lock().unwrap();
    assert!(arrivals.iter().map(|(tag, _)| *tag).eq(0..arrivals.len() as u64), "in order");
    arrivals.iter().map(|(_, at)| at.as_secs_f64() / SERVICE.as_secs_f64()).collect()
}

fn equal(got: &[f64], by_hand: impl IntoIterator<Item = f64>) {
    let wanted: Vec<f64> = by_hand.into_iter().collect();
    assert_eq!(got.len(), wanted.len());
    for (i, (at, due)) in got.iter().zip(&wanted).enumerate() {
        assert!((at - due).abs() < 1e-6, "packet {i}: {at} services, {due} by hand");
    }
}

/// The first packets do not wait in the queue; each other one leaves it as a transmission frees a descriptor.
#[test]
fn a_ring_takes_as_many_packets_as_it_has_descriptors() {
    for ring in [1, 7, 64] {
        let (scenario, arrivals) = burst(200, Driver { ring, ..NONE });
        equal(&in_queue(scenario), (0..200).map(|i| f64::from((i - ring as i32 + 1).max(0))));
        equal(&came(&arrivals), (1..=200).map(f64::from));
    }
}

/// The first completion makes the limit one packet, so that two are held: one in transmission, one behind it.
#[test]
fn byte_queue_limits_hold_one_packet_besides_that_in_transmission() {
    let (scenario, arrivals) = burst(200, limited(256, Duration::ZERO));
    equal(&in_queue(scenario), (0..200).map(|i| if i < 2 { f64::from(i) } else { f64::from(i - 1) }));
    equal(&came(&arrivals), (1..=200).map(f64::from));
}

/// Interrupts 4.5 services after the first packet that they report. The limit is 0, 1000, 3000 and 7000 bytes, and each time one packet
/// exceeds it: 1, 2, 4 and 8 packets. After each but the last the wire has run dry for a while.
#[test]
fn the_wire_runs_dry_until_the_limit_covers_the_interrupt() {
    let (scenario, arrivals) = burst(200, limited(256, SERVICE.mul_f64(4.5)));
    let by_hand = [1.0, 6.5, 7.5, 12.0, 13.0, 14.0, 15.0];
    let busy = (0..193).map(|i| 17.5 + f64::from(i));
    finish(scenario);
    equal(&came(&arrivals), by_hand.into_iter().chain(busy));
}

/// From when a packet has left CoDel's queue to when it arrives, in transmissions of a packet of `len` bytes at 10 Mb/s, and the time in
/// the queue in milliseconds.
fn beneath_codel(driver: Option<Driver>, traffic: Group, len: u64) -> (f64, f64) {
    let mut scenario = dumbbell(BitRate::from_mbps(10), spec("codel", "{}"), vec![traffic], 20, 60);
    scenario.links[0].driver = driver;
    let window = finish(scenario).windows.remove(0);
    let (link, class) = (&window.links["bottleneck"], &window.classes["data"]);
    assert!(link.utilization > 0.99, "{}", link.utilization);
    let queue = link.queue_delay_ms.unwrap().mean;
    // Propagation is all on the way back.
    ((class.latency_ms.unwrap().mean - queue) * 10e3 / (len as f64 * 8.0), queue)
}

/// While packets wait in the queue the ring is full, so that each one waits for 255 others and is then sent. (A window has the queueing of the
/// packets that left in it and the latency of those that arrived.)
#[test]
fn a_ring_beneath_codel_takes_the_transmissions_of_its_packets() {
    let run = |driver| {
        let overload = Poisson { mean: SERVICE.mul_f64(0.8), len: 972 };
        beneath_codel(driver, group("overload", vec![Box::new(overload)], Profile::rfc(), Delays::None), 1000).0
    };
    for (driver, packets) in [(None, 1.0), (Some(NONE), 256.0), (Some(limited(256, Duration::ZERO)), 2.0)] {
        let took = run(driver);
        assert!((took / packets - 1.0).abs() < 0.01, "{took} transmissions with {driver:?}");
    }
}

/// Four flows of cubic. CoDel keeps its queue short and does not see the ring; a flow that reduces its quarter by 30 % takes 19 packets out of
/// the ring before CoDel's queue grows again. With byte queue limits the ring has two packets.
#[test]
fn codel_does_not_see_the_delay_of_a_ring() {
    let run = |driver| {
        let profile = linux_with(aqmkit_transport::Kind::Cubic);
        let len = profile.mss.0 + profile.header.0;
        let flows = (0..4).map(|_| Box::new(Bulk) as _).collect();
        beneath_codel(driver, group("bulk", flows, profile, Delays::Each(vec![Duration::from_millis(20)])), len)
    };
    let near_target = |queue: f64| (3.0..15.0).contains(&queue);
    let plain = run(None);
    assert!((plain.0 - 1.0).abs() < 0.01 && near_target(plain.1), "its own transmission: {plain:?}");
    let ring = run(Some(NONE));
    assert!((0.9..1.0).contains(&(ring.0 / 256.0)) && ring.1 < 15.0, "most of the ring: {ring:?}");
    let two = run(Some(limited(256, Duration::ZERO)));
    assert!((two.0 - 2.0).abs() < 0.05 && near_target(two.1), "two packets: {two:?}");
}

fn drivers() -> impl Strategy<Value = Driver> {
    let ring = prop_oneof![1u32..4, 1u32..40, Just(256)];
    let bql = prop::option::of((0u64..6000, 0u64..30_000, 0u64..300).prop_map(|(least, more, hold)| Bql {
        limit_min: Bytes(least),
        limit_max: Bytes(least + more),
        hold_time: Duration::from_millis(hold),
    }));
    let coalesce = prop_oneof![Just(0), 0u64..5000];
    (ring, bql, coalesce).prop_map(|(ring, bql, us)| Driver { ring, bql, coalesce: Duration::from_micros(us) })
}

/// A discipline of each kind: one queue, several queues, queues that hold packets back.
const DISCIPLINES: [&str; 6] = ["fifo", "codel", "fq-codel", "drr", "cake", "cbq"];

/// Seconds of a run: enough for the packets of the first one, nearly 2,000 if none is dropped, where a ring of one descriptor is free again
/// only 6 ms after each.
const RUN: u64 = 20;

/// Two flows of datagrams that overload a link for a second, and time to empty it.
fn overload(seed: u64, discipline: &str, driver: Driver) -> (Scenario, Vec<Arrivals>) {
    let lists = [random_sends(seed, 1500.0, 1.0), random_sends(seed + 1, 300.0, 1.0)];
    let (all, arrivals) = scripts("pair", Ecn::Ect0, &lists);
    let queue = match discipline {
        // Shaped below the rate of the link, so that it says when to ask again.
        "cake" => spec("cake", r#"{"bandwidth": "5mbit"}"#),
        "cbq" => spec("cbq", r#"{"classes": [{"class": "data", "share": 0.5, "borrow": false}]}"#),
        other => spec(other, r#"{"limit": 100}"#),
    };
    let mut scenario = dumbbell(BitRate::from_mbps(8), queue, vec![all], 0, RUN);
    scenario.links[0].driver = Some(driver);
    (scenario, arrivals)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Every packet that was not dropped comes, those of a flow in order.
    #[test]
    fn packets_come_once_and_in_order(seed in 0u64..1 << 40, which in 0..DISCIPLINES.len(), driver in drivers()) {
        let (scenario, arrivals) = overload(seed, DISCIPLINES[which], driver);
        let out = finish(scenario);
        let link = &out.windows[0].links["bottleneck"];
        let came: usize = arrivals.iter().map(|list| list.lock().unwrap().len()).sum();
        let sent: u64 = out.flows.iter().map(|flow| flow.packets).sum();
        let dropped: u64 = link.drops.values().sum();
        prop_assert_eq!(came as u64 + dropped, sent);
        prop_assert!((link.packets_per_s * RUN as f64 - came as f64).abs() < 1e-6);
        for list in &arrivals {
            prop_assert!(list.lock().unwrap().is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1));
        }
    }

    /// Event by event: the ring has no more packets than descriptors; while packets wait in the queue of a work-conserving discipline, the
    /// driver has no room for another; and then the wire is idle only if it waits for an interrupt.
    #[test]
    fn the_driver_keeps_its_ring_as_full_as_it_may(seed in 0u64..1 << 40, which in 0..4usize, driver in drivers()) {
        let (scenario, _) = overload(seed, DISCIPLINES[which], driver);
        let mut run = Simulation::new(scenario).unwrap();
        while !run.advance_by(Instant::ZERO + Duration::from_secs(2), 1).unwrap() {
            let link = run.link(0);
            let gauges = link.gauges();
            let gauge = |name: &str| gauges.iter().find(|(gauge, _)| gauge == name).map(|(_, value)| *value);
            let (packets, bytes) = (gauge("ring_packets").unwrap(), gauge("ring_bytes").unwrap());
            prop_assert!(packets <= f64::from(driver.ring));
            let stopped = packets >= f64::from(driver.ring) || gauge("ring_limit").is_some_and(|limit| bytes > limit);
            prop_assert!(stopped || link.backlog.packets == 0, "room for a packet of {:?}: {:?}", link.backlog, gauges);
            if link.busy_until.is_none() && driver.coalesce.is_zero() {
                prop_assert_eq!((packets, link.backlog.packets), (0.0, 0));
            }
        }
    }

    /// Packets that leave a FIFO for a ring keep their order: none is sent at another time than without it.
    #[test]
    fn a_ring_beneath_a_fifo_that_drops_nothing_changes_no_time(
        seed in 0u64..1 << 40, per_s in 300.0..1500.0f64, ring in 1u32..400, limited: bool,
    ) {
        let sends = random_sends(seed, per_s, 2.0);
        let (without, plain) = scripted(&sends);
        finish(without);
        let (mut scenario, arrivals) = scripted(&sends);
        scenario.links[0].driver = Some(Driver { ring, bql: limited.then(Bql::default), coalesce: Duration::ZERO });
        finish(scenario);
        prop_assert_eq!(&*plain.lock().unwrap(), &*arrivals.lock().unwrap());
    }
}

#[test]
fn a_driver_without_a_ring_is_refused() {
    let contradicting = Bql { limit_min: Bytes(2), limit_max: Bytes(1), ..Bql::default() };
    for wrong in [Driver { ring: 0, ..NONE }, Driver { bql: Some(contradicting), ..NONE }] {
        let (scenario, _) = burst(1, wrong);
        assert!(scenario.check().unwrap_err().contains("driver"), "{wrong:?}");
    }
}
