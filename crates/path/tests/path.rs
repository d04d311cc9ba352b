//! A path as its users see it: times and shares that follow from arithmetic, and runs that repeat.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::time::Duration;

use aqmkit_path::{Arrival, Datagram, Ecn, End, Link, Path, Why};
use proptest::prelude::*;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

/// Equal within the precision of a report.
fn near(measured: Duration, wanted: Duration) -> bool {
    (measured.as_secs_f64() / wanted.as_secs_f64() - 1.0).abs() <= 1e-3
}

/// 8 Mbit/s, that is, 1 µs a byte, and 10 ms to the other end.
fn link() -> Link {
    Link::new("8mbit", "10ms")
}

fn path(link: &Link) -> Path<u64> {
    Path::new(link, 1).unwrap_or_else(|e| panic!("{e}"))
}

/// All that arrives until `end`.
fn drain(path: &mut Path<u64>, end: Duration) -> Vec<Arrival<u64>> {
    let mut arrived = Vec::new();
    while let Some(now) = path.deadline().filter(|now| *now <= end) {
        arrived.extend(std::iter::from_fn(|| path.poll(now)));
    }
    arrived
}

#[test]
fn a_datagram_takes_its_transmission_and_the_delay() {
    let mut path = path(&link());
    path.send(End::A, Datagram::new(7, 1000), ms(3));
    path.send(End::B, Datagram::new(8, 500), ms(3));
    let arrived = drain(&mut path, ms(100));
    let seen: Vec<_> = arrived.iter().map(|a| (a.at, a.to, a.datagram.content)).collect();
    assert_eq!(seen, [(us(13_500), End::A, 8), (ms(14), End::B, 7)]);
    assert_eq!(path.deadline(), None);
}

/// Batches of five packets of 1000 bytes every 10 ms at half the rate: packet k of a batch waits k ms. The rate of the
/// link is used to one half.
#[test]
fn a_fixed_pattern_waits_as_long_as_arithmetic_says() {
    let mut path = path(&link());
    for batch in 0..100 {
        for k in 0..5 {
            path.send(End::A, Datagram::new(k, 1000), ms(10 * batch));
        }
    }
    assert_eq!(drain(&mut path, Duration::from_secs(9)).len(), 500);
    let report = path.window(End::A, Duration::ZERO..Duration::from_secs(1));
    assert_eq!((report.offered, report.sent, report.arrived, report.drops()), (500, 500, 495, 0));
    assert!(near(report.queue_delay.mean, ms(2)) && near(report.queue_delay.max, ms(4)), "{report}");
    assert_eq!((report.utilization, report.throughput_bps), (0.5, 4e6));
    // 10 packet-milliseconds in every 10 ms.
    assert!((report.queue_packets - 1.0).abs() < 1e-9, "{path}");
    let whole = path.report(End::A);
    assert!(whole.arrived == 500 && near(whole.transit.median, ms(13)), "{whole}");
}

/// An M/D/1 queue at a load of 0.7: the mean wait is ρ/(2(1-ρ)) service times, by Pollaczek and Khinchine.
#[test]
fn random_arrivals_wait_as_long_as_queueing_theory_says() {
    let mut path = path(&link().set("limit", 100_000));
    let (mut at, mut state) = (0.0, 1_u64);
    for n in 0..200_000 {
        // The generator of Knuth's MMIX.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let uniform = ((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        at += -uniform.ln() / 700.0;
        path.send(End::A, Datagram::new(n, 1000), Duration::from_secs_f64(at));
    }
    drain(&mut path, Duration::from_secs(1000));
    let report = path.report(End::A);
    let wanted = 0.7 / (2.0 * 0.3) * 1e-3;
    let mean = report.queue_delay.mean.as_secs_f64();
    assert!((mean / wanted - 1.0).abs() < 0.03, "{mean} {wanted}");
    assert!((report.utilization - 0.7).abs() < 0.01, "{report}");
}

