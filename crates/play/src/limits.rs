//! Limits on requests, so that an experiment from an untrusted URL cannot hang the page.

/// Experiments open at the same time.
pub(crate) const SESSIONS: usize = 8;
/// Length of an experiment's text, in bytes.
pub(crate) const TEXT: usize = 1 << 20;
/// Runs of an experiment.
pub(crate) const RUNS: usize = 2000;
/// Applications of a run, of all traffic.
pub(crate) const APPLICATIONS: usize = 20_000;
/// Links of a run.
pub(crate) const LINKS: usize = 1000;
/// Seconds of simulated time, including the warm-up.
pub(crate) const SECONDS: f64 = 86_400.0;
/// Packets waiting in all queues together.
pub(crate) const WAITING: u64 = 1_000_000;
/// Events simulated between two checks of [`WAITING`].
pub(crate) const SLICE: u64 = 100_000;
/// Packets and flows in one answer to `look`.
pub(crate) const SHOWN: usize = 100_000;
/// Packet records buffered until the page fetches them; later ones are lost.
pub(crate) const RECORDS: usize = 65_536;
