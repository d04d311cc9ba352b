//! Receive-window autotuning as in Linux 6.6 to 6.15 (`net/ipv4/tcp_input.c`: `tcp_grow_window`, `tcp_rcv_space_adjust`).
//!
//! The receiver measures how much the application read in the last round trip (dynamic right-sizing: Fisk and Feng, 2001). If that is
//! more than in any round trip before, the buffer grows to twice as much, 16 segments, and twice the relative growth on top, so that a sender in slow
//! start, which doubles its rate in the round trip to come, finds room. The buffer ends at `tcp_rmem[2]` and never shrinks. The window is a share of the
//! buffer ([`Profile::scaling_ratio`]) and follows it by two segments for each segment that arrives; meanwhile acknowledgements are not delayed.
//!
//! The round trip is seen by the receiver: the age of the timestamp that a full segment echoes, smoothed over eight samples, never below a tick
//! of the clock (1 ms); and, without timestamps or if shorter, the time in which one receive window arrives.
//!
//! Left out: memory pressure (`tcp_mem`); data above a hole, which in Linux takes its memory from the window that is offered until the hole is filled;
//! rounding of the window to segments and to the scale; the ratio as each driver makes it, which is given; and what 6.16 changed: growth by what lies out of order, the
//! smallest round trip in place of a smoothed one, 32 MB. Beside Linux 6.18 (`bench/live/window.sh`) the window reaches each size at the same time within 2 %. The application reads at once, so what has arrived in order has been read.

use aqmkit_base::{Duration, Instant};

use crate::profile::Profile;

/// Minimum segment length that opens the window (`tcp_event_data_recv`).
const LEAST: u32 = 128;

/// Segments expected in the first round trip (`TCP_INIT_CWND`).
const FIRST: u64 = 10;

/// Segments of room beyond twice the data of a round trip.
const CUSHION: u64 = 16;

/// The receive window, and the measurements it follows.
#[derive(Clone, Debug)]
pub(super) struct Autotuning {
    /// The window offered (`rcv_ssthresh`).
    window: u32,
    /// The receive buffer (`sk_rcvbuf`).
    buffer: u64,
    /// The maximum window for this buffer (`window_clamp`).
    clamp: u32,
    /// The timestamp of the last sample.
    last_echo: u32,
    /// The smoothed round-trip time (`rcv_rtt_est`); zero until it is known.
    rtt: Duration,
    /// When this sequence number arrives, one window has arrived since `window_since`.
    window_until: u64,
    window_since: Instant,
    /// The maximum amount read in a round trip (`rcvq_space.space`).
    space: u64,
    /// Where the current round trip began.
    from: u64,
    since: Instant,
}

/// The properties of a data segment that affect the window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// Bytes of data.
    pub(super) len: u32,
    /// The next sequence number in order, after the segment.
    pub(super) next: u64,
    /// The echoed timestamp and its age, if the segment is a full one.
    pub(super) echo: Option<(u32, Duration)>,
}

impl Autotuning {
    /// Starts at `next`, the next sequence number in order.
    pub(super) fn new(p: &Profile, next: u64, now: Instant) -> Self {
        let first = p.first_receive_window();
        Autotuning {
            window: first as u32,
            buffer: p.tcp_rmem[1].0,
            clamp: first.max(p.window_from_space(p.tcp_rmem[1].0)) as u32,
            last_echo: 0,
            rtt: Duration::ZERO,
            window_until: next + first,
            window_since: now,
            space: first.min(FIRST * p.mss.0),
            from: next,
            since: now,
        }
    }

    /// The window to advertise.
    pub(super) fn window(&self) -> u32 {
        self.window
    }

    /// A segment with data has arrived. Returns whether the window has grown.
    pub(super) fn on_data(&mut self, p: &Profile, seen: &Seen, now: Instant) -> bool {
        self.measure(seen, now);
        let grows = seen.len >= LEAST && self.window < self.clamp;
        if grows {
            let step = (2 * u64::from(seen.len)).max(2 * p.mss.0);
            self.window = (u64::from(self.window) + step).min(u64::from(self.clamp)) as u32;
        }
        self.adjust(p, seen.next, now);
        grows
    }

    /// Whether the window has reached its maximum.
    pub(super) fn is_done(&self, p: &Profile) -> bool {
        self.window >= self.clamp && self.buffer >= p.tcp_rmem[2].0
    }

    /// Linux's `tcp_rcv_rtt_measure_ts` and `tcp_rcv_rtt_measure`.
    fn measure(&mut self, seen: &Seen, now: Instant) {
        if let Some((echo, age)) = seen.echo.filter(|(echo, _)| *echo != self.last_echo) {
            self.last_echo = echo;
            self.rtt = if self.rtt.is_zero() { age } else { self.rtt - self.rtt / 8 + age / 8 };
        }
        if seen.next >= self.window_until {
            let took = now.since(self.window_since).max(Duration::from_micros(1));
            self.rtt = if self.rtt.is_zero() { took } else { self.rtt.min(took) };
            (self.window_until, self.window_since) = (seen.next + u64::from(self.window), now);
        }
    }