#[test]
fn a_full_queue_drops_and_says_why() {
    let mut path = path(&link().set("limit", 3));
    for n in 0..10 {
        path.send(End::A, Datagram::new(n, 1000), ms(0));
    }
    let numbers: Vec<u64> = drain(&mut path, ms(100)).into_iter().map(|a| a.datagram.content).collect();
    assert_eq!(numbers, [0, 1, 2, 3], "one is in transmission, three wait");
    let report = path.report(End::A);
    assert_eq!(report.dropped.into_iter().collect::<Vec<_>>(), [(Why::Overflow, 6)]);
    assert_eq!(path.report(End::B).offered, 0);
}

#[test]
fn ect_goes_in_and_ce_comes_out() {
    let run = |ecn: Ecn| {
        let mut path = path(&link().queue("codel").set("ecn", true));
        for n in 0..5000 {
            path.send(End::A, Datagram::new(n, 1000).ecn(ecn), us(900 * n));
        }
        let marked = drain(&mut path, ms(20_000)).iter().filter(|a| a.datagram.ecn == Ecn::Ce).count() as u64;
        (marked, path.report(End::A))
    };
    let (marks, with_ecn) = run(Ecn::Ect0);
    assert!(marks > 10 && marks == with_ecn.marked && with_ecn.drops() == 0, "{marks} {with_ecn}");
    let (marked, report) = run(Ecn::NotEct);
    assert!(marked == 0 && report.marked == 0 && report.drops() > 10, "{marked} {report}");
}

#[test]
fn losses_jitter_and_reordering_have_their_shares() {
    let mut path = path(&Link::new("80mbit", "10ms").loss("10%").jitter("4ms,overtaking"));
    for n in 0..20_000 {
        path.send(End::A, Datagram::new(n, 100), us(100 * n));
    }
    drain(&mut path, ms(10_000));
    let report = path.report(End::A);
    assert_eq!(report.lost + report.arrived, 20_000);
    // Five standard deviations of a binomial distribution are 212.
    assert!(report.lost.abs_diff(2_000) < 212, "{report}");
    let mean = report.transit.mean.as_secs_f64();
    assert!((mean - 0.01201).abs() < 1e-4 && report.transit.max < us(14_030), "{report}");
}

#[test]
fn a_reordered_packet_is_overtaken() {
    let mut path = path(&Link::new("80mbit", "10ms").reorder("5%,3ms"));
    for n in 0..20_000 {
        path.send(End::A, Datagram::new(n, 100), us(100 * n));
    }
    let order: Vec<u64> = drain(&mut path, ms(10_000)).into_iter().map(|a| a.datagram.content).collect();
    let late = order.windows(2).filter(|pair| pair[1] < pair[0]).count();
    assert!((800..1100).contains(&late), "{late}");
}

/// 8 Mbit/s become 2 after 100 ms, with 250 packets of 1000 bytes in the queue: 100 are sent by then, and the other 150
/// take 4 ms each.
#[test]
fn a_rate_falls_while_packets_wait() {
    let mut path = path(&link().set("limit", 1000).rate_at(ms(100), "2mbit").delay_at(ms(100), "30ms"));
    for n in 0..250 {
        path.send(End::A, Datagram::new(n, 1000), ms(0));
    }
    let arrived = drain(&mut path, ms(10_000));
    assert_eq!((arrived[99].at, arrived[249].at), (ms(110), ms(730)));
    let report = path.window(End::A, ms(50)..ms(200));
    assert!((report.utilization - 1.0).abs() < 1e-6, "{report}");
}

/// One opportunity of 1500 bytes every 2 ms.
#[test]
fn a_trace_decides_when_packets_leave() {
    let mut path = path(&Link::traced("2\n", "10ms"));
    for n in 0..4 {
        path.send(End::A, Datagram::new(n, 1500), ms(1));
    }
    let times: Vec<Duration> = drain(&mut path, ms(1000)).into_iter().map(|a| a.at).collect();
    assert_eq!(times, [2, 4, 6, 8].map(|t| ms(t + 10)));
}

