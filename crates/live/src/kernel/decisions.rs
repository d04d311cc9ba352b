//! The classifier's log of decisions, from which the queue behind it is measured.

use std::io;

use aqmkit_aqm::Why;
use aqmkit_kernel::Classifier;
use aya::maps::{MapData, RingBuf};

use super::maps::lacking;

/// Bytes of a packet that are logged: `HEADERS` in `crates/kernel/bpf/classifier.bpf.c`.
pub(crate) const HEADERS: usize = 64;
const GAUGES: usize = aqmkit_kernel::GAUGES;
/// Size of a log entry (`struct decision` there), in bytes.
const DECISION: usize = 8 + 4 * 4 + 8 * GAUGES + HEADERS;

/// One log entry: the decision about a packet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Decision {
    /// Arrival time in nanoseconds (`CLOCK_MONOTONIC`).
    pub(crate) now: u64,
    /// Length of the packet in bytes.
    pub(crate) bytes: u32,
    /// As encoded by `Verdict::code` of `aqmkit_kernel_laws`.
    verdict: u32,
    gauges: [u64; GAUGES],
    /// The packet from its network header on, zero-padded.
    pub(crate) headers: [u8; HEADERS],
}

impl Decision {
    fn read(bytes: &[u8]) -> Option<Decision> {
        let bytes: &[u8; DECISION] = bytes.try_into().ok()?;
        let word = |at: usize| bytes[at..at + 8].try_into().map_or(0, u64::from_ne_bytes);
        let half = |at: usize| bytes[at..at + 4].try_into().map_or(0, u32::from_ne_bytes);
        let mut gauges = [0; GAUGES];
        gauges.iter_mut().enumerate().for_each(|(i, gauge)| *gauge = word(24 + 8 * i));
        let headers = bytes[DECISION - HEADERS..].try_into().ok()?;
        Some(Decision { now: word(0), bytes: half(8), verdict: half(16), gauges, headers })
    }

    /// 0 for pass, 1 for mark, 2 for drop; and the reason.
    pub(crate) fn verdict(&self) -> (u32, Why) {
        let why = Why::ALL.get((self.verdict >> 8) as usize).copied().unwrap_or(Why::Overflow);
        (self.verdict & 255, why)
    }
}

/// The reader of a classifier's log.
pub(crate) struct Decisions {
    ring: RingBuf<MapData>,
    classifier: &'static Classifier,
    /// The reason recorded for a packet that the classifier passed but that never leaves the queue.
    pub(super) lost: Why,
}

impl std::fmt::Debug for Decisions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decisions").field("classifier", &self.classifier.name).finish_non_exhaustive()
    }
}

impl Decisions {
    /// A reader of the program's `decisions` map.
    pub(super) fn of(map: MapData, classifier: &'static Classifier, lost: Why) -> io::Result<Decisions> {
        let ring = RingBuf::try_from(aya::maps::Map::RingBuf(map)).map_err(|_| lacking("decisions"))?;
        Ok(Decisions { ring, classifier, lost })
    }

    /// The next decision; `None` if the log is empty.
    pub(crate) fn next(&mut self) -> Option<Decision> {
        // Entries of another length were not written by this version.
        self.ring.next().and_then(|item| Decision::read(&item))
    }

    /// The discipline's gauges after a decision, by name.
    pub(crate) fn gauges(&self, decision: &Decision) -> impl Iterator<Item = (&'static str, f64)> {
        self.classifier.read_gauges(decision.gauges)
    }
}
