//! Virtual time as the standard library's.

use std::sync::LazyLock;
use std::time;

use aqmkit_base::Instant;

/// The stacks take times of the system's clock, of which only differences matter.
#[allow(clippy::disallowed_methods, reason = "there is no other way to make one; results do not depend on it")]
static BASE: LazyLock<time::Instant> = LazyLock::new(time::Instant::now);

/// This virtual time for a stack.
pub fn real(now: Instant) -> time::Instant {
    *BASE + time::Duration::from_nanos(now.as_nanos())
}

/// A stack's time as virtual time.
pub fn virtual_time(at: time::Instant) -> Instant {
    Instant::from_nanos(u64::try_from(at.saturating_duration_since(*BASE).as_nanos()).unwrap_or(u64::MAX))
}
