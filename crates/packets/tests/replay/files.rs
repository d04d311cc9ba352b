//! Hand-made captures, and the outcomes of replaying them.

use aqmkit_aqm::registry::Spec;
use aqmkit_base::{BitRate, Duration};
use aqmkit_packets::Setup;
use aqmkit_packets::replay::{
    CaptureError, End, Fate, Follow, OutputError, PcapWriter, ReplayError, Replayed, Selection, Sent, replay_selected,
};
use aqmkit_packets::wire::Classes;
use etherparse::{IpHeaders, Ipv4Header, PacketBuilder};

/// 2026-01-01.
pub(crate) const START: u64 = 1_767_225_600_000_000_000;

/// A UDP packet in an Ethernet frame of `length` bytes, with this ECN field.
pub(crate) fn packet(port: u16, length: usize, ecn: u8) -> Vec<u8> {
    let mut header = Ipv4Header::new(0, 64, 17.into(), [10, 0, 0, 1], [10, 0, 0, 2]).unwrap();
    header.ecn = ecn.try_into().unwrap();
    let step = PacketBuilder::ethernet2([2; 6], [4; 6]).ip(IpHeaders::Ipv4(header, Default::default()));
    let mut frame = Vec::new();
    step.udp(port, 9).write(&mut frame, &vec![0; length - 42]).unwrap();
    assert_eq!(frame.len(), length);
    frame
}

/// A capture file of these packets, each with its time since [`START`] in nanoseconds.
pub(crate) fn pcap(packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut writer = PcapWriter::new(Vec::new());
    for (at, bytes) in packets {
        writer.write(START + at, 1, bytes.len() as u32, bytes).unwrap();
    }
    writer.finish().unwrap()
}

/// An owned copy of a packet's outcome.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Told {
    pub(crate) number: u64,
    pub(crate) flow: String,
    pub(crate) end: End,
}

/// Records every event.
pub(crate) struct Everything {
    pub(crate) fates: Vec<Told>,
    pub(crate) writer: PcapWriter<Vec<u8>>,
}

#[derive(Debug)]
pub(crate) enum Wrong {
    Capture(CaptureError),
    Output(OutputError),
}

impl From<CaptureError> for Wrong {
    fn from(error: CaptureError) -> Self {
        Wrong::Capture(error)
    }
}

impl Follow for Everything {
    type Error = Wrong;

    fn wants_bytes(&self) -> bool {
        true
    }

    fn fate(&mut self, fate: &Fate<'_>) -> Result<(), Wrong> {
        self.fates.push(Told { number: fate.number, flow: fate.flow.to_string(), end: fate.end });
        Ok(())
    }

    fn sent(&mut self, sent: &Sent<'_>) -> Result<(), Wrong> {
        self.writer.write(sent.at, sent.link_type, sent.length, sent.bytes).map_err(Wrong::Output)
    }
}

/// A link that sends 1000 bytes per millisecond.
pub(crate) fn link(discipline: &str, parameters: &str) -> Setup {
    let table: serde_json::Value = serde_json::from_str(parameters).unwrap();
    let spec = Spec::read(discipline, table).unwrap();
    Setup::new("replay", BitRate::from_mbps(8), Duration::ZERO, spec)
}

pub(crate) type Outcome = Result<(Replayed, Vec<Told>, Vec<u8>), ReplayError<Wrong>>;

/// Replays a whole file.
pub(crate) fn run(file: &[u8], setup: &Setup) -> Outcome {
    run_selected(file, setup, &Selection::default())
}

/// Replays selected packets of a file.
pub(crate) fn run_selected(file: &[u8], setup: &Setup, selection: &Selection) -> Outcome {
    let mut all = Everything { fates: Vec::new(), writer: PcapWriter::new(Vec::new()) };
    let replayed = replay_selected(file, setup, &Classes::default(), selection, &mut all)?;
    Ok((replayed, all.fates, all.writer.finish().unwrap()))
}

/// The packets of a file: time since [`START`] and bytes.
pub(crate) fn packets_of(file: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let mut packets = Vec::new();
    let ended = aqmkit_packets::replay::read::<CaptureError>(file, &mut |record| {
        packets.push((record.at - START, record.bytes.to_vec()));
        Ok(())
    });
    assert_eq!(ended.unwrap().damage, None);
    packets
}
