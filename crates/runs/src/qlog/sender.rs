//! The events of one connection, from the packets and states of its sender.

use aqmkit_base::Duration;
use aqmkit_sim::follow::SenderState;
use aqmkit_sim::observe::{Content, Sighting};
use aqmkit_transport::{Flags, Segment};

use super::record::{self, Event, Metrics, Packet, StateUpdated};

/// What is known of a sender.
#[derive(Default)]
pub(super) struct Sender {
    last: Option<SenderState>,
    sent: u64,
    received: u64,
    /// The transmissions of data that are not acknowledged.
    outstanding: Vec<Transmission>,
}

/// A transmission of the data from `start` up to `end`.
#[derive(Clone, Copy)]
struct Transmission {
    number: u64,
    start: u64,
    end: u64,
}

impl Sender {
    /// A packet that is sent. A retransmission shows that the transmission before is considered lost.
    pub(super) fn sent(&mut self, packet: &Sighting) -> Vec<Event> {
        let number = self.sent;
        self.sent += 1;
        let mut events = Vec::new();
        if let Content::Segment(segment) = &packet.content
            && segment.sequence_len() > 0
        {
            let (start, end) = (segment.seq, segment.seq + segment.sequence_len());
            if segment.retransmission {
                events.extend(self.take(|it| it.start < end && start < it.end).into_iter().map(Event::Lost));
            }
            self.outstanding.push(Transmission { number, start, end });
        }
        events.push(Event::Sent(seen(number, packet, Vec::new())));
        events
    }

    /// A packet that arrives.
    pub(super) fn received(&mut self, packet: &Sighting) -> Vec<Event> {
        let number = self.received;
        self.received += 1;
        let acked = match &packet.content {
            Content::Segment(segment) if segment.flags.has(Flags::ACK) => self.acknowledged(segment),
            _ => Vec::new(),
        };
        vec![Event::Received(seen(number, packet, acked))]
    }

    /// The numbers of the transmissions that a segment acknowledges for the first time, as ranges.
    fn acknowledged(&mut self, segment: &Segment) -> Vec<(u64, u64)> {
        let blocks: Vec<(u64, u64)> = segment.options.held(segment.ack).collect();
        let covers = |it: &Transmission| {
            it.end <= segment.ack || blocks.iter().any(|(start, end)| *start <= it.start && it.end <= *end)
        };
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for number in self.take(covers) {
            match ranges.last_mut() {
                Some((_, to)) if *to + 1 == number => *to = number,
                _ => ranges.push((number, number)),
            }
        }
        ranges
    }

    /// Removes the outstanding transmissions that match, and returns their numbers in ascending order.
    fn take(&mut self, matches: impl Fn(&Transmission) -> bool) -> Vec<u64> {
        self.outstanding.extract_if(.., |it| matches(it)).map(|it| it.number).collect()
    }

    /// The state after an event.
    pub(super) fn state(&mut self, state: &SenderState) -> Vec<Event> {
        let last = self.last.replace(*state);
        let before = last.unwrap_or_default();
        let mut events = Vec::new();
        let metrics = metrics(&before, state);
        if metrics != Metrics::default() {
            events.push(Event::Metrics(Box::new(metrics)));
        }
        if before.phase != state.phase {
            let old = last.map(|last| last.phase);
            events.push(Event::State(StateUpdated { old, new: state.phase, trigger: trigger(&before, state) }));
        }
        events
    }
}

/// The metrics that differ. A counter is reported once it is not 0.
fn metrics(before: &SenderState, now: &SenderState) -> Metrics {
    let ms = |time: Option<Duration>| time.map(|time| (time.as_nanos() as f64 / 1e6) as f32);
    let bps = |rate: Option<f64>| rate.map(|rate| rate.round() as u64);
    let (c, n) = (&before.counters, &now.counters);
    let count = |old: u64, new: u64| (old != new).then_some(new);
    Metrics {
        min_rtt: changed(ms(before.min_rtt), ms(now.min_rtt)),
        smoothed_rtt: changed(ms(before.rtt), ms(now.rtt)),
        rtt_variance: changed(ms(before.rtt_variation), ms(now.rtt_variation)),
        congestion_window: changed(before.window, now.window),
        bytes_in_flight: changed(before.in_flight, now.in_flight),
        ssthresh: changed(before.ssthresh, now.ssthresh),
        pacing_rate: changed(bps(before.pacing_bps), bps(now.pacing_bps)),
        lost_packets: count(c.lost, n.lost),
        timeouts: count(c.timeouts, n.timeouts),
        fast_retransmits: count(c.fast_retransmits, n.fast_retransmits),
        tail_loss_probes: count(c.tail_probes, n.tail_probes),
        ecn_reductions: count(c.ecn_reductions, n.ecn_reductions),
        undone_reductions: count(c.undone, n.undone),
    }
}

fn changed<T: PartialEq + Copy>(before: Option<T>, now: Option<T>) -> Option<T> {
    now.filter(|_| before != now)
}

