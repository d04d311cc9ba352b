//! Senders that are followed.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::sync::{Arc, Mutex};

use crate::common::{Bulk, dumbbell, finish, group, linux_with, spec};
use aqmkit_base::{BitRate, Duration, Instant};
use aqmkit_sim::follow::{Follower, SenderState};
use aqmkit_sim::observe::{Content, Parties, Sighting};
use aqmkit_sim::scenario::{Delays, Group};
use aqmkit_sim::{Control, Output, Scenario, run_followed};
use aqmkit_stack::stop_and_wait::Factory as StopAndWait;
use aqmkit_stack::{Factory, NewEnd, Stack, Trace};
use aqmkit_transport::{Flags, Kind};

const RTT: Duration = Duration::from_millis(40);

/// Everything that was reported.
#[derive(Default)]
struct Notes {
    now: Instant,
    sent: Vec<Sighting>,
    received: Vec<Sighting>,
    states: Vec<(Parties, SenderState)>,
    /// The bytes of each trace.
    traces: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Notes {
    fn at(&mut self, now: Instant) {
        assert!(now >= self.now, "in the order of time");
        self.now = now;
    }
}

impl Follower for Notes {
    fn sent(&mut self, now: Instant, packet: &Sighting) {
        self.at(now);
        assert!(!packet.parties.from_client);
        self.sent.push(packet.clone());
    }

    fn received(&mut self, now: Instant, packet: &Sighting) {
        self.at(now);
        assert!(packet.parties.from_client);
        self.received.push(packet.clone());
    }

    fn state(&mut self, now: Instant, parties: &Parties, state: &SenderState) {
        self.at(now);
        self.states.push((*parties, *state));
    }

    fn trace(&mut self, _: &Parties) -> Option<Trace> {
        let traces = Arc::clone(&self.traces);
        traces.lock().unwrap().push(Vec::new());
        let number = traces.lock().unwrap().len() - 1;
        Some(Box::new(move |bytes| traces.lock().unwrap()[number].extend_from_slice(bytes)))
    }
}

fn followed(scenario: Scenario) -> (Output, Notes) {
    let mut notes = Notes::default();
    let output = run_followed(scenario, &mut notes, &mut |_| Control::Continue).unwrap();
    (output, notes)
}

/// One download over 5 Mbit/s with a buffer of 20 packets.
fn download(congestion: Kind) -> Scenario {
    let group = group("bulk", vec![Box::new(Bulk)], linux_with(congestion), Delays::Each(vec![RTT]));
    dumbbell(BitRate::from_mbps(5), spec("fifo", r#"{"limit": 20}"#), vec![group], 0, 20)
}

/// Reports change nothing, and count what the results count.
#[test]
fn a_followed_run_is_the_same_run() {
    let plain = finish(download(Kind::Cubic));
    let (output, notes) = followed(download(Kind::Cubic));
    assert_eq!(format!("{plain:?}"), format!("{output:?}"));
    let data = notes.sent.iter().filter(|seen| matches!(&seen.content, Content::Segment(s) if s.len > 0));
    let (mut segments, mut again) = (0_u64, 0_u64);
    for seen in data {
        let Content::Segment(segment) = &seen.content else { continue };
        segments += 1;
        again += u64::from(segment.retransmission);
    }
    assert!(segments > 5000 && again > 10, "{segments} segments, {again} retransmissions");
    let (_, last) = notes.states.last().unwrap();
    assert_eq!(last.counters.lost, again);
    assert!(last.counters.fast_retransmits > 0 && last.ssthresh.is_some() && last.window.is_some());
    assert!((RTT.as_secs_f64()..0.15).contains(&last.rtt.unwrap().as_secs_f64()), "{:?}", last.rtt);
    assert!(last.rtt_variation.unwrap() < RTT);
    // Of both the handshake and the request, and of acknowledgements of every second segment or more.
    assert!(notes.received.len() > segments as usize / 4, "{} packets came back", notes.received.len());
    assert!(matches!(&notes.received[0].content, Content::Segment(s) if s.flags.has(Flags::SYN)));
}

/// The phases follow each other as those of the control do; a threshold is reported only once it was set.
#[test]
fn phases_are_those_of_the_control() {
    let phases = |congestion| {
        let (_, notes) = followed(download(congestion));
        let mut phases: Vec<&str> = notes.states.iter().map(|(_, state)| state.phase).collect();
        phases.dedup();
        let first = notes.states.iter().find(|(_, state)| state.phase == phases[1]).unwrap().1;
        (phases, first, notes.states.last().unwrap().1)
    };
    let (cubic, first, _) = phases(Kind::Cubic);
    assert_eq!((&cubic[..3], first.ssthresh), (&["opening", "slow start", "avoidance"][..], None), "{cubic:?}");
    assert!(cubic.contains(&"recovery") && first.pacing_bps.is_none());
    let (bbr, _, last) = phases(Kind::Bbr3);
    assert_eq!(bbr[..2], ["opening", "Startup"], "{bbr:?}");
    assert!(["ProbeBW_CRUISE", "ProbeBW_UP", "ProbeRTT"].iter().all(|phase| bbr.contains(phase)), "{bbr:?}");
    assert!(last.pacing_bps.is_some() && last.min_rtt.is_some() && last.ssthresh.is_none(), "{last:?}");
}

/// Data that do not cross the measured link are not followed.
#[test]
fn another_links_senders_are_not_followed() {
    let mut scenario = download(Kind::Cubic);
    scenario.links.push(scenario.links[0].clone());
    scenario.measured = 1;
    let (_, notes) = followed(scenario);
    assert!(notes.sent.is_empty() && notes.received.is_empty() && notes.states.is_empty());
}

/// Stop and wait, which says in its trace which end it is of.
#[derive(Debug, Default)]
struct Traced(StopAndWait);

impl Factory for Traced {
    fn name(&self) -> String {
        self.0.name()
    }

    fn headers(&self) -> u32 {
        self.0.headers()
    }

    fn end(&self, new: &NewEnd) -> Box<dyn Stack> {
        self.0.end(new)
    }

    fn writes_traces(&self) -> bool {
        true
    }

    fn traced_end(&self, new: &NewEnd, mut trace: Trace) -> Box<dyn Stack> {
        trace(format!("{:?} {}", new.role, new.number).as_bytes());
        self.end(new)
    }
}

fn with_stack(stack: &Arc<dyn Factory>) -> Scenario {
    let mut scenario = download(Kind::Cubic);
    scenario.groups = scenario.groups.into_iter().map(|g| Group { stack: Some(Arc::clone(stack)), ..g }).collect();
    scenario
}

/// A stack that traces itself gets a trace for the server's end of each connection; one that does not is seen from outside.
#[test]
fn stacks_write_their_own_traces() {
    let traced: Arc<dyn Factory> = Arc::new(Traced::default());
    let plain = finish(with_stack(&traced));
    let (output, of_traced) = followed(with_stack(&traced));
    assert_eq!(format!("{plain:?}"), format!("{output:?}"));
    assert_eq!(*of_traced.traces.lock().unwrap(), [b"Server 1".to_vec()]);
    let other: Arc<dyn Factory> = Arc::new(StopAndWait::default());
    let (_, notes) = followed(with_stack(&other));
    assert!(notes.traces.lock().unwrap().is_empty());
    assert!(notes.sent.len() > 100 && matches!(notes.sent[5].content, Content::Bytes(_)));
    assert!(notes.states.last().unwrap().1.window.is_some(), "{:?}", notes.states.last());
}
