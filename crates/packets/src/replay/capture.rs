//! Reads capture files (all variants of pcap and pcapng) in constant memory.

use std::io::{self, Read};

use pcap_parser::traits::{PcapNGPacketBlock, PcapReaderIterator};
use pcap_parser::{Block, LegacyPcapBlock, PcapBlockOwned, PcapError, create_reader};

use crate::wire::Encapsulation;

/// Read buffer size in bytes.
const BUFFER: usize = 1 << 20;
/// A longer block is damage: no network has such packets.
const LONGEST_BLOCK: usize = 16 << 20;
/// A section with more interfaces is damaged.
const MOST_INTERFACES: usize = 1 << 16;
const NANOS: u128 = 1_000_000_000;

/// A packet of a capture.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Packet number in the file, from 1, as in Wireshark.
    pub number: u64,
    /// Timestamp in nanoseconds since 1970.
    pub at: u64,
    /// Length on the wire; the captured part may be shorter.
    pub length: u32,
    /// `LINKTYPE_` number.
    pub link_type: i32,
    /// The outermost header.
    pub encapsulation: Encapsulation,
    /// The captured bytes.
    pub bytes: &'a [u8],
    /// Offset of its block in the file.
    pub offset: u64,
}

/// Why a capture cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file has another format.
    #[error("it is neither pcap nor pcapng")]
    NotACapture,
    /// The file is empty.
    #[error("it is empty")]
    Empty,
    /// An unsupported link type.
    #[error(
        "packet {number} is of link type {link_type}, which is not supported; supported are Ethernet (1), raw IP (101, 228, \
         229), BSD loopback (0, 108) and Linux cooked (113, 276)"
    )]
    LinkType {
        /// Packet number.
        number: u64,
        /// `LINKTYPE_` number.
        link_type: i32,
    },
    /// A packet of an undeclared interface.
    #[error("packet {number} is from interface {interface}, but only {described} described before it")]
    NoInterface {
        /// Packet number.
        number: u64,
        /// Interface index, from 0.
        interface: u32,
        /// Number of interfaces described so far.
        described: usize,
    },
    /// A timestamp resolution that no clock has.
    #[error("interface {interface} has time stamps in units of {base}^-{exponent} s, which are too small to be read")]
    Resolution {
        /// Interface index, from 0.
        interface: usize,
        /// 2 or 10.
        base: u8,
        /// Negative exponent.
        exponent: u8,
    },
    /// More interfaces in a section than any capture has.
    #[error("it describes more than {MOST_INTERFACES} interfaces in one section")]
    Interfaces,
    /// A packet without a timestamp.
    #[error("packet {number} has no time stamp (a Simple Packet Block)")]
    NoTime {
        /// Packet number.
        number: u64,
    },
    /// A packet that is longer than the MTU and cannot be segmented.
    #[error(
        "packet {number} has {length} bytes, more than the MTU of {mtu}, and is no segment of TCP, so how a network card would cut it is \
         not known: give the MTU of the link with --mtu, or capture with ethtool -K DEVICE tx-udp-segmentation off gro off"
    )]
    TooLong {
        /// Packet number.
        number: u64,
        /// Length of its IP packet.
        length: u32,
        /// The MTU to segment to.
        mtu: u32,
    },
    /// An I/O error.
    #[error("it cannot be read: {0}")]
    Read(#[from] io::Error),
}

/// The place where a file is damaged.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Damage {
    /// The first unusable byte.
    pub offset: u64,
    /// The error.
    pub what: String,
}

/// How reading a capture ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// Where the file is damaged, if it is.
    pub damage: Option<Damage>,
    /// Number of blocks of unknown type, which were skipped.
    pub skipped: u64,
}