    /// Linux's `tcp_rcv_space_adjust`: once per round trip, grows the buffer if more was read than ever before.
    fn adjust(&mut self, p: &Profile, next: u64, now: Instant) {
        if self.rtt.is_zero() || now.since(self.since) < self.rtt {
            return;
        }
        let read = next - self.from;
        if read > self.space {
            let window = (2 * read + CUSHION * p.mss.0) as f64;
            let growth = window * (read - self.space) as f64 / self.space as f64;
            let buffer = ((window + 2.0 * growth) / p.scaling_ratio).min(p.tcp_rmem[2].0 as f64) as u64;
            if buffer > self.buffer {
                self.buffer = buffer;
                self.clamp = self.clamp.max(p.window_from_space(buffer) as u32);
            }
            self.space = read;
        }
        (self.from, self.since) = (next, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;

    fn ms(n: u64) -> Instant {
        Instant::from_nanos(n * 1_000_000)
    }

    /// The windows offered at the end of each round trip of slow start, 100 ms apart, in which 10, 20, 40 … segments
    /// arrive at once.
    fn slow_start(p: &Profile, rounds: u64) -> Vec<u32> {
        let mut tuning = Autotuning::new(p, 1, ms(100));
        let mut next = 1;
        let mut offered = Vec::new();
        for round in 0..rounds {
            for _ in 0..10 << round {
                next += MSS;
                let echo = Some((round as u32 + 1, Duration::from_millis(100)));
                tuning.on_data(p, &Seen { len: MSS as u32, next, echo }, ms(100 * (round + 1)));
            }
            offered.push(tuning.window());
        }
        offered
    }

    /// By hand. The window starts at half of 128 KiB, just more than a SYN can express: 65,535 bytes; it may grow to
    /// 0.66 of 128 KiB, 86,507, and ten segments raise it to that. The first segment of the second round trip ends one
    /// in which eleven were read, one more than the ten expected: 2 * 11 + 16 segments and twice a tenth of that are
    /// 66,029, which the buffer covers already. The first of the third ends one of 20, 9 more than eleven: 2 * 20 + 16
    /// segments are 81,088, and twice 9/11 of that in addition 213,777 (less a byte from rounding); the 39 segments
    /// after it open the window by two segments each, so by 112,944 of the 127,269 that are missing.
    #[test]
    fn the_window_stays_ahead_of_slow_start() {
        let p = Profile::linux_6();
        assert_eq!(p.first_receive_window(), 65_535);
        let windows = slow_start(&p, 5);
        assert_eq!(windows[..3], [86_507, 86_507, 86_507 + 39 * 2 * 1448]);
        // The window of each round trip holds what slow start sends in the next: 20, 40, 80 … segments.
        for (round, window) in windows.iter().enumerate() {
            assert!(u64::from(*window) >= (20 << round) * MSS, "{windows:?}");
        }
    }

    /// 0.66 of 6 MiB and no more, whatever arrives; and 6 MiB if the whole buffer is window.
    #[test]
    fn the_window_ends_at_its_share_of_the_largest_buffer() {
        for (ratio, most) in [(0.66, 4_152_360), (1.0, 6 << 20)] {
            let p = Profile { scaling_ratio: ratio, ..Profile::linux_6() };
            assert_eq!(*slow_start(&p, 14).last().unwrap(), most);
            assert_eq!(p.largest_receive_window(), u64::from(most));
        }
    }

    /// A constant rate per round trip leaves the window constant: with 20 or 21 segments each, at most 2 * 21 + 16 of
    /// them and twice the growth from the expected 10 to 21, 3.2 times as much, and not the 4 MB of the limit.
    #[test]
    fn an_even_rate_leaves_the_window_alone() {
        let p = Profile::linux_6();
        let mut tuning = Autotuning::new(&p, 1, ms(0));
        for i in 1..5_000 {
            let echo = Some((i as u32, Duration::from_millis(20)));
            tuning.on_data(&p, &Seen { len: MSS as u32, next: 1 + i * MSS, echo }, ms(i));
        }
        assert!(u64::from(tuning.window()) <= 58 * MSS * 32 / 10, "{}", tuning.window());
        assert!(!tuning.is_done(&p));
    }

    /// Without timestamps the round trip is the minimum time in which one window arrives.
    #[test]
    fn without_timestamps_a_window_is_a_round_trip() {
        let p = Profile { tcp_rmem: [aqmkit_base::Bytes(20 * MSS); 3], scaling_ratio: 0.5, ..Profile::linux_6() };
        let mut tuning = Autotuning::new(&p, 1, ms(0));
        for (i, at) in (1..=20).zip((3..).step_by(3)) {
            tuning.on_data(&p, &Seen { len: MSS as u32, next: 1 + i * MSS, echo: None }, ms(at));
        }
        assert_eq!((tuning.window(), tuning.rtt), (10 * MSS as u32, Duration::from_millis(30)));
        for i in 21..=30 {
            tuning.on_data(&p, &Seen { len: MSS as u32, next: 1 + i * MSS, echo: None }, ms(60 + i));
        }
        assert_eq!(tuning.rtt, Duration::from_millis(30), "90 - 60 ms; a longer one changes nothing");
    }
}
