//! # videoconf: video conferences with ProShare
//!
//! An unresponsive audio and video stream at nearly constant rate, with packets of mixed sizes.
//!
//! ## Model
//!
//! Each flow replays one trace of packets in a loop, from an offset that is uniform on the trace, as in parris01
//! A.3.3.1 with a trace of 294 s. That trace is not available; this one is generated from its published description and
//! is always the same:
//!
//! ```text
//! sound   every 100 ms: 200 bytes
//! video   every 1/15 s: with chance 11/15 two packets, else one            (26 packets per second)
//!         two packets: a full one and a second, uniform on 100 to 632 bytes
//!         one packet:  uniform on 600 to 1440 bytes; all are shifted a few bytes to the mean
//! ```
//!
//! The two packets of a frame are sent at one instant, as an encoder hands them to UDP, or `gap` apart, as a trace has them that was recorded
//! behind a slow link. A full packet is 1500 bytes with its headers, 1472 of payload. The rate of the video, 200 kb/s or 13.3 kb a
//! frame, is assumed to include the headers of IP and UDP: only then are all the published numbers consistent.
//!
//! | | model | published | source |
//! |---|---|---|---|
//! | packets per second | 26 + 10 | 26 + 10 | fitted, A.3.3.1 |
//! | video with headers | 13.3 kb a frame | 13.3 kb (1.66 KB) | fitted, A.3.3.1 |
//! | a flow with headers | 27.2 KB/s | ~27 | check, V.1.2 |
//! | mean packet with headers | 754 bytes | 738 to 757 measured, 728 in table 4.1 | check |
//! | mean payload | 726 bytes | 700 in table 4.1 | check, 4 % above |
//! | six flows | 163 KB/s | ~160; 140 to 180 seen | check, A.3.3.1 |
//!
//! ## Parameters
//!
//! | field | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|
//! | `flows` | | 6 | conferences |
//! | `frame` | size | 13.3 kb (1662.5 bytes) | a frame of video on average, with the headers of IP and UDP; 1626 bytes make six conferences 160,000 bytes a second |
//! | `gap` | time | none | from the first packet of a frame to its second, at most 40 ms; 1.23 ms is what a full packet takes on a 10 Mb/s Ethernet. Without it a full queue drops nearly every second packet |
//! | `trace` | file | none | a packet trace to replay instead: lines `seconds bytes` (of payload), in order of time |
//!
//! Counters: `packets_sent`, `packets_received`, `bytes_received` (payload), `delay_sum_s` (one way, over the
//! packets received).
//!
//! ## Deviations
//!
//! 1. Read as payload, 13.3 kb a frame would make packets of 775 bytes with headers, above all that was measured.
//! 2. V.1.3 has "15 frames per second fragmented into 26 packets": 26 packets per second are meant.
//! 3. The loop of a trace file restarts one mean gap after its last packet. Otherwise the synthetic trace and a file of its packets are the same traffic.
//!
//! ## Evidence
//!
//! `tests/traffic/videoconf.rs`: the rows of the table above; flows that are not in step.
//!
//! ## References
//!
//! * parris01: M. Parris, Class-Based Thresholds, dissertation, UNC 2001, chapter V.1.2, appendix A.3.3.1, table 4.1.

use std::sync::Arc;

use aqmkit_base::{Bytes, Duration, Ecn, Instant, Rng, dist};
use serde::{Deserialize, Serialize};

use super::Application;
use super::datagrams::{Flow, MAX_PAYLOAD, Out, Sender};
use super::empirical::skipped;
use super::model::{Data, Model, ParamError, Population, UDP_HEADERS, count, texts};

/// The parameters of video conferences as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// How many conferences.
    pub flows: usize,
    /// Mean size of a video frame including headers, instead of the published one. The number of packets does not
    /// change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<Bytes>,
    /// Time between the two packets of a video frame; `None` to send both at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<Duration>,
    /// A packet trace to replay instead of the synthetic one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
}

impl Default for Params {
    fn default() -> Self {
        Params { flows: 6, frame: None, gap: None, trace: None }
    }
}

impl Model for Params {
    const NAME: &'static str = "videoconf";

    fn check(&self) -> Result<(), ParamError> {
        count("flows", self.flows)?;
        if let Some(gap) = self.gap.filter(|gap| *gap > LARGEST_GAP) {
            let want = format!("it must be at most {LARGEST_GAP}, so that a frame ends before the next begins");
            return Err(ParamError::new("gap", gap, want));
        }
        match self.frame {
            Some(frame) if !(LEAST_FRAME..=LARGEST_FRAME).contains(&frame.0) => {
                let want = format!(
                    "it must be from {LEAST_FRAME} to {LARGEST_FRAME} bytes, which keeps the number of packets"
                );
                Err(ParamError::new("frame", frame, want))
            }
            _ => Ok(()),
        }
    }

