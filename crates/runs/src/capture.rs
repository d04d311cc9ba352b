//! `run --pcap`: writes the packets of a run to a capture file.
//!
//! A simulated packet has the fields that its endpoints need; the other header fields are filled in as
//! follows:
//!
//! | field | value |
//! |---|---|
//! | addresses | client `i` is 10.0.0.1 + i, server `i` is 10.128.0.1 + i |
//! | ports | the server's is 8000 plus the index of the traffic in the file; the client's counts up from 1024 with each connection |
//! | first sequence numbers | a hash of the connection's number, so that some connections wrap |
//! | IP identification | 0 with "don't fragment", as RFC 6864 allows |
//! | data | zeros; checksums are those of headers and zeros, and the file holds headers only |
//! | time | zero is the beginning of the run, warm-up included |
//!
//! The options of SYNs (MSS, window scale, SACK permitted, timestamps) follow the traffic's profile; they take space in
//! the file that the simulated SYN does not have. Windows are scaled, rounded down.

use std::io::Write;

use aqmkit_base::rng::derive_seed;
use aqmkit_base::{Ecn, Instant};
use aqmkit_experiment::RunSpec;
use aqmkit_packets::replay::{OutputError, PcapWriter};
use aqmkit_sim::observe::{Content, Observer, Parties, Sighting};
use aqmkit_sim::{Control, Progress, Scenario};
use aqmkit_transport::{EcnCounters, Flags, Profile, Segment};
use etherparse::{IpDscp, IpEcn, IpFragOffset, IpNumber, Ipv4Header, TcpHeader, TcpOptionElement, UdpHeader};

/// Address of the first client, and of the first server.
const CLIENTS: u32 = 0x0A00_0001;
const SERVERS: u32 = 0x0A80_0001;
/// First port numbers.
const CLIENT_PORTS: u16 = 1024;
const SERVER_PORTS: u16 = 8000;
/// The initial time to live, as common systems set it.
const TTL: u8 = 64;
/// A header of at least this size has timestamps: 20 bytes of IP, 20 of TCP, 12 of options.
const WITH_TIMESTAMPS: u32 = 52;
/// `LINKTYPE_IPV4`: packets begin with their IPv4 header.
const IPV4: i32 = 228;

/// Why a capture could not be written.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The run failed.
    #[error("{0}")]
    Run(String),
    /// The user stopped the run.
    #[error("the run was stopped")]
    Stopped,
    /// The file cannot be written.
    #[error("the capture cannot be written: {0}")]
    Write(#[from] OutputError),
    /// A packet does not fit into the format.
    #[error("a packet cannot be written: {0}")]
    Packet(String),
}

/// Simulates a run and writes the packets that pass its measured link. Returns their number.
///
/// # Errors
/// When the run fails or is stopped, or the file cannot be written.
pub fn capture(
    spec: &RunSpec,
    out: impl Write,
    on_progress: &mut dyn FnMut(Progress) -> Control,
) -> Result<u64, CaptureError> {
    let scenario = spec.scenario().map_err(|e| CaptureError::Run(e.to_string()))?;
    let mut capture = Capture::new(&scenario, out);
    let result = aqmkit_sim::run_observed(scenario, &mut capture, on_progress);
    match (capture.failed, result) {
        (Some(error), _) => Err(error),
        (None, Err(aqmkit_sim::Error::Stopped)) => Err(CaptureError::Stopped),
        (None, Err(other)) => Err(CaptureError::Run(other.to_string())),
        (None, Ok(_)) => {
            capture.writer.finish()?;
            Ok(capture.packets)
        }
    }
}

/// An observer that writes packets to a file.
struct Capture<W: Write> {
    writer: PcapWriter<W>,
    /// The transport profile of each group.
    profiles: Vec<Profile>,
    packets: u64,
    failed: Option<CaptureError>,
    /// The bytes of one packet; reused.
    bytes: Vec<u8>,
}

impl<W: Write> Capture<W> {
    fn new(scenario: &Scenario, out: W) -> Self {
        let profiles = scenario.groups.iter().map(|g| g.profile.clone()).collect();
        Capture { writer: PcapWriter::new(out), profiles, packets: 0, failed: None, bytes: Vec::new() }
    }

