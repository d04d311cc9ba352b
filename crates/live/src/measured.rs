//! The measurements of a bottleneck: snapshots while it runs, results at the end.

use aqmkit_aqm::Backlog;
use aqmkit_base::{BitRate, Duration, Instant};
use aqmkit_measure::{DropLog, LinkRecorder, Passed, Times};
use aqmkit_packets::Buckets;
use aqmkit_packets::meter::Counters;
use serde::Serialize;

use crate::port::Counts;
use crate::timing::Granted;

/// Failures of this machine during the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Trouble {
    /// Packets that the output device refused.
    pub refused: u64,
    /// Failed reads from the input devices.
    pub failed_reads: u64,
}

impl Trouble {
    /// Sums the counters of two threads.
    #[must_use]
    pub(crate) fn and(self, other: Trouble) -> Trouble {
        Trouble { refused: self.refused + other.refused, failed_reads: self.failed_reads + other.failed_reads }
    }
}

/// A snapshot of one direction.
#[derive(Clone, Debug, Default)]
pub struct DirectionSnapshot {
    /// Counters since the start.
    pub counters: Counters,
    /// The queue's backlog.
    pub backlog: Backlog,
    /// Counters since the start, by class.
    pub classes: Vec<Counters>,
    /// The discipline's gauges, by name.
    pub gauges: Vec<(String, f64)>,
    /// Packets lost by the emulated random loss.
    pub lost: u64,
    /// Counters of the input device.
    pub device: Counts,
}

/// A snapshot of a running bottleneck.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// When it was taken.
    pub at: Instant,
    /// In order: first to second side, then back.
    pub directions: Vec<DirectionSnapshot>,
    /// Maximum lateness of a departure so far.
    pub latest: Duration,
    /// Histogram of the lateness of departures.
    pub late: Buckets,
    /// Failures so far.
    pub trouble: Trouble,
}

impl Snapshot {
    /// Merges the snapshots of two threads, `self` having the first directions. The time is the earlier of the two, so
    /// that it stands still when one thread hangs.
    #[must_use]
    pub(crate) fn and(mut self, other: Snapshot) -> Snapshot {
        self.directions.extend(other.directions);
        self.late.add(&other.late);
        Snapshot {
            at: self.at.min(other.at),
            latest: self.latest.max(other.latest),
            trouble: self.trouble.and(other.trouble),
            ..self
        }
    }
}

/// The results of a measurement.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Per direction, its name and its measurement windows.
    pub directions: Vec<(String, Vec<Passed>)>,
    /// Per direction, its recorder.
    pub recorders: Vec<LinkRecorder>,
    /// Per direction, its rates over time, each with the time it took effect.
    pub rates: Vec<Vec<(Instant, BitRate)>>,
    /// Per direction, drops by connection, if they were logged.
    pub drops: Vec<DropLog>,
    /// Lateness of departures.
    pub late: Times,
    /// Failures of this machine.
    pub trouble: Trouble,
    /// Per direction, packets lost by the emulated random loss.
    pub lost: Vec<u64>,
    /// Packets that left an in-kernel queue without a logged decision.
    pub unknown: u64,
    /// Per direction, counters of its input device.
    pub devices: Vec<Counts>,
    /// The real-time properties that the threads obtained.
    pub granted: Granted,
    /// The device that disappeared before the end, if any, such as "the input device of down".
    pub vanished: Option<String>,
    /// The end of the measurement.
    pub end: Instant,
    /// CPU time of the forwarding threads.
    pub cpu: Duration,
}

/// The fraction of packets that the kernel may drop before the devices without invalidating the measurement.
const LOST_BEFORE: f64 = 1e-4;

/// Drops allowed on top of that: the kernel loses its own first IPv6 packets while a device comes up.
const LOST_AT_FIRST: u64 = 10;

/// Whether the kernel dropped too many packets before the devices for a valid measurement.
#[must_use]
pub fn loses_too_much(dropped_before: u64, came: u64) -> bool {
    dropped_before as f64 > LOST_AT_FIRST as f64 + LOST_BEFORE * came as f64
}

/// A valid measurement has at most 1 % of departures later than this: well below the delay targets of disciplines, and
/// above what a quiet virtual machine shows.
pub const LATEST: Duration = Duration::from_millis(1);

/// Whether more than 1 % of departures were later than [`LATEST`]. A single late one never counts: among few packets it
/// would exceed 1 %.
fn too_many_late(late: u64, all: u64) -> bool {
    late > 1.max(all / 100)
}

/// The time-weighted mean rate of a link between `from` and `to`; each rate comes with the time it took effect.
#[must_use]
pub fn mean_rate(rates: &[(Instant, BitRate)], from: Instant, to: Instant) -> BitRate {
    let ends = rates.iter().skip(1).map(|(at, _)| *at).chain([to]);
    let capacity = |((began, rate), ended): (&(Instant, BitRate), Instant)| {
        u128::from(rate.as_bps()) * u128::from(ended.min(to).since((*began).max(from)).as_nanos())
    };
    let whole: u128 = rates.iter().zip(ends).map(capacity).sum();
    match to.since(from).as_nanos() {
        // For an empty period: the initial rate.
        0 => rates.first().map(|(_, rate)| *rate).unwrap_or_default(),
        span => BitRate::from_bps(u64::try_from(whole / u128::from(span)).unwrap_or(u64::MAX)),
    }
}

