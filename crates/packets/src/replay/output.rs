//! Writes a capture: pcap with nanoseconds and one link type.

use std::io::{self, Write};

/// Writes a pcap file, in the format of <https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap-03.html>.
#[derive(Debug)]
pub struct PcapWriter<W: Write> {
    out: W,
    link_type: Option<i32>,
}

/// The snapshot length of a file without a limit on packet lengths.
const SNAP_LENGTH: u32 = 262_144;

/// Why a packet could not be written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// An error of the file system.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A file has one link type.
    #[error("a pcap file has one link type, but the capture has {0} and {1}")]
    Mixed(i32, i32),
    /// A pcap file counts seconds in 32 bits.
    #[error("a pcap file cannot hold a time after the year 2106")]
    Late,
}

impl<W: Write> PcapWriter<W> {
    /// Starts a file without packets.
    pub fn new(out: W) -> Self {
        PcapWriter { out, link_type: None }
    }

    /// Adds a packet that left at `at` nanoseconds since 1970 and was `length` bytes long on the wire.
    ///
    /// # Errors
    /// When it cannot be written, or has another link type than the first packet.
    pub fn write(&mut self, at: u64, link_type: i32, length: u32, bytes: &[u8]) -> Result<(), OutputError> {
        self.begin(link_type)?;
        let seconds = u32::try_from(at / 1_000_000_000).map_err(|_| OutputError::Late)?;
        let head = [seconds, (at % 1_000_000_000) as u32, bytes.len() as u32, length];
        self.out.write_all(head.map(u32::to_le_bytes).as_flattened())?;
        Ok(self.out.write_all(bytes)?)
    }

    fn begin(&mut self, link_type: i32) -> Result<(), OutputError> {
        match self.link_type {
            Some(first) if first == link_type => return Ok(()),
            Some(first) => return Err(OutputError::Mixed(first, link_type)),
            None => self.link_type = Some(link_type),
        }
        self.out.write_all(&0xa1b2_3c4d_u32.to_le_bytes())?;
        self.out.write_all(&[2, 0, 4, 0])?;
        Ok(self.out.write_all([0, 0, SNAP_LENGTH, link_type as u32].map(u32::to_le_bytes).as_flattened())?)
    }

    /// Ends the file. A file without packets has the link type Ethernet.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self) -> Result<W, OutputError> {
        if self.link_type.is_none() {
            self.begin(1)?;
        }
        self.out.flush()?;
        Ok(self.out)
    }
}
