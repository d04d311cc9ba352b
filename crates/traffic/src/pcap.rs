//! # pcap: replay of a capture
//!
//! Datagrams with the sizes, times, flows and ECN codepoints of a capture. The replay is unresponsive:
//! drops do not slow down any sender. Combined with responsive transports it provides the load of a real
//! link.
//!
//! ## Model
//!
//! Packet `n` of the capture is sent at
//!
//! ```text
//! start + (t_n - t_0 + round (T + T / (N - 1))) / speed        T = t_N - t_0
//! ```
//!
//! where `round` counts the repetitions with `loop = true`. `t_0` is the first packet of the file, selected or not, so
//! that two traffics with one direction each of the same capture are synchronised: one with `from = "10.0.0.0/8"`, the
//! other with `to = "10.0.0.0/8"` and `direction = "reverse"`.
//!
//! Each five-tuple is an application and a flow, as on a live link, for disciplines and in the results. The length of a
//! packet is that in its IP header; if that is zero, its length on the wire without the link header. Packets that were
//! captured partially therefore count with their full length. Frames that are not IP are left out.
//!
//! A file is pcap or pcapng, of microseconds or nanoseconds, either byte order, with Ethernet (and VLAN tags), raw IP,
//! BSD loopback or Linux cooked headers, IPv4 or IPv6. It is read once for all runs of an experiment: every packet
//! takes 16 bytes of memory, a flow about 400. A file may have up to 2^32 - 1 packets and four million flows, of which
//! up to a million can be selected.
//!
//! ## Parameters
//!
//! | field | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|
//! | `file` | file | none | the capture; there must be one |
//! | `from` | prefix | all | only packets from these addresses: `"10.0.0.0/8"`, `"2001:db8::/32"`, `"10.0.0.1"` |
//! | `to` | prefix | all | only packets to these addresses. Without `from` and `to`, both directions of a capture have the same direction |
//! | `speed` | 1 | 1 | factor of the speed of replay; `load` sets it |
//! | `loop` | | false | repeat after the last packet; otherwise silence follows |
//!
//! Counters: `packets_sent`, `packets_received`, `bytes_received` (payload), `delay_sum_s` (one way, over the
//! packets received).
//!
//! ## Deviations
//!
//! 1. A packet with an earlier time than its predecessor is sent together with it, as in `aqmkit replay`.
//! 2. Headers are those of IPv4 and UDP, 28 bytes: an IP packet that is shorter is sent with 28.
//! 3. On a live link a datagram has at least 48 bytes, because it carries its time of transmission.
//! 4. Captures on hosts with segmentation offload have packets of up to 64 KB: capture on the wire, or disable the offload.
//!
//! ## Evidence
//!
//! `tests/traffic/pcap.rs`: times, sizes, codepoints and order of each flow, speed, loop, prefixes, what is refused.
//! The tests of the command compare the replay of a run's capture with the original, and read every variant of the
//! format.
//!
//! ## References
//!
//! * pcap: G. Harris, M. Richardson, PCAP Capture File Format, draft-ietf-opsawg-pcap.
//! * pcapng: M. Tuexen et al., PCAP Now Generic Capture File Format, draft-ietf-opsawg-pcapng.

use std::net::IpAddr;
use std::sync::Arc;

use aqmkit_base::{Duration, Instant, Rng};
use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::Application;
use super::datagrams::{Flow, Out, Sender};
use super::model::{Data, Format, Knob, Model, ParamError, Population, UDP_HEADERS, count, in_range};
use super::recording::{Ends, Packet, Recording};

/// The parameters of a replayed capture as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Name of the capture file, pcap or pcapng.
    pub file: String,
    /// Only packets from these addresses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Only packets to these addresses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Replay speed relative to the capture.
    pub speed: f64,
    /// Whether to repeat the capture after its last packet.
    pub r#loop: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params { file: String::new(), from: None, to: None, speed: 1.0, r#loop: false }
    }
}

impl Params {
    fn filter(&self) -> Result<Filter, ParamError> {
        let prefix = |field, text: &Option<String>| text.as_deref().map(|text| prefix(field, text)).transpose();
        Ok(Filter { from: prefix("from", &self.from)?, to: prefix("to", &self.to)? })
    }

    fn nothing_taken(&self, recording: &Recording) -> ParamError {
        if recording.flows() == 0 {
            return ParamError::new("file", format!("{:?}", self.file), "the capture must hold IP packets");
        }
        let (field, got) = if self.from.is_some() { ("from", &self.from) } else { ("to", &self.to) };
        let Ends { source, destination } = recording.ends(0);
        let want = format!("no packet of the capture matches; its first goes from {source} to {destination}");
        ParamError::new(field, format!("{:?}", got.as_deref().unwrap_or_default()), want)
    }
}

