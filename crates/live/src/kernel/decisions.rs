//! The log of a classifier's decisions, from which the queue behind it is measured.

use std::io;

use aqmkit_aqm::Why;
use aqmkit_kernel::Classifier;
use aya::maps::{MapData, RingBuf};

use super::maps::lacking;

/// Bytes of a packet that are written down: `HEADERS` of `crates/kernel/bpf/classifier.bpf.c`.
pub(crate) const HEADERS: usize = 64;
const GAUGES: usize = aqmkit_kernel::GAUGES;
/// Bytes of a decision there.
const DECISION: usize = 8 + 4 * 4 + 8 * GAUGES + HEADERS;

/// What was decided about a packet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Decision {
    /// When it came, on the kernel's monotonic clock, in nanoseconds.
    pub(crate) now: u64,
    /// Its bytes.
    pub(crate) bytes: u32,
    /// As `Verdict::code` of `aqmkit_kernel_laws` has it.
    verdict: u32,
    gauges: [u64; GAUGES],
    /// The packet from its network header on, and zeros behind its end.
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

    /// 0 for pass, 1 for a mark, 2 for a drop; and why.
    pub(crate) fn verdict(&self) -> (u32, Why) {
        let why = Why::ALL.get((self.verdict >> 8) as usize).copied().unwrap_or(Why::Overflow);
        (self.verdict & 255, why)
    }
}

/// Where a classifier writes its decisions.
pub(crate) struct Decisions {
    ring: RingBuf<MapData>,
    classifier: &'static Classifier,
    /// Why a packet does not come out of the queue that the classifier let through.
    pub(super) lost: Why,
}

impl std::fmt::Debug for Decisions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decisions").field("classifier", &self.classifier.name).finish_non_exhaustive()
    }
}

impl Decisions {
    /// Those of a program whose map of decisions this is.
    pub(super) fn of(map: MapData, classifier: &'static Classifier, lost: Why) -> io::Result<Decisions> {
        let ring = RingBuf::try_from(aya::maps::Map::RingBuf(map)).map_err(|_| lacking("decisions"))?;
        Ok(Decisions { ring, classifier, lost })
    }

    /// The next one, if there is one.
    pub(crate) fn next(&mut self) -> Option<Decision> {
        // What has another length is none of ours.
        self.ring.next().and_then(|item| Decision::read(&item))
    }

    /// The law's gauges after a decision, with their names.
    pub(crate) fn gauges(&self, decision: &Decision) -> impl Iterator<Item = (&'static str, f64)> {
        self.classifier.read_gauges(decision.gauges)
    }
}
