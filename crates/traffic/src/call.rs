//! # call: video calls with Google's congestion control
//!
//! Video whose sender adapts to the delay and the losses of the path, as in browsers. One flow is one direction of a
//! call: for both, use two groups, one with `direction = "reverse"`.
//!
//! ## Model
//!
//! ```text
//! camera     a frame every 1 / fps; its size is rate / fps (1 + a Laplacian draw of scale 0.15) (rfc8593), cut into
//! packets of 1200 bytes pacer      packets leave at 2.5 times the rate (webrtc) report     every `feedback` the
//! receiver reports the arrivals of packets; each report repeats the previous one repair     a packet that is missing
//! in a report is retransmitted once, before all others screen     a frame is shown when it is complete and all earlier
//! ones have been shown or given up; a frame is given up after 1 s
//! ```
//!
//! **Rate**: Google's congestion control (gcc) with the trend line that replaced its Kalman filter (webrtc); the rate is the lower one of two,
//! between `min_rate` and `max_rate`:
//!
//! ```text
//! delay   groups of packets (5 ms); the slope of their smoothed delay (0.9) over 20 groups, times groups (up to 60) times 4, against a
//!         threshold that follows it (12.5 ms at first, from 6 to 600 ms): above it for 10 ms and not falling is overuse
//!         normal: 8 % more each second; near the capacity half a packet in 100 ms + rtt; at most 1.5 times what arrives
//!         overuse: 0.85 of what arrives, measured over 0.5 s; underuse: wait
//! loss    over 10 % in a second: (1 - loss / 2) times; under 2 %: 1.05 times
//! ```
//!
//! **Freezes** are those of webrtc-stats: the time between two frames is at least three times the mean of the last 30 of
//! these times and 150 ms more than it.
//!
//! ## Parameters
//!
//! | field | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|
//! | `calls` | | 1 | how many, **each** in one direction; 0 for none |
//! | `fps` | Hz | 30 | frames in a second |
//! | `start_rate` | rate | 300kbit | the rate at first (webrtc) |
//! | `min_rate` | rate | 150kbit | the lowest rate (rfc8867) |
//! | `max_rate` | rate | 1500kbit | the highest rate (rfc8867); it takes a minute to get there |
//! | `feedback` | time | 100ms | time from report to report |
//!
//! Exchange: `frame`, from the camera to the screen. Counters: `frames_sent`, `frames_received` (shown), `frames_lost` (given up),
//! `packets_sent`, `packets_repaired`, `bytes_received`, `stalls` (freezes), `stalled_s` (frozen), `played_s`, `video_s` (both), `video_bits`
//! (of frames shown). From these come the results `frame_rate`, `video_rate_bps`, `stalled` and `stalls_per_min`.
//!
//! ## Deviations
//!
//! 1. gcc compares the Kalman filter's estimate with the threshold; the trend line with its constants is that of webrtc, which no RFC
//!    describes. There are no probes of the capacity: the rate rises by 5 % to 8 % a second from the start.
//! 2. gcc decides about losses with every report of RTCP, about once a second; here once a second.
//! 3. The encoder reaches its rate immediately and needs no key frames: lost frames do not affect later ones. It skips frames while the pacer holds more than a quarter of a second (chosen).
//! 4. After a second without reports the rate is halved, and again after each further one (chosen).
//! 5. A packet has 20 bytes of RTP header with extension; a report has 20 bytes and 2 for each packet (chosen, after the transport-wide feedback of
//!    webrtc). The next report replaces a lost one. No forward error correction, no sound.
//! 6. Sender and receiver have the same clock. In a simulation the `delays` of a topology are on the reverse path, so that they delay reports but not frames.
//!
//! ## Evidence
//!
//! `call/trend.rs`, `call/gcc.rs`: slopes, thresholds, growth, decreases and losses worked by hand. `tests/traffic/call.rs`: sizes and
//! rate of frames, delays, repairs and freezes on scripted networks. `crates/sim/tests/call.rs`: alone on a link of 1 Mbit/s it uses most of the link and
//! keeps the queue short.
//!
//! ## References
//!
//! * gcc: S. Holmer, H. Lundin, G. Carlucci, L. De Cicco, S. Mascolo, A Google Congestion Control Algorithm for Real-Time Communication,
//!   draft-ietf-rmcat-gcc-02, 2016.
//! * webrtc: the trend line estimator and the pacer of the WebRTC project, `modules/congestion_controller/goog_cc` and `modules/pacing`, 2016 and later.
//! * webrtc-stats: W3C, Identifiers for WebRTC's Statistics API, freezeCount.
//! * rfc8593: X. Zhu, S. Mena, Z. Sarker, Video Traffic Models for RTP Congestion Control Evaluations, 2019.
//! * rfc8867: Z. Sarker, V. Singh, X. Zhu, M. Ramalho, Test Cases for Evaluating Congestion Control for Interactive Real-Time Media, 2021.

