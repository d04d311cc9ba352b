//! The time of a path: `std`'s durations since the start, and the instants of the simulator.

use std::time;

use aqmkit_base::{Duration, Instant};

/// Beyond 584 years, the end of time.
fn nanos(time: time::Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

pub(crate) fn instant(time: time::Duration) -> Instant {
    Instant::from_nanos(nanos(time))
}

pub(crate) fn since_start(at: Instant) -> time::Duration {
    time::Duration::from_nanos(at.as_nanos())
}

pub(crate) fn std_duration(time: Duration) -> time::Duration {
    time::Duration::from_nanos(time.as_nanos())
}
