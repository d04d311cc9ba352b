//! # call: video calls with a congestion control for real-time media
//!
//! Video whose sender adapts to the delay and the losses of the path, as in browsers. One flow is one direction of a
//! call: for both, use two groups, one with `direction = "reverse"`.
//!
//! ## Model
//!
//! ```text
//! camera     a frame every 1 / fps; its size is rate / fps (1 + a Laplacian draw of scale 0.15) (rfc8593),
//!            cut into packets of 1200 bytes
//! pacer      packets leave at 2.5 times the rate with gcc (webrtc), at about the rate with nada
//! report     every `feedback` the receiver reports the arrivals and marks of packets; each report repeats the previous one
//! repair     a packet that is missing in a report is retransmitted once, before all others
//! screen     a frame is shown when it is complete and all earlier ones have been shown or given up;
//!            a frame is given up after 1 s
//! ```
//!
//! **Rate with `control = "gcc"`**: Google's congestion control (gcc) with the trend line that replaced its Kalman filter (webrtc); the rate is the lower
//! one of two, between `min_rate` and `max_rate`:
//!
//! ```text
//! delay   groups of packets (5 ms); the slope of their smoothed delay (0.9) over 20 groups, times groups (up to 60) times 4, against a
//!         threshold that follows it (12.5 ms at first, from 6 to 600 ms): above it for 10 ms and not falling is overuse
//!         normal: 8 % more each second; near the capacity half a packet in 100 ms + rtt; at most 1.5 times what arrives
//!         overuse: 0.85 of what arrives, measured over 0.5 s; underuse: wait
//! loss    over 10 % in a second: (1 - loss / 2) times; under 2 %: 1.05 times
//! ```
//!
//! **Rate with `control = "nada"`**: NADA (rfc8698). Delay, losses and marks are one congestion signal `x` in milliseconds, and all flows of equal
//! `priority` and `max_rate` that see the same signal come to the same rate:
//!
//! ```text
//! queue    the least of the last 15 one-way delays, above the least ever
//!          beside losses, from 50 ms on: 50 ms exp(-0.5 (queue - 50 ms) / 50 ms), so that a flow keeps its share against TCP;
//!          the last loss expires over the 8th average loss interval after it                        [eq. 1, sec 4.2]
//! x        = queue + 2 ms (marked / 1 %)^2 + 10 ms (lost / 1 %)^2, ratios of half a second, smoothed with 0.1  [eq. 2, 10]
//! ramp up, while in half a second nothing was lost or marked and no delay was 10 ms:
//!          rate = max(rate, (1 + 50 ms / (rtt + 220 ms)) what arrives)                              [eq. 3, 4]
//! else     rate -= rate / 2 (delta / 500 ms) (x - priority 10 ms max_rate / rate) / 500 ms
//!                + rate (x - x before) / 500 ms                                                     [eq. 5 to 7]
//! held     bytes in the pacer: the encoder gets min(5 % of the rate, 0.1 held fps) less, the pacer sends as much more [eq. 11 to 14]
//! ```
//!
//! At rest `x = priority 10 ms max_rate / rate`: alone on a link of 1 Mbit/s, with a `max_rate` of 1.5, the queue stands at 15 ms. Losses or marks
//! that come less than once in half a second let the rate ramp up in between.
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
//! | `control` | | gcc | what sets the rate: `gcc` or `nada` |
//! | `ecn` | | off | with `nada`: the codepoint of packets, `ect0` (rfc6679) or `ect1` (L4S); gcc does not react to marks |
//! | `priority` | | 1 | with `nada`: the weight of the flow (PRIO); its rate beside others is proportional to it |
//! | `start_rate` | rate | by `control` | the rate at first: 300kbit with gcc (webrtc), `min_rate` with nada (rfc8698) |
//! | `min_rate` | rate | 150kbit | the lowest rate (rfc8867) |
//! | `max_rate` | rate | 1500kbit | the highest rate (rfc8867); with gcc it takes a minute to get there |
//! | `feedback` | time | 100ms | time from report to report (DELTA of rfc8698) |
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
//! 4. After a second without reports the rate is halved, and again after each further one (chosen; no RFC says anything of it).
//! 5. A packet has 20 bytes of RTP header with extension; a report has 20 bytes and 2 for each packet (after rfc8888; chosen for gcc, after the
//!    transport-wide feedback of webrtc). The next report replaces a lost one. No forward error correction, no sound.
//! 6. Sender and receiver have the same clock. In a simulation the `delays` of a topology are on the reverse path, so that they delay reports but not frames.
//!
//! 7. nada: a mark ends the ramp-up like a loss. Section 4.2 of rfc8698 names only losses and delay, section 4 a congestion signal of zero; according to the
//!    former a flow would keep ramping up although a queue below 10 ms marks its packets.
//! 8. nada: the average loss interval is that of rfc5348 over complete intervals. With the open one, the last loss could never expire,
//!    since the weights sum up to 6 and it expires after 7 averages. Losses within a round trip are one loss event; the first
//!    interval begins at the first packet.
//! 9. nada: the signal is at most 3276.7 ms, what a report can carry. The base delay is the lowest of the whole call; it does not expire.
//! 10. Live hosts do not read marks: `ecn` is refused there.
//!
//! ## Evidence
//!
//! `call/nada/tests.rs`: each equation of rfc8698 worked by hand, its example of a buffer of 2000 bytes, and the rates of random calls against a literal
//! transcription of the pseudo-code. `tests/traffic/nada.rs`: rates at rest under even losses, marks and delays against the equilibrium.
//! `crates/sim/tests/sim/nada.rs`: the queue at rest on links of several rates, fair and weighted shares, round trips, ECN, beside TCP. `experiments/media`: the
//! test cases of rfc8867. These tests detect wrong variants: a mark that does not end the ramp-up, the mean instead of the minimum of the delays, ratios
//! that are not squared.
//!
//! `call/trend.rs`, `call/gcc.rs`: slopes, thresholds, growth, decreases and losses worked by hand. `tests/traffic/call.rs`: sizes and
//! rate of frames, delays, repairs and freezes on scripted networks. `crates/sim/tests/sim/call.rs`: alone on a link of 1 Mbit/s it uses most of the link and
//! keeps the queue short.
//!
//! ## References
//!
//! * gcc: S. Holmer, H. Lundin, G. Carlucci, L. De Cicco, S. Mascolo, A Google Congestion Control Algorithm for Real-Time Communication,
//!   draft-ietf-rmcat-gcc-02, 2016.
//! * webrtc: the trend line estimator and the pacer of the WebRTC project, `modules/congestion_controller/goog_cc` and `modules/pacing`, 2016 and later.
//! * webrtc-stats: W3C, Identifiers for WebRTC's Statistics API, freezeCount.
//! * rfc8698: X. Zhu, R. Pan, M. Ramalho, S. Mena, Network-Assisted Dynamic Adaptation (NADA): A Unified Congestion Control Scheme for Real-Time
//!   Media, 2020.
//! * rfc5348: S. Floyd, M. Handley, J. Padhye, J. Widmer, TCP Friendly Rate Control (TFRC): Protocol Specification, 2008.
//! * rfc6679: M. Westerlund, I. Johansson, C. Perkins, P. O'Hanlon, K. Carlberg, Explicit Congestion Notification (ECN) for RTP over UDP, 2012.
//! * rfc8888: Z. Sarker, C. Perkins, V. Singh, M. Ramalho, RTP Control Protocol (RTCP) Feedback for Congestion Control, 2021.
//! * rfc8593: X. Zhu, S. Mena, Z. Sarker, Video Traffic Models for RTP Congestion Control Evaluations, 2019.
//! * rfc8867: Z. Sarker, V. Singh, X. Zhu, M. Ramalho, Test Cases for Evaluating Congestion Control for Interactive Real-Time Media, 2021.

