//! Any pattern of loss, reordering and duplication.

use aqmkit_base::{Duration, Rng};
use aqmkit_transport::profile::NAMES;
use aqmkit_transport::{DelayedAck, EcnFeedback, Event, Flags, Kind, LossDetection, Profile, RateReduction, Segment};
use proptest::prelude::*;

use crate::harness::{A, B, Fate, Pair, ms};

#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    name: &'static str,
    congestion: Kind,
    ecn: bool,
    /// SACK, and which means go with it.
    sack: Option<(LossDetection, [bool; 4])>,
    delayed_ack: DelayedAck,
    loss: f64,
    late: f64,
    twice: f64,
    mark: f64,
    rtt_ms: u64,
    phases: [u64; 2],
    /// Sizes and times in ms of what both ends write.
    writes: Vec<(usize, u64, u64)>,
    /// When each end closes, unless the other has before.
    closes: [u64; 2],
}

fn case() -> impl Strategy<Value = Case> {
    let wire = (0.0..0.3, 0.0..0.3, 0.0..0.1, 0.0..0.2, 1_u64..400);
    let delayed = prop_oneof![
        Just(DelayedAck::None),
        Just(DelayedAck::Tick(Duration::from_millis(200))),
        Just(DelayedAck::After(Duration::from_millis(100))),
    ];
    let kind = prop::sample::select(vec![Kind::Reno, Kind::NewReno, Kind::Cubic, Kind::Bbr3, Kind::Relentless]);
    let detection = prop_oneof![Just(LossDetection::Sack), Just(LossDetection::Fack), Just(LossDetection::Rack)];
    let mending = prop::option::of((detection, any::<[bool; 4]>()));
    let host = (prop::sample::select(&NAMES[..]), kind, any::<bool>(), (mending, delayed), [0..500_u64, 0..500_u64]);
    let writes = prop::collection::vec((0..2_usize, 0..60_000_u64, 0..5_000_u64), 0..6);
    (any::<u64>(), host, wire, writes, [0..20_000_u64, 0..20_000_u64]).prop_map(
        |(
            seed,
            (name, congestion, ecn, (sack, delayed_ack), phases),
            (loss, late, twice, mark, rtt_ms),
            writes,
            closes,
        )| {
            Case {
                seed,
                name,
                congestion,
                ecn,
                sack,
                delayed_ack,
                loss,
                late,
                twice,
                mark,
                rtt_ms,
                phases,
                writes,
                closes,
            }
        },
    )
}

/// A wire that misbehaves for its first segments, this many.
fn script(case: &Case, segments: u32) -> crate::harness::Script {
    let mut rng = Rng::stream(case.seed, "wire");
    let case = case.clone();
    let mut left = segments;
    Box::new(move |_, _| {
        if left == 0 {
            return Fate::Pass;
        }
        left -= 1;
        let by = Duration::from_micros(rng.below(2_000 * case.rtt_ms));
        if rng.chance(case.loss) {
            Fate::Drop
        } else if rng.chance(case.late) {
            Fate::Late(by)
        } else if rng.chance(case.twice) {
            Fate::Twice(by)
        } else if rng.chance(case.mark) {
            Fate::Mark
        } else {
            Fate::Pass
        }
    })
}

fn profile(case: &Case) -> Profile {
    let (loss_detection, [limited, early, probe, reduction]) = case.sack.unwrap_or_default();
    Profile {
        congestion: case.congestion.clone(),
        sack: case.sack.is_some(),
        loss_detection,
        limited_transmit: limited,
        early_retransmit: early,
        tail_loss_probe: probe,
        rate_reduction: [RateReduction::No, RateReduction::Rfc6937, RateReduction::Rfc9937]
            [usize::from(reduction) * (1 + usize::from(case.seed & 8 > 0))],
        dsack: case.seed & 1 > 0,
        undo: case.seed & 2 > 0,
        frto: case.seed & 4 > 0,
        ecn: case.ecn,
        delayed_ack: case.delayed_ack,
        // Nobody gives up.
        syn: vec![Duration::from_secs(1); 60],
        syn_ack: vec![Duration::from_secs(1); 60],
        max_retransmits: 60,
        ..Profile::named(case.name).expect("a name of the list")
    }
}

/// One of the kinds of feedback.
fn feedback(case: &Case) -> EcnFeedback {
    [EcnFeedback::Classic, EcnFeedback::Accurate][usize::from(case.seed & 16 > 0)]
}