/// Calls `act` for every packet of a capture, in file order. Damage is not an error: it ends the capture, and its place
/// is returned.
///
/// # Errors
/// When the file is not a capture, a packet cannot be replayed, or `act` returns an error.
pub fn read<E: From<CaptureError>>(
    input: impl Read + Send,
    act: &mut dyn FnMut(Record<'_>) -> Result<(), E>,
) -> Result<Ended, E> {
    let mut reader = match create_reader(BUFFER, Full(input)) {
        Ok(reader) => reader,
        Err(PcapError::Eof) => return Err(CaptureError::Empty.into()),
        Err(PcapError::ReadError) => return Err(CaptureError::Read(io::ErrorKind::Other.into()).into()),
        Err(_) => return Err(CaptureError::NotACapture.into()),
    };
    let mut state = State::default();
    loop {
        let offset = reader.consumed() as u64;
        let skipped = state.skipped;
        let damaged = |what: &str| Ok(Ended { damage: Some(Damage { offset, what: what.to_owned() }), skipped });
        match reader.next() {
            Ok((_, block)) if is_hollow(&block) => return damaged("a packet of zero bytes, which no network has"),
            Ok((size, block)) => {
                if let Some(record) = state.record(&block, offset)? {
                    act(record)?;
                }
                reader.consume(size);
            }
            Err(PcapError::Eof) => return Ok(Ended { damage: None, skipped: state.skipped }),
            Err(PcapError::Incomplete(_)) => match more(&mut *reader)? {
                More::Data => {}
                More::Nothing => return damaged("the file ends in the middle of a packet"),
                More::TooLong => return damaged("a block is longer than any packet"),
            },
            Err(PcapError::BufferTooSmall) => {
                if !grown(&mut *reader) {
                    return damaged("a block is longer than any packet");
                }
            }
            Err(PcapError::UnexpectedEof) => return damaged("the file ends in the middle of a packet"),
            Err(PcapError::ReadError) => return Err(CaptureError::Read(io::ErrorKind::Other.into()).into()),
            Err(_) => return damaged("this is not a valid block"),
        }
    }
}

/// Whether a block consists of zeros, as in preallocated files: parsing a long run of them would take minutes.
fn is_hollow(block: &PcapBlockOwned<'_>) -> bool {
    matches!(block, PcapBlockOwned::Legacy(packet) if packet.caplen == 0 && packet.origlen == 0)
}

enum More {
    Data,
    Nothing,
    TooLong,
}

/// Reads more of the file, or grows the buffer.
fn more(reader: &mut dyn PcapReaderIterator) -> Result<More, CaptureError> {
    let before = reader.data().len();
    reader.refill().map_err(|_| CaptureError::Read(io::ErrorKind::Other.into()))?;
    // At end of file, the next call reports whether the file was complete.
    if reader.data().len() > before || (reader.reader_exhausted() && before == 0) {
        return Ok(More::Data);
    }
    match reader.reader_exhausted() {
        true => Ok(More::Nothing),
        false if grown(reader) => Ok(More::Data),
        false => Ok(More::TooLong),
    }
}

fn grown(reader: &mut dyn PcapReaderIterator) -> bool {
    let size = (reader.data().len().max(BUFFER) * 2).min(LONGEST_BLOCK);
    size > reader.data().len() && reader.grow(size)
}

/// State carried from earlier blocks to later ones.
#[derive(Default)]
struct State {
    packets: u64,
    /// pcap: link type, and nanoseconds per unit of the fraction.
    file: (i32, u64),
    /// pcapng: the section's interfaces, and whether it is big-endian.
    interfaces: Vec<Interface>,
    big_endian: bool,
    /// Number of blocks of unknown type.
    skipped: u64,
}

#[derive(Clone, Copy)]
struct Interface {
    link_type: i32,
    /// Timestamp units per second (`if_tsresol`).
    resolution: u128,
    /// Seconds to add (`if_tsoffset`).
    offset: i64,
}

impl State {
    fn record<'a>(&mut self, block: &'a PcapBlockOwned<'_>, offset: u64) -> Result<Option<Record<'a>>, CaptureError> {
        match block {
            PcapBlockOwned::LegacyHeader(header) => {
                self.file = (header.network.0, if header.is_nanosecond_precision() { 1 } else { 1000 });
                Ok(None)
            }
            PcapBlockOwned::Legacy(packet) => self.legacy(packet, offset).map(Some),
            PcapBlockOwned::NG(block) => self.next_generation(block, offset),
        }
    }

    fn legacy<'a>(&mut self, packet: &'a LegacyPcapBlock<'_>, offset: u64) -> Result<Record<'a>, CaptureError> {
        let (link_type, unit) = self.file;
        let at = u64::from(packet.ts_sec) * 1_000_000_000 + u64::from(packet.ts_usec) * unit;
        // The upper bits may hold the FCS length.
        self.packet(link_type & 0xffff, at, packet.origlen, packet.data, offset)
    }

    fn next_generation<'a>(&mut self, block: &'a Block<'_>, offset: u64) -> Result<Option<Record<'a>>, CaptureError> {
        match block {
            Block::SectionHeader(section) => {
                self.interfaces.clear();
                self.big_endian = section.big_endian();
            }
            Block::InterfaceDescription(_) if self.interfaces.len() >= MOST_INTERFACES => {
                return Err(CaptureError::Interfaces);
            }
            Block::InterfaceDescription(i) => self.interfaces.push(Interface {
                link_type: i.linktype.0,
                resolution: resolution(self.interfaces.len(), i.if_tsresol)?,
                offset: i.if_tsoffset,
            }),
            Block::EnhancedPacket(packet) => {
                let units = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                let stamped = Stamped { interface: packet.if_id, units, length: packet.origlen };
                return self.stamped(&stamped, packet.packet_data(), offset).map(Some);
            }
            Block::Unknown(block) if [2, 2_u32.swap_bytes()].contains(&block.block_type) => {
                let Some((stamped, bytes)) = self.obsolete(block.data) else {
                    self.skipped += 1;
                    return Ok(None);
                };
                return self.stamped(&stamped, bytes, offset).map(Some);
            }
            Block::Unknown(_) => self.skipped += 1,
            Block::SimplePacket(_) => return Err(CaptureError::NoTime { number: self.packets + 1 }),
            _ => {}
        }
        Ok(None)
    }

    /// The obsolete Packet Block of pcapng drafts, replaced by the Enhanced Packet Block: 16-bit interface and drop
    /// count, then the same.
    fn obsolete<'a>(&self, data: &'a [u8]) -> Option<(Stamped, &'a [u8])> {
        let head: [u8; 20] = data.get(..20)?.try_into().ok()?;
        let word = |at: usize| {
            let bytes = [head[at], head[at + 1], head[at + 2], head[at + 3]];
            if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
        };
        let interface = if self.big_endian { word(0) >> 16 } else { word(0) & 0xffff };
        let units = u64::from(word(4)) << 32 | u64::from(word(8));
        let bytes = data.get(20..20 + word(12) as usize)?;
        Some((Stamped { interface, units, length: word(16) }, bytes))
    }

    /// A packet timestamped in units of its interface.
    fn stamped<'a>(&mut self, of: &Stamped, bytes: &'a [u8], offset: u64) -> Result<Record<'a>, CaptureError> {
        let interface = self.interfaces.get(of.interface as usize).copied().ok_or(CaptureError::NoInterface {
            number: self.packets + 1,
            interface: of.interface,
            described: self.interfaces.len(),
        })?;
        let ns = u128::from(of.units) * NANOS / interface.resolution;
        let at = ns.saturating_add_signed(i128::from(interface.offset) * NANOS as i128);
        let at = u64::try_from(at).unwrap_or(u64::MAX);
        self.packet(interface.link_type, at, of.length, bytes, offset)
    }

    fn packet<'a>(
        &mut self,
        link_type: i32,
        at: u64,
        length: u32,
        bytes: &'a [u8],
        offset: u64,
    ) -> Result<Record<'a>, CaptureError> {
        self.packets += 1;
        let number = self.packets;
        let Some(encapsulation) = Encapsulation::of_link_type(link_type) else {
            return Err(CaptureError::LinkType { number, link_type });
        };
        // Some tools do not write the original length.
        let length = length.max(bytes.len() as u32).max(1);
        Ok(Record { number, at, length, link_type, encapsulation, bytes, offset })
    }
}

/// Fields of a packet block besides the bytes.
struct Stamped {
    interface: u32,
    /// Timestamp in units of the interface.
    units: u64,
    length: u32,
}

/// Units per second by `if_tsresol`: a negative power of two if the high bit is set, otherwise of ten.
fn resolution(interface: usize, code: u8) -> Result<u128, CaptureError> {
    let (base, exponent): (u8, u8) = if code & 0x80 == 0 { (10, code) } else { (2, code & 0x7f) };
    // Nanoseconds times units must fit 128 bits, and no 64-bit timestamp has a finer resolution.
    match u128::from(base).checked_pow(exponent.into()).filter(|units| *units <= 1 << 64) {
        Some(units) => Ok(units),
        None => Err(CaptureError::Resolution { interface, base, exponent }),
    }
}

/// Fills the whole buffer if possible, so that pipes behave like files.
struct Full<R>(R);

impl<R: Read> Read for Full<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.0.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(filled)
    }
}
