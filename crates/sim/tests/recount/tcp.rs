//! The reported metrics of TCP, counted a second time from the segments on the wire.

use std::collections::BTreeMap;

use aqmkit_base::{BitRate, Duration, Instant};
use aqmkit_sim::observe::{Content, Observer, Sighting};
use aqmkit_sim::scenario::{Delays, Loss, WindowSpec};
use aqmkit_sim::{Control, run_observed};
use aqmkit_traffic::{Action, Application, Conn, Cx, Event};
use aqmkit_transport::{Flags, Profile};

use super::at;
use super::common::{dumbbell, group, spec};

/// Asks for one response after the other, each over a connection of its own.
struct Visits;

impl Application for Visits {
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>) {
        match event {
            Event::Start | Event::Wake => cx.want(Action::Open { conn: Conn(0), server: 0 }),
            Event::Opened(conn) => {
                // Every fifth is a single byte.
                let response = if cx.rng.chance(0.2) { 1 } else { 1 + cx.rng.below(200_000) };
                cx.want(Action::Request { conn, request: 300, response, think: Duration::ZERO, close: true });
            }
            Event::Closed(_) | Event::Failed(_) => {
                cx.want(Action::WakeAt(cx.now + Duration::from_millis(50)));
            }
            _ => {}
        }
    }
}

/// The segments of a run.
#[derive(Default)]
struct Tap {
    /// When each connection's SYN came first, by conversation.
    opened: BTreeMap<u64, Instant>,
    /// Data segments: when, and whether their data had been sent before.
    data: Vec<(Instant, bool, u32)>,
    /// The next byte after the data sent, by conversation.
    next: BTreeMap<u64, u64>,
}

impl Observer for Tap {
    fn packet(&mut self, now: Instant, seen: &Sighting) {
        let Content::Segment(s) = &seen.content else { panic!("there are no datagrams") };
        let talk = seen.parties.conversation;
        if seen.parties.from_client {
            if s.flags.has(Flags::SYN) {
                self.opened.entry(talk).or_insert(now);
            }
            return;
        }
        if s.len > 0 {
            let next = self.next.entry(talk).or_default();
            self.data.push((now, s.seq < *next, s.len));
            *next = (*next).max(s.seq + u64::from(s.len));
        }
    }
}

/// The link is so fast that its queue is always empty; its wire loses segments, so that all that are sent are seen.
#[test]
fn counts_of_tcp_are_those_of_its_segments() {
    let apps = (0..6).map(|_| -> Box<dyn Application> { Box::new(Visits) });
    let visits = group("visits", apps.collect(), Profile::rfc(), Delays::Each(vec![Duration::from_millis(60)]));
    let mut scenario = dumbbell(BitRate::from_mbps(10_000), spec("fifo", r#"{"limit": 100000}"#), vec![visits], 0, 120);
    scenario.links[0].wire.loss = Loss::Random(0.03);
    let window = |name: &str, from, to| WindowSpec { name: name.into(), from: at(from), to: at(to) };
    scenario.windows = vec![window("all", 0.0, 120.0), window("part", 20.1, 77.7)];
    let mut tap = Tap::default();
    let out = run_observed(scenario, &mut tap, &mut |_| Control::Continue).unwrap();

    let (mut packets, mut again, mut timeouts, mut connections) = (0, 0, 0, 0);
    for flow in &out.flows {
        packets += flow.packets;
        again += flow.retransmissions;
        timeouts += flow.timeouts;
        connections += flow.connections;
    }
    let again_seen = tap.data.iter().filter(|(_, repeated, _)| *repeated).count() as u64;
    assert_eq!((packets, again, connections), (tap.data.len() as u64, again_seen, tap.opened.len() as u64));
    assert!(again_seen > 500 && timeouts > 20, "{again_seen} {timeouts}");

    for w in &out.windows {
        let inside = |at: Instant| (w.from_s..w.to_s).contains(&at.as_secs_f64());
        let app = &w.apps["visits"];
        let data: Vec<_> = tap.data.iter().filter(|(at, ..)| inside(*at)).collect();
        let repeats = data.iter().filter(|(_, repeated, _)| *repeated).count() as f64;
        assert!(app.completed.is_empty() && app.jain.is_some(), "a model without exchanges has a fairness: {app:?}");
        assert_eq!(app.retransmission_rate, repeats / data.len() as f64);
        assert_eq!(app.connections, tap.opened.values().filter(|at| inside(**at)).count() as u64);
        // Data known to be delivered is less than data sent, by what is in flight at the edges of the window.
        let class = &w.classes["data"];
        let (bytes, first): (u64, u64) = data.iter().fold((0, 0), |(all, first), (_, repeated, len)| {
            (all + u64::from(*len), first + u64::from(*len) * u64::from(!*repeated))
        });
        let seconds = w.to_s - w.from_s;
        let goodput = class.goodput_bps * seconds / 8.0;
        // Only the way back has a delay: it is none of the data's, whose transmissions take up to two microseconds each.
        assert!(class.latency_ms.unwrap().max < 1.0, "{:?}", class.latency_ms);
        assert!((goodput - first as f64).abs() < 200_000.0 && goodput > 3e6, "{goodput} of {first}");
        assert!((class.efficiency - goodput / bytes as f64).abs() < 1e-9, "{}", class.efficiency);
    }
    assert_eq!(out.windows[0].apps["visits"].timeouts_per_s, timeouts as f64 / 120.0);
    let part = out.windows[1].apps["visits"].timeouts_per_s * 57.6;
    assert!((part - part.round()).abs() < 1e-6 && part > 1.0 && (part as u64) < timeouts, "{part} of {timeouts}");
}
