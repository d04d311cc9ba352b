//! Controllers and coupled queues by hand: numbers that the papers print, and steps worked on paper.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::common::bench::Bench;
use crate::common::{Pkt, link, spec};
use aqmkit_aqm::disciplines::dualq;
use aqmkit_aqm::disciplines::pi::{Design, discrete};
use aqmkit_aqm::registry::{Link, Spec};
use aqmkit_aqm::{Qdisc, Why};
use aqmkit_base::{BitRate, Bytes, Duration, Ecn, Instant};
use serde_json::Value;

impl Bench {
    fn wait(&mut self, time: Duration) {
        self.after(time).wake();
    }

    fn wait_ms(&mut self, ms: u64) {
        self.wait(Duration::from_millis(ms));
    }

    fn offer_ecn(&mut self, ecn: Ecn, packets: u64) {
        (0..packets).for_each(|_| self.enqueue(Pkt { ecn, ..Pkt::new(0, ecn as u64) }));
    }

    /// A departure: the reasons of the drops and marks before it, and the packet.
    fn depart(&mut self) -> (Vec<Why>, Option<Pkt>) {
        let (signals, packet) = self.signals(Bench::dequeue);
        (signals.into_iter().map(|(_, why)| why).collect(), packet)
    }

    fn near(&self, name: &str, expected: f64) {
        let value = self.gauge(name);
        assert!((value - expected).abs() < 1e-12, "{name} is {value}, not {expected}");
    }
}

/// The effective parameters, as `describe` shows them.
fn effective(name: &str, json: &str, at: &Link) -> Value {
    serde_json::to_value(spec(name, json).effective(at).unwrap()).unwrap()
}

