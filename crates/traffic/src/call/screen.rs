//! The receiver's video: complete frames, display times and freezes.

use std::collections::VecDeque;

use aqmkit_base::{Duration, Instant};

/// A frame that is not complete after this time is given up.
const LATEST: Duration = Duration::from_secs(1);
/// A freeze is a gap of at least this multiple of the mean gap between frames, and longer than the mean by this time
/// (webrtc-stats).
const FREEZE_TIMES: u64 = 3;
const FREEZE_MORE: Duration = Duration::from_millis(150);
/// Number of gaps in the mean (webrtc-stats).
const RECENT: usize = 30;

/// A frame that is being received.
#[derive(Clone, Debug)]
struct Frame {
    captured: Instant,
    bytes: u64,
    /// Received packets, by index.
    received: Vec<bool>,
}

impl Frame {
    fn whole(&self) -> bool {
        self.received.iter().all(|received| *received)
    }
}

/// A displayed frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) captured: Instant,
    pub(super) bytes: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    pub(super) shown: u64,
    pub(super) lost: u64,
    pub(super) freezes: u64,
    pub(super) frozen: Duration,
    pub(super) played: Duration,
    pub(super) bytes: u64,
}

/// Decides when frames are displayed.
#[derive(Clone, Debug, Default)]
pub(super) struct Screen {
    /// Frames from number `first` on that are neither shown nor given up.
    frames: VecDeque<Frame>,
    first: u64,
    /// When the last frame was shown, and the last gaps between frames.
    last: Option<Instant>,
    recent: VecDeque<Duration>,
    pub(super) counted: Counted,
}

impl Screen {
    /// Registers a captured frame of this length and number of packets; returns its number.
    pub(super) fn expect(&mut self, captured: Instant, bytes: u64, packets: usize) -> u64 {
        self.frames.push_back(Frame { captured, bytes, received: vec![false; packets] });
        self.first + self.frames.len() as u64 - 1
    }

    /// Records a received packet.
    pub(super) fn packet(&mut self, frame: u64, index: usize) {
        let place = frame.checked_sub(self.first).and_then(|place| self.frames.get_mut(place as usize));
        if let Some(received) = place.and_then(|of| of.received.get_mut(index)) {
            *received = true;
        }
    }

    /// Shows the next frame if it is complete, and returns it. Gives up frames that are too late.
    pub(super) fn show(&mut self, now: Instant) -> Option<Shown> {
        loop {
            let frame = self.frames.front()?;
            let whole = frame.whole();
            if !whole && now.since(frame.captured) < LATEST {
                return None;
            }
            let Shown { captured, bytes } = Shown { captured: frame.captured, bytes: frame.bytes };
            self.frames.pop_front();
            self.first += 1;
            if whole {
                self.counted.shown += 1;
                self.counted.bytes += bytes;
                self.between(now);
                return Some(Shown { captured, bytes });
            }
            self.counted.lost += 1;
        }
    }

    /// Checks the gap since the previous frame for a freeze.
    fn between(&mut self, now: Instant) {
        let Some(last) = self.last.replace(now) else { return };
        let time = now.since(last);
        let mean = match self.recent.len() as u64 {
            0 => time,
            n => self.recent.iter().copied().sum::<Duration>() / n,
        };
        if time >= (mean * FREEZE_TIMES).max(mean + FREEZE_MORE) {
            self.counted.freezes += 1;
            self.counted.frozen += time;
        } else {
            self.counted.played += time;
        }
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn frames_are_shown_in_order_when_they_are_whole() {
        let mut screen = Screen::default();
        assert_eq!(screen.expect(at(0), 2000, 2), 0);
        assert_eq!(screen.expect(at(33), 900, 1), 1);
        screen.packet(1, 0);
        screen.packet(0, 1);
        assert_eq!(screen.show(at(50)), None, "the first one is not whole");
        screen.packet(0, 0);
        assert_eq!(screen.show(at(60)), Some(Shown { captured: at(0), bytes: 2000 }));
        assert_eq!(screen.show(at(60)), Some(Shown { captured: at(33), bytes: 900 }));
        assert_eq!(screen.show(at(60)), None);
        screen.packet(0, 0);
        assert_eq!((screen.counted.shown, screen.counted.bytes), (2, 2900), "it arrived again, without effect");
    }

    #[test]
    fn a_frame_is_given_up_after_a_second() {
        let mut screen = Screen::default();
        screen.expect(at(0), 2000, 2);
        screen.expect(at(33), 900, 1);
        screen.packet(1, 0);
        assert_eq!(screen.show(at(999)), None);
        assert_eq!(screen.show(at(1000)), Some(Shown { captured: at(33), bytes: 900 }));
        assert_eq!((screen.counted.lost, screen.counted.shown), (1, 1));
    }

    #[test]
    fn a_freeze_is_three_times_and_150_ms_more_than_the_mean() {
        let mut screen = Screen::default();
        let mut show = |ms: u64| {
            let frame = screen.expect(at(ms), 100, 1);
            screen.packet(frame, 0);
            screen.show(at(ms));
            screen.counted.freezes
        };
        (0..40).for_each(|i| _ = show(i * 33));
        // The mean gap is 33 ms: 183 ms is a freeze, 182 ms is not.
        assert_eq!(show(39 * 33 + 182), 0);
        let frozen = show(39 * 33 + 182 + 190);
        assert_eq!(frozen, 1, "the mean of 30 is 37 ms now");
        assert_eq!(screen.counted.frozen, Duration::from_millis(190));
        assert_eq!(screen.counted.played, Duration::from_millis(39 * 33 + 182));
    }

    /// With frames 100 ms apart the factor of three is the stricter condition.
    #[test]
    fn a_freeze_of_slow_frames_is_three_times_the_mean() {
        let frozen = |gap: u64| {
            let mut screen = Screen::default();
            let mut show = |ms: u64| {
                let frame = screen.expect(at(ms), 100, 1);
                screen.packet(frame, 0);
                screen.show(at(ms));
            };
            (0..=40).for_each(|i| show(i * 100));
            show(4000 + gap);
            (screen.counted.freezes, screen.counted.frozen, screen.counted.played)
        };
        let ms = Duration::from_millis;
        assert_eq!(frozen(299), (0, Duration::ZERO, ms(4299)));
        assert_eq!(frozen(300), (1, ms(300), ms(4000)));
    }

    /// The mean is over the last 30 gaps.
    #[test]
    fn older_gaps_are_forgotten() {
        let mut screen = Screen::default();
        let mut now = 0;
        let mut show = |gap: u64| {
            now += gap;
            let frame = screen.expect(at(now), 100, 1);
            screen.packet(frame, 0);
            screen.show(at(now));
            screen.counted.freezes
        };
        (0..=20).for_each(|_| _ = show(1000));
        (0..30).for_each(|_| _ = show(40));
        // The long gaps have left the mean: 190 ms is a freeze.
        assert_eq!((show(189), show(600)), (0, 1));
    }
}