/// The rare event that came together with a change of the state.
fn trigger(before: &SenderState, now: &SenderState) -> Option<&'static str> {
    let (c, n) = (&before.counters, &now.counters);
    let causes = [
        (n.timeouts > c.timeouts, "timeout"),
        (n.fast_retransmits > c.fast_retransmits, "fast_retransmit"),
        (n.ecn_reductions > c.ecn_reductions, "ecn"),
        (n.undone > c.undone, "undone"),
    ];
    causes.into_iter().find(|(happened, _)| *happened).map(|(_, name)| name)
}

/// A packet as it is logged.
fn seen(number: u64, packet: &Sighting, acked: Vec<(u64, u64)>) -> Packet {
    let (payload, segment) = match &packet.content {
        Content::Segment(segment) => (segment.len.into(), Some(fields(segment))),
        Content::Datagram(len) => ((*len).into(), None),
        Content::Bytes(bytes) => (bytes.len() as u64, None),
    };
    Packet { number, length: packet.len.into(), payload, ecn: packet.ecn, segment, acked }
}

/// The header fields of a segment.
fn fields(segment: &Segment) -> record::Segment {
    let names = [
        (Flags::FIN, "FIN"),
        (Flags::SYN, "SYN"),
        (Flags::RST, "RST"),
        (Flags::PSH, "PSH"),
        (Flags::ACK, "ACK"),
        (Flags::ECE, "ECE"),
        (Flags::CWR, "CWR"),
    ];
    record::Segment {
        sequence_number: segment.seq,
        acknowledgment_number: segment.flags.has(Flags::ACK).then_some(segment.ack),
        window: segment.window,
        flags: names.iter().filter(|(flag, _)| segment.flags.has(*flag)).map(|(_, name)| *name).collect(),
        sack: segment.options.blocks(segment.ack).collect(),
        is_retransmission: segment.retransmission,
    }
}

#[cfg(test)]
mod tests {
    use aqmkit_base::Ecn;
    use aqmkit_sim::follow::SenderCounters;
    use aqmkit_sim::observe::Parties;

    use super::*;

    const SENDER: Parties = Parties { server: 0, client: 0, group: 0, conversation: 1, from_client: false };

    fn data(seq: u64, retransmission: bool) -> Sighting {
        let segment = Segment { seq, len: 1000, retransmission, flags: Flags::ACK, ..Segment::default() };
        Sighting { parties: SENDER, len: 1040, ecn: Ecn::Ect0, content: Content::Segment(segment) }
    }

    fn acknowledgement(ack: u64, held: Option<(u64, u64)>) -> Sighting {
        let mut segment = Segment { ack, flags: Flags::ACK, ..Segment::default() };
        if let Some((start, end)) = held {
            segment.options.push_block(ack, start, end);
        }
        Sighting { parties: SENDER, len: 40, ecn: Ecn::NotEct, content: Content::Segment(segment) }
    }

    fn acked(sender: &mut Sender, ack: u64, held: Option<(u64, u64)>) -> Vec<(u64, u64)> {
        let events = sender.received(&acknowledgement(ack, held));
        let [Event::Received(packet)] = &events[..] else { panic!("{events:?}") };
        packet.acked.clone()
    }

    /// Five segments, of which the second is lost: SACK reports the others, the retransmission shows the loss, and the last
    /// acknowledgement is of the retransmission only.
    #[test]
    fn each_transmission_is_acknowledged_or_lost_once() {
        let mut sender = Sender::default();
        for n in 0..5 {
            assert!(matches!(&sender.sent(&data(1 + n * 1000, false))[..], [Event::Sent(p)] if p.number == n));
        }
        assert_eq!(acked(&mut sender, 1001, None), [(0, 0)]);
        assert_eq!(acked(&mut sender, 1001, Some((2001, 5001))), [(2, 4)]);
        assert_eq!(acked(&mut sender, 1001, Some((2001, 5001))), [], "once");
        let again = sender.sent(&data(1001, true));
        assert!(matches!(&again[..], [Event::Lost(1), Event::Sent(p)] if p.number == 5), "{again:?}");
        assert_eq!(acked(&mut sender, 5001, None), [(5, 5)]);
        assert!(sender.outstanding.is_empty());
    }

    #[test]
    fn only_changes_are_reported() {
        let mut sender = Sender::default();
        let state = SenderState { window: Some(10_000), phase: "slow start", ..SenderState::default() };
        let first = sender.state(&state);
        let only = Metrics { congestion_window: Some(10_000), ..Metrics::default() };
        let entered = StateUpdated { old: None, new: "slow start", trigger: None };
        assert_eq!(first, [Event::Metrics(Box::new(only)), Event::State(entered)]);
        assert_eq!(sender.state(&state), []);
        let counters = SenderCounters { ecn_reductions: 1, ..SenderCounters::default() };
        let rtt = Some(Duration::from_micros(1500));
        let reduced = SenderState { window: Some(5_000), rtt, phase: "avoidance", counters, ..state };
        let metrics = Metrics {
            congestion_window: Some(5_000),
            smoothed_rtt: Some(1.5),
            ecn_reductions: Some(1),
            ..Metrics::default()
        };
        let left = StateUpdated { old: Some("slow start"), new: "avoidance", trigger: Some("ecn") };
        assert_eq!(sender.state(&reduced), [Event::Metrics(Box::new(metrics)), Event::State(left)]);
    }
}