/// Header values that one end has sent so far.
#[derive(Clone, Copy, Debug, Default)]
struct Headers {
    /// The highest acknowledgement.
    acked: u64,
    /// The end of what was sent.
    max: u64,
}

impl Headers {
    /// Checks a segment being sent: RFC 9293 section 3.10, RFC 7323 sections 2 and 3.2.
    fn wrong(&mut self, seg: &Segment, p: &Profile) -> Option<&'static str> {
        let timestamps = if p.timestamps { 12 } else { 0 };
        let before = std::mem::replace(
            self,
            Headers { acked: self.acked.max(seg.ack), max: self.max.max(seg.seq + seg.sequence_len()) },
        );
        let wrong = [
            (
                !seg.flags.has(Flags::ACK) && (seg.ack, seg.ts_ecr) != (0, 0),
                "nothing is acknowledged or echoed without the flag",
            ),
            (!seg.flags.has(Flags::ACK) && !seg.flags.has(Flags::SYN), "only the first segment acknowledges nothing"),
            (!p.timestamps && (seg.ts_val, seg.ts_ecr) != (0, 0), "there are no timestamps"),
            (seg.ack < before.acked, "an acknowledgement is taken back"),
            (seg.seq > before.max, "a sequence number is left out"),
            (
                seg.sequence_len() > 0 && seg.retransmission != (seg.seq < before.max),
                "what was sent before, and nothing else, is a retransmission",
            ),
            (seg.options.wire_len() + timestamps > 40, "the options are longer than a header may be"),
            (
                seg.len > 0 && u64::from(seg.len) + seg.options.wire_len() > p.mss.0,
                "the packet is longer than the path takes",
            ),
        ];
        wrong.into_iter().find(|(is, _)| *is).map(|(_, why)| why)
    }
}

fn play(case: &Case) -> (Pair, [u64; 2]) {
    play_on(case, &profile(case), 400)
}

fn play_on(case: &Case, profile: &Profile, segments: u32) -> (Pair, [u64; 2]) {
    let phases = case.phases.map(Duration::from_millis);
    let mut pair = Pair::with_phases(profile, case.rtt_ms, phases);
    pair.script = script(case, segments);
    pair.connect();
    let mut acts: Vec<(u64, usize, Option<u64>)> = case.writes.iter().map(|w| (w.2, w.0, Some(w.1))).collect();
    acts.extend([(case.closes[A], A, None), (case.closes[B] + 100_000, B, None)]);
    acts.sort_by_key(|act| act.0);
    let mut written = [0; 2];
    let mut closed = [false; 2];
    for (at, end, act) in acts {
        pair.run_until(ms(at));
        let closes_back = pair.when(end, Event::PeerFinished).len() == 1;
        match act {
            Some(bytes) if !closed[end] && !closes_back => {
                written[end] += bytes;
                pair.write(end, bytes);
            }
            Some(_) => {}
            None => {
                closed[end] = true;
                pair.close(end);
            }
        }
    }
    pair.run();
    (pair, written)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_byte_arrives_once_and_both_ends_close(case in case()) {
        let (pair, written) = play(&case);
        for (end, peer) in [(A, B), (B, A)] {
            prop_assert!(pair.ends[end].is_closed(), "{:?}", pair.ends);
            prop_assert_eq!(pair.ends[peer].delivered(), written[end]);
            prop_assert_eq!(pair.ends[end].acked(), written[end]);
            prop_assert_eq!(pair.ends[end].flight(), 0);
            prop_assert_eq!(pair.ends[end].deadline(), None);
            for event in [Event::Connected, Event::PeerFinished, Event::Closed] {
                prop_assert_eq!(pair.when(end, event).len(), 1, "{:?}", event);
            }
            prop_assert!(pair.when(end, Event::Failed).is_empty());
        }
    }

    #[test]
    fn the_same_pattern_gives_the_same_segments(case in case()) {
        let log = |pair: &Pair| pair.sent.iter().map(|s| (s.at, s.from, s.seg.clone())).collect::<Vec<_>>();
        prop_assert_eq!(log(&play(&case).0), log(&play(&case).0));
    }

    /// On a wire that never gets better, with the real limits: everything ends, and nothing is delivered
    /// that was not sent.
    #[test]
    fn hopeless_wires_end(mut case in case(), loss in 0.3..1.0) {
        case.loss = loss;
        let host = Profile { congestion: case.congestion.clone(), ..Profile::named(case.name).unwrap() };
        let (pair, written) = play_on(&case, &host, u32::MAX);
        for (end, peer) in [(A, B), (B, A)] {
            prop_assert!(pair.ends[peer].delivered() <= written[end]);
            prop_assert_eq!(pair.ends[end].deadline(), None);
            let done = pair.when(end, Event::Closed).len() + pair.when(end, Event::Failed).len();
            prop_assert!(done <= 1);
        }
        let well = |end| pair.when(end, Event::Closed).len() * pair.when(end, Event::Connected).len() == 1;
        if well(A) && well(B) {
            prop_assert_eq!([pair.ends[B].delivered(), pair.ends[A].delivered()], written);
        }
    }

    /// Only data is lost, nothing is late: RACK sends again what was lost, and besides that only probes. Without
    /// a timeout, which gives up on everything that is late.
    #[test]
    fn rack_sends_nothing_again_that_was_not_lost(seed in any::<u64>(), loss in 0.0..0.2, half_rtt in 5_u64..200) {
        let p = Profile { delayed_ack: DelayedAck::None, ..Profile::linux_6() };
        let mut pair = Pair::connected(&p, 2 * half_rtt);
        let mut rng = Rng::stream(seed, "loss");
        let lost = std::rc::Rc::new(std::cell::Cell::new(0));
        let count = lost.clone();
        pair.script = Box::new(move |from, seg| {
            let lose = from == A && seg.len > 0 && rng.chance(loss);
            count.set(count.get() + u32::from(lose));
            if lose { Fate::Drop } else { Fate::Pass }
        });
        pair.write(A, 300_000);
        pair.run();
        let stats = pair.ends[A].stats();
        prop_assert_eq!(pair.ends[B].delivered(), 300_000);
        if stats.timeouts == 0 {
            prop_assert!(stats.retransmissions <= lost.get() + stats.tail_probes, "{:?}, {} lost", stats, lost.get());
        }
    }

    #[test]
    fn segments_stay_within_the_windows(case in case()) {
        prop_assert_eq!(forbidden(&case), None);
    }
}

