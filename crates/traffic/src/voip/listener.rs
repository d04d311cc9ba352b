//! The listener of a call: the jitter buffer, and the rating of the speech that could be played.

use std::collections::VecDeque;

use aqmkit_base::{Duration, Instant};

use super::emodel::{self, Impairment};

/// Length of a rated interval.
const INTERVAL: Duration = Duration::from_secs(10);
/// An interval is rated this long after its end, so that late packets can arrive.
const GRACE: Duration = Duration::from_secs(2);
/// Largest spurt number; the next one is 0.
const SPURTS: u32 = 0xff_ffff;
/// Weight of the old value in the estimates of delay and variation (ramjee94).
const PAST: f64 = 0.998_002;
/// Buffer delay in units of the estimated variation (ramjee94).
const VARIATIONS: f64 = 4.0;

pub(super) const COUNTERS: &[&str] = &[
    "packets_sent",
    "packets_due",
    "packets_missed",
    "packets_late",
    "bytes_received",
    "delay_sum_s",
    "packets_played",
    "mos_sum",
    "mos_intervals",
    "r_sum",
];

/// Determines the playout delay: the time from the sending of a packet to its playback.
#[derive(Clone, Debug)]
pub(super) struct JitterBuffer {
    /// Time added to the delay of the first packet of a spurt; `None` for an adaptive buffer.
    fixed: Option<Duration>,
    /// Minimum time that an adaptive buffer adds to the mean delay, in seconds.
    least: f64,
    /// Estimates in seconds; `None` before the first packet.
    delay: Option<f64>,
    variation: f64,
    /// The current spurt, and the playout delay of its packets.
    spurt: Option<u32>,
    time: Duration,
}

impl JitterBuffer {
    /// A buffer that adds this time to the delay of the first packet of a spurt.
    pub(super) fn fixed(time: Duration) -> Self {
        JitterBuffer { fixed: Some(time), ..JitterBuffer::adaptive(Duration::ZERO) }
    }

    /// A buffer that adapts to the variation of the delay, and adds at least this time to the mean delay.
    pub(super) fn adaptive(least: Duration) -> Self {
        let least = least.as_secs_f64();
        JitterBuffer { fixed: None, least, delay: None, variation: 0.0, spurt: None, time: Duration::ZERO }
    }

    /// Processes a packet of a spurt, which arrived after this delay. Returns the current playout delay.
    fn packet(&mut self, spurt: u32, delay: Duration) -> Duration {
        let secs = delay.as_secs_f64();
        let mean = self.delay.map_or(secs, |mean| PAST * mean + (1.0 - PAST) * secs);
        self.variation = PAST * self.variation + (1.0 - PAST) * (mean - secs).abs();
        self.delay = Some(mean);
        // A late packet of an earlier spurt changes nothing.
        let newer = self.spurt.is_none_or(|last| spurt != last && spurt.wrapping_sub(last) & SPURTS < SPURTS / 2);
        if newer {
            self.spurt = Some(spurt);
            self.time = match self.fixed {
                Some(buffer) => delay + buffer,
                None => Duration::from_secs_f64(mean + (VARIATIONS * self.variation).max(self.least)),
            };
        }
        self.time
    }
}

/// The packets sent in an interval.
#[derive(Clone, Debug, Default)]
struct Interval {
    /// For each packet, whether it was played.
    played: Vec<bool>,
    /// Sum of the playout delays of the played packets.
    delay: Duration,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    sent: u64,
    due: u64,
    missed: u64,
    late: u64,
    bytes: u64,
    delay: Duration,
    played: u64,
    mos: f64,
    intervals: u64,
    r: f64,
}

/// The listener of a call.
#[derive(Clone, Debug)]
pub(super) struct Listener {
    codec: Impairment,
    /// Time from the mouth to the sending of a packet.
    before: Duration,
    buffer: JitterBuffer,
    /// Start of the first interval.
    began: Instant,
    /// Number of intervals that have been rated.
    rated: u64,
    /// The intervals after these.
    open: VecDeque<Interval>,
    counted: Counted,
}