#[test]
fn curvy_red_averages_what_departures_waited() {
    let mut b = Bench::of("curvy-red", r#"{"f": 1}"#);
    b.offer_ecn(Ecn::NotEct, 3);
    b.wait_ms(8);
    b.depart();
    b.near("avg_delay", 0.004);
    b.wait_ms(8);
    b.depart();
    b.near("avg_delay", 0.010);
    b.near("p", 0.02 * 0.02);
}

/// `f = 0`: the average is the newest delay, and 500 ms are certain to be dropped, or marked.
#[test]
fn curvy_red_is_certain_at_half_a_second() {
    let mut b = Bench::of("curvy-red", r#"{"f": 0}"#);
    b.offer_ecn(Ecn::NotEct, 1);
    b.offer_ecn(Ecn::Ect0, 1);
    b.wait_ms(500);
    let (why, packet) = b.depart();
    assert_eq!((why, packet.unwrap().ecn), (vec![Why::Early, Why::Early], Ecn::Ce));
}

#[test]
fn dualq_marks_by_the_delay_of_the_other_queue() {
    let mut b = Bench::of("dualq", "{}");
    b.offer_ecn(Ecn::NotEct, 1);
    b.offer_ecn(Ecn::Ect1, 7);
    // Seven in L: six remain, above T = 5; then five do not, and the Classic queue has no delay.
    assert_eq!((b.depart().0, b.depart().0), (vec![Why::Step], vec![]));
    b.wait(Duration::from_micros(62_500));
    assert_eq!(b.depart().0, [Why::Coupled], "2^-4 s");
    for _ in 0..4 {
        b.depart();
    }
    let (_, packet) = b.depart();
    assert_eq!(packet.unwrap().ecn, Ecn::NotEct, "L first");
    b.near("avg_delay", 0.0625 / 32.0);
}

/// Where ECT(0) is Classic it is marked as often as another packet is dropped, but always sent: at 1 s for certain.
#[test]
fn dualq_marks_what_is_capable_in_the_classic_queue() {
    let mut b = Bench::of("dualq", r#"{"classifier": "l4s_ect", "f": 0}"#);
    b.offer_ecn(Ecn::NotEct, 1);
    b.offer_ecn(Ecn::Ect0, 1);
    b.wait_ms(1000);
    let (why, packet) = b.depart();
    assert_eq!((why, packet.unwrap().ecn), (vec![Why::Early, Why::Early], Ecn::Ce));
    assert_eq!((b.queue.stats().drops(), b.queue.stats().marks()), (1, 1));
}

/// Over many packets at 28 ms: marks 45 %, drops 0.3 %; with Experiment 6's options, marks 5 %.
#[test]
fn dualqs_shares_at_28_ms() {
    let share = |json: &str, ecn: Ecn, count: fn(&dyn Qdisc<Pkt>) -> u64| {
        let mut b = Bench::of("dualq", json);
        for _ in 0..20_000 {
            b.offer_ecn(Ecn::NotEct, 1);
            b.offer_ecn(ecn, 1);
            b.wait_ms(28);
            b.depart();
            b.depart();
        }
        count(&*b.queue) as f64 / 20_000.0
    };
    let (marks, drops) = (|q: &dyn Qdisc<Pkt>| q.stats().marks(), |q: &dyn Qdisc<Pkt>| q.stats().drops());
    assert!((share("{}", Ecn::Ect1, marks) - 0.448).abs() < 0.01);
    assert!((share("{}", Ecn::Ect0, marks) - 0.448).abs() < 0.01);
    assert!((share("{}", Ecn::Ect1, drops) - 0.003_136).abs() < 0.001);
    let squared = r#"{"s_l": 3, "u_l": 2}"#;
    assert!((share(squared, Ecn::Ect0, marks) - 0.224 * 0.224).abs() < 0.005);
}

/// Equation 12: however long the Classic delay, the share dropped is the square of an eighth of the share marked.
/// One random number for a drop in place of two fails it, and so does another slope of either queue.
#[test]
fn dualqs_drops_are_the_square_of_its_marks() {
    let rounds = 100_000;
    for ms in [28, 40, 56] {
        let mut b = Bench::of("dualq", "{}");
        for _ in 0..rounds {
            b.offer_ecn(Ecn::NotEct, 1);
            b.offer_ecn(Ecn::Ect0, 1);
            b.wait_ms(ms);
            b.depart();
            b.depart();
        }
        let share = |count: u64| count as f64 / f64::from(rounds);
        let (marks, drops) = (share(b.queue.stats().marks()), share(b.queue.stats().drops()));
        let square = (marks / 8.0) * (marks / 8.0);
        assert!((drops / square - 1.0).abs() < 0.1, "{ms} ms: {marks} marked, {drops} dropped");
        let law = dualq::Params::default().coupled_drop(marks).unwrap();
        assert!((law - square).abs() < 1e-15, "{law} is not {square}");
    }
}

#[test]
fn dualpi2s_gains_are_those_of_the_rfc() {
    let shown = effective("dualpi2", "{}", &link());
    assert_eq!((&shown["target"], &shown["tupdate"]), (&"15ms".into(), &"15ms".into()));
    assert!((shown["alpha"].as_f64().unwrap() - 0.15).abs() < 1e-12);
    assert!((shown["beta"].as_f64().unwrap() - 3.0).abs() < 1e-12);
    // Tupdate is min(target, RTT_max / 3).
    let tupdate = |json: &str| effective("dualpi2", json, &link())["tupdate"].clone();
    assert_eq!(tupdate(r#"{"target": "39ms", "max_rtt": "120ms"}"#), "39ms");
    assert_eq!(tupdate(r#"{"target": "41ms", "max_rtt": "120ms"}"#), "40ms");
}

/// `tc` gives the kernel gains in 1/256 Hz, rounded down; the kernel turns them into units of 2^-38 per
/// nanosecond and back, rounding down each time. What it then shows is known.
#[test]
fn dualpi2s_gains_become_those_that_linux_shows() {
    let shown_by_linux = |hz: f64| {
        let given = (hz * 256.0 + 1e-9).floor();
        let inner = (given * 4_294_967_295.0 / 4.0 / 1e9).floor();
        (inner * 1e9 * 4.0 / 4_294_967_295.0).floor() / 256.0
    };
    for (json, delay, alpha, beta) in [
        (r#"{"typical_rtt": "20ms", "max_rtt": "200ms"}"#, "20ms", 0.042_969, 1.496_094),
        (r#"{"max_rtt": "300ms"}"#, "50ms", 0.050_781, 0.996_094),
    ] {
        let shown = effective("dualpi2", json, &link());
        assert_eq!((&shown["target"], &shown["tupdate"]), (&delay.into(), &delay.into()));
        let gain = |name: &str| shown_by_linux(shown[name].as_f64().unwrap());
        assert!((gain("alpha") - alpha).abs() < 1e-6 && (gain("beta") - beta).abs() < 1e-6, "{shown}");
    }
}

/// A Classic head that came at 0 makes at 15 ms: `p' = 0 + 3 * 0.015`, at 30 ms `+ 0.15 * 0.015 + 3 * 0.015`.
#[test]
fn dualpi2_step_by_step() {
    let mut b = Bench::of("dualpi2", "{}");
    b.offer_ecn(Ecn::NotEct, 200);
    b.wait_ms(15);
    b.near("p", 0.045);
    b.wait_ms(15);
    b.near("p", 0.092_25);
    b.near("p_cl", 0.1845);
    let p_cl: f64 = b.gauge("p_cl");
    b.near("p_c", (p_cl / 2.0) * (p_cl / 2.0));
    // Counting 0.0085 each, the 118th is above 1: dropped, and the next sent.
    let departures = (1..).find(|_| !b.depart().0.is_empty()).unwrap();
    assert_eq!(departures, 118);
    b.offer_ecn(Ecn::Ect1, 100);
    // All credit is L's: at 0.1845 each, the sixth is marked, and then two of eleven.
    let marks: Vec<bool> = (0..12).map(|_| b.depart().0 == [Why::Coupled]).collect();
    assert_eq!(marks.iter().position(|&m| m), Some(5));
    assert_eq!(marks.iter().filter(|&&m| m).count(), 2);
}

#[test]
fn dualpi2_marks_l_along_its_ramp() {
    let ramp = |micros: u64, json: &str| {
        let mut b = Bench::of("dualpi2", json);
        b.offer_ecn(Ecn::Ect1, 1000);
        b.wait(Duration::from_micros(micros));
        (0..900).filter(|_| b.depart().0 == [Why::Step]).count()
    };
    assert_eq!((ramp(800, "{}"), ramp(1000, "{}"), ramp(1200, "{}")), (0, 449, 899), "the first only fills the count");
    // Without a ramp, from the threshold on.
    let cliff = r#"{"min_th": "1ms", "range": "0s", "random": true}"#;
    assert_eq!((ramp(999, cliff), ramp(1000, cliff)), (0, 900));
    let step = r#"{"step_thresh": "1ms", "random": true}"#;
    assert_eq!((ramp(1000, step), ramp(1001, step)), (0, 900));
}

/// More than one must remain.
#[test]
fn dualpi2_does_not_mark_the_last_in_l() {
    let mut b = Bench::of("dualpi2", r#"{"step_thresh": "1ms", "random": true}"#);
    b.offer_ecn(Ecn::Ect1, 4);
    b.wait_ms(2);
    let whys: Vec<_> = (0..4).map(|_| b.depart().0).collect();
    assert_eq!(whys, [vec![Why::Step], vec![Why::Step], vec![], vec![]]);
}

#[test]
fn dualpi2_shares_the_link_by_its_weight() {
    let classic = |json: &str| {
        let mut b = Bench::of("dualpi2", json);
        let mut classic = 0;
        b.offer_ecn(Ecn::Ect1, 5);
        b.offer_ecn(Ecn::NotEct, 5);
        for _ in 0..16_000 {
            let ecn = b.depart().1.unwrap().ecn;
            classic += u64::from(ecn == Ecn::NotEct);
            b.offer_ecn(ecn, 1);
        }
        classic
    };
    assert_eq!(classic(r#"{"classic_protection": 0}"#), 0);
    assert!((999..=1001).contains(&classic("{}")));
    assert!((1599..=1601).contains(&classic(r#"{"classic_protection": 0.1}"#)));
}

/// With a shift of 50 ms, an L packet goes before a Classic one that came less than that before it.
#[test]
fn dualpi2_shifts_l_in_time() {
    let first = |gap: u64| {
        let mut b = Bench::of("dualpi2", r#"{"tshift": "50ms", "target": "1s"}"#);
        b.offer_ecn(Ecn::NotEct, 1);
        b.wait_ms(gap);
        b.offer_ecn(Ecn::Ect1, 1);
        b.depart().1.unwrap().ecn
    };
    assert_eq!((first(49), first(50), first(51)), (Ecn::Ect1, Ecn::Ect1, Ecn::NotEct));
}

/// In overload even ECT packets of both queues are dropped; or p' stops at 1/k and none is. Then the coupling marks L for certain, and so does the ramp of L
/// itself, which gives its name to the mark but for the last two, which it spares.
#[test]
fn dualpi2_overloaded() {
    let play = |overload: &str| {
        let mut b = Bench::of("dualpi2", &format!(r#"{{"overload": "{overload}"}}"#));
        b.offer_ecn(Ecn::Ect0, 2000);
        b.offer_ecn(Ecn::Ect1, 2000);
        b.wait_ms(3000);
        while b.depart().1.is_some() {}
        let stats = *b.queue.stats();
        let of_l = [Why::Step, Why::Coupled].map(|why| stats.marked[why as usize]);
        (b.gauge("p"), stats.dropped[Why::Overload as usize], stats.marks(), of_l)
    };
    let (p, drops, marks, of_l) = play("overflow");
    assert!(p == 0.5 && drops == 0 && (2400..=2500).contains(&marks), "{p} {drops} {marks}");
    assert_eq!(of_l, [1997, 2], "the first only fills the count");
    let dropping = play("drop_on_overload");
    assert!(dropping.0 == 1.0 && dropping.1 > 3900, "{dropping:?}");
}

/// Drawn or counted, a Classic packet is dropped with `p'^2` and an L packet marked with `k p'`; on arrival where
/// that is asked for.
#[test]
fn dualpi2_drops_the_square_and_marks_the_multiple() {
    let shares = |options: &str| {
        // With zero gains the probability after one long wait stays.
        let json =
            format!(r#"{{"target": "0s", "alpha": 0, "beta": 1, "tupdate": "100ms", "min_th": "10s" {options}}}"#);
        let mut b = Bench::of("dualpi2", &json);
        b.offer_ecn(Ecn::NotEct, 1000);
        b.wait_ms(100);
        b.near("p", 0.1);
        let (before, n) = (*b.queue.stats(), 30_000);
        for _ in 0..n {
            b.offer_ecn(Ecn::Ect1, 1);
            b.offer_ecn(Ecn::NotEct, 1);
            b.depart();
            b.depart();
        }
        b.near("p", 0.1);
        let (drops, marks) = (b.queue.stats().drops() - before.drops(), b.queue.stats().marks());
        (drops as f64 / f64::from(n), marks as f64 / f64::from(n))
    };
    for options in ["", r#", "random": true"#, r#", "drop_at": "drop_enqueue""#] {
        let (drops, marks) = shares(options);
        assert!((drops - 0.01).abs() < 0.002 && (marks - 0.2).abs() < 0.01, "{options}: {drops} {marks}");
    }
}

#[test]
fn dualpi2_has_a_limit_of_packets_and_one_of_bytes() {
    let mut b = Bench::of("dualpi2", r#"{"limit": 5, "memlimit": "3000b"}"#);
    b.offer_ecn(Ecn::NotEct, 2);
    b.offer_ecn(Ecn::Ect1, 3);
    assert_eq!((b.queue.backlog().packets, b.queue.stats().dropped[Why::Overflow as usize]), (3, 2));
}

/// Hollot's example: 15 Mbit/s and 500 bytes, so 3750 packets/s.
#[test]
fn pis_design_gives_the_papers_gains() {
    let printed = discrete(9.64e-6, 0.53, 160.0);
    assert!((printed.0 - 1.822e-5).abs() < 5e-9 && (printed.1 - 1.816e-5).abs() < 5e-9, "{printed:?}");
    let (a, b) = Design { flows: 60.0, rtt: Duration::from_millis(246) }.gains(3750.0, 160.0);
    assert!((a - 1.853e-5).abs() < 5e-9 && (b - 1.847e-5).abs() < 5e-9, "{a} {b}");
    let at = Link { mean_packet: Bytes(500), ..Link::new(BitRate::from_mbps(15)) };
    let shown = effective("pi", r#"{"design": {"flows": 60, "rtt": "246ms"}}"#, &at);
    assert_eq!((shown["a"].as_f64().unwrap(), shown["b"].as_f64().unwrap()), (a, b));
    let paper = effective("pi", "{}", &at);
    assert_eq!((&paper["a"], &paper["b"]), (&1.822e-5.into(), &1.816e-5.into()));
}

/// At 160 Hz a period is 6.25 ms. Ten waiting against a reference of four: `p = 6 a + 4 b`, then `6 (a - b)`
/// more each time.
#[test]
fn pi_step_by_step() {
    let mut b = Bench::of("pi", r#"{"q_ref": 4, "a": 0.01, "b": 0.008}"#);
    b.offer_ecn(Ecn::NotEct, 10);
    b.wait(Duration::from_micros(6_250));
    b.near("p", 0.06 + 0.032);
    b.wait(Duration::from_micros(6_250));
    b.near("p", 0.092 + 0.012);
    b.wait_ms(25);
    b.near("p", 0.104 + 4.0 * 0.012);
    // In bytes the same: 10 packets of 1000 bytes against 4.
    let mut bytes = Bench::of("pi", r#"{"limit": "100kb", "q_ref": "4000b", "a": 0.01, "b": 0.008}"#);
    bytes.offer_ecn(Ecn::NotEct, 10);
    bytes.wait_ms(7);
    bytes.near("p", 0.092);
}

/// At 10 Mbit/s and 1000 bytes, 2.5 packets in 2 ms. Ten come and wait, against a target of 4:
/// `mu = 0.1 (0.1 (10 - 4) + 10 - 2.5) = 0.81`, then `0.1 (0.6 - 2.5)` more, which is less.
#[test]
fn rem_step_by_step() {
    let mut b = Bench::of("rem", r#"{"target": 4, "gamma": 0.1}"#);
    b.offer_ecn(Ecn::NotEct, 10);
    b.wait_ms(2);
    b.near("price", 0.81);
    b.near("p", 1.0 - libm::pow(1.001, -0.81));
    b.wait_ms(2);
    b.near("price", 0.81 - 0.19);
    b.wait_ms(100);
    b.near("price", 0.0);
}

/// In byte mode 20 packets of 500 bytes are ten of the mean size, which is the link's or `avpkt`. With `alpha` at zero the price is `gamma` times what
/// came above what the link sends in 2 ms, 2.5 packets of 1000 bytes or 5 of 500.
#[test]
fn rem_counts_arrivals_in_packets_or_in_bytes() {
    for (more, price) in [
        (r#""byte_mode": true"#, 10.0 - 2.5),
        (r#""byte_mode": false"#, 20.0 - 2.5),
        (r#""byte_mode": true, "avpkt": "500b""#, 20.0 - 5.0),
        (r#""byte_mode": false, "avpkt": "500b""#, 20.0 - 5.0),
    ] {
        let mut b = Bench::of("rem", &format!(r#"{{"alpha": 0, "gamma": 1, "phi": 1.0000001, {more}}}"#));
        (0..20).for_each(|_| b.enqueue(Pkt { len: 500, ..Pkt::new(0, 1) }));
        b.wait_ms(2);
        b.near("price", price);
    }
}

/// Where the queue changes by what comes less what goes, both forms of the price are one, but for the queue
/// they weigh: this interval's or the last one's.
#[test]
fn rems_prices_agree() {
    let play = |price: &str| {
        let mut b = Bench::of("rem", &format!(r#"{{"price": "{price}", "phi": 1.0000001, "limit": 1000}}"#));
        let mut prices = Vec::new();
        b.offer_ecn(Ecn::NotEct, 100);
        b.wait_ms(2);
        for step in 0..200 {
            // Five packets go in two intervals, which is the link's rate; 4 to 7 come.
            b.offer_ecn(Ecn::NotEct, 4 + step % 4);
            (0..5).for_each(|_| drop(b.depart()));
            b.wait_ms(4);
            prices.push((b.gauge("price"), b.queue.backlog().packets as f64));
        }
        assert_eq!(b.queue.stats().drops(), 0);
        prices
    };
    let gap = |((rate, q), (backlog, _)): (&(f64, f64), &(f64, f64))| rate - backlog - 0.001 * 0.1 * q;
    let (rate, backlog) = (play("rate"), play("backlog"));
    let gaps: Vec<f64> = rate.iter().zip(&backlog).map(gap).collect();
    assert!(gaps.iter().all(|g| (g - gaps[0]).abs() < 1e-9) && rate[199].0 > 0.5, "{gaps:?}");
}

/// The share that survives a path is phi to the minus the sum of its prices.
#[test]
fn rems_probabilities_add_as_prices() {
    let p = |price: f64| 1.0 - libm::pow(1.001, -price);
    let path = 1.0 - (1.0 - p(100.0)) * (1.0 - p(250.0)) * (1.0 - p(7.0));
    assert!((path - p(357.0)).abs() < 1e-12);
}

#[test]
fn areds_thresholds_follow_the_link() {
    let shown = |mbps: u64| effective("ared", "{}", &Link::new(BitRate::from_mbps(mbps)));
    let slow = shown(10);
    // 1250 packets/s: 5 ms are 6.25 packets, and half of that is below five.
    assert_eq!((&slow["min"], &slow["max"]), (&"5p".into(), &"15p".into()));
    let fast = shown(100);
    assert_eq!((&fast["min"], &fast["max"]), (&"31.25p".into(), &"93.75p".into()));
    assert!((fast["weight"].as_f64().unwrap() - 8e-5).abs() < 1e-8);
    assert_eq!((&fast["alpha"], &fast["beta"]), (&0.01.into(), &0.9.into()));
}

/// Weight 1: the average is the queue. The band of 10 and 30 is 18 to 22.
#[test]
fn ared_moves_max_p_out_of_band_only() {
    let after = |waiting: u64, max_p: f64| {
        let json = format!(r#"{{"min": 10, "max": 30, "weight": 1.0, "max_p": {max_p}}}"#);
        let mut b = Bench::of("ared", &json);
        b.offer_ecn(Ecn::NotEct, 1);
        while b.queue.backlog().packets <= waiting {
            b.offer_ecn(Ecn::NotEct, 1);
        }
        b.wait_ms(500);
        b.gauge("max_p")
    };
    assert_eq!((after(18, 0.1), after(22, 0.1)), (0.1, 0.1));
    assert!((after(17, 0.1) - 0.09).abs() < 1e-15 && (after(23, 0.1) - 0.11).abs() < 1e-15);
    assert!((after(23, 0.02) - 0.025).abs() < 1e-15, "a quarter is less than alpha");
    assert_eq!((after(23, 0.51), after(17, 0.009)), (0.51, 0.009), "top and bottom");
}

/// Weight 1 and `max_p` 1: between the thresholds of 2 and 4, and on the gentle ramp up to 8, packets are marked or dropped.
#[test]
fn ared_drops_what_it_could_mark_above_a_threshold() {
    let dropped = |rules: &str| {
        let mut b =
            Bench::of("ared", &format!(r#"{{"min": 2, "max": 4, "weight": 1.0, "max_p": 1.0, "ecn": true{rules}}}"#));
        while b.queue.backlog().packets < 4 {
            b.offer_ecn(Ecn::Ect0, 1);
        }
        let drops = |bench: &Bench| bench.queue.stats().drops();
        let before = drops(&b);
        for _ in 0..3 {
            b.offer_ecn(Ecn::Ect0, 1);
        }
        drops(&b) - before
    };
    assert_eq!((dropped(""), dropped(r#", "harddrop_from": 1"#)), (0, 3));
    assert_eq!(dropped(r#", "harddrop_from": 1, "harddrop": false"#), 0);
    assert_eq!(dropped(r#", "harddrop_from": 1.5"#), 1, "marked at averages of 4 and 5, dropped at 6");
}

#[test]
fn fengs_red_moves_max_p_at_crossings() {
    let json = r#"{"min": 2, "max": 4, "weight": 1.0, "max_p": 0.12, "variant": "feng"}"#;
    let mut b = Bench::of("ared", json);
    b.offer_ecn(Ecn::NotEct, 1);
    b.near("max_p", 0.04);
    b.offer_ecn(Ecn::NotEct, 1);
    b.near("max_p", 0.04);
    while b.queue.backlog().packets < 5 {
        b.offer_ecn(Ecn::NotEct, 1);
    }
    b.near("max_p", 0.04);
    b.offer_ecn(Ecn::NotEct, 1);
    b.near("max_p", 0.08);
    b.offer_ecn(Ecn::NotEct, 1);
    b.near("max_p", 0.08);
}

#[test]
fn wrong_parameters_are_told_what_would_be_right() {
    let says = |name: &str, json: &str, parts: &[&str]| {
        let text = spec(name, json).build::<Pkt>(&link(), Instant::ZERO).err().expect("refused").to_string();
        assert!(parts.iter().all(|part| text.contains(part)), "{name} {json}: {text}");
    };
    says("curvy-red", r#"{"u": 0}"#, &["u = 0", "from 1 to 16"]);
    says("dualq", r#"{"s_l": 99}"#, &["s_l = 99"]);
    says("dualpi2", r#"{"classic_protection": 10}"#, &["classic_protection = 10", "0.1"]);
    says("dualpi2", r#"{"tupdate": "0s"}"#, &["tupdate = 0", "at least"]);
    says("dualpi2", r#"{"coupling_factor": 0}"#, &["coupling_factor = 0"]);
    for name in ["pie", "pi2", "fq-pie"] {
        says(name, r#"{"tupdate": "99us"}"#, &["tupdate = 99us", "at least 100us"]);
    }
    says("pi", r#"{"b": 0.1}"#, &["b = 0.1", "Hollot"]);
    says("pi", r#"{"q_ref": "5kb"}"#, &["q_ref = 5120b", "packets"]);
    says("pi", r#"{"design": {"flows": 0, "rtt": "1s"}}"#, &["design.flows = 0"]);
    says("rem", r#"{"phi": 1}"#, &["phi = 1", "above 1", "Athuraliya"]);
    says("ared", r#"{"variant": "feng", "alpha": 0.01}"#, &["alpha = 0.01", "from 1"]);
    says("ared", r#"{"max": 3}"#, &["min = 5", "max = 3"]);
}

/// Every name that `tc`, ns-2 or a paper uses for a parameter is taken.
#[test]
fn other_names_are_taken() {
    let same = |name: &str, other: &str, ours: &str| assert_eq!(spec(name, other), spec(name, ours));
    same("curvy-red", r#"{"s": 2, "curviness": 3}"#, r#"{"s_c": 2, "u": 3}"#);
    same("dualpi2", r#"{"k": 3, "th_len": 2}"#, r#"{"coupling_factor": 3, "min_qlen_step": 2}"#);
    same("pi", r#"{"qref": 9, "setbit": true}"#, r#"{"q_ref": 9, "ecn": true}"#);
    same("rem", r#"{"pbo": 9, "inw": 0.5, "pupdtime": "1ms"}"#, r#"{"target": 9, "weight": 0.5, "interval": "1ms"}"#);
    same("ared", r#"{"targetdelay": "9ms", "probability": 0.2}"#, r#"{"target_delay": "9ms", "max_p": 0.2}"#);
}

/// All that a specification can be is also a [`Spec`]: the names are in the list.
#[test]
fn the_six_are_in_the_catalogue() {
    for name in ["curvy-red", "dualq", "dualpi2", "pi", "rem", "ared"] {
        assert!(Spec::named(name).is_some(), "{name}");
    }
}