/// The first segment that violates an invariant of TCP, whatever the wire did, and the violation.
fn forbidden(case: &Case) -> Option<String> {
    let timestamps = case.seed & 32 > 0;
    let p = Profile { ecn_feedback: feedback(case), ecn_option: true, timestamps, ..profile(case) };
    let (pair, _) = play_on(case, &p, 400);
    // The right edge and size of the window that each end has advertised.
    let (mut edges, mut windows, mut headers) = ([0; 2], [0; 2], [Headers::default(); 2]);
    pair.sent.iter().find_map(|sent| {
        let end = sent.seg.seq + u64::from(sent.seg.len);
        let window = u64::from(sent.seg.window);
        let outside = sent.seg.len > 0 && end > edges[1 - sent.from];
        // The SYN takes up a number that no window counts.
        edges[sent.from] = edges[sent.from].max(sent.seg.ack.max(1) + window);
        let shrinks = window < std::mem::replace(&mut windows[sent.from], window);
        let beyond = window > p.largest_receive_window() || (!p.tcp_moderate_rcvbuf && window != p.receive_window.0);
        let wrong = [
            outside.then_some("it is outside of the peer's window"),
            (u64::from(sent.seg.len) > p.mss.0).then_some("it is longer than a segment may be"),
            headers[sent.from].wrong(&sent.seg, &p),
            // No window ever shrinks, so nobody needs to probe whether it has opened (RFC 9293 section 3.8.6.1).
            shrinks.then_some("its own window shrinks"),
            beyond.then_some("its own window is larger than it may be"),
        ];
        wrong.into_iter().flatten().next().map(|why| format!("{why}: {sent:?}"))
    })
}

/// An application closes when all its data was sent, and the last segment of it is lost: the segment goes again as it was, and the FIN
/// goes when there is room for it. With the segment, it was not known to be sent, and its acknowledgement was ignored.
#[test]
fn a_retransmission_does_not_bring_the_first_fin() {
    let case = Case {
        seed: 6_482_858_589_765_099_683,
        name: "freebsd45",
        congestion: Kind::Relentless,
        ecn: false,
        sack: Some((LossDetection::Rack, [true, false, true, true])),
        delayed_ack: DelayedAck::None,
        loss: 0.28332545041262164,
        late: 0.17757080733257377,
        twice: 0.06231967080924272,
        mark: 0.026707246453906916,
        rtt_ms: 10,
        phases: [37, 195],
        writes: vec![(1, 20_273, 0), (1, 24_569, 3_315), (0, 21_673, 3_640)],
        closes: [3_640, 0],
    };
    assert_eq!(forbidden(&case), None);
}
