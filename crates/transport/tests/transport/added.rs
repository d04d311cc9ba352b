//! A control that a crate outside adds: written from public items alone, it does to the bit what the same control does
//! inside.

use aqmkit_base::{Duration, Ecn, Rng};
use aqmkit_transport::congestion::{Cx, Pacer};
use aqmkit_transport::{Addition, Catalogue, CongestionControl, Kind, Leaves, Overrides, Profile, Scheme, Window};
use serde::{Deserialize, Serialize};

use super::harness::{A, B, Fate, Pair, ms};

/// NewReno once more.
#[derive(Clone, Debug)]
struct Twin(Window);

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

impl CongestionControl for Twin {
    fn window(&self) -> &Window {
        &self.0
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.0
    }

    fn on_ack(&mut self, acked: u64, cx: &Cx<'_>) {
        self.0.grow(acked, cx.profile);
    }

    fn on_loss(&mut self, cx: &Cx<'_>) {
        self.0.enter_recovery(Window::half(cx), cx);
    }

    fn on_timeout(&mut self, again: bool, cx: &Cx<'_>) {
        self.0.timed_out(again, Window::half(cx), cx);
    }

    fn on_ecn(&mut self, cx: &Cx<'_>) {
        self.0.halve_for_mark(cx);
    }
}

impl Scheme for Twin {
    const NAME: &'static str = "twin";

    type Params = Nothing;

    fn new(_params: &Nothing, profile: &Profile) -> Self {
        Twin(Window::new(profile))
    }
}

/// Sends one segment every ten milliseconds, learns the rate of delivery, and asks for the low-latency service.
#[derive(Clone, Debug)]
struct Steady {
    window: Window,
    pacer: Pacer,
    /// The largest rate of delivery, in bytes per second.
    fastest: f64,
}

impl CongestionControl for Steady {
    const SAMPLES_DELIVERY: bool = true;
    const PACES: bool = true;
    const ECT: Ecn = Ecn::Ect1;

    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn pacer(&self) -> Option<&Pacer> {
        Some(&self.pacer)
    }

    fn pacer_mut(&mut self) -> Option<&mut Pacer> {
        Some(&mut self.pacer)
    }

    fn leaves_recovery(&self) -> Leaves {
        Leaves::FirstAck
    }

