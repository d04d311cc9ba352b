//! The bounds of what a page may ask for: a link that somebody else has written must not hang it.

/// Experiments open at a time.
pub(crate) const SESSIONS: usize = 8;
/// Bytes of an experiment.
pub(crate) const TEXT: usize = 1 << 20;
/// Runs of an experiment.
pub(crate) const RUNS: usize = 2000;
/// Applications of a run, of all traffic.
pub(crate) const APPLICATIONS: usize = 20_000;
/// Links of a run.
pub(crate) const LINKS: usize = 1000;
/// Seconds of simulated time, the warm-up included.
pub(crate) const SECONDS: f64 = 86_400.0;
/// Packets that wait in all queues together.
pub(crate) const WAITING: u64 = 1_000_000;
/// Events between two looks at the number of waiting packets.
pub(crate) const SLICE: u64 = 100_000;
/// Packets and flows in one look.
pub(crate) const SHOWN: usize = 100_000;
/// Records of packets that are kept for the next call.
pub(crate) const RECORDS: usize = 65_536;
