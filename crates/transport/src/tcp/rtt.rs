//! The round-trip time and the retransmission timeout.

use aqmkit_base::Duration;

use super::clock::Clock;
use crate::profile::{Profile, Timer};

/// The round-trip estimator, and the timeout that follows from it.
///
/// The unit depends on the profile's timer: nanoseconds (RFC 6298), or timer ticks in fixed point, the mean times 32
/// and the mean deviation times 16 (4.4BSD).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rtt {
    srtt: i64,
    rttvar: i64,
    /// The timeout from SRTT and RTTVAR, before backoff.
    base: Duration,
    /// The minimum timeout, in ticks, after the last measurement.
    least: u32,
    /// Whether there is an estimate.
    known: bool,
    /// Timeouts since the last measurement.
    shift: u8,
    /// Measurements, up to 255.
    samples: u8,
}

/// More doublings make no difference: the maximum timeout was reached long before.
const MAX_SHIFT: u8 = 16;

/// After more timeouts than this the estimate is considered wrong, and the next measurement replaces it (4.4BSD: a
/// quarter of the retransmissions allowed; RFC 6298 section 5).
const FORGET_AFTER: u8 = 3;

/// Ticks from a measurement to the minimum timeout: one by which the timer may be early, one by which the measurement
/// may be short, and one because 4.4BSD counts from one (`rtt + 2` in FreeBSD 2.2's `tcp_xmit_timer`). So the timeout
/// is at least three ticks, whatever the minimum.
const LEAST_ABOVE_MEASUREMENT: u32 = 3;

/// The clock granularity of RFC 6298 where timestamps of 1 ms measure.
const TIMESTAMP_TICK: Duration = Duration::from_millis(1);

impl Rtt {
    pub(crate) fn new(p: &Profile) -> Self {
        Rtt { srtt: 0, rttvar: 0, base: p.initial_rto, least: 0, known: false, shift: 0, samples: 0 }
    }

    /// Adds a round-trip sample in ticks, or nanoseconds if the timer is exact. Returns it as a time.
    pub(crate) fn sample(&mut self, p: &Profile, number: u64) -> Duration {
        // No round trip is longer than a century; fixed point has room for that.
        let number = number.min(1 << 55) as i64;
        match p.timer {
            Timer::Tick(tick) => {
                self.base = tick * self.sample_ticks(number);
                self.least = u32::try_from(number).unwrap_or(u32::MAX).saturating_add(LEAST_ABOVE_MEASUREMENT);
            }
            Timer::Exact => self.base = self.sample_exact(p, number),
        }
        self.known = true;
        self.shift = 0;
        self.samples = self.samples.saturating_add(1);
        Clock::length(p, number.unsigned_abs())
    }

    /// Adds a round-trip sample in ticks of the timestamp clock. Returns it as a time.
    pub(super) fn sample_timestamp(&mut self, p: &Profile, elapsed: u32) -> Duration {
        let number = match p.timer {
            Timer::Tick(_) => u64::from(elapsed),
            Timer::Exact => (TIMESTAMP_TICK * u64::from(elapsed)).as_nanos(),
        };
        self.sample(p, number)
    }

    /// `tcp_xmit_timer` of 4.4BSD with the precision that Brakmo and Peterson (Performance Problems in
    /// BSD4.4 TCP, 1995) gave it, as FreeBSD 2.2 has it. Returns the timeout in ticks.
    fn sample_ticks(&mut self, elapsed: i64) -> u64 {
        if self.known {
            let error = (elapsed << 2) - (self.srtt >> 3);
            self.srtt = (self.srtt + error).max(1);
            self.rttvar = (self.rttvar + error.abs() - (self.rttvar >> 2)).max(1);
        } else {
            // The first one counts the tick it began in, so that the timeout is three times as much.
            self.srtt = (elapsed + 1) << 5;
            self.rttvar = (elapsed + 1) << 3;
        }
        (((self.srtt >> 3) + self.rttvar) >> 2).unsigned_abs()
    }

