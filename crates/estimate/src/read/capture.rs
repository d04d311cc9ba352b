//! Captures of transfers: pcap and pcapng.
//!
//! Round trips of bulk flows come from TCP time stamps (RFC 7323): a packet that echoes a time stamp arrives one trip to the far end and back after the
//! packet that carried it. The trips on both sides of the place of capture are added, so it does not matter where that is. Without time stamps,
//! acknowledgements give the side of the receiver alone.

mod connection;

use std::collections::BTreeMap;
use std::io::Read;
use std::net::IpAddr;

use aqmkit_packets::replay::{self, CaptureError, Record};
use aqmkit_packets::wire::{FiveTuple, Flow as Tuple, View};
use etherparse::{Icmpv4Type, Icmpv6Type, LaxSlicedPacket, TransportSlice};

use self::connection::{Connection, Segment, Side};
use super::ReadError;
use crate::measurement::{Direction, Epoch, Flow, Format, Measurement, Probe, Sample};

/// The largest number of connections that are followed.
const MOST: usize = 20_000;
/// The smallest share of all data that makes a flow one that loads the path.
const BULK: f64 = 0.02;
const NANOS: f64 = 1e9;

/// Whether a file with these first bytes is a capture: pcap in four variants, or pcapng.
pub(super) fn is_one(head: [u8; 4]) -> bool {
    let magic = u32::from_le_bytes(head);
    [0xA1B2_C3D4, 0xA1B2_3C4D, 0xD4C3_B2A1, 0x4D3C_B2A1, 0x0A0D_0D0A].contains(&magic)
}

/// Echo requests by addresses, identifier and number: when sent, the size, and the round trip.
type Echoes = BTreeMap<(IpAddr, IpAddr, u16), Vec<Echo>>;

struct Echo {
    seq: u16,
    at: f64,
    rtt: Option<f64>,
}

#[derive(Default)]
struct Reader {
    first: Option<u64>,
    /// By the tuple of the direction that was seen first.
    connections: BTreeMap<Tuple, Connection>,
    echoes: Echoes,
    echo_size: Option<f64>,
    /// Packets longer than a frame, which a network card will have cut or joined.
    long: u64,
}

pub(super) fn read(name: &str, input: impl Read + Send) -> Result<Measurement, ReadError> {
    let mut reader = Reader::default();
    let ended = replay::read(input, &mut |record: Record<'_>| {
        reader.packet(&record);
        Ok::<(), CaptureError>(())
    });
    let ended = ended.map_err(|error| {
        ReadError::new(
            format!("{name} cannot be read as a capture: {error}"),
            "write it with tcpdump -w, or aqmkit run --pcap",
        )
    })?;
    let mut unseen = Vec::new();
    if let Some(damage) = ended.damage {
        unseen.push(format!("{name} is damaged at byte {}: {}; what follows was not read", damage.offset, damage.what));
    }
    reader.finish(name, unseen)
}

impl Reader {
    fn packet(&mut self, record: &Record<'_>) {
        let first = *self.first.get_or_insert(record.at);
        // Clocks are set back sometimes; such packets are taken to arrive at the beginning.
        let at = record.at.saturating_sub(first) as f64 / NANOS;
        let view = View::of(record.encapsulation, record.bytes);
        let (Some(network), Tuple::Ip(tuple)) = (view.network, view.flow) else { return };
        let length = view.length(record.bytes, record.length).unwrap_or(0);
        let packet = record.bytes.get(network.offset()..).unwrap_or_default();
        let Ok(sliced) = LaxSlicedPacket::from_ip(packet) else { return };
        match sliced.transport {
            Some(TransportSlice::Tcp(tcp)) => {
                self.long += u64::from(length > 1600);
                let segment = Segment::of(at, length, view.payload, &tcp);
                self.segment(view.flow, &segment);
            }
            Some(TransportSlice::Icmpv4(icmp)) => match icmp.icmp_type() {
                Icmpv4Type::EchoRequest(echo) => self.request((tuple.source, tuple.destination, echo.id), echo.seq, at),
                Icmpv4Type::EchoReply(echo) => {
                    self.reply((tuple.destination, tuple.source, echo.id), echo.seq, at, length);
                }
                _ => {}
            },
            Some(TransportSlice::Icmpv6(icmp)) => match icmp.icmp_type() {
                Icmpv6Type::EchoRequest(echo) => self.request((tuple.source, tuple.destination, echo.id), echo.seq, at),
                Icmpv6Type::EchoReply(echo) => {
                    self.reply((tuple.destination, tuple.source, echo.id), echo.seq, at, length);
                }
                _ => {}
            },
            _ => {}
        }
    }