/// Parses an address prefix or a single address.
fn prefix(field: &str, text: &str) -> Result<IpNet, ParamError> {
    let one = || text.parse::<IpAddr>().ok().map(IpNet::from);
    let want = r#"it must be addresses such as "10.0.0.0/8", "2001:db8::/32" or "10.0.0.1""#;
    text.parse().ok().or_else(one).ok_or_else(|| ParamError::new(field, format!("{text:?}"), want))
}

/// Selects packets by their addresses.
struct Filter {
    from: Option<IpNet>,
    to: Option<IpNet>,
}

impl Filter {
    fn takes(&self, ends: Ends) -> bool {
        let inside = |net: &Option<IpNet>, address| net.is_none_or(|net| net.contains(&address));
        inside(&self.from, ends.source) && inside(&self.to, ends.destination)
    }
}

impl Model for Params {
    const NAME: &'static str = "pcap";
    const FORMAT: Format = Format::Capture;

    fn check(&self) -> Result<(), ParamError> {
        if self.file.is_empty() {
            return Err(ParamError::new("file", "\"\"", "give a capture: file = \"a.pcap\""));
        }
        in_range("speed", self.speed, 1e-6, 1e6)?;
        self.filter().map(|_| ())
    }

    fn files(&self) -> Vec<String> {
        vec![self.file.clone()]
    }

    fn knob(&mut self) -> Option<Knob<'_>> {
        Some(Knob::Speed("speed", &mut self.speed))
    }

    fn prepare(&self, data: &[Data]) -> Result<Box<dyn Population>, ParamError> {
        self.check()?;
        let [Data::Capture(recording)] = data else {
            return Err(ParamError::new("data files", data.len(), "one capture must be loaded first"));
        };
        let filter = self.filter()?;
        let flows: Vec<u32> = (0..recording.flows()).filter(|&f| filter.takes(recording.ends(f))).collect();
        if flows.is_empty() {
            return Err(self.nothing_taken(recording));
        }
        count("five-tuples of the capture", flows.len())?;
        let period = recording.period().filter(|_| self.r#loop);
        if self.r#loop && period.is_none() {
            return Err(ParamError::new("loop", true, "a capture that repeats needs packets at two different times"));
        }
        let (packets, bytes) = flows
            .iter()
            .flat_map(|&f| recording.of_flow(f))
            .fold((0_u64, 0_u64), |(n, b), p| (n + 1, b + u64::from(payload(p))));
        let mean_payload = bytes as f64 / packets as f64;
        Ok(Box::new(Flows { recording: Arc::clone(recording), flows, speed: self.speed, period, mean_payload }))
    }
}

/// Bytes of the packet without the headers that the host adds.
fn payload(packet: &Packet) -> u32 {
    u32::from(packet.len).saturating_sub(UDP_HEADERS)
}

struct Flows {
    recording: Arc<Recording>,
    /// The selected flows.
    flows: Vec<u32>,
    speed: f64,
    /// Time between the starts of two repetitions; `None` without repetition.
    period: Option<Duration>,
    mean_payload: f64,
}

impl Population for Flows {
    fn instances(&self) -> usize {
        self.flows.len()
    }

    fn make(&self, index: usize, _rng: &mut Rng) -> Box<dyn Application> {
        let first = self.recording.first(self.flows[index]);
        Flow::of(Player {
            recording: Arc::clone(&self.recording),
            speed: self.speed,
            period: self.period,
            first,
            next: Some(first),
            round: 0,
            start: Instant::ZERO,
        })
    }

    fn mean_payload(&self) -> Option<f64> {
        Some(self.mean_payload)
    }
}

/// The sender of one five-tuple.
struct Player {
    recording: Arc<Recording>,
    speed: f64,
    period: Option<Duration>,
    /// Number of its first packet in the recording.
    first: u32,
    /// Number of the next packet to send.
    next: Option<u32>,
    round: u64,
    start: Instant,
}

impl Player {
    fn due(&self, packet: &Packet) -> Instant {
        let at = packet.at + self.period.unwrap_or_default() * self.round;
        self.start + if self.speed == 1.0 { at } else { at.mul_f64(1.0 / self.speed) }
    }

    /// Sends all packets that are due, and requests a wake-up for the next one.
    fn send_due(&mut self, out: &mut Out<'_, '_>) {
        while let Some(packet) = self.next.map(|n| self.recording.packet(n)) {
            let due = self.due(packet);
            if due > out.cx.now {
                out.wake_at(due);
                return;
            }
            out.send(payload(packet), packet.ecn);
            self.next = packet.next();
            if self.next.is_none() && self.period.is_some() {
                self.next = Some(self.first);
                self.round += 1;
            }
        }
    }
}

impl Sender for Player {
    fn start(&mut self, out: &mut Out<'_, '_>) {
        self.start = out.cx.now;
        self.send_due(out);
    }

    fn wake(&mut self, out: &mut Out<'_, '_>) {
        self.send_due(out);
    }
}
