//! Captures that traffic replays.

use std::io::Read;

use aqmkit_traffic::recording::Recording;

use super::problem::Problem;

#[cfg(feature = "captures")]
pub use read::recorded_capture;

/// Rejects captures: this program was built without the feature `captures`.
///
/// # Errors
/// Always.
#[cfg(not(feature = "captures"))]
pub fn recorded_capture(name: &str, _file: impl Read + Send) -> Result<(Recording, String), Problem> {
    Err(Problem::new(format!("{name} is a capture, which this program cannot read"))
        .right("run the experiment with the command aqmkit"))
}

#[cfg(feature = "captures")]
mod read {
    use std::io;

    use aqmkit_base::Duration;
    use aqmkit_packets::replay::{CaptureError, Record, read};
    use aqmkit_packets::wire::{FiveTuple, Flow, View};
    use aqmkit_traffic::recording::{Ends, Full, Recorder};

    use super::{Problem, Read, Recording};

    /// Reads a capture for replay, and hashes the file; `name` is its name in messages.
    ///
    /// # Errors
    /// When the file is not a capture or is damaged, or if it exceeds the limits of a recording.
    pub fn recorded_capture(name: &str, file: impl Read + Send) -> Result<(Recording, String), Problem> {
        let mut file = Hashed { file, hash: blake3::Hasher::new() };
        let mut recorder = Recorder::default();
        let mut first = None;
        let ended = read(&mut file, &mut |packet: Record<'_>| {
            let since = packet.at.saturating_sub(*first.get_or_insert(packet.at));
            recorder.captured(Duration::from_nanos(since));
            take(&mut recorder, &packet)
        });
        let ended = ended.map_err(|e| Problem::new(format!("{name} cannot be replayed: {e}")).right(e.right()))?;
        if let Some(damage) = ended.damage {
            let problem = Problem::new(format!("{name} is damaged at byte {}: {}", damage.offset, damage.what));
            return Err(problem.right("tcpdump -r FILE -w ANOTHER copies the readable part"));
        }
        Ok((recorder.finish(), file.hash.finalize().to_string()))
    }

    fn take(recorder: &mut Recorder<FiveTuple>, packet: &Record<'_>) -> Result<(), Refused> {
        let view = View::of(packet.encapsulation, packet.bytes);
        let (Flow::Ip(flow), Some(length)) = (view.flow, view.length(packet.bytes, packet.length)) else {
            return Ok(());
        };
        let len = u16::try_from(length).map_err(|_| Refused::Long { number: packet.number, length })?;
        let ends = Ends { source: flow.source, destination: flow.destination };
        Ok(recorder.packet(flow, ends, len, view.ecn)?)
    }

    /// Reasons why a capture cannot be replayed.
    #[derive(Debug, thiserror::Error)]
    enum Refused {
        #[error(transparent)]
        Capture(#[from] CaptureError),
        #[error(transparent)]
        Full(#[from] Full),
        #[error("packet {number} has {length} bytes, more than the 65535 of an IP packet")]
        Long { number: u64, length: u32 },
    }

    impl Refused {
        fn right(&self) -> &'static str {
            match self {
                Refused::Capture(_) => "a capture is a file of tcpdump, Wireshark or dumpcap, pcap or pcapng",
                Refused::Full(_) => "cut the capture into several, with editcap",
                Refused::Long { .. } => "capture on the wire, or with segmentation offload disabled (ethtool -K)",
            }
        }
    }

    /// A reader that hashes the bytes that pass through it.
    struct Hashed<R> {
        file: R,
        hash: blake3::Hasher,
    }

    impl<R: Read> Read for Hashed<R> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let n = self.file.read(buffer)?;
            self.hash.update(&buffer[..n]);
            Ok(n)
        }
    }
}