    /// RFC 6298 section 2.
    fn sample_exact(&mut self, p: &Profile, r: i64) -> Duration {
        if self.known {
            self.rttvar = (3 * self.rttvar + (self.srtt - r).abs()) / 4;
            self.srtt = (7 * self.srtt + r) / 8;
        } else {
            (self.srtt, self.rttvar) = (r, r / 2);
        }
        let granularity = if p.timestamps { TIMESTAMP_TICK } else { Duration::ZERO };
        nanos(self.srtt) + nanos(4 * self.rttvar).max(granularity).max(p.min_variation)
    }

    /// The timeout, backed off.
    pub(super) fn rto(&self, p: &Profile) -> Duration {
        let rto = match (self.shift, p.timer) {
            (0, Timer::Tick(tick)) => self.base.max(tick * u64::from(self.least)),
            (0, Timer::Exact) => self.base,
            (n, _) if p.backoff_of_minimum => self.base.max(p.min_rto) * backoff(n, p),
            (n, _) => self.base * backoff(n, p),
        };
        rto.clamp(p.min_rto, p.max_rto)
    }

    /// The timer has expired.
    pub(super) fn back_off(&mut self) {
        self.shift = self.shift.saturating_add(1);
        if self.shift > FORGET_AFTER {
            self.known = false;
        }
    }

    /// The handshake timed out, the last time after `waited`, without a measurement. 4.4BSD keeps the current timeout;
    /// RFC 6298 (5.7) asks for 3 s.
    pub(super) fn after_handshake_timeout(&mut self, p: &Profile, waited: Duration) {
        self.base = match p.timer {
            Timer::Tick(_) => waited,
            Timer::Exact => p.initial_rto.max(Duration::from_secs(3)),
        };
    }

    /// How many round trips were measured, up to 255.
    pub(super) fn samples(&self) -> u8 {
        self.samples
    }

    /// The estimate and its mean deviation, if the timer ticks.
    pub(super) fn estimate(&self, tick: Duration) -> (Duration, Duration) {
        (tick * self.srtt.unsigned_abs() / 32, tick * self.rttvar.unsigned_abs() / 16)
    }

    /// Starts with the estimate of earlier connections, if the timer ticks. The first timeout has the shifts of FreeBSD
    /// 2.2's `tcp_mss`, which belong to a coarser fixed point: it is four times the estimate plus eight times the
    /// deviation.
    pub(super) fn begin(&mut self, tick: Duration, rtt: Duration, variation: Duration) {
        let scaled =
            |time: Duration, scale: u64| i64::try_from((time * scale).as_nanos() / tick.as_nanos()).unwrap_or(i64::MAX);
        self.srtt = scaled(rtt, 32).clamp(1, 1 << 55);
        // Without a deviation: that of one round trip.
        self.rttvar = if variation.is_zero() { self.srtt / 2 } else { scaled(variation, 16).clamp(1, 1 << 55) };
        self.base = tick * (((self.srtt >> 2) + self.rttvar) >> 1).unsigned_abs();
        self.known = true;
    }

    /// The smoothed round-trip time.
    pub(crate) fn smoothed(&self, p: &Profile) -> Option<Duration> {
        let srtt = match p.timer {
            Timer::Tick(tick) => tick * self.srtt.unsigned_abs() / 32,
            Timer::Exact => nanos(self.srtt),
        };
        self.known.then_some(srtt)
    }

    /// The mean deviation (`RTTVAR` of RFC 6298).
    pub(crate) fn variation(&self, p: &Profile) -> Option<Duration> {
        let variation = match p.timer {
            Timer::Tick(tick) => tick * self.rttvar.unsigned_abs() / 16,
            Timer::Exact => nanos(self.rttvar),
        };
        self.known.then_some(variation)
    }
}

