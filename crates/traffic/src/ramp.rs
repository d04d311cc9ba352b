//! # ramp: a rate that follows a line through points
//!
//! Unresponsive datagrams of one size at a piecewise linear rate, to show how a queue treats a load from
//! zero to more than the link.
//!
//! ## Model
//!
//! Between two points the rate is linear; before the first and after the last it is constant. Packet `n` leaves when
//! the rate, integrated since the start, has produced `n + phase` packets:
//!
//! ```text
//! integral of rate from 0 to t_n = (n + phase) 8 packet          phase uniform on (0, 1]
//! r tau + s tau^2 / 2 = b   =>   tau = 2 b / (r + sqrt(r^2 + 2 s b))     in a segment from rate r with slope s
//! ```
//!
//! The root in this form loses no digits, for slopes of both signs and of zero. Each time is solved from the start
//! and not from the previous packet, so there is no drift, and a rate of zero sends nothing.
//!
//! Two points at one time are a step. As in `cbr`, `packet` and the rates are **those of the IP packet**, with 28
//! bytes of IP and UDP header. Times count from the start of the traffic.
//!
//! ## Parameters
//!
//! | field | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|
//! | `packet` | size | 1075b | size of the IP packet; at least 29b |
//! | `points` | time, rate | below | at least one `["90s", "0bit"]`, times in order |
//!
//! The default is the *other* traffic of parris01 IV.5.2.2: nothing until 90 s, 500 KB/s at 176 s, 800 KB/s at
//! 240 s, and the same mirrored: 500 KB/s at 304 s and nothing from 390 s (a KB is 1024 bytes there).
//!
//! Counters: those of `cbr`.
//!
//! ## Deviations
//!
//! 1. parris01 says "linearly from 0 to 800"; its points 0, 500 and 800 KB/s at 90, 176 and 240 s are not on one line.
//!    The points are kept.
//!
//! ## Evidence
//!
//! `tests/traffic/cbr.rs`: packets up to each point equal the integral, and a step-wise rate would fail it; times
//! within a segment lie on the parabola.
//!
//! ## References
//!
//! * parris01: M. Parris, Class-Based Thresholds, dissertation, UNC 2001, chapter IV.5.

use aqmkit_base::{BitRate, Bytes, Duration, Ecn, Instant, Rng};
use serde::{Deserialize, Serialize};

use super::Application;
use super::datagrams::{Flow, Out, Sender, payload_of};
use super::model::{Data, Model, ParamError, Population, texts};

/// A time since the start of the traffic, and the rate at that time.
pub type Point = (Duration, BitRate);

/// The parameters of the ramp as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Size of the IP packet.
    pub packet: Bytes,
    /// Rates at given times, with IP and UDP headers.
    pub points: Vec<Point>,
}

impl Default for Params {
    fn default() -> Self {
        let point = |secs, kib: u64| (Duration::from_secs(secs), BitRate::from_bps(kib * 1024 * 8));
        let points = vec![point(90, 0), point(176, 500), point(240, 800), point(304, 500), point(390, 0)];
        Params { packet: Bytes(1075), points }
    }
}

impl Model for Params {
    const NAME: &'static str = "ramp";

