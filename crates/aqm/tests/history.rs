//! The disciplines that remember flows longer than their packets wait: worked by hand, and against the
//! closed forms of their papers.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod common;

use aqmkit_aqm::registry::Spec;
use aqmkit_aqm::{Qdisc, Why};
use aqmkit_base::{Duration, Ecn, Instant, Rng};
use common::{Log, Pkt, cx, link, spec};

/// A queue on the usual link, and a clock.
struct Bench {
    queue: Box<dyn Qdisc<Pkt>>,
    rng: Rng,
    log: Log,
    now: Instant,
    next: u64,
}

impl Bench {
    fn new(spec: &Spec) -> Self {
        let queue = spec.build(&link(), Instant::ZERO).unwrap();
        Bench { queue, rng: Rng::stream(1, "history"), log: Log::default(), now: Instant::ZERO, next: 0 }
    }

    fn after(&mut self, time: Duration) -> &mut Self {
        self.now += time;
        self
    }

    fn ms(&mut self, ms: u64) -> &mut Self {
        self.after(Duration::from_millis(ms))
    }

    /// Offers the next packet; whether it was let in.
    fn offer(&mut self, packet: Pkt) -> bool {
        self.next += 1;
        let before = self.queue.stats().drops();
        self.queue.enqueue(Pkt { id: self.next, ..packet }, &mut cx(self.now, &mut self.rng, &mut self.log));
        self.queue.stats().drops() == before
    }

    fn flow(&mut self, flow: u64) -> bool {
        self.offer(Pkt::new(0, flow))
    }

    fn take(&mut self) -> Option<Pkt> {
        self.queue.dequeue(&mut cx(self.now, &mut self.rng, &mut self.log)).packet()
    }

    fn wake(&mut self) -> &mut Self {
        self.queue.on_wakeup(&mut cx(self.now, &mut self.rng, &mut self.log));
        self
    }

    fn dropped(&self, why: Why) -> u64 {
        self.queue.stats().dropped[why as usize]
    }

    fn gauge(&self, name: &str) -> f64 {
        let mut found = None;
        self.queue.probe(&mut |n, value| {
            if n == name {
                found = Some(value);
            }
        });
        found.unwrap_or_else(|| panic!("no gauge {name}"))
    }
}

const DCN: &str = r#"{"q_ref": 100, "p_init": 2.0, "p_max": 2.0, "p_min": 2.0}"#;

/// Share 2, period 800 ms, clearing interval 500 ms.
#[test]
fn dcn_follows_a_flow_through_both_tables() {
    let mut b = Bench::new(&spec("dcn", DCN));
    for _ in 0..3 {
        b.flow(1);
        assert_eq!(b.ms(10).gauge("flows"), 0.0);
    }
    b.flow(1);
    assert_eq!(b.gauge("flows"), 1.0, "the fourth packet close to the others, at 30 ms");
    // Its counts: 4 at 30 ms, 2 at 830 ms, 0 at 1630 ms, -2 at 2430 ms.
    b.now = Instant::ZERO + Duration::from_millis(2429);
    assert_eq!(b.wake().gauge("flows"), 1.0, "zero stays");
    assert_eq!(b.ms(7).wake().gauge("flows"), 0.0, "the timer is seen with the next sample");
    // Its slot still says 4, but that was long ago: this one is zero, and four more are needed.
    for _ in 0..4 {
        b.flow(1);
        assert_eq!(b.gauge("flows"), 0.0);
    }
    b.flow(1);
    assert_eq!(b.gauge("flows"), 1.0);
}

/// With a share of 2, the n-th packet of a period (the fifth is the first in HB) is dropped with 1 - 2/n:
/// of the 5th to 20th, 16 - 2 (1/5 + ... + 1/20) = 16 - 2.969 on average. Counting after the decision would
/// give 16 - 2 (1/4 + ... + 1/19) = 12.63.
#[test]
fn dcn_drops_in_proportion_to_the_excess() {
    let runs = 4000;
    let mut b = Bench::new(&spec("dcn", &DCN.replace('{', r#"{"sb_slots": 100000, "hb_limit": 4000, "#)));
    for flow in 0..runs {
        for _ in 0..20 {
            b.flow(flow);
            b.take();
        }
    }
    let mean = b.dropped(Why::Unfair) as f64 / runs as f64;
    assert!((mean - 13.031).abs() < 0.06, "{mean}");
}

#[test]
fn dcn_marks_where_it_may() {
    let mut b = Bench::new(&spec("dcn", &DCN.replace('{', r#"{"ecn": true, "#)));
    for _ in 0..100 {
        b.offer(Pkt { ecn: Ecn::Ect0, ..Pkt::new(0, 1) });
    }
    assert_eq!(b.queue.stats().drops(), 0);
    assert!(b.queue.stats().marks() > 80);
}

/// The queue jumps from 0 to 20 above its target of 10: the share must fall at once. As printed, with
/// a = 0.1 and b = 0.2, the first step is +0.1 * 10 + 0.2 * 10 instead of -0.1 * 10 - 0.2 * 10.
#[test]
fn dcns_controller_as_printed_goes_the_wrong_way_first() {
    let first_step = |as_printed: bool| {
        let params = format!(
            r#"{{"q_ref": 10, "a": 0.1, "b": 0.2, "p_init": 50.0, "t_update": "10ms", "as_printed": {as_printed}}}"#
        );
        let mut b = Bench::new(&spec("dcn", &params));
        (0..20).for_each(|flow| assert!(b.flow(flow)));
        b.ms(10).wake().gauge("p_ref") - 50.0
    };
    assert!((first_step(false) + 3.0).abs() < 1e-9 && (first_step(true) - 3.0).abs() < 1e-9);
}

/// 10 Mbit/s are 1250 packets a second, 1000 in 800 ms, so 5 for each of 200 flows; and the gains of the
/// design rule at 200 flows.
#[test]
fn dcns_defaults_follow_from_the_number_of_flows() {
    let full = serde_json::to_value(Spec::named("dcn").unwrap().effective(&link()).unwrap()).unwrap();
    let close = |field: &str, want: f64| {
        let got = full[field].as_f64().unwrap();
        assert!((got - want).abs() < 1e-9, "{field} = {got}, not {want}");
    };
    close("a", 0.0016);
    close("b", 0.0016 * 1.0005);
    close("p_init", 5.0);
    close("p_max", 1000.0);
}
