//! Segmentation offload: a sender hands over several segments at once, which leave its host back to back.
//!
//! Linux cuts its stream into super-packets (TSO, GSO) of what the pacing rate sends in about a millisecond, at least two segments and at
//! most 64 KiB (`tcp_tso_autosize` in `net/ipv4/tcp_output.c`), and waits for further acknowledgements while the window has room for less
//! than a whole one (`tcp_tso_should_defer`). A control that does not pace has a pacing rate too: the window in a round trip, times 2 in
//! slow start and 1.2 afterwards (`tcp_update_pacing_rate` in `net/ipv4/tcp_input.c`); it sets the size alone.

use aqmkit_base::{BitRate, Duration};

use super::clock::Clock;
use super::{Call, Recovery, Sent, Tcp};
use crate::congestion::Pacer;
use crate::profile::{IdleSince, Profile};

/// A super-packet has at least this many segments (Linux's `tcp_min_tso_segs`), unless the control asks for another time.
const LEAST: u64 = 2;

/// Pacing rates without a pacer, as multiples of the window in a round trip (Linux's `tcp_pacing_ss_ratio` and `tcp_pacing_ca_ratio`).
const SLOW_START_GAIN: f64 = 2.0;
const AVOIDANCE_GAIN: f64 = 1.2;

/// A sender uses a part of its window that is at least this share, however small (Linux's `tcp_tso_win_divisor`).
const WINDOW_SHARE: u64 = 3;

/// A sender that has sent nothing for this long does not wait (`tcp_tso_should_defer`).
const RECENT: Duration = Duration::from_millis(1);

/// Nor does a sender whose next acknowledgement is expected later than this, or than half a round trip (in Linux 6.19
/// and the stable kernels with its correction; only half a round trip in others).
const NEAR: Duration = Duration::from_millis(1);

impl Tcp {
    /// How many segments are sent at once.
    #[inline]
    pub(super) fn burst(&self, p: &Profile) -> u64 {
        if p.gso_max_size.0 == 0 { 1 } else { self.super_packet(p) }
    }

    #[inline(never)]
    fn super_packet(&self, p: &Profile) -> u64 {
        let of_control = self.control.pacer().and_then(Pacer::burst);
        let (time, least) = of_control.map_or((p.gso_time, LEAST), |time| (time, 1));
        let bytes = self.pacing_rate(p).map_or(u64::MAX, |rate| (rate * time.as_secs_f64()) as u64);
        (bytes.min(p.gso_max_size.0) / p.mss.0).max(least)
    }

    /// In bytes per second; `None` before the first round-trip sample.
    fn pacing_rate(&self, p: &Profile) -> Option<f64> {
        let paced = self.control.pacer().and_then(Pacer::rate).map(BitRate::bytes_per_sec);
        paced.or_else(|| {
            let rtt = self.rtt.smoothed(p).filter(|rtt| !rtt.is_zero())?;
            let cwnd = self.control.cwnd();
            let gain = if cwnd < self.control.ssthresh() / 2 { SLOW_START_GAIN } else { AVOIDANCE_GAIN };
            Some(gain * cwnd.max(self.in_network(p)) as f64 / rtt.as_secs_f64())
        })
    }

    /// Whether new data waits for room for a whole super-packet of `burst` segments; currently there is room up to
    /// `edge`.
    pub(super) fn defers(&self, edge: u64, burst: u64, call: &mut Call<'_, '_>) -> bool {
        let waits = self.waits_for_room(edge, burst, call);
        call.deferred |= waits && edge < self.una + u64::from(self.peer_window);
        waits
    }

    fn waits_for_room(&self, edge: u64, burst: u64, call: &Call<'_, '_>) -> bool {
        let p = call.p;
        let room = edge.saturating_sub(self.nxt);
        if burst <= 1 || self.recovery != Recovery::None || self.una == self.max || self.nxt < self.max {
            return false;
        }
        let window = self.control.cwnd().min(u64::from(self.peer_window));
        if room >= burst * p.mss.0 || self.end <= edge || room >= window / WINDOW_SHARE {
            return false;
        }
        let silence = Clock::length(p, self.clock.number(p).saturating_sub(self.active));
        if p.idle_since != IdleSince::Sent || silence > RECENT {
            return false;
        }
        // Nor does a sender whose next acknowledgement is far off, so that acknowledgements keep clocking out segments.
        let oldest = self.outstanding.as_deref().and_then(|o| o.sent.as_deref()).and_then(Sent::oldest);
        let rtt = self.rtt.smoothed(p).unwrap_or_default();
        oldest.is_some_and(|sent| sent + rtt <= call.now + (rtt / 2).min(NEAR))
    }
}

#[cfg(test)]
mod tests {
    use aqmkit_base::{Bytes, Instant};

    use super::*;
    use crate::congestion::Window;
    use crate::tcp::Output;
    use crate::tcp::ranges::Range;