    fn check(&self) -> Result<(), ParamError> {
        payload_of("packet", self.packet)?;
        if self.points.is_empty() {
            return Err(ParamError::new("points", "[]", r#"it needs at least one ["90s", "0bit"]"#));
        }
        let back = self.points.windows(2).position(|w| w[1].0 < w[0].0);
        match back {
            Some(i) => Err(ParamError::new(
                format!("points[{}]", i + 1),
                self.points[i + 1].0,
                format!("it must not be before the previous point, {}", self.points[i].0),
            )),
            None => Ok(()),
        }
    }

    fn prepare(&self, data: &[Data]) -> Result<Box<dyn Population>, ParamError> {
        texts(data, 0)?;
        self.check()?;
        Ok(Box::new(One { payload: payload_of("packet", self.packet)?, line: Line::new(&self.points) }))
    }
}

/// A piece of the line with constant slope.
#[derive(Clone, Copy, Debug)]
struct Segment {
    /// Start in seconds.
    begin: f64,
    /// End in seconds; infinite for the last segment.
    end: f64,
    /// Bits sent before the segment.
    before: f64,
    /// Rate at its start, in bits per second.
    rate: f64,
    /// Bits per second per second.
    slope: f64,
}

impl Segment {
    /// Bits sent in its first `secs` seconds.
    fn bits(&self, secs: f64) -> f64 {
        self.rate * secs + self.slope * secs * secs / 2.0
    }
}

/// A piecewise linear rate that can be integrated and inverted.
#[derive(Clone, Debug)]
pub struct Line {
    segments: Vec<Segment>,
}

impl Line {
    /// The line through these points, whose times must not fall; constant before the first and after the last. Without
    /// points the rate is zero.
    #[must_use]
    pub fn new(points: &[Point]) -> Self {
        let at = |p: &Point| (p.0.as_secs_f64(), p.1.as_bps() as f64);
        let (first, last) = (points.first().map_or((0.0, 0.0), at), points.last().map_or((0.0, 0.0), at));
        let mut line = Line { segments: Vec::with_capacity(points.len() + 1) };
        line.push(0.0, first.0, first.1, first.1);
        for w in points.windows(2) {
            let ((begin, rate), (end, to)) = (at(&w[0]), at(&w[1]));
            line.push(begin, end, rate, to);
        }
        line.push(last.0, f64::INFINITY, last.1, last.1);
        line
    }

    fn push(&mut self, begin: f64, end: f64, rate: f64, to: f64) {
        if end <= begin {
            return; // A step has no duration.
        }
        let before = self.segments.last().map_or(0.0, |s| s.before + s.bits(s.end - s.begin));
        let slope = if end.is_finite() { (to - rate) / (end - begin) } else { 0.0 };
        self.segments.push(Segment { begin, end, before, rate, slope });
    }

    /// The time in seconds at which `bits` bits have been sent; `None` if the line never sends that many. The search
    /// begins at segment `from` and updates it: pass 0, or the value that a call with fewer bits left.
    #[must_use]
    pub fn time_of(&self, bits: f64, from: &mut usize) -> Option<f64> {
        while let Some(next) = self.segments.get(*from + 1).filter(|s| s.before < bits) {
            debug_assert!(next.begin.is_finite());
            *from += 1;
        }
        let segment = self.segments.get(*from)?;
        let missing = bits - segment.before;
        let root = segment.rate * segment.rate + 2.0 * segment.slope * missing;
        let divisor = segment.rate + libm::sqrt(root.max(0.0));
        if divisor <= 0.0 {
            return None;
        }
        Some((segment.begin + 2.0 * missing / divisor).min(segment.end))
    }

    /// Bits sent until `secs`.
    #[must_use]
    pub fn bits_at(&self, secs: f64) -> f64 {
        let inside = self.segments.iter().take_while(|s| s.begin <= secs).last();
        inside.map_or(0.0, |s| s.before + s.bits(secs - s.begin))
    }
}

struct One {
    payload: u32,
    line: Line,
}

impl Population for One {
    fn instances(&self) -> usize {
        1
    }

    fn make(&self, _index: usize, rng: &mut Rng) -> Box<dyn Application> {
        Flow::of(Climber {
            payload: self.payload,
            line: self.line.clone(),
            segment: 0,
            phase: rng.uniform_open(),
            start: Instant::ZERO,
        })
    }

    fn mean_payload(&self) -> Option<f64> {
        Some(f64::from(self.payload))
    }
}

/// The sender of the flow.
struct Climber {
    payload: u32,
    line: Line,
    /// Segment of the last packet, where the next search starts.
    segment: usize,
    phase: f64,
    start: Instant,
}

impl Climber {
    /// Requests a wake-up for the next packet, if there is one.
    fn schedule(&mut self, out: &mut Out<'_, '_>) {
        let packet_bits = f64::from(self.payload + super::model::UDP_HEADERS) * 8.0;
        let bits = (out.sent() as f64 + self.phase) * packet_bits;
        if let Some(at) = self.line.time_of(bits, &mut self.segment) {
            out.wake_at(self.start + Duration::from_secs_f64(at));
        }
    }
}

impl Sender for Climber {
    fn start(&mut self, out: &mut Out<'_, '_>) {
        self.start = out.cx.now;
        self.schedule(out);
    }

    fn wake(&mut self, out: &mut Out<'_, '_>) {
        out.send(self.payload, Ecn::NotEct);
        self.schedule(out);
    }
}