mod control;
mod gcc;
mod losses;
mod nada;
mod screen;
mod sender;
mod trend;

use aqmkit_base::{BitRate, Duration, Rng};
use serde::{Deserialize, Serialize};

use super::Application;
use super::model::{Data, Knob, Model, ParamError, Population, count_or_none, in_range, texts};
pub use control::{Algorithm, Codepoint};
use control::{Bounds, Control};
use gcc::Gcc;
use nada::Nada;
use sender::Call;

/// The parameters of video calls as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// How many calls, each in one direction; 0 for none.
    pub calls: usize,
    /// Frames in a second.
    pub fps: f64,
    /// The congestion control.
    pub control: Algorithm,
    /// ECN codepoint of the packets.
    pub ecn: Codepoint,
    /// Weight of the flow relative to others (PRIO of RFC 8698).
    pub priority: f64,
    /// Initial rate; the default depends on `control`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_rate: Option<BitRate>,
    /// The lowest rate.
    pub min_rate: BitRate,
    /// The highest rate.
    pub max_rate: BitRate,
    /// Interval of the receiver's reports.
    pub feedback: Duration,
}

impl Default for Params {
    fn default() -> Self {
        let kbit = |kbit: u64| BitRate::from_bps(kbit * 1000);
        Params {
            calls: 1,
            fps: 30.0,
            control: Algorithm::Gcc,
            ecn: Codepoint::Off,
            priority: 1.0,
            start_rate: None,
            min_rate: kbit(150),
            max_rate: kbit(1500),
            feedback: Duration::from_millis(100),
        }
    }
}

impl Params {
    /// The initial rate.
    fn start(&self) -> BitRate {
        let usual = match self.control {
            Algorithm::Gcc => BitRate::from_bps(300_000),
            Algorithm::Nada => self.min_rate,
        };
        self.start_rate.unwrap_or(usual.clamp(self.min_rate, self.max_rate))
    }

    /// Creates the controller of one call.
    fn control(&self) -> Control {
        let bps = |rate: BitRate| rate.as_bps() as f64;
        let (start, bounds) = (bps(self.start()), Bounds { least: bps(self.min_rate), most: bps(self.max_rate) });
        match self.control {
            Algorithm::Gcc => Control::Gcc(Box::new(Gcc::new(start, bounds))),
            Algorithm::Nada => Control::Nada(Box::new(Nada::new(start, bounds, self.priority, self.fps))),
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
        if !(self.min_rate..=self.max_rate).contains(&self.start()) {
            let want = format!("it must be from min_rate = {} to max_rate = {}", self.min_rate, self.max_rate);
            return Err(ParamError::new("start_rate", self.start(), want));
        }
        in_range("priority", self.priority, 0.01, 100.0)?;
        if self.control == Algorithm::Gcc && self.ecn != Codepoint::Off {
            return Err(ParamError::new("ecn", "gcc", "gcc does not react to marks; use control = \"nada\" with ecn"));
        }
        if self.control == Algorithm::Gcc && self.priority != 1.0 {
            return Err(ParamError::new("priority", self.priority, "gcc has no priorities; use control = \"nada\""));
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

    /// It sends datagrams and tolerates their loss, but the default cannot tell: their size follows the rate.
    fn bears_loss(&self) -> bool {
        true
    }
}
