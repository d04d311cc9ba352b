//! Datagrams from clients: they take the way back, with the delay that connections have there.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::sync::{Arc, Mutex};

use crate::common::{dumbbell, finish, group, spec};
use aqmkit_base::{BitRate, Duration, Ecn, Instant};
use aqmkit_sim::scenario::{Delays, Group, Link, Route};
use aqmkit_sim::{Output, Scenario};
use aqmkit_traffic::{Action, Application, Arrival, Cx, Event, Side};
use aqmkit_transport::Profile;

/// Where and when what has arrived, and its tag and length.
type Seen = Arc<Mutex<Vec<(Side, f64, u64, u32)>>>;

/// Sends a datagram a second, which the client answers; both sides write down what they get.
struct Echo(Seen);

impl Application for Echo {
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>) {
        if matches!(event, Event::Start | Event::Wake) {
            cx.want(Action::Datagram { len: 1222, tag: 7, ecn: Ecn::NotEct });
            cx.want(Action::WakeAt(cx.now + Duration::from_secs(1)));
        }
    }

    fn on_arrival(&mut self, arrival: Arrival, cx: &mut Cx<'_>) {
        let Arrival { to, tag, len, sent, .. } = arrival;
        self.0.lock().unwrap().push((to, cx.now.since(sent).as_millis_f64(), tag, len));
        if to == Side::Client {
            cx.want(Action::Reply { len: 597, tag: tag + 1, ecn: Ecn::NotEct });
        }
    }
}

/// A link of 10 Mbit/s one way and of 5 Mbit/s the other, and 40 ms on the way back.
fn scenario(apps: usize, delays: Delays) -> (Scenario, Seen) {
    let seen = Seen::default();
    let apps = (0..apps).map(|_| -> Box<dyn Application> { Box::new(Echo(Arc::clone(&seen))) }).collect();
    let routes = vec![Route { forward: vec![0], reverse: vec![1], ..Route::default() }];
    let echo = Group { routes, ..group("echo", apps, Profile::rfc(), delays) };
    let mut all = dumbbell(BitRate::from_mbps(10), spec("fifo", "{}"), vec![echo], 0, 10);
    let back = Link { name: "back".into(), rate: BitRate::from_mbps(5), ..all.links[0].clone() };
    all.links.push(back);
    (all, seen)
}

#[test]
fn a_reply_takes_the_way_back_with_the_delay_of_the_round_trip() {
    let (mut all, seen) = scenario(1, Delays::Each(vec![Duration::from_millis(40)]));
    all.groups[0].stop = Instant::ZERO + Duration::from_millis(9500);
    let output: Output = finish(all);
    let seen = seen.lock().unwrap();
    // 1250 bytes at 10 Mbit/s; 625 bytes at 5 Mbit/s and 40 ms.
    assert_eq!(seen.len(), 20);
    for pair in seen.chunks(2) {
        assert_eq!(pair[0], (Side::Client, 1.0, 7, 1222));
        assert_eq!(pair[1], (Side::Server, 41.0, 8, 597));
    }
    let window = &output.windows[0];
    assert_eq!(output.flows[0].packets, 20);
    assert_eq!(output.flows[0].delivered_bytes, [12_220], "replies are no data received");
    assert_eq!([window.links["bottleneck"].packets_per_s, window.links["back"].packets_per_s], [1.0, 1.0]);
    assert_eq!(
        window.classes["data"].latency_ms.map(|l| (l.mean * 100.0).round()),
        Some(100.0),
        "nor is their delay one of data"
    );
}

#[test]
fn a_drawn_delay_is_one_for_all_replies_of_an_application() {
    let (mut all, seen) = scenario(5, Delays::Uniform(Duration::from_millis(10), Duration::from_millis(90)));
    all.groups[0].stop = Instant::ZERO + Duration::from_millis(9500);
    finish(all);
    let seen = seen.lock().unwrap();
    let mut delays: Vec<u64> =
        seen.iter().filter(|s| s.0 == Side::Server).map(|s| (s.1 * 1e6).round() as u64).collect();
    assert_eq!(delays.len(), 50);
    delays.sort_unstable();
    delays.dedup();
    // One for each application; packets that meet in the queue of the link wait a millisecond more.
    assert!((5..=15).contains(&delays.len()), "{delays:?}");
    assert!(delays[0] >= 10_000_000 && delays[delays.len() - 1] <= 96_000_000);
}

#[test]
fn a_stopped_application_does_not_answer() {
    let (mut all, seen) = scenario(1, Delays::None);
    all.links[0].delay = Duration::from_millis(100);
    all.groups[0].stop = Instant::ZERO + Duration::from_millis(50);
    finish(all);
    let seen = seen.lock().unwrap();
    assert_eq!(seen.iter().map(|s| s.0).collect::<Vec<_>>(), [Side::Client], "it hears, and says nothing");
}