impl Listener {
    /// `before` is the time from the mouth to the sending of a packet.
    pub(super) fn new(codec: Impairment, before: Duration, buffer: JitterBuffer) -> Self {
        let (open, counted) = (VecDeque::new(), Counted::default());
        Listener { codec, before, buffer, began: Instant::ZERO, rated: 0, open, counted }
    }

    /// Starts the first interval.
    pub(super) fn begin(&mut self, now: Instant) {
        self.began = now;
    }

    /// A packet of this spurt is sent now. Returns its tag: interval, number and spurt.
    pub(super) fn expect(&mut self, now: Instant, spurt: u32) -> u64 {
        let interval = now.since(self.began).whole(INTERVAL);
        let place = interval.saturating_sub(self.rated) as usize;
        while self.open.len() <= place {
            self.open.push_back(Interval::default());
        }
        let played = &mut self.open[place].played;
        played.push(false);
        self.counted.sent += 1;
        interval << 40 | (played.len() as u64 - 1) << 24 | u64::from(spurt & SPURTS)
    }

    /// Processes a received packet.
    pub(super) fn packet(&mut self, tag: u64, len: u32, sent: Instant, now: Instant) {
        self.counted.bytes += u64::from(len);
        let spurt = tag as u32 & SPURTS;
        let time = self.buffer.packet(spurt, now.since(sent));
        if now > sent + time {
            self.counted.late += 1;
            return;
        }
        let (of, number) = (tag >> 40, (tag >> 24 & 0xffff) as usize);
        let place = of.checked_sub(self.rated).and_then(|place| self.open.get_mut(place as usize));
        let Some(interval) = place else { return };
        if let Some(played) = interval.played.get_mut(number).filter(|played| !**played) {
            *played = true;
            interval.delay += time;
        }
    }

    /// Rates the intervals whose grace time is over.
    pub(super) fn rate(&mut self, now: Instant) {
        while now >= self.began + INTERVAL * (self.rated + 1) + GRACE {
            self.rated += 1;
            if let Some(interval) = self.open.pop_front().filter(|interval| !interval.played.is_empty()) {
                self.add(&interval);
            }
        }
    }

    fn add(&mut self, interval: &Interval) {
        let due = interval.played.len() as u64;
        let missed = interval.played.iter().filter(|played| !**played).count() as u64;
        let runs = interval.played.chunk_by(|a, b| a == b).filter(|run| !run[0]).count() as u64;
        let played = due - missed;
        self.counted.due += due;
        self.counted.missed += missed;
        self.counted.played += played;
        self.counted.intervals += 1;
        if played == 0 {
            self.counted.mos += 1.0;
            return;
        }
        let mouth_to_ear = self.before + interval.delay / played;
        self.counted.delay += self.before * played + interval.delay;
        let loss = missed as f64 / due as f64;
        // With random losses the mean length of runs is 1 / (1 - loss).
        let burst = if runs == 0 { 1.0 } else { (missed as f64 / runs as f64 * (1.0 - loss)).max(1.0) };
        let r = emodel::rating(self.codec, mouth_to_ear, loss, burst).max(0.0);
        self.counted.r += r;
        self.counted.mos += emodel::mos(r);
    }

