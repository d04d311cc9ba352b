//! A video whose rate follows an estimate of the bandwidth.

use std::sync::Arc;
use std::time::{Duration, Instant};

use str0m::Rtc;
use str0m::media::{Mid, Pt};
use str0m::rtp::RtpWrite;

use crate::Params;

/// Bytes of payload in a packet.
const PACKET: usize = 1100;
/// Ticks of an RTP timestamp in a second.
const CLOCK: u64 = 90_000;

/// The frames of one sender, all of the same size as long as the estimate does not change.
#[derive(Debug)]
pub(crate) struct Video {
    mid: Mid,
    pt: Pt,
    interval: Duration,
    next: Instant,
    frames: u64,
    packets: u64,
    payload: Arc<[u8]>,
}

impl Video {
    pub(crate) fn new(mid: Mid, pt: Pt, params: &Params, now: Instant) -> Self {
        let interval = Duration::from_secs(1) / u32::from(params.frames);
        Video { mid, pt, interval, next: now, frames: 0, packets: 0, payload: vec![0; PACKET].into() }
    }

    /// When the next frame is due.
    pub(crate) fn due(&self) -> Instant {
        self.next
    }

    /// Writes the frames that are due, at this rate in bits per second. Whether there was one.
    pub(crate) fn write(&mut self, rtc: &mut Rtc, rate: f64, now: Instant) -> bool {
        let mut has_written = false;
        while self.next <= now {
            self.write_frame(rtc, (rate / 8.0 * self.interval.as_secs_f64()) as usize, now);
            self.next += self.interval;
            has_written = true;
        }
        has_written
    }

    fn write_frame(&mut self, rtc: &mut Rtc, bytes: usize, now: Instant) {
        let mut direct = rtc.direct_api();
        let Some(stream) = direct.stream_tx_by_mid(self.mid, None) else { return };
        let time = (self.frames * CLOCK).saturating_mul(self.interval.as_nanos() as u64) / 1_000_000_000;
        let mut left = bytes.max(1);
        while left > 0 {
            let len = left.min(PACKET);
            left -= len;
            let payload = if len == PACKET { Arc::clone(&self.payload) } else { vec![0; len].into() };
            let packet = RtpWrite::new(self.pt, self.packets.into(), time as u32, now, payload);
            stream.write_rtp(packet.marker(left == 0).nackable(true));
            self.packets += 1;
        }
        self.frames += 1;
    }
}