    /// Linux's `tcp_update_pacing_rate`: two windows per round trip while the window is below half of the threshold,
    /// then 1.2.
    #[test]
    fn the_pacing_rate_is_a_multiple_of_the_window() {
        let p = Profile { mss: Bytes(1000), ..Profile::linux_6() };
        let mut tcp = Tcp::new(&p, Duration::ZERO);
        assert_eq!(tcp.pacing_rate(&p), None, "there is no round trip yet");
        tcp.rtt.sample(&p, 100_000_000);
        for (segments, per_round_trip) in [(2, 4.0), (19, 38.0), (20, 24.0), (40, 48.0), (100, 120.0)] {
            *tcp.control.window_mut() = Window { cwnd: segments * 1000, ssthresh: 40_000 };
            let rate = tcp.pacing_rate(&p).map(|rate| rate * 0.1 / 1000.0);
            assert!(rate.is_some_and(|seen| (seen - per_round_trip).abs() < 1e-9), "{segments}: {rate:?}");
        }
    }

    /// A sender with 20 segments of 1000 bytes in flight, a window of 30 and data without end, at 1 s. The oldest segment was sent 9.5 ms ago
    /// and the round trip is 10 ms.
    fn sender(p: &Profile) -> Tcp {
        let mut tcp = Tcp::new(p, Duration::ZERO);
        tcp.clock.advance(p, NOW);
        tcp.rtt.sample(p, 10_000_000);
        (tcp.una, tcp.nxt, tcp.max, tcp.end) = (1, 20_001, 20_001, u64::MAX);
        (tcp.peer_window, tcp.active) = (1_000_000, tcp.clock.number(p));
        *tcp.control.window_mut() = Window { cwnd: 30_000, ssthresh: 30_000 };
        sent(&mut tcp, 9_500);
        tcp
    }

    const NOW: Instant = Instant::from_nanos(1_000_000_000);

    /// The oldest segment in flight was sent this many microseconds ago.
    fn sent(tcp: &mut Tcp, micros: u64) {
        let at = NOW - Duration::from_micros(micros);
        let mut sent = Sent::new(true, false, at);
        sent.on_sent(Range { start: 1, end: 20_001 }, at);
        tcp.outstanding.get_or_insert_default().sent = Some(Box::new(sent));
    }

    /// Linux's `tcp_tso_should_defer`, rule by rule: it waits for room for five segments, unless a rule forbids it.
    #[test]
    fn it_waits_for_a_whole_super_packet() {
        let p = Profile { mss: Bytes(1000), ..Profile::linux_6() };
        let waits = |change: fn(&mut Tcp), room: u64, burst: u64| {
            let mut tcp = sender(&p);
            change(&mut tcp);
            let mut out = Output { segments: &mut Vec::new(), events: &mut Vec::new() };
            tcp.waits_for_room(tcp.nxt + room, burst, &Call::new(&p, NOW, &mut out))
        };
        let same = |_: &mut Tcp| ();
        assert!(waits(same, 4_999, 5) && !waits(same, 5_000, 5) && !waits(same, 0, 1));
        // A third of the window, its own or the peer's.
        let smaller: [fn(&mut Tcp); 2] =
            [|tcp: &mut Tcp| tcp.control.window_mut().cwnd = 9_000, |tcp: &mut Tcp| tcp.peer_window = 9_000];
        for small in smaller {
            assert!(waits(small, 2_999, 5) && !waits(small, 3_000, 5));
        }
        // All data that is left.
        assert!(waits(|tcp| tcp.end = tcp.nxt + 2_001, 2_000, 5) && !waits(|tcp| tcp.end = tcp.nxt + 2_000, 2_000, 5));
        // The next acknowledgement is more than a millisecond away, or a millisecond has passed without sending.
        assert!(waits(|tcp| sent(tcp, 9_000), 2_000, 5) && !waits(|tcp| sent(tcp, 8_999), 2_000, 5));
        assert!(waits(|tcp| tcp.active -= 1_000_000, 2_000, 5) && !waits(|tcp| tcp.active -= 1_000_001, 2_000, 5));
        // Recovery, retransmissions, and the first segment in flight.
        assert!(!waits(|tcp| tcp.recovery = Recovery::Fast { until: 20_001, partial: false }, 2_000, 5));
        assert!(!waits(|tcp| tcp.nxt = 10_001, 2_000, 5) && !waits(|tcp| tcp.una = tcp.max, 2_000, 5));
        let without_pacing = Profile { idle_since: IdleSince::Received, ..p.clone() };
        let tcp = sender(&without_pacing);
        let mut out = Output { segments: &mut Vec::new(), events: &mut Vec::new() };
        assert!(!tcp.waits_for_room(tcp.nxt + 2_000, 5, &Call::new(&without_pacing, NOW, &mut out)));
    }
}