    fn on_ack(&mut self, _acked: u64, _cx: &Cx<'_>) {}

    fn on_loss(&mut self, cx: &Cx<'_>) {
        self.window.enter_recovery(self.window.cwnd, cx);
    }

    fn on_timeout(&mut self, _again: bool, _cx: &Cx<'_>) {}

    fn on_ecn(&mut self, _cx: &Cx<'_>) {}

    fn on_sample(&mut self, cx: &Cx<'_>) {
        let rate = cx.delivery(Duration::ZERO).and_then(|sample| sample.rate);
        self.fastest = self.fastest.max(rate.unwrap_or(0.0));
        // Twice what is delivered in a round trip of 100 ms.
        self.window.cwnd = self.window.cwnd.max((self.fastest * 0.2) as u64);
    }
}

impl Scheme for Steady {
    const NAME: &'static str = "steady";

    type Params = Nothing;

    fn new(_params: &Nothing, profile: &Profile) -> Self {
        let mut pacer = Pacer::new();
        pacer.set_rate(100.0 * (profile.mss + profile.header).as_f64());
        Steady { window: Window::new(profile), pacer, fastest: 0.0 }
    }
}

/// Takes a segment off its threshold each time it hears of losses, and changes nothing else.
#[derive(Clone, Debug)]
struct Watchful(Window);

impl CongestionControl for Watchful {
    const WATCHES_LOSSES: bool = true;

    fn window(&self) -> &Window {
        &self.0
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.0
    }

    fn on_ack(&mut self, _acked: u64, _cx: &Cx<'_>) {}

    fn on_loss(&mut self, _cx: &Cx<'_>) {}

    fn on_recovered(&mut self, _acked: u64, _cx: &Cx<'_>) {}

    fn on_timeout(&mut self, _again: bool, _cx: &Cx<'_>) {}

    fn on_ecn(&mut self, _cx: &Cx<'_>) {}

    fn on_losses(&mut self, cx: &Cx<'_>) {
        self.0.ssthresh -= cx.mss();
    }
}

impl Scheme for Watchful {
    const NAME: &'static str = "watchful";

    type Params = Nothing;

    fn new(_params: &Nothing, profile: &Profile) -> Self {
        Watchful(Window::new(profile))
    }
}

/// Keeps what it is told where a test can see it: the bytes that feedback calls delivered as its threshold, and as its window what is in flight when a
/// loss is found. After a timeout it sends a segment.
#[derive(Clone, Debug)]
struct Listening(Window);

impl CongestionControl for Listening {
    fn window(&self) -> &Window {
        &self.0
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.0
    }

    fn leaves_recovery(&self) -> Leaves {
        Leaves::FirstAck
    }

    fn on_ack(&mut self, _acked: u64, _cx: &Cx<'_>) {}

    fn on_loss(&mut self, cx: &Cx<'_>) {
        self.0.cwnd = cx.flight;
    }

    fn on_recovered(&mut self, _acked: u64, _cx: &Cx<'_>) {}

    fn on_timeout(&mut self, _again: bool, cx: &Cx<'_>) {
        self.0.cwnd = cx.mss();
    }

    fn on_ecn(&mut self, _cx: &Cx<'_>) {}

    fn on_dup_ack(&mut self, _cx: &Cx<'_>) {}

    fn on_feedback(&mut self, delivered: u64, _marked: u64, _cx: &Cx<'_>) {
        self.0.ssthresh += delivered;
    }
}

impl Scheme for Listening {
    const NAME: &'static str = "listening";

    type Params = Nothing;

    fn new(_params: &Nothing, profile: &Profile) -> Self {
        Listening(Window { ssthresh: 0, ..Window::new(profile) })
    }
}

fn profile(json: &str) -> Profile {
    let mut catalogue = Catalogue::default();
    let additions =
        [Addition::of::<Twin>(1), Addition::of::<Steady>(1), Addition::of::<Watchful>(1), Addition::of::<Listening>(1)];
    for addition in additions {
        catalogue.add(addition).expect("its name is free");
    }
    let overrides = catalogue.overrides(serde_json::from_str(json).expect("JSON")).expect("changes to a profile");
    overrides.apply(Profile::rfc()).expect("a profile")
}

#[test]
fn an_added_control_does_what_the_same_control_does_inside() {
    for sack in [false, true] {
        for seed in 0..20 {
            let run = |p: Profile| {
                let mut draw = Rng::stream(seed, "wire");
                let mut pair = Pair::connected(&Profile { sack, ecn: true, ..p }, 100);
                pair.script = Box::new(move |_, _| match draw.below(50) {
                    0 => Fate::Drop,
                    1 => Fate::Mark,
                    _ => Fate::Pass,
                });
                pair.write(A, 400_000);
                pair.run();
                let segments = pair.sent.iter().map(|s| format!("{s:?}")).collect::<Vec<_>>();
                (segments, pair.ends[A].cwnd(), pair.ends[A].ssthresh(), format!("{:?}", pair.ends[A].stats()))
            };
            let own = Overrides { congestion: Some(Kind::NewReno), ..Overrides::default() };
            let inside = run(own.apply(Profile::rfc()).unwrap());
            assert!(inside.0.len() > 300, "{} segments", inside.0.len());
            assert_eq!(run(profile(r#"{"congestion": "twin"}"#)), inside, "seed {seed}, SACK {sack}");
        }
    }
}

#[test]
fn an_added_control_paces_and_samples_the_rate_of_delivery() {
    let p =
        profile(r#"{"congestion": "steady", "sack": true, "ecn": true, "ecn_packets": "all", "initial_window": 4}"#);
    assert_eq!(p.congestion.ect(), Ecn::Ect1);
    let mut pair = Pair::connected(&p, 100);
    pair.write(A, u64::MAX);
    pair.run_until(ms(3_000));
    let sent: Vec<_> = pair.data(A).into_iter().filter(|s| s.0 > ms(1_500)).map(|s| s.0).collect();
    assert!(sent.len() > 100);
    let mss = p.mss.0;
    assert!(sent.windows(2).all(|w| w[1].since(w[0]) == Duration::from_millis(10)), "{sent:?}");
    // A hundred segments in a second: twenty of them in two round trips.
    assert!((20 * mss..22 * mss).contains(&pair.ends[A].cwnd()), "{}", pair.ends[A].cwnd() / mss);
}

/// Once for what one acknowledgement shows (two of ten), once for the timer (all of ten), and only where RACK finds losses.
#[test]
fn an_added_control_hears_of_losses() {
    for (detection, lost, times) in [("rack", 2..4, 1), ("rack", 0..10, 1), ("rack", 0..0, 0), ("sack", 2..4, 0)] {
        let json = format!(
            r#"{{"congestion": "watchful", "sack": true, "loss_detection": "{detection}", "initial_window": 10}}"#
        );
        let p = profile(&json);
        let mut pair = Pair::connected(&p, 100);
        let mss = p.mss.0;
        pair.lose_bytes(lost.clone().map(|n: u64| n * mss).collect());
        pair.write(A, 10 * mss);
        pair.run();
        assert_eq!(pair.ends[A].acked(), 10 * mss);
        assert_eq!((p.initial_ssthresh.0 - pair.ends[A].ssthresh()) / mss, times, "{detection} {lost:?}");
    }
}

/// A connection with classic ECN and segments of 1000 bytes, each acknowledged, whose first end has a control that listens.
fn listening(more: &str) -> Pair {
    let json = format!(
        r#"{{"congestion": "listening", "ecn": true, "sack": false, "mss": "1000b", "timestamps": false, "delayed_ack": "none"{more}}}"#
    );
    Pair::connected(&profile(&json), 100)
}

/// Without SACK each duplicate acknowledgement of the oldest segment shows that one more has arrived. Of four segments the first is late by 30 ms.
#[test]
fn feedback_tells_of_each_delivery_once() {
    let mut pair = listening(r#", "initial_window": 4"#);
    pair.script = Box::new(|from, seg| {
        let late = from == A && seg.len > 0 && seg.seq == 1;
        if late { Fate::Late(Duration::from_millis(30)) } else { Fate::Pass }
    });
    pair.write(A, 4_000);
    for (at, delivered) in [(249, 0), (250, 3_000), (279, 3_000), (280, 4_000)] {
        pair.run_until(ms(at));
        assert_eq!(pair.ends[A].ssthresh(), delivered, "at {at} ms");
    }
}

/// Acknowledgements that show no delivery: a repeated one when all data is acknowledged, an overtaken one, and one with data of the peer.
#[test]
fn feedback_tells_of_nothing_that_was_not_delivered() {
    // Each segment comes a second time, and is acknowledged again when nothing is in flight.
    let mut twice = listening(r#", "initial_window": 3"#);
    let again = Duration::from_millis(200);
    twice.script = Box::new(move |from, seg| if from == A && seg.len > 0 { Fate::Twice(again) } else { Fate::Pass });
    twice.write(A, 3_000);
    twice.run_until(ms(900));
    assert_eq!((twice.ends[A].stats().timeouts, twice.ends[A].ssthresh()), (0, 3_000));
    // The acknowledgement of the first of three comes after that of the second; the third is lost.
    let mut late = listening(r#", "initial_window": 3"#);
    late.script = Box::new(|from, seg| match (from, seg.len, seg.seq) {
        (A, 1.., 2001) => Fate::Drop,
        (A, ..) => Fate::Pass,
        _ if seg.ack == 1001 => Fate::Late(Duration::from_millis(10)),
        _ => Fate::Pass,
    });
    late.write(A, 3_000);
    late.run_until(ms(900));
    assert_eq!((late.ends[A].acked(), late.ends[A].ssthresh()), (2_000, 2_000));
    // The peer sends two segments while all three of ours are underway or lost.
    let mut both = listening(r#", "initial_window": 3"#);
    both.script = Box::new(|from, seg| if from == A && seg.len > 0 { Fate::Drop } else { Fate::Pass });
    both.write(A, 3_000);
    both.write(B, 2_000);
    both.run_until(ms(900));
    assert_eq!((both.ends[A].delivered(), both.ends[A].ssthresh()), (2_000, 0));
}

/// After a timeout only what is sent from then on is in flight, and limited transmit has sent nothing of it. Of three segments the first is lost, twice, and
/// two duplicates let two more go, whose acknowledgements come after the timeout; with the answer to the second copy of a segment they are three.
#[test]
fn after_a_timeout_only_what_is_sent_again_is_in_flight() {
    let mut pair = listening(r#", "initial_window": 3, "limited_transmit": true"#);
    pair.script = Box::new(|from, seg| match (from, seg.len, seg.seq) {
        (A, 1.., 1) => Fate::Drop,
        (A, 1.., 1001) => Fate::Twice(Duration::from_millis(1_500)),
        (A, 1.., _) if seg.seq > 3000 => Fate::Late(Duration::from_millis(1_400)),
        _ => Fate::Pass,
    });
    pair.write(A, 10_000);
    pair.run_until(ms(1_700));
    let stats = *pair.ends[A].stats();
    assert_eq!((stats.timeouts, stats.fast_retransmits, pair.ends[A].cwnd()), (1, 0, 1_000));
    pair.run_until(ms(1_760));
    assert_eq!((pair.ends[A].stats().timeouts, pair.ends[A].stats().fast_retransmits), (1, 1));
    assert_eq!(pair.ends[A].cwnd(), 1_000);
}
