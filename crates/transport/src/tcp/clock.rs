//! A host's timer ticks, and alarms.

use aqmkit_base::{Duration, Instant};

use crate::profile::{DelayedAck, Profile, Timer};

/// A time to be called at, or none. One word: a disabled alarm has a time later than any event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alarm(Instant);

impl Alarm {
    pub(super) const OFF: Alarm = Alarm(Instant::FAR_FUTURE);

    pub(super) const fn at(time: Instant) -> Self {
        Alarm(time)
    }

    pub(super) fn is_on(self) -> bool {
        self.0 != Instant::FAR_FUTURE
    }

    /// Whether it has rung by `now`.
    pub(super) fn is_due(self, now: Instant) -> bool {
        self.is_on() && self.0 <= now
    }

    pub(super) fn time(self) -> Option<Instant> {
        self.is_on().then_some(self.0)
    }

    pub(super) fn first(self, other: Alarm) -> Alarm {
        Alarm(self.0.min(other.0))
    }
}

/// Where a host is between two ticks of its timers.
///
/// Ticks occur at `phase`, `phase + tick`, … for both the retransmission timer and delayed acknowledgements: 4.4BSD
/// starts both clocks together. Nothing runs at a tick: the tick count follows from the time, and is cached until the
/// next tick, because a division per segment would cost more than the rest of the clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// The next tick; now, if the timer is exact.
    next: Instant,
    /// In nanoseconds. A period too long for 32 bits, longer than any host's, saturates.
    phase: u32,
    /// Ticks so far; unused if the timer is exact.
    ticks: u32,
}

impl Clock {
    pub(super) fn new(phase: Duration) -> Self {
        let phase = u32::try_from(phase.as_nanos()).unwrap_or(u32::MAX);
        Clock { next: Instant::ZERO, phase, ticks: 0 }
    }

    /// It is `now`.
    pub(super) fn advance(&mut self, p: &Profile, now: Instant) {
        match p.timer {
            Timer::Exact => self.next = now,
            Timer::Tick(tick) if now >= self.next => {
                let (ticks, next) = tick_after(now, self.phase, tick);
                (self.ticks, self.next) = (ticks as u32, next);
            }
            Timer::Tick(_) => {}
        }
    }

    /// Ticks so far; nanoseconds if the timer is exact.
    pub(super) fn number(&self, p: &Profile) -> u64 {
        match p.timer {
            Timer::Exact => self.next.as_nanos(),
            Timer::Tick(_) => u64::from(self.ticks),
        }
    }

    /// The time between two counts.
    pub(super) fn length(p: &Profile, numbers: u64) -> Duration {
        match p.timer {
            Timer::Exact => Duration::from_nanos(numbers),
            Timer::Tick(tick) => tick * numbers,
        }
    }

    /// The host's timestamp clock (RFC 7323 section 5.4). Starts above 0, so that an echo of 0 means no echo.
    pub(super) fn timestamp(&self, p: &Profile) -> u32 {
        let ticks = match p.timer {
            Timer::Exact => (self.next.as_nanos() / 1_000_000) as u32,
            Timer::Tick(_) => self.ticks,
        };
        ticks.wrapping_add(1)
    }

    /// The age of one of the host's timestamps, at least a tick: the resolution of a timestamp is no better.
    pub(super) fn age(&self, p: &Profile, timestamp: u32) -> Duration {
        let now = self.timestamp(p);
        Self::between(p, timestamp, now).max(Self::between(p, now.wrapping_sub(1), now))
    }

    /// The time from one timestamp to another; `None` if the second is earlier, as the clocks of two hosts may have it.
    pub(super) fn between(p: &Profile, from: u32, to: u32) -> Duration {
        let tick = match p.timer {
            Timer::Exact => Duration::from_millis(1),
            Timer::Tick(tick) => tick,
        };
        tick * u64::from((to.wrapping_sub(from) as i32).max(0).unsigned_abs())
    }

    /// The alarm for a timeout set `now`. A timer of n ticks is decremented at every tick, including the first, which
    /// may be close: it fires at the n-th.
    pub(super) fn timeout(&self, p: &Profile, now: Instant, rto: Duration) -> Alarm {
        Alarm::at(match p.timer {
            Timer::Exact => now + rto,
            Timer::Tick(tick) => self.next + (rto - tick),
        })
    }

    /// When to acknowledge data that has arrived `now`, if the previous acknowledgement was due at `last`: if that tick
    /// is still ahead, it is the next.
    pub(super) fn delayed_ack(&self, p: &Profile, last: Instant, now: Instant) -> Instant {
        match p.delayed_ack {
            DelayedAck::None => now,
            // The receiver computes the adaptive delay.
            DelayedAck::Adaptive { least: delay, .. } | DelayedAck::After(delay) => now + delay,
            DelayedAck::Tick(_) if now < last => last,
            DelayedAck::Tick(tick) => tick_after(now, self.phase, tick).1,
        }
    }
}

/// The number of ticks up to and including `now`, and the time of the next.
fn tick_after(now: Instant, phase: u32, tick: Duration) -> (u64, Instant) {
    let before_first = Duration::from_nanos(u64::from(phase) % tick.as_nanos());
    if now < Instant::ZERO + before_first {
        return (0, Instant::ZERO + before_first);
    }
    let number = now.since(Instant::ZERO + before_first).whole(tick) + 1;
    (number, Instant::ZERO + before_first + tick * number)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Instant {
        Instant::from_nanos(n * 1_000_000)
    }

    #[test]
    fn a_timeout_of_n_ticks_rings_at_the_nth_tick() {
        let p = Profile::bsd44();
        let mut clock = Clock::new(Duration::from_millis(700));
        for (now, rings) in [(0, 700), (199, 700), (200, 1200), (201, 1200), (699, 1200), (700, 1700), (5_000, 5_700)] {
            clock.advance(&p, ms(now));
            let alarm = clock.timeout(&p, ms(now), Duration::from_secs(1));
            assert_eq!(alarm.time(), Some(ms(rings)), "armed at {now}");
        }
    }

    #[test]
    fn acknowledgements_wait_for_the_fast_tick() {
        let p = Profile::bsd44();
        let clock = Clock::new(Duration::from_millis(30));
        let mut last = Instant::ZERO;
        for (now, rings) in [(0, 30), (29, 30), (30, 230), (231, 430), (1_000, 1_030)] {
            last = clock.delayed_ack(&p, last, ms(now));
            assert_eq!(last, ms(rings), "arrived at {now}");
        }
    }

    #[test]
    fn an_exact_clock_counts_nanoseconds() {
        let p = Profile::rfc();
        let mut clock = Clock::new(Duration::from_millis(30));
        clock.advance(&p, ms(5));
        assert_eq!(Clock::length(&p, clock.number(&p)), Duration::from_millis(5));
        assert_eq!(clock.timestamp(&p), 6);
        assert_eq!(clock.timeout(&p, ms(5), Duration::from_secs(1)).time(), Some(ms(1005)));
    }
}