    fn write(&mut self, now: Instant, seen: &Sighting) -> Result<(), CaptureError> {
        self.bytes.clear();
        let payload = match &seen.content {
            Content::Segment(segment) => {
                let profile = self.profiles.get(usize::from(seen.parties.group));
                write_segment(&mut self.bytes, seen, segment, profile)?;
                segment.len
            }
            Content::Datagram(len) => {
                write_datagram(&mut self.bytes, seen, &vec![0; *len as usize])?;
                *len
            }
            // Every byte of a stack's packet is written.
            Content::Bytes(bytes) => {
                if seen.len > bytes.len() as u32 {
                    write_datagram(&mut self.bytes, seen, bytes)?;
                }
                self.bytes.extend_from_slice(bytes);
                0
            }
        };
        let length = self.bytes.len() as u32 + payload;
        self.writer.write(now.as_nanos(), IPV4, length, &self.bytes)?;
        self.packets += 1;
        Ok(())
    }
}

impl<W: Write> Observer for Capture<W> {
    fn packet(&mut self, now: Instant, packet: &Sighting) {
        if self.failed.is_none() {
            self.failed = self.write(now, packet).err();
        }
    }
}

/// Addresses and ports of a packet's sender and receiver.
struct Ends {
    from: ([u8; 4], u16),
    to: ([u8; 4], u16),
}

impl Ends {
    fn of(parties: &Parties) -> Self {
        let span = u64::from(u16::MAX - CLIENT_PORTS) + 1;
        let port = CLIENT_PORTS + (parties.conversation.saturating_sub(1) % span) as u16;
        let client = ((CLIENTS + parties.client).to_be_bytes(), port);
        let server = ((SERVERS + parties.server).to_be_bytes(), SERVER_PORTS + parties.group);
        if parties.from_client { Ends { from: client, to: server } } else { Ends { from: server, to: client } }
    }
}

fn ip(seen: &Sighting, ends: &Ends, protocol: IpNumber, payload: usize) -> Result<Ipv4Header, CaptureError> {
    let too_long = |_| CaptureError::Packet(format!("{payload} bytes do not fit into an IPv4 packet"));
    let length = u16::try_from(payload).map_err(too_long)?;
    let error = |e| CaptureError::Packet(format!("{e}"));
    let mut header = Ipv4Header::new(length, TTL, protocol, ends.from.0, ends.to.0).map_err(error)?;
    header.dont_fragment = true;
    header.fragment_offset = IpFragOffset::ZERO;
    header.dscp = IpDscp::ZERO;
    header.ecn = match seen.ecn {
        Ecn::NotEct => IpEcn::ZERO,
        Ecn::Ect1 => IpEcn::ONE,
        Ecn::Ect0 => IpEcn::TWO,
        Ecn::Ce => IpEcn::THREE,
    };
    header.header_checksum = header.calc_header_checksum();
    Ok(header)
}

fn write_segment(
    out: &mut Vec<u8>,
    seen: &Sighting,
    segment: &Segment,
    profile: Option<&Profile>,
) -> Result<(), CaptureError> {
    let (ends, parties) = (Ends::of(&seen.parties), &seen.parties);
    let shift = profile.map_or(0, |p| window_scale(p.scaled_receive_window()));
    let ours = first_sequence_number(parties.conversation, parties.from_client);
    let theirs = first_sequence_number(parties.conversation, !parties.from_client);
    let flags = segment.flags;
    let opens = flags.has(Flags::SYN);
    let scaled = if opens { segment.window } else { segment.window >> shift };
    let mut tcp = TcpHeader::new(
        ends.from.1,
        ends.to.1,
        ours.wrapping_add(segment.seq as u32),
        u16::try_from(scaled).unwrap_or(u16::MAX),
    );
    (tcp.fin, tcp.syn, tcp.rst) = (flags.has(Flags::FIN), opens, flags.has(Flags::RST));
    (tcp.psh, tcp.ece, tcp.cwr) = (flags.has(Flags::PSH), flags.has(Flags::ECE), flags.has(Flags::CWR));
    if flags.has(Flags::ACK) {
        tcp.ack = true;
        tcp.acknowledgment_number = theirs.wrapping_add(segment.ack as u32);
    }
    let options = options(seen, segment, profile, shift, theirs);
    tcp.set_options(&options).map_err(|e| CaptureError::Packet(format!("{e:?}")))?;
    if let Some(counters) = segment.options.ecn() {
        let with_ecn = [tcp.options.as_slice(), &ecn_option(counters)].concat();
        tcp.set_options_raw(&with_ecn).map_err(|e| CaptureError::Packet(format!("{e:?}")))?;
    }
    let ip = ip(seen, &ends, IpNumber::TCP, tcp.header_len() + segment.len as usize)?;
    let error = |e| CaptureError::Packet(format!("{e}"));
    let data = vec![0; segment.len as usize];
    tcp.checksum = tcp.calc_checksum_ipv4(&ip, &data).map_err(error)?;
    out.extend_from_slice(&ip.to_bytes());
    out.extend_from_slice(&tcp.to_bytes());
    Ok(())
}

