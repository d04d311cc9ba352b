//! Random histories of a connection on a path that changes: after each event `bbr3` and the second reading of its draft
//! (`draft.rs`) are at the same.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use aqmkit_base::{Bytes, Duration, Instant, Rng};

use super::draft::{Draft, Phase, Setting};
use super::*;
use crate::profile::LossDetection;
use crate::tcp::{Range, Rtt, Sent};

const MSS: u64 = 1000;

fn phase(state: State) -> Phase {
    match state {
        State::Startup => Phase::Startup,
        State::Drain { .. } => Phase::Drain,
        State::Down => Phase::ProbeBwDown,
        State::Cruise => Phase::ProbeBwCruise,
        State::Refill => Phase::ProbeBwRefill,
        State::Up => Phase::ProbeBwUp,
        State::ProbeRtt { .. } => Phase::ProbeRtt,
    }
}

fn name(phase: Phase) -> &'static str {
    match phase {
        Phase::Startup => "Startup",
        Phase::Drain => "Drain",
        Phase::ProbeBwDown => "ProbeBW_DOWN",
        Phase::ProbeBwCruise => "ProbeBW_CRUISE",
        Phase::ProbeBwRefill => "ProbeBW_REFILL",
        Phase::ProbeBwUp => "ProbeBW_UP",
        Phase::ProbeRtt => "ProbeRTT",
    }
}

/// What the path is like for a while.
#[derive(Clone, Copy)]
struct Path {
    bytes_per_second: f64,
    delay: Duration,
    /// Packets that wait at most.
    limit: f64,
    loss: f64,
    mark: f64,
}

/// A connection, the path, and the second reading.
struct History {
    bbr: Bbr3,
    draft: Draft,
    profile: Profile,
    rtt: Rtt,
    sent: Sent,
    sack: bool,
    counts_marks: bool,
    rng: Rng,
    now: Instant,
    path: Path,
    /// When the bottleneck is free, and when which segment arrives.
    free: Instant,
    wire: VecDeque<(Instant, u64)>,
    received: BTreeSet<u64>,
    next: u64,
    una: u64,
    /// Until where a recovery or a timeout lasts.
    recovery: Option<u64>,
    fast: bool,
    /// Segments that the application has.
    app: u64,
    seen: BTreeMap<&'static str, u64>,
}