/// A full queue of one flow does not delay another one behind a fair queue; behind a plain one it does.
#[test]
fn flows_have_queues_of_their_own() {
    let second = |queue: &str| {
        let mut path = path(&link().queue(queue));
        let [a, b] = ["10.0.0.1:4000", "10.0.0.2:443"].map(|text| text.parse().unwrap());
        for n in 0..50 {
            path.send(End::A, Datagram::new(n, 1000).between(a, b), ms(0));
        }
        path.send(End::A, Datagram::new(99, 100).between(b, a), us(10));
        drain(&mut path, ms(1000)).iter().find(|arrival| arrival.datagram.content == 99).unwrap().at
    };
    assert!(second("fq_codel") < ms(13), "{:?}", second("fq_codel"));
    assert!(second("fifo") > ms(60), "{:?}", second("fifo"));
}

#[test]
fn errors_say_what_would_be_right() {
    let error = |link: &Link| Path::<u64>::new(link, 1).unwrap_err().to_string();
    let said = |link: Link, words: &[&str]| {
        let error = error(&link);
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    };
    said(Link::new("20", "10ms"), &["rate", "\"20\"", "10mbit"]);
    said(Link::new("0mbit", "10ms"), &["rate", "at least 1bit"]);
    said(Link::new("20mbit", "10"), &["delay", "\"10\"", "30ms"]);
    said(link().queue("codle"), &["\"codle\" is not a discipline", "codel"]);
    said(link().queue("codel").set("tarket", "5ms"), &["tarket is not a parameter of codel", "target"]);
    said(link().queue("codel").set("target", 5), &["target of codel", "time"]);
    said(link().loss("120%"), &["loss", "between 0 and 100%"]);
    said(link().reorder("1%"), &["reorder", "1%,5ms"]);
    said(link().rate_at(ms(1), "zero"), &["rate_at", "zero"]);
    said(Link::traced("5\n3\n", "1ms"), &["line 2", "ascending"]);
    said(Link::traced("5\n", "1ms").rate_at(ms(1), "1mbit"), &["rate_at", "follows a trace"]);
}

#[test]
fn a_failure_shows_numbers_and_pictures() {
    let mut path = path(&link().queue("codel").set("ecn", true).loss("1%"));
    for n in 0..3000 {
        let ecn = if n % 2 == 0 { Ecn::Ect0 } else { Ecn::NotEct };
        path.send(End::A, Datagram::new(n, 1000).ecn(ecn), us(900 * n));
    }
    drain(&mut path, ms(20_000));
    let text = path.to_string();
    for words in ["A to B: codel, 8mbit", "sojourn", "lost on the wire", "drops", "marks", "█", "B to A"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let svg = path.svg(End::A);
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && svg.contains("A to B: codel, 8mbit"), "{svg}");
}

/// A datagram that a test sends.
#[derive(Clone, Debug)]
struct Sent {
    from_a: bool,
    len: u32,
    ecn: u8,
    flow: u64,
    gap_us: u64,
}

fn sent() -> impl Strategy<Value = Sent> {
    (any::<bool>(), 40_u32..1500, 0_u8..4, 0_u64..4, 0_u64..3000).prop_map(|(from_a, len, ecn, flow, gap_us)| Sent {
        from_a,
        len,
        ecn,
        flow,
        gap_us,
    })
}