mod gcc;
mod screen;
mod sender;
mod trend;

use aqmkit_base::{BitRate, Duration, Rng};
use serde::{Deserialize, Serialize};

use super::Application;
use super::model::{Data, Knob, Model, ParamError, Population, count_or_none, in_range, texts};
use sender::Call;

/// The parameters of video calls as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// How many calls, each in one direction; 0 for none.
    pub calls: usize,
    /// Frames in a second.
    pub fps: f64,
    /// The rate at first.
    pub start_rate: BitRate,
    /// The lowest rate.
    pub min_rate: BitRate,
    /// The highest rate.
    pub max_rate: BitRate,
    /// Time from report to report.
    pub feedback: Duration,
}

impl Default for Params {
    fn default() -> Self {
        let kbit = |kbit: u64| BitRate::from_bps(kbit * 1000);
        Params {
            calls: 1,
            fps: 30.0,
            start_rate: kbit(300),
            min_rate: kbit(150),
            max_rate: kbit(1500),
            feedback: Duration::from_millis(100),
        }
    }
}

impl Model for Params {
    const NAME: &'static str = "call";

    fn check(&self) -> Result<(), ParamError> {
        count_or_none("calls", self.calls)?;
        in_range("fps", self.fps, 1.0, 120.0)?;
        let (least, most) = (BitRate::from_bps(10_000), BitRate::from_mbps(100));
        if !(least..=most).contains(&self.min_rate) {
            return Err(ParamError::new("min_rate", self.min_rate, "it must be from 10kbit to 100mbit"));
        }
        if !(self.min_rate..=most).contains(&self.max_rate) {
            let want = format!("it must be from min_rate = {} to 100mbit", self.min_rate);
            return Err(ParamError::new("max_rate", self.max_rate, want));
        }
        if !(self.min_rate..=self.max_rate).contains(&self.start_rate) {
            let want = format!("it must be from min_rate = {} to max_rate = {}", self.min_rate, self.max_rate);
            return Err(ParamError::new("start_rate", self.start_rate, want));
        }
        if !(Duration::from_millis(10)..=Duration::from_secs(1)).contains(&self.feedback) {
            return Err(ParamError::new("feedback", self.feedback, "it must be from 10ms to 1s"));
        }
        Ok(())
    }

    fn knob(&mut self) -> Option<Knob<'_>> {
        Some(Knob::Count("calls", &mut self.calls))
    }

    fn prepare(&self, data: &[Data]) -> Result<Box<dyn Population>, ParamError> {
        texts(data, 0)?;
        self.check()?;
        Ok(Box::new(Calls(self.clone())))
    }
}

struct Calls(Params);

impl Population for Calls {
    fn instances(&self) -> usize {
        self.0.calls
    }

    fn make(&self, _index: usize, _rng: &mut Rng) -> Box<dyn Application> {
        Box::new(Call::new(self.0.clone()))
    }

    /// It sends datagrams, whose size follows the rate.
    fn bears_loss(&self) -> bool {
        true
    }
}