    fn segment(&mut self, flow: Tuple, segment: &Segment) {
        if let Some(connection) = self.connections.get_mut(&flow) {
            connection.segment(Side::First, segment);
        } else if let Some(connection) = self.connections.get_mut(&flow.reversed()) {
            connection.segment(Side::Second, segment);
        } else if self.connections.len() < MOST {
            let mut connection = Connection::default();
            connection.segment(Side::First, segment);
            self.connections.insert(flow, connection);
        }
    }

    fn request(&mut self, key: (IpAddr, IpAddr, u16), seq: u16, at: f64) {
        self.echoes.entry(key).or_default().push(Echo { seq, at, rtt: None });
    }

    fn reply(&mut self, key: (IpAddr, IpAddr, u16), seq: u16, at: f64, length: u32) {
        let waiting = self.echoes.get_mut(&key).into_iter().flatten();
        if let Some(echo) = waiting.rev().find(|echo| echo.seq == seq && echo.rtt.is_none()) {
            echo.rtt = Some((at - echo.at).max(0.0));
            self.echo_size = Some(f64::from(length));
        }
    }

    fn finish(self, name: &str, mut unseen: Vec<String>) -> Result<Measurement, ReadError> {
        let sides = [Side::First, Side::Second];
        let bytes = |connection: &Connection, side: Side| connection.half(side).bytes;
        let all: f64 = self.connections.values().flat_map(|c| sides.map(|side| bytes(c, side))).sum();
        let mut flows = Vec::new();
        for (tuple, connection) in &self.connections {
            for side in sides {
                if bytes(connection, side) >= BULK * all && connection.half(side).payload > 0.0 {
                    let from = if side == Side::First { *tuple } else { tuple.reversed() };
                    let Tuple::Ip(ends) = from else { continue };
                    flows.push((ends, connection.flow(side, from.to_string(), Direction::Unknown)));
                }
            }
        }
        keep_one_direction(name, &mut flows, &mut unseen);
        let flows: Vec<_> = flows.into_iter().map(|(_, flow)| flow).collect();
        let probes = self.probes();
        if flows.is_empty() && probes.is_empty() {
            return Err(ReadError::new(
                format!("{name} has neither a TCP connection with data nor a ping that was answered"),
                "capture a transfer: tcpdump -s 120 -w file.pcap tcp or icmp",
            ));
        }
        if self.long > 0 {
            unseen.push(format!(
                "{name} was captured where the network card cuts and joins packets ({} are longer than a frame), so their headers are not counted exactly",
                self.long
            ));
        }
        if flows.iter().all(|flow| flow.rtts.is_empty()) && !flows.is_empty() {
            unseen.push(format!("{name} has no round trips: its connections have no TCP time stamps, and it was captured at the receiver"));
        }
        let epoch = self
            .first
            .filter(|at| *at > 1_000_000_000_000_000_000)
            .map(|at| Epoch { at: at as f64 / NANOS, error: 0.0 });
        Ok(Measurement { file: name.to_owned(), format: Format::Capture, epoch, probes, flows, unseen })
    }

    /// Pings that were answered at least once.
    fn probes(&self) -> Vec<Probe> {
        let answered = self.echoes.iter().filter(|(_, echoes)| echoes.iter().any(|echo| echo.rtt.is_some()));
        answered
            .map(|((_, to, _), echoes)| Probe {
                name: format!("ping {to}"),
                packet: self.echo_size,
                samples: echoes.iter().map(|echo| Sample { at: echo.at, rtt: echo.rtt }).collect(),
                knows_losses: true,
            })
            .collect()
    }
}

/// Drops the flows against the direction of the largest: a flow in that direction has its sender or its receiver.
fn keep_one_direction(name: &str, flows: &mut Vec<(FiveTuple, Flow)>, unseen: &mut Vec<String>) {
    let sum = |flow: &Flow| flow.bins.iter().map(|bin| bin.bytes).sum::<f64>();
    let Some(&(largest, _)) = flows.iter().max_by(|a, b| sum(&a.1).total_cmp(&sum(&b.1))) else { return };
    let before = flows.len();
    flows.retain(|(ends, _)| ends.source == largest.source || ends.destination == largest.destination);
    if flows.len() < before {
        unseen
            .push(format!("{name} has flows in both directions; only those in the direction of the largest are used"));
    }
}
