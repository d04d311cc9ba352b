//! The records of a trace: a header, then one record for each event.

use std::io::{self, Write};

use aqmkit_base::{Ecn, Instant};
use serde::Serialize;

use super::Version;

/// The schemas of the events: the recovery events of QUIC, and `aqmkit`.
const SCHEMAS: [&str; 2] = ["urn:ietf:params:qlog:events:quic-13", "https://github.com/aqmkit/aqmkit/112026/aqmkit"];

/// Starts a record of a JSON text sequence (RFC 7464).
const RECORD_SEPARATOR: u8 = 0x1E;

/// Writes one record.
///
/// # Errors
/// When it cannot be written.
pub(super) fn write_record(out: &mut impl Write, record: &impl Serialize) -> io::Result<()> {
    out.write_all(&[RECORD_SEPARATOR])?;
    serde_json::to_writer(&mut *out, record)?;
    out.write_all(b"\n")
}

/// The first record.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Header<'a> {
    /// `QlogFileSeq` of the draft.
    Draft { file_schema: &'static str, serialization_format: &'static str, title: &'a str, trace: TraceSeq<'a> },
    /// The header of version 0.3.
    V03 { qlog_version: &'static str, qlog_format: &'static str, title: &'a str, trace: TraceSeq<'a> },
}

#[derive(Serialize)]
pub(super) struct TraceSeq<'a> {
    title: &'a str,
    description: &'a str,
    common_fields: CommonFields,
    vantage_point: VantagePoint,
    #[serde(skip_serializing_if = "Option::is_none")]
    event_schemas: Option<[&'static str; 2]>,
}

#[derive(Serialize)]
struct VantagePoint {
    name: &'static str,
    r#type: &'static str,
}

#[derive(Serialize)]
#[serde(untagged)]
enum CommonFields {
    Draft { time_format: &'static str, reference_time: ReferenceTime },
    V03 { protocol_type: [&'static str; 1], time_format: &'static str, reference_time: u32 },
}

#[derive(Serialize)]
struct ReferenceTime {
    clock_type: &'static str,
    epoch: &'static str,
}

impl<'a> Header<'a> {
    pub(super) fn new(version: Version, title: &'a str, description: &'a str) -> Self {
        let trace = |common_fields, event_schemas| TraceSeq {
            title,
            description,
            common_fields,
            // The servers' ends accept connections and send the data.
            vantage_point: VantagePoint { name: "aqmkit", r#type: "server" },
            event_schemas,
        };
        match version {
            Version::Draft => Header::Draft {
                file_schema: "urn:ietf:params:qlog:file:sequential",
                serialization_format: "application/qlog+json-seq",
                title,
                trace: trace(
                    CommonFields::Draft {
                        time_format: "relative_to_epoch",
                        // Simulated time begins at no date.
                        reference_time: ReferenceTime { clock_type: "monotonic", epoch: "unknown" },
                    },
                    Some(SCHEMAS),
                ),
            },
            Version::V03 => Header::V03 {
                qlog_version: "0.3",
                qlog_format: "JSON-SEQ",
                title,
                trace: trace(
                    CommonFields::V03 { protocol_type: ["TCP"], time_format: "relative", reference_time: 0 },
                    None,
                ),
            },
        }
    }
}

/// An event of a sender.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Event {
    Metrics(Box<Metrics>),
    State(StateUpdated),
    Sent(Packet),
    Received(Packet),
    /// The packet with this number is considered lost.
    Lost(u64),
}

/// The metrics that have changed: `QUICRecoveryMetricsUpdated`, and counters, which it allows as further fields.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) struct Metrics {
    /// In milliseconds, as the other round trips.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) min_rtt: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) smoothed_rtt: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rtt_variance: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) congestion_window: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bytes_in_flight: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ssthresh: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pacing_rate: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) lost_packets: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) timeouts: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fast_retransmits: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tail_loss_probes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ecn_reductions: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) undone_reductions: Option<u64>,
}

/// `QUICCongestionStateUpdated`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct StateUpdated {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) old: Option<&'static str>,
    pub(super) new: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) trigger: Option<&'static str>,
}

/// A packet that was sent or received.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Packet {
    /// Packets in this direction so far.
    pub(super) number: u64,
    /// Bytes with headers.
    pub(super) length: u64,
    /// Bytes of data.
    pub(super) payload: u64,
    pub(super) ecn: Ecn,
    /// The fields of a TCP segment.
    pub(super) segment: Option<Segment>,
    /// Numbers of the packets that it acknowledges for the first time, from and up to.
    pub(super) acked: Vec<(u64, u64)>,
}

