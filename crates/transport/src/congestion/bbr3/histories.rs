//! Compares `bbr3` with the second implementation of its draft (`draft.rs`), event by event.

use super::draft::{Draft, Phase, Setting};
use super::*;
use crate::congestion::histories::{Both, Event, play};

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

struct Readings {
    bbr: Bbr3,
    draft: Draft,
}

impl Both for Readings {
    fn new(profile: &Profile, counts_marks: bool) -> Self {
        let set = Setting {
            smss: profile.mss.0,
            header: profile.header.0,
            initial_cwnd: profile.initial_window_bytes(),
            cwnd_limit: profile.cwnd_limit.0,
            sees_losses: profile.sack,
            counts_marks,
        };
        Readings { bbr: Bbr3::new(profile), draft: Draft::new(set) }
    }

    fn happens(&mut self, what: Event, cx: &Cx<'_>) {
        let Readings { bbr, draft } = self;
        let sent = cx.sent.unwrap();
        (draft.delivered, draft.inflight) = (sent.rate().delivered, sent.in_flight());
        match what {
            Event::Losses => {
                bbr.on_losses(cx);
                for loss in sent.losses() {
                    let e = &loss.entry;
                    let tx_in_flight = e.tx_in_flight.into();
                    draft.handle_lost_packet((e.seq, e.end()), tx_in_flight, loss.since, e.app_limited, cx.now);
                }
            }
            Event::Loss => {
                bbr.on_loss(cx);
                draft.on_enter_fast_recovery(sent.in_flight(), cx.now);
            }
            Event::Timeout => {
                bbr.on_timeout(false, cx);
                draft.on_enter_rto();
            }
            Event::Recovered | Event::Mended => {
                if matches!(what, Event::Mended) { bbr.on_timeout_mended(cx) } else { bbr.on_recovered(0, cx) }
                draft.on_exit_recovery();
            }
            Event::Needless => {
                let before = *bbr.window();
                bbr.on_spurious(before, cx);
                draft.handle_spurious_loss_detection();
            }
            Event::Feedback(delivered, marked) => {
                bbr.on_feedback(delivered, marked, cx);
                draft.on_feedback(delivered, marked);
            }
            Event::Echo => {
                bbr.on_ecn(cx);
                draft.on_echo(cx.now);
            }
            Event::Sample => {
                let known = draft.min_rtt.map_or(Duration::ZERO, |(rtt, _)| rtt);
                bbr.on_sample(cx);
                if let Some(rs) = Sample::read(cx, known) {
                    draft.update_on_ack(&rs, cx.now);
                }
            }
            Event::Restart => {
                bbr.on_restart(cx);
                draft.on_transmit(None, sent.rate().app_limited != 0, cx.now);
            }
        }
        let one = (phase(bbr.state), bbr.window.cwnd, bbr.pacer.rate(), bbr.min_rtt, bbr.bw);
        let two = (draft.phase, draft.cwnd, draft.pacing_rate, draft.min_rtt, draft.bw);
        assert_eq!(one, two, "after {what:?} at {}", cx.now);
        let bounds = (bbr.bounds.bw_short, bbr.bounds.inflight_short, bbr.bounds.inflight_long);
        let drafts = (draft.bw_shortterm, draft.inflight_shortterm, draft.inflight_longterm);
        assert_eq!(bounds, drafts, "after {what:?} at {}", cx.now);
    }

    fn cwnd(&self) -> u64 {
        self.draft.cwnd
    }

    fn phase(&self) -> &'static str {
        name(self.draft.phase)
    }
}

#[test]
fn every_history_ends_as_the_draft_says() {
    let seen = play::<Readings>();
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