/// Sends all of it, polling at every deadline, or only when something is sent; returns what arrived, and the digest.
fn replay(all: &[Sent], link: &Link, seed: u64, punctual: bool) -> (Vec<Arrival<u64>>, Path<u64>) {
    let mut path = Path::new(link, seed).unwrap();
    let (mut arrived, mut now) = (Vec::new(), 0);
    for (n, one) in (0..).zip(all) {
        now += one.gap_us;
        if punctual {
            while let Some(at) = path.deadline().filter(|at| *at <= us(now)) {
                let new = std::iter::from_fn(|| path.poll(at));
                arrived.extend(new.inspect(|arrival| assert_eq!(arrival.at, at, "a poll at the deadline is on time")));
            }
        }
        let datagram = Datagram::new(n, one.len).ecn(Ecn::from_bits(one.ecn)).flow(one.flow);
        path.send(if one.from_a { End::A } else { End::B }, datagram, us(now));
    }
    arrived.extend(std::iter::from_fn(|| path.poll(Duration::from_secs(1000))));
    (arrived, path)
}

fn any_link() -> impl Strategy<Value = Link> {
    let queue = prop::sample::select(vec!["fifo", "red", "codel", "pie", "fq_codel", "dualpi2", "cake", "sfq"]);
    (queue, 1_u32..20, any::<bool>(), any::<bool>()).prop_map(|(queue, mbit, wild, falls)| {
        let link = Link::new(&format!("{mbit}mbit"), "7ms").queue(queue);
        let link = if wild { link.loss("3%").jitter("2ms").reorder("5%,3ms") } else { link };
        if falls { link.rate_at(ms(40), "500kbit") } else { link }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Every datagram arrives, is dropped, or is lost; none arrives early, twice, or with a codepoint that no router
    /// would write.
    #[test]
    fn every_datagram_has_one_fate(all in prop::collection::vec(sent(), 1..200), link in any_link(), seed in any::<u64>()) {
        let (arrived, path) = replay(&all, &link, seed, false);
        let mut numbers: Vec<u64> = arrived.iter().map(|a| a.datagram.content).collect();
        numbers.sort_unstable();
        numbers.dedup();
        prop_assert_eq!(numbers.len(), arrived.len());
        let reports = [End::A, End::B].map(|end| path.report(end));
        let counted: u64 = reports.iter().map(|r| r.arrived + r.drops() + r.lost).sum();
        prop_assert_eq!((counted, path.deadline()), (all.len() as u64, None));
        let times: Vec<u64> = all.iter().scan(0, |now, one| { *now += one.gap_us; Some(*now) }).collect();
        for arrival in &arrived {
            let n = arrival.datagram.content as usize;
            let (before, after) = (Ecn::from_bits(all[n].ecn), arrival.datagram.ecn);
            prop_assert!(arrival.at >= us(times[n]) + ms(7));
            prop_assert_eq!(arrival.to == End::B, all[n].from_a);
            prop_assert!(before == after || before.is_capable() && after == Ecn::Ce);
        }
        prop_assert!(arrived.is_sorted_by_key(|arrival| arrival.at));
    }

    /// The same seed gives the same run, however late the path is polled; another seed another run, if chance decides.
    #[test]
    fn a_seed_gives_one_run(all in prop::collection::vec(sent(), 1..200), link in any_link(), seed in any::<u64>()) {
        let (arrived, path) = replay(&all, &link, seed, true);
        let (again, repeated) = replay(&all, &link, seed, true);
        prop_assert_eq!((&arrived, path.digest()), (&again, repeated.digest()));
        let (late, _) = replay(&all, &link, seed, false);
        prop_assert_eq!(&arrived, &late);
    }
}

#[test]
fn another_seed_gives_another_run() {
    let all: Vec<Sent> =
        (0..500).map(|n| Sent { from_a: n % 3 > 0, len: 1000, ecn: 0, flow: 0, gap_us: 500 }).collect();
    let run = |seed| replay(&all, &link().loss("5%"), seed, true);
    let lost =
        |(arrived, _): &(Vec<Arrival<u64>>, Path<u64>)| arrived.iter().map(|a| a.datagram.content).collect::<Vec<_>>();
    assert_ne!(lost(&run(1)), lost(&run(2)));
    assert_ne!(run(1).1.digest(), run(2).1.digest());
}