/// 1, 2, 4, 8, … times the timeout (RFC 6298 (5.5); 4.4BSD's `tcp_backoff` ends at 64).
fn backoff(timeouts: u8, p: &Profile) -> u64 {
    (1 << timeouts.min(MAX_SHIFT)).min(u64::from(p.max_backoff))
}

fn nanos(ns: i64) -> Duration {
    Duration::from_nanos(ns.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coarse_timeouts_start_and_stay_at_three_ticks() {
        let p = Profile::bsd44();
        let mut rtt = Rtt::new(&p);
        assert_eq!(rtt.rto(&p), Duration::from_secs(6));
        for _ in 0..30 {
            rtt.sample(&p, 0);
            assert_eq!(rtt.rto(&p), Duration::from_millis(1500));
        }
    }

    #[test]
    fn coarse_timeouts_follow_long_round_trips() {
        let p = Profile::bsd44();
        let mut rtt = Rtt::new(&p);
        for _ in 0..100 {
            rtt.sample(&p, 4);
        }
        // Round trips of 2 s: srtt comes down from 5 ticks and stops below 4 1/4, and rttvar dies out, so
        // that the estimate is 4 ticks. The last measurement asks for 7.
        assert_eq!(rtt.base, Duration::from_secs(2));
        assert_eq!(rtt.smoothed(&p), Some(Duration::from_millis(500) * 135 / 32));
        assert_eq!(rtt.rto(&p), Duration::from_millis(3500));
    }

    #[test]
    fn coarse_timeouts_follow_what_varies() {
        let p = Profile::bsd44();
        let mut rtt = Rtt::new(&p);
        // First 1 tick (counted 2): srtt 64, rttvar 16. Then 3: error 12 - 8 = 4, srtt 68, rttvar 16 + 4 -
        // 4.
        rtt.sample(&p, 1);
        assert_eq!((rtt.srtt, rtt.rttvar, rtt.base), (64, 16, Duration::from_secs(3)));
        rtt.sample(&p, 3);
        assert_eq!((rtt.srtt, rtt.rttvar, rtt.base), (68, 16, Duration::from_secs(3)));
        // Then none: error 0 - 8, srtt 60, rttvar 16 + 8 - 4.
        rtt.sample(&p, 0);
        assert_eq!((rtt.srtt, rtt.rttvar, rtt.base), (60, 20, Duration::from_millis(3000)));
    }

    /// The first lines of FreeBSD 2.2's `tcp_xmit_timer`, which counts a measurement from one, with its shifts of 5, 4 and 2 bits, and
    /// `TCP_REXMTVAL`.
    #[test]
    fn coarse_estimates_are_those_of_freebsd_2_2() {
        let p = Profile::bsd44();
        let mut draw = aqmkit_base::Rng::stream(1, "round trips");
        for run in 0..300 {
            let (mut rtt, mut srtt, mut rttvar) = (Rtt::new(&p), 0_i64, 0_i64);
            for _ in 0..60 {
                let ticks = if run % 3 == 0 { run / 30 } else { draw.below(1 + run / 10) } as i64;
                rtt.sample(&p, ticks as u64);
                let counted = ticks + 1;
                if srtt != 0 {
                    let mut delta = ((counted - 1) << 2) - (srtt >> 3);
                    srtt += delta;
                    if srtt <= 0 {
                        srtt = 1;
                    }
                    if delta < 0 {
                        delta = -delta;
                    }
                    delta -= rttvar >> 2;
                    rttvar += delta;
                    if rttvar <= 0 {
                        rttvar = 1;
                    }
                } else {
                    srtt = counted << 5;
                    rttvar = counted << 3;
                }
                let timeout = ((srtt >> 3) + rttvar) >> 2;
                let base = Duration::from_millis(500) * timeout as u64;
                assert_eq!((rtt.srtt, rtt.rttvar, rtt.base), (srtt, rttvar, base), "{ticks} ticks");
            }
        }
    }

    #[test]
    fn exact_timeouts_are_rfc_6298() {
        let p = Profile { min_rto: Duration::from_millis(1), timestamps: false, ..Profile::rfc() };
        let mut rtt = Rtt::new(&p);
        rtt.sample(&p, 100_000_000);
        assert_eq!(rtt.rto(&p), Duration::from_millis(300));
        rtt.sample(&p, 180_000_000);
        // srtt 110, rttvar (3*50 + 80)/4 = 57.5.
        assert_eq!(rtt.rto(&p), Duration::from_millis(340));
    }

    /// RFC 6298 (5.5) doubles the timeout, and (2.4) sets it to the least one where it is less, before or after: a
    /// profile says which.
    #[test]
    fn exact_timeouts_double_between_the_least_and_the_largest() {
        for (backoff_of_minimum, measured_ms, ms) in [
            (true, 100, [1000, 2000, 4000, 8000, 16_000, 32_000]),
            (false, 100, [1000, 1000, 1200, 2400, 4800, 9600]),
            (true, 800, [2400, 4800, 9600, 19_200, 38_400, 60_000]),
            (false, 800, [2400, 4800, 9600, 19_200, 38_400, 60_000]),
        ] {
            let p = Profile { backoff_of_minimum, timestamps: false, ..Profile::rfc() };
            let mut rtt = Rtt::new(&p);
            rtt.sample(&p, measured_ms * 1_000_000);
            for wanted in ms {
                assert_eq!(rtt.rto(&p), Duration::from_millis(wanted), "{backoff_of_minimum} {measured_ms}");
                rtt.back_off();
            }
        }
    }

    /// One tick and a deviation of one tick are 32 and 16 in fixed point: ((32 >> 2) + 16) >> 1 = 12 ticks, where `TCP_REXMTVAL` would
    /// give 5. Without a deviation, one as long as the round trip.
    #[test]
    fn a_cached_estimate_begins_with_four_of_it_and_eight_deviations() {
        let (p, tick) = (Profile::freebsd22(), Duration::from_millis(500));
        for variation in [tick, Duration::ZERO] {
            let mut rtt = Rtt::new(&p);
            assert_eq!(rtt.rto(&p), Duration::from_secs(3));
            rtt.begin(tick, tick, variation);
            assert_eq!((rtt.rto(&p), rtt.smoothed(&p), rtt.samples()), (Duration::from_secs(6), Some(tick), 0));
            assert_eq!(rtt.estimate(tick), (tick, tick));
        }
        // A round trip of none: the minimum.
        let mut rtt = Rtt::new(&p);
        rtt.begin(tick, Duration::from_nanos(1), Duration::from_nanos(1));
        assert_eq!(rtt.rto(&p), Duration::from_secs(1));
    }

    fn backoff(p: &Profile) -> Vec<f64> {
        let mut rtt = Rtt::new(p);
        for _ in 0..30 {
            rtt.sample(p, 0);
        }
        let mut seconds = Vec::new();
        for timeouts in 0..9 {
            seconds.push(rtt.rto(p).as_secs_f64());
            assert_eq!(rtt.smoothed(p).is_some(), timeouts <= 3);
            rtt.back_off();
        }
        rtt.sample(p, 0);
        assert_eq!(rtt.rto(p), Duration::from_millis(1500), "a measurement ends the backoff");
        seconds
    }

    #[test]
    fn backoff_doubles_six_times_and_forgets_after_three() {
        for p in [Profile::bsd44(), Profile::freebsd22()] {
            assert_eq!(backoff(&p), [1.5, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 64.0, 64.0]);
        }
    }

    /// An estimate of no ticks, multiplied, as until FreeBSD 2.2.6.
    #[test]
    fn a_bare_estimate_does_not_back_off_from_short_round_trips() {
        let p = Profile { backoff_of_minimum: false, ..Profile::bsd44() };
        assert_eq!(backoff(&p), [1.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
    }
}