    /// The value of the counter at `index` of [`COUNTERS`].
    pub(super) fn counter(&self, index: usize) -> f64 {
        let c = &self.counted;
        let values = [
            c.sent as f64,
            c.due as f64,
            c.missed as f64,
            c.late as f64,
            c.bytes as f64,
            c.delay.as_secs_f64(),
            c.played as f64,
            c.mos,
            c.intervals as f64,
            c.r,
        ];
        values.get(index).copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_fixed_buffer_follows_the_first_packet_of_a_spurt() {
        let mut buffer = JitterBuffer::fixed(ms(60));
        assert_eq!(buffer.packet(1, ms(30)), ms(90));
        assert_eq!(buffer.packet(1, ms(80)), ms(90));
        assert_eq!(buffer.packet(2, ms(50)), ms(110));
        assert_eq!(buffer.packet(1, ms(10)), ms(110), "an overtaken packet changes nothing");
        let mut wraps = JitterBuffer::fixed(ms(60));
        wraps.packet(SPURTS, ms(10));
        assert_eq!(wraps.packet(0, ms(20)), ms(80), "the next one after the last number");
    }

    /// With a buffer of 60 ms and a first packet with 30 ms of delay, a packet may take exactly 90 ms.
    #[test]
    fn a_packet_is_played_that_comes_just_in_time() {
        let codec = Impairment { ie: 0.0, bpl: 4.3 };
        let mut listener = Listener::new(codec, ms(20), JitterBuffer::fixed(ms(60)));
        let at = |ms: u64| Instant::ZERO + Duration::from_millis(ms);
        let mut come = |n: u64, after: Duration| {
            let tag = listener.expect(at(20 * n), 1);
            listener.packet(tag, 172, at(20 * n), at(20 * n) + after);
        };
        come(0, ms(30));
        come(1, ms(90));
        come(2, ms(90) + Duration::from_nanos(1));
        listener.rate(at(12_000));
        let counted: Vec<f64> = (0..10).map(|i| listener.counter(i)).collect();
        assert_eq!(counted[..5], [3.0, 3.0, 1.0, 1.0, 3.0 * 172.0]);
        // Mouth to ear: 20 ms of speech and 90 ms.
        assert!((counted[5] - 2.0 * 0.11).abs() < 1e-9 && counted[6] == 2.0, "{counted:?}");
        assert_eq!(counted[8], 1.0);
    }

    /// An interval is rated two seconds after its end.
    #[test]
    fn intervals_are_rated_after_twelve_seconds() {
        let mut listener = Listener::new(Impairment { ie: 0.0, bpl: 4.3 }, ms(20), JitterBuffer::fixed(ms(60)));
        listener.begin(Instant::ZERO + ms(500));
        listener.expect(Instant::ZERO + ms(500), 1);
        for (time, rated) in [(12_499, 0.0), (12_500, 1.0), (99_000, 1.0)] {
            listener.rate(Instant::ZERO + ms(time));
            assert_eq!(listener.counter(8), rated, "{time}: without packets there is no interval");
        }
    }

    /// Spurt numbers wrap around: the nearer half is ahead.
    #[test]
    fn a_spurt_is_later_within_half_of_all_numbers() {
        for (ahead, newer) in [(1, true), (SPURTS / 2 - 1, true), (SPURTS / 2, false), (SPURTS, false)] {
            let mut buffer = JitterBuffer::fixed(ms(60));
            buffer.packet(7, ms(10));
            let time = buffer.packet((7 + ahead) & SPURTS, ms(20));
            assert_eq!(time == ms(80), newer, "{ahead}");
        }
    }

    #[test]
    fn an_adaptive_buffer_is_the_mean_and_four_variations() {
        let mut buffer = JitterBuffer::adaptive(ms(20));
        assert_eq!(buffer.packet(1, ms(50)), ms(70), "without variation: one packet");
        let (mut mean, mut variation) = (0.05, 0.0);
        for i in 0..5000_u64 {
            let delay = if i.is_multiple_of(2) { 20 } else { 100 };
            let secs = delay as f64 / 1000.0;
            mean = 0.998_002 * mean + 0.001_998 * secs;
            variation = 0.998_002 * variation + 0.001_998 * f64::abs(mean - secs);
            assert_eq!(buffer.packet(1, ms(delay)), ms(70), "within a spurt nothing changes");
        }
        let time = buffer.packet(2, ms(60)).as_secs_f64();
        // Delays with a mean of 60 ms and a mean deviation of 40 ms.
        assert!((time - (mean + 4.0 * variation)).abs() < 1e-3 && (time - 0.22).abs() < 0.001, "{time}");
    }
}