impl Measured {
    /// Merges the results of two threads, `self` having the first directions.
    #[must_use]
    pub(crate) fn and(mut self, other: Measured) -> Measured {
        self.directions.extend(other.directions);
        self.recorders.extend(other.recorders);
        self.rates.extend(other.rates);
        self.drops.extend(other.drops);
        self.lost.extend(other.lost);
        self.devices.extend(other.devices);
        self.late.add(&other.late);
        Measured {
            trouble: self.trouble.and(other.trouble),
            unknown: self.unknown + other.unknown,
            granted: self.granted.and(other.granted),
            vanished: self.vanished.or(other.vanished),
            end: self.end.max(other.end),
            cpu: self.cpu + other.cpu,
            ..self
        }
    }

    /// Packets that the kernel dropped before the discipline: on the input devices, plus `elsewhere`.
    #[must_use]
    pub fn dropped_before(&self, elsewhere: u64) -> u64 {
        elsewhere + self.devices.iter().map(|d| d.overrun).sum::<u64>()
    }

    /// The reasons why the results are invalid; empty if they are valid. `elsewhere` counts packets that the kernel
    /// dropped before the discipline, other than on the input devices.
    #[must_use]
    pub fn doubts(&self, elsewhere: u64) -> Vec<String> {
        let dropped_before = self.dropped_before(elsewhere);
        let (late, all) = (self.late.count_above(LATEST), self.late.count());
        let mut doubts = Vec::new();
        if too_many_late(late, all) {
            doubts.push(format!("{late} of {all} packets were more than {LATEST} late; at most 1 % is acceptable"));
        }
        let came: u64 = self.recorders.iter().map(|r| r.traffic().offered_packets).sum();
        if loses_too_much(dropped_before, came) {
            doubts.push(format!(
                "the kernel dropped {dropped_before} packets before the discipline, which received {came}; at most \
                 one in {:.0} is acceptable",
                1.0 / LOST_BEFORE
            ));
        }
        if loses_too_much(self.unknown, came) {
            let many = self.unknown;
            doubts.push(format!("{many} packets came out of the queue in the kernel that were not seen to go in"));
        }
        doubts.extend(self.vanished.iter().map(|device| format!("{device} was removed")));
        doubts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_capacity_is_that_of_all_rates_over_time() {
        let at = |s| Instant::ZERO + Duration::from_secs(s);
        let rates = [(at(0), BitRate::from_mbps(20)), (at(2), BitRate::from_mbps(5)), (at(6), BitRate::from_mbps(40))];
        assert_eq!(mean_rate(&rates, at(0), at(10)), BitRate::from_mbps(22));
        assert_eq!(mean_rate(&rates, at(1), at(3)), BitRate::from_bps(12_500_000));
        assert_eq!(mean_rate(&rates, at(3), at(5)), BitRate::from_mbps(5));
        assert_eq!(mean_rate(&rates[..1], at(0), at(10)), BitRate::from_mbps(20));
        assert_eq!(mean_rate(&rates, at(4), at(4)), BitRate::from_mbps(20));
    }

    /// Directions are concatenated in order, totals are summed, and the time stands still when one thread hangs.
    #[test]
    fn two_threads_make_one_snapshot() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let snapshot = |now, lost: &[u64], late, trouble| {
            let mut snapshot =
                Snapshot { at: at(now), latest: Duration::from_micros(late), trouble, ..Snapshot::default() };
            snapshot.late.record(snapshot.latest);
            snapshot
                .directions
                .extend(lost.iter().map(|lost| DirectionSnapshot { lost: *lost, ..DirectionSnapshot::default() }));
            snapshot
        };
        let first = snapshot(1300, &[1], 7, Trouble { refused: 2, failed_reads: 0 });
        let second = snapshot(1200, &[2], 900, Trouble { refused: 3, failed_reads: 1 });
        let both = first.and(second);
        assert_eq!((both.at, both.latest), (at(1200), Duration::from_micros(900)));
        assert_eq!(both.directions.iter().map(|d| d.lost).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(both.trouble, Trouble { refused: 5, failed_reads: 1 });
        assert_eq!((both.late.count(), both.late.sum_s()), (2, 907e-6));
    }

    #[test]
    fn one_late_packet_is_no_reason_to_doubt() {
        assert!(!too_many_late(0, 0) && !too_many_late(1, 4) && too_many_late(2, 4));
        assert!(!too_many_late(10, 1099) && too_many_late(11, 1099));
    }

    #[test]
    fn a_few_packets_lost_at_first_are_no_reason_to_doubt() {
        assert!(!loses_too_much(2, 0));
        assert!(!loses_too_much(100, 1_000_000));
        assert!(loses_too_much(111, 1_000_000));
        assert!(loses_too_much(11, 0));
    }
}