    fn files(&self) -> Vec<String> {
        self.trace.iter().cloned().collect()
    }

    fn count(&mut self) -> Option<(&'static str, &mut usize)> {
        Some(("flows", &mut self.flows))
    }

    fn prepare(&self, data: &[Data]) -> Result<Box<dyn Population>, ParamError> {
        self.check()?;
        let texts = texts(data, self.files().len())?;
        let trace = match (&self.trace, texts.first()) {
            (Some(name), Some(text)) => Trace::parse(name, text)?,
            _ => {
                let frame = self.frame.map_or(FRAME, |frame| frame.0 as f64);
                Trace::proshare(frame, self.gap.unwrap_or(Duration::ZERO))
            }
        };
        Ok(Box::new(Flows { flows: self.flows, trace: Arc::new(trace) }))
    }
}

/// A packet of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Time since the start of the trace.
    pub at: Duration,
    /// Payload bytes.
    pub len: u32,
}

/// A packet trace that is replayed in a loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// In order of time.
    packets: Vec<Packet>,
    /// Length of the loop; no packet is later.
    length: Duration,
}

/// Length of the trace in seconds (A.3.3.1).
const LENGTH: u64 = 294;
/// Payload bytes of a sound packet.
const SOUND: u32 = 200;
/// Payload of a full packet: an MTU of 1500 less the headers.
const FULL: u32 = 1500 - UDP_HEADERS;
/// Published mean size of a video frame in bytes, with headers: 13.3 kb.
pub const FRAME: f64 = 13_300.0 / 8.0;
/// Range of mean frame sizes for which the number of packets stays at the published 26 per second.
const LEAST_FRAME: u64 = 1590;
const LARGEST_FRAME: u64 = 1690;
/// Maximum gap between the packets of a frame: the last frame of the trace starts 44 ms before its end.
const LARGEST_GAP: Duration = Duration::from_millis(40);
/// Mean number of packets of a video frame.
const PER_FRAME: f64 = 26.0 / 15.0;

impl Trace {
    /// The synthetic trace of a ProShare conference, the same on each call. `frame` is the mean size of a video frame
    /// in bytes with headers, `gap` the time between its two packets, at most 40 ms.
    #[must_use]
    pub fn proshare(frame: f64, gap: Duration) -> Self {
        let mut rng = Rng::stream(1, "proshare");
        let sound = (0..LENGTH * 10).map(|n| Packet { at: Duration::from_millis(n * 100), len: SOUND });
        let mut packets: Vec<Packet> = sound.collect();
        let frames = video(&mut rng, (LENGTH * 15) as usize, frame);
        for (n, &size) in frames.iter().enumerate() {
            // A third of a frame interval after the sound, so that sound and video are never sent at the same time.
            let at = Duration::from_secs_f64((n as f64 + 1.0 / 3.0) / 15.0);
            packets.push(Packet { at, len: size.min(FULL) });
            if size > FULL {
                packets.push(Packet { at: at + gap, len: size - FULL });
            }
        }
        packets.sort_by_key(|p| p.at); // A stable sort: keeps the order within a frame.
        Trace { packets, length: Duration::from_secs(LENGTH) }
    }

    /// Parses lines `seconds bytes`. Empty lines and lines with `#` are skipped. `file` is the name in messages.
    ///
    /// # Errors
    /// When a line cannot be parsed, with its number, or if all packets have the same time.
    pub fn parse(file: &str, text: &str) -> Result<Self, ParamError> {
        let mut packets: Vec<Packet> = Vec::new();
        let mut first = None;
        for (i, line) in text.lines().enumerate().filter(|(_, l)| !skipped(l)) {
            let error = |want: String| ParamError::line(file, i + 1, line, want);
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [at, len] = fields[..] else { return Err(error("it must be two numbers: seconds, bytes".into())) };
            let at = at.parse::<f64>().ok().filter(|t| (0.0..1e9).contains(t));
            let at = at.ok_or_else(|| error("the time must be seconds from 0 on".into()))?;
            let len = len.parse::<u64>().ok().filter(|l| (1..=MAX_PAYLOAD).contains(l));
            let len = len.ok_or_else(|| error(format!("the size must be from 1 to {MAX_PAYLOAD} bytes")))?;
            let since = Duration::from_secs_f64(at - *first.get_or_insert(at));
            if at < first.unwrap_or(at) || packets.last().is_some_and(|p| since < p.at) {
                return Err(error("the time must not be before that of the previous line".into()));
            }
            packets.push(Packet { at: since, len: len as u32 });
        }
        let span = packets.last().map_or(Duration::ZERO, |p| p.at);
        if span.is_zero() {
            return Err(ParamError::new(file, format!("{} packets", packets.len()), "it needs two at different times"));
        }
        let length = span + span / (packets.len() as u64 - 1);
        Ok(Trace { packets, length })
    }

