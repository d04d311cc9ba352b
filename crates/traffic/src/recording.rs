//! The packets of a capture, in memory.

use std::collections::BTreeMap;
use std::net::IpAddr;

use aqmkit_base::{Duration, Ecn};

/// A packet of a recording, in 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Time since the first packet of the capture.
    pub at: Duration,
    /// Bytes of the IP packet.
    pub len: u16,
    /// ECN codepoint.
    pub ecn: Ecn,
    /// Number of the next packet of the same flow, or [`LAST`].
    next: u32,
}

/// Ends the list of a flow's packets; no packet has this number.
const LAST: u32 = u32::MAX;

impl Packet {
    /// Number of the next packet of the same flow.
    pub(super) fn next(&self) -> Option<u32> {
        Some(self.next).filter(|&n| n != LAST)
    }
}

/// The addresses of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Address of the sender.
    pub source: IpAddr,
    /// Address of the receiver.
    pub destination: IpAddr,
}

/// A flow: a linked list of its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Chain {
    ends: Ends,
    first: u32,
    last: u32,
}

/// The IP packets of a capture in order of time, and their flows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    packets: Vec<Packet>,
    /// In order of their first packets.
    flows: Vec<Chain>,
    /// Time of the last packet of the capture.
    length: Duration,
    /// The number of packets in the capture, including those that are not IP.
    captured: u64,
}

impl Recording {
    /// The number of flows.
    pub(super) fn flows(&self) -> u32 {
        self.flows.len() as u32
    }

    /// The addresses of a flow's packets.
    pub(super) fn ends(&self, flow: u32) -> Ends {
        self.flows[flow as usize].ends
    }

    /// The number of the first packet of a flow.
    pub(super) fn first(&self, flow: u32) -> u32 {
        self.flows[flow as usize].first
    }

    /// Packet by number.
    pub(super) fn packet(&self, number: u32) -> &Packet {
        &self.packets[number as usize]
    }

    /// The packets of a flow, in order of time.
    pub(super) fn of_flow(&self, flow: u32) -> impl Iterator<Item = &Packet> {
        std::iter::successors(Some(self.packet(self.first(flow))), |p| p.next().map(|n| self.packet(n)))
    }

    /// Duration of a repetition: the time of the last packet plus the mean gap. `None` if all packets have the same
    /// time.
    pub(super) fn period(&self) -> Option<Duration> {
        let gaps = self.captured.checked_sub(1).filter(|&n| n > 0)?;
        (!self.length.is_zero()).then(|| self.length + self.length / gaps)
    }
}

/// Upper limit for the flows of a capture. A model can send fewer ([`MAX_INSTANCES`](super::model::MAX_INSTANCES)), but
/// can select them from these.
pub const MOST_FLOWS: usize = 4_000_000;

/// A capture exceeds a limit of recordings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    /// More packets than packet numbers.
    #[error("it holds more than {LAST} packets")]
    Packets,
    /// Not enough memory for this number of packets.
    #[error("there is no memory left after {0} packets of 16 bytes each")]
    Memory(usize),
    /// More flows than [`MOST_FLOWS`].
    #[error("it holds more than {0} flows")]
    Flows(usize),
}

/// Builds a recording from packets in the order of capture. `K` identifies flows.
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
    /// Records a captured packet, IP or not, with its time since the first one. A time earlier than that of the
    /// previous packet is raised to it.
    pub fn captured(&mut self, at: Duration) {
        self.recording.captured += 1;
        self.recording.length = self.recording.length.max(at);
    }

    /// Records that the last captured packet is an IP packet of this flow.
    ///
    /// # Errors
    /// When a limit is exceeded.
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
        // The fourth packet has an earlier time than the third, and the fifth is not IP.
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