/// The header fields of a TCP segment. Sequence numbers begin at 0 with the SYN and do not wrap.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Segment {
    pub(super) sequence_number: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) acknowledgment_number: Option<u64>,
    pub(super) window: u32,
    pub(super) flags: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) sack: Vec<(u64, u64)>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_retransmission: bool,
}

/// An event as a record.
#[derive(Serialize)]
pub(super) struct Record<'a> {
    /// Milliseconds since the beginning of the run.
    time: f64,
    name: &'static str,
    data: Data<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Data<'a> {
    Metrics(&'a Metrics),
    State(&'a StateUpdated),
    /// `aqmkit:packet_sent` and `aqmkit:packet_received`.
    Packet {
        packet_number: u64,
        raw: Raw,
        ecn: &'static str,
        #[serde(flatten)]
        segment: Option<&'a Segment>,
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        acked_packets: &'a [(u64, u64)],
    },
    Lost {
        packet_number: u64,
    },
    /// `transport:packet_sent` and `transport:packet_received` of version 0.3.
    Quic {
        header: QuicHeader,
        raw: Raw,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        frames: Vec<Frame<'a>>,
    },
    QuicLost {
        header: QuicHeader,
    },
}

#[derive(Serialize)]
struct Raw {
    length: u64,
    payload_length: u64,
}

#[derive(Serialize)]
struct QuicHeader {
    packet_type: &'static str,
    packet_number: u64,
}

impl QuicHeader {
    /// All of TCP counts as 1-RTT, as in the traces that qvis makes of captures.
    fn new(packet_number: u64) -> Self {
        QuicHeader { packet_type: "1RTT", packet_number }
    }
}

#[derive(Serialize)]
#[serde(tag = "frame_type", rename_all = "snake_case")]
enum Frame<'a> {
    Stream { stream_id: u32, offset: u64, length: u64 },
    Ack { acked_ranges: &'a [(u64, u64)] },
}

impl Event {
    pub(super) fn record(&self, version: Version, now: Instant) -> Record<'_> {
        let is_draft = version == Version::Draft;
        let name = |draft, v03| if is_draft { draft } else { v03 };
        let (name, data) = match self {
            Event::Metrics(metrics) => {
                (name("quic:recovery_metrics_updated", "recovery:metrics_updated"), Data::Metrics(metrics))
            }
            Event::State(state) => {
                (name("quic:congestion_state_updated", "recovery:congestion_state_updated"), Data::State(state))
            }
            Event::Sent(packet) => (name("aqmkit:packet_sent", "transport:packet_sent"), packet.data(is_draft)),
            Event::Received(packet) => {
                (name("aqmkit:packet_received", "transport:packet_received"), packet.data(is_draft))
            }
            Event::Lost(number) => {
                let data = match is_draft {
                    true => Data::Lost { packet_number: *number },
                    false => Data::QuicLost { header: QuicHeader::new(*number) },
                };
                (name("aqmkit:packet_lost", "recovery:packet_lost"), data)
            }
        };
        Record { time: now.as_nanos() as f64 / 1e6, name, data }
    }
}

impl Packet {
    fn data(&self, is_draft: bool) -> Data<'_> {
        let raw = Raw { length: self.length, payload_length: self.payload };
        if is_draft {
            return Data::Packet {
                packet_number: self.number,
                raw,
                ecn: ecn(self.ecn),
                segment: self.segment.as_ref(),
                acked_packets: &self.acked,
            };
        }
        let mut frames = Vec::new();
        if let Some(segment) = self.segment.as_ref().filter(|_| self.payload > 0) {
            // The byte after the SYN is the first of the stream.
            let offset = segment.sequence_number.saturating_sub(1);
            frames.push(Frame::Stream { stream_id: 0, offset, length: self.payload });
        }
        if !self.acked.is_empty() {
            frames.push(Frame::Ack { acked_ranges: &self.acked });
        }
        Data::Quic { header: QuicHeader::new(self.number), raw, frames }
    }
}

/// The names in the draft.
fn ecn(ecn: Ecn) -> &'static str {
    match ecn {
        Ecn::NotEct => "Not-ECT",
        Ecn::Ect1 => "ECT(1)",
        Ecn::Ect0 => "ECT(0)",
        Ecn::Ce => "CE",
    }
}
