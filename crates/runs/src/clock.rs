//! The cost of a run. No other module reads a clock.

use std::time::{Duration, Instant};

use aqmkit_measure::output::Engine;
use cpu_time::ThreadTime;

/// The time of the system's monotonic clock.
#[must_use]
pub fn now() -> Instant {
    #[allow(clippy::disallowed_methods, reason = "it measures the program, and decides nothing that is simulated")]
    Instant::now()
}

/// The CPU time of this thread, if the system reports it.
#[must_use]
pub fn cpu() -> Duration {
    ThreadTime::try_now().map_or(Duration::ZERO, |time| time.as_duration())
}

/// Measures one run on this thread.
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    wall: Instant,
    cpu: Duration,
}

impl Meter {
    /// Starts measuring.
    #[must_use]
    pub fn start() -> Meter {
        Meter { wall: now(), cpu: cpu() }
    }

    /// The cost so far.
    #[must_use]
    pub fn cost(&self) -> Engine {
        Engine {
            cpu_s: cpu().saturating_sub(self.cpu).as_secs_f64(),
            wall_s: now().duration_since(self.wall).as_secs_f64(),
            peak_rss_bytes: peak_rss().unwrap_or(0),
            ..Engine::default()
        }
    }
}

/// The largest resident size of the process so far, if the system reports it.
#[must_use]
pub fn peak_rss() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse::<u64>().ok().map(|kb| kb * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computing_takes_time_and_memory() {
        let meter = Meter::start();
        let x: f64 = (0..1_000_000).map(|i| f64::from(i).sqrt()).sum();
        let cost = meter.cost();
        assert!(x > 0.0 && cost.cpu_s > 0.0 && cost.wall_s > 0.0);
    }
}
