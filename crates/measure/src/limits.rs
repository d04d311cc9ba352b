//! Send limits of a group's TCP senders. In the simulator they come from samples of open connections at regular
//! intervals, so that shares of samples are shares of time; at live hosts from the times that the kernel counts.

use aqmkit_base::{Duration, SendLimit};

use crate::arithmetic::share;
use crate::output::Limits;

/// State of the sender of an open connection at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderSample {
    /// The limit in effect.
    pub limit: SendLimit,
    /// The limit for unacknowledged data apart from cwnd, in bytes: receive window or send buffer.
    pub window: u64,
    /// Smoothed RTT; `None` before the first sample.
    pub rtt: Option<Duration>,
    /// Whether it has unlimited data to send.
    pub endless: bool,
}

/// Weighted sums of one group's samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sampled {
    application: u64,
    congestion_window: u64,
    receive_window: u64,
    send_buffer: u64,
    endless: u64,
    /// Samples limited by receive window or send buffer: sums of the windows in bytes, and of window / RTT in bit/s.
    window_bytes: u64,
    window_bps: f64,
    with_rtt: u64,
}

impl Sampled {
    /// Adds a sample. Its weight is 1 in the simulator, or the time that it represents.
    pub(crate) fn add(&mut self, sample: &SenderSample, weight: u64) {
        self.endless += u64::from(sample.endless) * weight;
        match sample.limit {
            SendLimit::Application => self.application += weight,
            SendLimit::CongestionWindow => self.congestion_window += weight,
            SendLimit::ReceiveWindow => self.receive_window += weight,
            SendLimit::SendBuffer => self.send_buffer += weight,
        }
        if matches!(sample.limit, SendLimit::ReceiveWindow | SendLimit::SendBuffer) {
            self.window_bytes += sample.window * weight;
            if let Some(rtt) = sample.rtt.filter(|rtt| !rtt.is_zero()) {
                self.window_bps += weight as f64 * (sample.window as f64 * 8.0 / rtt.as_secs_f64());
                self.with_rtt += weight;
            }
        }
    }

    /// Whether a sender with endless data was seen since `earlier`.
    pub(crate) fn sends_without_end_since(&self, earlier: &Sampled) -> bool {
        self.endless > earlier.endless
    }

    /// The increase since `earlier` in the form of results; `None` without samples.
    pub(crate) fn limits_since(&self, earlier: &Sampled) -> Option<Limits> {
        let of = |count: fn(&Sampled) -> u64| count(self) - count(earlier);
        let windows = of(|s| s.receive_window + s.send_buffer);
        let all = windows + of(|s| s.application + s.congestion_window);
        let mean = |sum: f64, count: u64| (count > 0).then(|| sum / count as f64);
        (all > 0).then(|| Limits {
            application: share(of(|s| s.application), all),
            congestion_window: share(of(|s| s.congestion_window), all),
            receive_window: share(of(|s| s.receive_window), all),
            send_buffer: share(of(|s| s.send_buffer), all),
            window_bytes: mean(of(|s| s.window_bytes) as f64, windows),
            window_bps: mean(self.window_bps - earlier.window_bps, of(|s| s.with_rtt)),
            ..Limits::default()
        })
    }
}
