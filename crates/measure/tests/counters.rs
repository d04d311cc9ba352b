//! Link counters since the start: classes add up to the total, and an unreported link counts nothing.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use aqmkit_aqm::Why;
use aqmkit_base::{ClassId, Duration, Instant, Rng, Transmission};
use aqmkit_measure::{LinkRecorder, Seen, Traffic};

const CLASSES: usize = 3;

/// Events by class.
#[derive(Default)]
struct Happened {
    offered: [Vec<Seen>; CLASSES],
    left: [Vec<(Seen, u64)>; CLASSES],
    dropped: [[u64; Why::COUNT]; CLASSES],
    marked: [[u64; Why::COUNT]; CLASSES],
}

/// Feeds a thousand random events to a recorder.
fn random(recorder: &mut LinkRecorder, seed: u64) -> Happened {
    let mut draw = Rng::stream(seed, "counters");
    let mut happened = Happened::default();
    let mut now = Instant::ZERO;
    for _ in 0..1000 {
        now += Duration::from_nanos(1_000 + draw.below(1_000_000));
        let class = draw.below(CLASSES as u64) as usize;
        let payload = draw.below(1461) as u32;
        let seen = Seen { class: ClassId(class as u8), len: payload + 40, payload };
        let why = Why::ALL[draw.below(Why::ALL.len() as u64) as usize];
        match draw.below(4) {
            0 => {
                recorder.offered(seen);
                happened.offered[class].push(seen);
            }
            1 => {
                let waited = draw.below(1_000_000);
                recorder.departed(seen, Duration::from_nanos(waited), Transmission::even(now, now));
                happened.left[class].push((seen, waited));
            }
            2 => {
                recorder.dropped(seen, why, now);
                happened.dropped[class][why as usize] += 1;
            }
            _ => {
                recorder.marked(seen, why, now);
                happened.marked[class][why as usize] += 1;
            }
        }
    }
    happened
}

#[test]
fn counters_are_those_of_what_happened() {
    let mut recorder = LinkRecorder::new(0, CLASSES);
    let happened = random(&mut recorder, 1);
    let mut total = Traffic::default();
    for (class, counted) in recorder.classes().iter().enumerate() {
        let sum = |list: &[Seen], of: fn(&Seen) -> u32| list.iter().map(|s| u64::from(of(s))).sum::<u64>();
        let (offered, left) = (&happened.offered[class], &happened.left[class]);
        let sent: Vec<Seen> = left.iter().map(|(seen, _)| *seen).collect();
        let wanted = Traffic {
            offered_packets: offered.len() as u64,
            offered_bytes: sum(offered, |s| s.len),
            offered_payload: sum(offered, |s| s.payload),
            sent_packets: sent.len() as u64,
            sent_bytes: sum(&sent, |s| s.len),
            waited_ns: left.iter().map(|(_, waited)| waited).sum(),
            dropped: happened.dropped[class],
            marked: happened.marked[class],
        };
        assert_eq!(*counted, wanted, "class {class}");
        assert_eq!((counted.drops(), counted.marks()), (wanted.dropped.iter().sum(), wanted.marked.iter().sum()));
        total.offered_packets += wanted.offered_packets;
        total.offered_bytes += wanted.offered_bytes;
        total.offered_payload += wanted.offered_payload;
        total.sent_packets += wanted.sent_packets;
        total.sent_bytes += wanted.sent_bytes;
        total.waited_ns += wanted.waited_ns;
        for why in 0..Why::COUNT {
            total.dropped[why] += wanted.dropped[why];
            total.marked[why] += wanted.marked[why];
        }
    }
    assert_eq!(*recorder.traffic(), total);
}

/// A packet in transmission counts with the part already sent.
#[test]
fn bytes_pass_while_they_are_sent() {
    let mut recorder = LinkRecorder::new(0, 1);
    let at = |us: u64| Instant::ZERO + Duration::from_micros(us);
    let seen = |len| Seen { class: ClassId(0), len, payload: len };
    assert_eq!(recorder.passed_bytes(at(5)), 0.0);
    recorder.departed(seen(1000), Duration::ZERO, Transmission::even(at(10), at(20)));
    recorder.departed(seen(500), Duration::ZERO, Transmission::even(at(20), at(30)));
    let passed = [20, 22, 25, 30, 99].map(|us| recorder.passed_bytes(at(us)));
    assert_eq!(passed, [1000.0, 1100.0, 1250.0, 1500.0, 1500.0]);
    // Its remainder is sent at half the rate.
    let mut slowed = LinkRecorder::new(0, 1);
    slowed.departed(seen(1000), Duration::ZERO, Transmission::even(at(0), at(10)));
    slowed.continued(at(5), at(15));
    assert_eq!([5, 10, 15].map(|us| slowed.passed_bytes(at(us))), [500.0, 750.0, 1000.0]);
}

#[test]
fn a_link_that_is_not_reported_counts_nothing() {
    let mut recorder = LinkRecorder::off();
    random(&mut recorder, 2);
    assert_eq!((recorder.traffic(), recorder.classes().len()), (&Traffic::default(), 0));
}