/// The options of a segment, aligned as usual. `theirs` is the peer's initial sequence number.
fn options(
    seen: &Sighting,
    segment: &Segment,
    profile: Option<&Profile>,
    shift: u8,
    theirs: u32,
) -> Vec<TcpOptionElement> {
    use TcpOptionElement::{MaximumSegmentSize, Noop, SelectiveAcknowledgementPermitted, Timestamp, WindowScale};
    let opens = segment.flags.has(Flags::SYN);
    let mut options = Vec::new();
    if opens && let Some(profile) = profile {
        options.push(MaximumSegmentSize(u16::try_from(profile.mss.0).unwrap_or(u16::MAX)));
        if shift > 0 {
            options.extend([Noop, WindowScale(shift)]);
        }
    }
    if opens && segment.options.permits_sack() {
        options.extend([Noop, Noop, SelectiveAcknowledgementPermitted]);
    }
    let room = segment.options.wire_len() as u32;
    let has_room = opens || seen.len >= segment.len + room + WITH_TIMESTAMPS;
    if has_room && profile.is_some_and(|p| p.timestamps) {
        options.extend([Noop, Noop, Timestamp(segment.ts_val, segment.ts_ecr)]);
    }
    let on_wire = |(start, end): (u64, u64)| (theirs.wrapping_add(start as u32), theirs.wrapping_add(end as u32));
    let mut blocks = segment.options.blocks(segment.ack).map(on_wire);
    if let Some(first) = blocks.next() {
        let rest = std::array::from_fn(|_| blocks.next());
        options.extend([Noop, Noop, TcpOptionElement::SelectiveAcknowledgement(first, rest)]);
    }
    options
}

/// The option of accurate ECN, padded to whole words (RFC 9768 section 3.2.3).
fn ecn_option(counters: &EcnCounters) -> Vec<u8> {
    let (kind, fields) = counters.on_wire();
    let mut bytes = vec![kind, 2 + 3 * fields.len() as u8];
    bytes.extend(fields.iter().flat_map(|field| field.to_be_bytes()[1..].to_vec()));
    const NO_OPERATION: u8 = 1;
    bytes.resize(counters.wire_len() as usize, NO_OPERATION);
    bytes
}

/// Writes the headers of a datagram.
fn write_datagram(out: &mut Vec<u8>, seen: &Sighting, data: &[u8]) -> Result<(), CaptureError> {
    let ends = Ends::of(&seen.parties);
    let length = UdpHeader::LEN + data.len();
    let ip = ip(seen, &ends, IpNumber::UDP, length)?;
    let error = |e| CaptureError::Packet(format!("{e}"));
    let udp = UdpHeader::with_ipv4_checksum(ends.from.1, ends.to.1, &ip, data).map_err(error)?;
    out.extend_from_slice(&ip.to_bytes());
    out.extend_from_slice(&udp.to_bytes());
    Ok(())
}

/// The shift that makes a window fit into 16 bits (RFC 7323 section 2).
fn window_scale(window: u64) -> u8 {
    (0..14).find(|shift| window >> shift <= u64::from(u16::MAX)).unwrap_or(14)
}

fn first_sequence_number(conversation: u64, of_client: bool) -> u32 {
    derive_seed(conversation, if of_client { "client" } else { "server" }) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_scaled_until_it_fits() {
        let shifts = [0, 65_535, 65_536, 131_071, 131_072, 1 << 30, u64::MAX].map(window_scale);
        assert_eq!(shifts, [0, 0, 1, 1, 2, 14, 14]);
    }

    #[test]
    fn ends_are_swapped_on_the_way_back() {
        let there = Parties { server: 2, client: 260, group: 1, conversation: 1, from_client: false };
        let (to_client, to_server) = (Ends::of(&there), Ends::of(&Parties { from_client: true, ..there }));
        assert_eq!((to_client.from, to_client.to), (([10, 128, 0, 3], 8001), ([10, 0, 1, 5], 1024)));
        assert_eq!((to_client.from, to_client.to), (to_server.to, to_server.from));
    }

    /// RFC 9768 figure 4: kind, length, fields of 24 bits; whole words.
    #[test]
    fn the_counters_of_accurate_ecn_are_whole_words() {
        let counters = EcnCounters { ect0: 1, ce: 0x0203_0405, ect1: 6, ect1_first: false, fields: 1 };
        assert_eq!(ecn_option(&counters), [172, 5, 0, 0, 1, 1, 1, 1]);
        let all = EcnCounters { ect1_first: true, fields: 3, ..counters };
        assert_eq!(ecn_option(&all), [174, 11, 0, 0, 6, 3, 4, 5, 0, 0, 1, 1]);
    }
}