impl History {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::stream(seed, "history");
        let counts_marks = rng.chance(0.5);
        let sack = rng.chance(0.8);
        let profile = Profile {
            mss: Bytes(MSS),
            header: Bytes(40),
            sack,
            loss_detection: LossDetection::Rack,
            cwnd_limit: Bytes(3_000_000),
            ..Profile::rfc()
        };
        let set = Setting {
            smss: MSS,
            header: 40,
            initial_cwnd: profile.initial_window_bytes(),
            cwnd_limit: 3_000_000,
            sees_losses: sack,
            counts_marks,
        };
        let now = Instant::ZERO + Duration::from_secs(1);
        History {
            bbr: Bbr3::new(&profile),
            draft: Draft::new(set),
            rtt: Rtt::new(&profile),
            sent: Sent::new(true, true, now),
            profile,
            sack,
            counts_marks,
            path: Path { bytes_per_second: 1e6, delay: Duration::from_millis(40), limit: 100.0, loss: 0.0, mark: 0.0 },
            rng,
            now,
            free: now,
            wire: VecDeque::new(),
            received: BTreeSet::new(),
            next: 0,
            una: 0,
            recovery: None,
            fast: false,
            app: u64::MAX,
            seen: BTreeMap::new(),
        }
    }

    /// Something happens to both.
    fn both(&mut self, what: &'static str, f: impl FnOnce(&mut Bbr3, &Cx<'_>), g: impl FnOnce(&mut Draft, &Sent, Instant)) {
        let cx = Cx {
            now: self.now,
            profile: &self.profile,
            flight: self.sent.in_flight(),
            peer_window: 1 << 30,
            sack: self.sack,
            sent: Some(&self.sent),
            counts_marks: self.counts_marks,
            sample: None,
            one_way: None,
            rtt: &self.rtt,
        };
        f(&mut self.bbr, &cx);
        let (draft, bbr) = (&mut self.draft, &self.bbr);
        (draft.delivered, draft.inflight) = (self.sent.rate().delivered, self.sent.in_flight());
        g(draft, &self.sent, self.now);
        let bounds = &bbr.bounds;
        let one = (phase(bbr.state), bbr.window.cwnd, bbr.pacer.rate(), bbr.min_rtt, bbr.bw);
        let two = (draft.phase, draft.cwnd, draft.pacing_rate, draft.min_rtt, draft.bw);
        assert_eq!(one, two, "after {what} at {}", self.now);
        let one = (bounds.bw_short, bounds.inflight_short, bounds.inflight_long);
        assert_eq!(
            one,
            (draft.bw_shortterm, draft.inflight_shortterm, draft.inflight_longterm),
            "after {what} at {}",
            self.now
        );
        for seen in [what, name(draft.phase)] {
            *self.seen.entry(seen).or_default() += 1;
        }
    }

    /// Another path, or another application.
    fn change(&mut self) {
        let mut of = |list: &[f64]| list[self.rng.below(list.len() as u64) as usize];
        self.path = Path {
            bytes_per_second: of(&[1e5, 5e5, 1e6, 4e6, 2e7]),
            delay: Duration::from_secs_f64(of(&[0.0005, 0.002, 0.01, 0.04, 0.1])),
            limit: of(&[5.0, 30.0, 100.0, 1000.0]),
            loss: of(&[0.0, 0.0, 0.0, 0.001, 0.01, 0.04]),
            mark: of(&[0.0, 0.0, 0.001, 0.1, 0.4, 0.8]),
        };
        self.app = if self.rng.chance(0.3) { self.rng.below(100) } else { u64::MAX };
    }

    fn transmit(&mut self, seq: u64) {
        if self.sent.in_flight() == 0 {
            let limited = self.sent.rate().app_limited != 0;
            self.both("restart", |b, cx| b.on_restart(cx), |d, _, now| d.on_transmit(None, limited, now));
        }
        self.sent.on_sent(Range { start: seq, end: seq + MSS }, self.now);
        let time = Duration::from_secs_f64(MSS as f64 / self.path.bytes_per_second);
        let waiting = self.free.since(self.now).as_secs_f64() / time.as_secs_f64();
        if waiting <= self.path.limit && !self.rng.chance(self.path.loss) {
            self.free = self.free.max(self.now) + time;
            // In order, even where the delay has become shorter.
            let last = self.wire.back().map_or(Instant::ZERO, |(at, _)| *at);
            self.wire.push_back(((self.free + self.path.delay).max(last), seq));
        }
    }

    fn send(&mut self) {
        // No more at a time than what is left by a burst of acknowledgements.
        for _ in 0..40 {
            if self.sent.in_flight() + MSS > self.bbr.window.cwnd {
                return;
            }
            if let Some(piece) = self.sent.next_lost() {
                self.transmit(piece.start);
            } else if self.app > 0 {
                self.app -= 1;
                self.next += MSS;
                self.transmit(self.next - MSS);
            } else {
                self.sent.note_app_limited();
                return;
            }
        }
    }

    /// The next acknowledgement; it may cover several arrivals.
    fn acknowledge(&mut self) {
        let most = if self.rng.chance(0.1) { 1 + self.rng.below(16) } else { 1 };
        self.sent.begin_ack();
        let (mut newest, mut count) = (0, 0);
        for _ in 0..most {
            let Some((at, seq)) = self.wire.pop_front() else { break };
            self.now = self.now.max(at);
            count += 1;
            self.received.insert(seq);
            self.sent.on_sacked(Range { start: seq, end: seq + MSS }, self.now, |e| newest = newest.max(e.number));
        }
        while self.received.remove(&self.una) {
            self.una += MSS;
        }
        self.sent.on_acked(self.una, self.now, |_| ());
        let marked = (0..count).filter(|_| self.rng.chance(self.path.mark)).count() as u64 * MSS;
        self.both("feedback", |b, cx| b.on_feedback(count * MSS, marked, cx), |d, _, _| d.on_feedback(count * MSS, marked));
        self.sent.lose_before(newest, Duration::ZERO, self.now);
        self.losses();
        if let Some(until) = self.recovery.filter(|until| self.una >= *until) {
            self.recovery = None;
            let what = if self.fast { "recovered" } else { "mended" };
            self.both(
                what,
                |b, cx| if what == "mended" { b.on_timeout_mended(cx) } else { b.on_recovered(until, cx) },
                |d, _, _| d.on_exit_recovery(),
            );
        }
        if marked > 0 && self.recovery.is_none() && self.rng.chance(0.05) {
            self.both("echo", |b, cx| b.on_ecn(cx), |d, _, now| d.on_echo(now));
        }
        if self.recovery.is_some() && self.rng.chance(0.02) {
            self.recovery = None;
            let before = self.bbr.window;
            self.both("needless", |b, cx| b.on_spurious(before, cx), |d, _, _| d.handle_spurious_loss_detection());
        }
        self.sample();
    }

    fn losses(&mut self) {
        if self.sent.losses().is_empty() {
            return;
        }
        if self.sack {
            self.both(
                "losses",
                |b, cx| b.on_losses(cx),
                |d, sent, now| {
                    for loss in sent.losses() {
                        let e = &loss.entry;
                        d.handle_lost_packet((e.seq, e.end()), e.tx_in_flight.into(), loss.since, e.app_limited, now);
                    }
                },
            );
        }
        if self.recovery.is_none() {
            (self.recovery, self.fast) = (Some(self.next), true);
            self.both("loss", |b, cx| b.on_loss(cx), |d, sent, now| d.on_enter_fast_recovery(sent.in_flight(), now));
        }
    }

    fn sample(&mut self) {
        let sack = self.sack;
        self.both(
            "sample",
            |b, cx| b.on_sample(cx),
            |d, sent, now| {
                let (profile, rtt) = (Profile::rfc(), Rtt::new(&Profile::rfc()));
                let cx = Cx {
                    now,
                    profile: &profile,
                    flight: 0,
                    peer_window: 0,
                    sack,
                    sent: Some(sent),
                    counts_marks: false,
                    sample: None,
                    one_way: None,
                    rtt: &rtt,
                };
                let known = d.min_rtt.map_or(Duration::ZERO, |(rtt, _)| rtt);
                if let Some(rs) = Sample::read(&cx, known) {
                    d.update_on_ack(&rs, now);
                }
            },
        );
    }

    /// Nothing comes any more: the timer, or silence until the application has more.
    fn wait(&mut self) {
        self.now += Duration::from_millis(1 + self.rng.below(3_000));
        if self.sent.in_flight() > 0 || self.sent.next_lost().is_some() {
            self.sent.begin_ack();
            self.sent.lose_after_timeout(Duration::ZERO, self.now);
            let sees = self.sack;
            (self.recovery, self.fast) = (Some(self.next), false);
            if sees {
                self.both(
                    "losses",
                    |b, cx| b.on_losses(cx),
                    |d, sent, now| {
                        for loss in sent.losses() {
                            let e = &loss.entry;
                            d.handle_lost_packet((e.seq, e.end()), e.tx_in_flight.into(), loss.since, e.app_limited, now);
                        }
                    },
                );
            }
            self.both("timeout", |b, cx| b.on_timeout(false, cx), |d, _, _| d.on_enter_rto());
        } else {
            self.change();
            self.app = self.app.max(1);
        }
    }
}

#[test]
fn every_history_ends_as_the_draft_says() {
    let mut seen: BTreeMap<&'static str, u64> = BTreeMap::new();
    for seed in 0..40 {
        let mut history = History::new(seed);
        for _ in 0..4_000 {
            if history.rng.chance(0.001) {
                history.change();
            }
            history.send();
            if history.rng.chance(0.003) {
                // Everything under way is lost.
                history.wire.clear();
            }
            if history.wire.is_empty() { history.wait() } else { history.acknowledge() }
        }
        for (what, count) in history.seen {
            *seen.entry(what).or_default() += count;
        }
    }
    let phases = [
        Phase::Startup,
        Phase::Drain,
        Phase::ProbeBwDown,
        Phase::ProbeBwCruise,
        Phase::ProbeBwRefill,
        Phase::ProbeBwUp,
        Phase::ProbeRtt,
    ];
    let events = ["restart", "losses", "loss", "recovered", "timeout", "mended", "needless", "echo"];
    for what in phases.map(name).into_iter().chain(events) {
        assert!(seen.get(what).is_some_and(|&count| count > 100), "{what} is rare: {seen:?}");
    }
}
