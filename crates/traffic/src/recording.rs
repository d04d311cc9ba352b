//! The packets of a capture in memory.

use std::collections::BTreeMap;
use std::net::IpAddr;

use aqmkit_base::{Duration, Ecn};

/// A packet of a recording, in 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Since the first packet of the capture.
    pub at: Duration,
    /// Bytes of the IP packet.
    pub len: u16,
    /// Its codepoint.
    pub ecn: Ecn,
    /// The number of the next packet of its flow; [`LAST`] for none.
    next: u32,
}

/// No packet has this number.
const LAST: u32 = u32::MAX;

impl Packet {
    /// The number of the next packet of its flow.
    pub(super) fn next(&self) -> Option<u32> {
        Some(self.next).filter(|&n| n != LAST)
    }
}

/// The addresses of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The sender.
    pub source: IpAddr,
    /// The receiver.
    pub destination: IpAddr,
}

/// One flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Chain {
    ends: Ends,
    first: u32,
    last: u32,
}

/// The IP packets of a capture by time, and the flows to which they belong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    packets: Vec<Packet>,
    /// In the order of their first packets.
    flows: Vec<Chain>,
    /// The time of the last packet of the capture.
    length: Duration,
    /// The number of packets in the capture, including those that are not IP.
    captured: u64,
}

impl Recording {
    /// The number of flows.
    pub(super) fn flows(&self) -> u32 {
        self.flows.len() as u32
    }

    /// The addresses of a flow.
    pub(super) fn ends(&self, flow: u32) -> Ends {
        self.flows[flow as usize].ends
    }

    /// The number of the first packet of a flow.
    pub(super) fn first(&self, flow: u32) -> u32 {
        self.flows[flow as usize].first
    }

    /// The packet of this number.
    pub(super) fn packet(&self, number: u32) -> &Packet {
        &self.packets[number as usize]
    }

    /// The packets of a flow, by time.
    pub(super) fn of_flow(&self, flow: u32) -> impl Iterator<Item = &Packet> {
        std::iter::successors(Some(self.packet(self.first(flow))), |p| p.next().map(|n| self.packet(n)))
    }

    /// The duration of a repetition: the time up to the last packet, plus the mean gap. `None` if all packets have the
    /// same time.
    pub(super) fn period(&self) -> Option<Duration> {
        let gaps = self.captured.checked_sub(1).filter(|&n| n > 0)?;
        (!self.length.is_zero()).then(|| self.length + self.length / gaps)
    }
}

/// The most flows of a capture. A model takes fewer ([`MAX_INSTANCES`](super::model::MAX_INSTANCES)), but may choose among them.
pub const MOST_FLOWS: usize = 4_000_000;

/// A capture of more than a recording holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    /// Its packets have no numbers left.
    #[error("it holds more than {LAST} packets")]
    Packets,
    /// This machine has no memory for its packets.
    #[error("there is no memory left after {0} packets of 16 bytes each")]
    Memory(usize),
    /// Its flows would take too much memory.
    #[error("it holds more than {0} flows")]
    Flows(usize),
}

/// Makes a recording of packets in the order of their capture. `K` identifies flows.
#[derive(Debug)]
pub struct Recorder<K> {
    recording: Recording,
    flows: BTreeMap<K, u32>,
    most_flows: usize,
}

impl<K> Default for Recorder<K> {
    fn default() -> Self {
        Recorder { recording: Recording::default(), flows: BTreeMap::new(), most_flows: MOST_FLOWS }
    }
}

impl<K: Ord> Recorder<K> {
    /// Records a captured packet, IP or not, with its time since the first one. An earlier time than that of the
    /// previous packet counts as the same time.
    pub fn captured(&mut self, at: Duration) {
        self.recording.captured += 1;
        self.recording.length = self.recording.length.max(at);
    }

    /// Records that the last captured packet is an IP packet of this flow, with this length and codepoint.
    ///
    /// # Errors
    /// When there are too many.
    pub fn packet(&mut self, flow: K, ends: Ends, len: u16, ecn: Ecn) -> Result<(), Full> {
        let recording = &mut self.recording;
        if self.flows.len() >= self.most_flows && !self.flows.contains_key(&flow) {
            return Err(Full::Flows(self.most_flows));
        }
        let number = u32::try_from(recording.packets.len()).ok().filter(|&n| n != LAST).ok_or(Full::Packets)?;
        recording.packets.try_reserve(1).map_err(|_| Full::Memory(recording.packets.len()))?;
        recording.packets.push(Packet { at: recording.length, len, ecn, next: LAST });
        let new = recording.flows.len() as u32;
        let chain = *self.flows.entry(flow).or_insert(new);
        match recording.flows.get_mut(chain as usize) {
            Some(chain) => {
                recording.packets[chain.last as usize].next = number;
                chain.last = number;
            }
            None => recording.flows.push(Chain { ends, first: number, last: number }),
        }
        Ok(())
    }

    /// Ends the recording.
    #[must_use]
    pub fn finish(self) -> Recording {
        self.recording
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_takes_16_bytes() {
        assert_eq!(size_of::<Packet>(), 16);
    }

    #[test]
    fn a_capture_of_too_many_flows_is_refused_while_it_is_read() {
        let mut recorder = Recorder { most_flows: 2, ..Recorder::default() };
        let ends = Ends { source: [10, 0, 0, 1].into(), destination: [10, 0, 0, 2].into() };
        let mut packet = |flow| recorder.packet(flow, ends, 100, Ecn::Ect0);
        assert_eq!([packet('a'), packet('b'), packet('a'), packet('c')], [Ok(()), Ok(()), Ok(()), Err(Full::Flows(2))]);
        assert_eq!(Full::Flows(2).to_string(), "it holds more than 2 flows");
    }

    #[test]
    fn flows_are_chains_in_the_order_of_capture() {
        let mut recorder = Recorder::default();
        let ends = Ends { source: [10, 0, 0, 1].into(), destination: [10, 0, 0, 2].into() };
        // The fourth is earlier than the third, and the fifth is not IP.
        for (ms, flow) in [(0, 'a'), (3, 'b'), (7, 'a'), (5, 'a'), (9, '-')] {
            recorder.captured(Duration::from_millis(ms));
            if flow != '-' {
                recorder.packet(flow, ends, 100, Ecn::Ect0).unwrap();
            }
        }
        let recording = recorder.finish();
        let times = |flow| recording.of_flow(flow).map(|p| p.at.as_millis_f64()).collect::<Vec<_>>();
        assert_eq!((recording.flows(), times(0), times(1)), (2, vec![0.0, 7.0, 7.0], vec![3.0]));
        assert_eq!(recording.period(), Some(Duration::from_micros(9000 + 2250)));
    }
}