    /// The packets, in order of time.
    #[must_use]
    pub fn packets(&self) -> &[Packet] {
        &self.packets
    }

    /// The length of the loop.
    #[must_use]
    pub fn length(&self) -> Duration {
        self.length
    }
}

/// Payload sizes of video frames, of at most two packets each; `mean` is their mean with headers.
fn video(rng: &mut Rng, frames: usize, mean: f64) -> Vec<u32> {
    let full = f64::from(FULL);
    let mut draw = || match rng.chance(PER_FRAME - 1.0) {
        true => full + dist::uniform(rng, 100.0, 632.0),
        false => dist::uniform(rng, 600.0, 1440.0),
    };
    let sizes: Vec<f64> = (0..frames).map(|_| draw()).collect();
    // Shifts all sizes by a few bytes to the exact mean; this does not change the number of packets of any frame.
    let shift = mean - PER_FRAME * f64::from(UDP_HEADERS) - sizes.iter().sum::<f64>() / frames as f64;
    sizes.into_iter().map(|s| (s + shift + 0.5) as u32).collect()
}

struct Flows {
    flows: usize,
    trace: Arc<Trace>,
}

impl Population for Flows {
    fn instances(&self) -> usize {
        self.flows
    }

    fn make(&self, _index: usize, rng: &mut Rng) -> Box<dyn Application> {
        let offset = self.trace.length.mul_f64(rng.uniform());
        let next = self.trace.packets.partition_point(|p| p.at < offset);
        Flow::of(Player { trace: Arc::clone(&self.trace), offset, next, rounds: 0, start: Instant::ZERO })
    }

    fn mean_payload(&self) -> Option<f64> {
        let bytes: f64 = self.trace.packets.iter().map(|p| f64::from(p.len)).sum();
        Some(bytes / self.trace.packets.len() as f64)
    }
}

/// The sender of one conference.
struct Player {
    trace: Arc<Trace>,
    /// Position in the trace at which the flow began.
    offset: Duration,
    /// Index of the next packet in the trace.
    next: usize,
    /// Number of completed repetitions of the trace.
    rounds: u64,
    start: Instant,
}

impl Player {
    /// When the next packet is due; restarts the trace at its end.
    fn due(&mut self) -> Option<Instant> {
        if self.next == self.trace.packets.len() {
            self.next = 0;
            self.rounds += 1;
        }
        let packet = self.trace.packets.get(self.next)?;
        Some(self.start + (self.trace.length * self.rounds + packet.at - self.offset))
    }

    /// Sends all packets that are due, and requests a wake-up for the next one.
    fn send_due(&mut self, out: &mut Out<'_, '_>) {
        while let Some(due) = self.due() {
            if due > out.cx.now {
                out.wake_at(due);
                return;
            }
            out.send(self.trace.packets[self.next].len, Ecn::NotEct);
            self.next += 1;
        }
    }
}

impl Sender for Player {
    fn start(&mut self, out: &mut Out<'_, '_>) {
        self.start = out.cx.now;
        self.send_due(out);
    }

    fn wake(&mut self, out: &mut Out<'_, '_>) {
        self.send_due(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop_assert, proptest};

    #[test]
    fn traces_are_read_from_any_start() {
        let trace = Trace::parse("t", "# a capture\n10.5 200\n10.6 1472\n\n10.6 33\n10.7 200\n").unwrap();
        let at: Vec<f64> = trace.packets().iter().map(|p| p.at.as_millis_f64()).collect();
        assert_eq!(at, [0.0, 100.0, 100.0, 200.0]);
        assert_eq!(trace.length(), Duration::from_millis(200) + Duration::from_millis(200) / 3);
    }

    #[test]
    fn errors_name_the_line() {
        let fails = |text: &str| Trace::parse("t.txt", text).unwrap_err().to_string();
        assert!(fails("1 200\n2 x").starts_with("t.txt line 2 = \"2 x\" is not valid: the size"));
        assert!(fails("2 200\n1 200").contains("must not be before"));
        assert!(fails("1 200 3").contains("two numbers"));
        assert!(fails("-1 200").contains("from 0 on") && fails("NaN 200").contains("from 0 on"));
        assert!(fails("1 0").contains("1 to 65507") && fails("1 65508").contains("1 to 65507"));
        assert!(fails("1e9 1").contains("from 0 on"));
        let ends = Trace::parse("t", "0 1\n999999999 65507\n").unwrap();
        assert_eq!(ends.packets().iter().map(|p| p.len).collect::<Vec<_>>(), [1, 65_507]);
        assert!(fails("1 200\n1 200").contains("two at different times"));
        assert!(fails("").contains("0 packets"));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[-0-9.eNa \n#]*") {
            if let Ok(trace) = Trace::parse("t", &text) {
                prop_assert!(trace.packets().iter().all(|p| p.at <= trace.length()));
            }
        }
    }
}
