//! One direction of a call: camera, pacer and reports.

use std::collections::{BTreeMap, VecDeque};

use aqmkit_base::{Duration, Ecn, Instant, Rng};

use super::control::{Control, Fate, Report};
use super::screen::Screen;
use super::{Codepoint, Params};
use crate::{Action, Application, Arrival, Cx, Event, Exchange, Side};

/// The largest payload of video in a packet.
const PAYLOAD: u64 = 1200;
/// Bytes of the RTP header with extension.
const RTP: u32 = 20;
/// Bytes of a report without packets, and per packet in it.
const REPORT: usize = 20;
const REPORTED: usize = 2;
/// Scale of the Laplacian distribution of frame sizes (rfc8593), and the smallest size relative to the mean.
const VARIATION: f64 = 0.15;
const LEAST_FRAME: f64 = 0.1;
/// The encoder skips frames while the pacer holds more than this, in seconds at the current rate.
const HELD: f64 = 0.25;
/// The rate is halved after this time without reports.
const SILENCE: Duration = Duration::from_secs(1);
/// Age up to which a lost packet is retransmitted, and after which it is forgotten.
const USEFUL: Duration = Duration::from_secs(1);
const REMEMBERED: Duration = Duration::from_secs(5);

const COUNTERS: &[&str] = &[
    "frames_sent",
    "frames_received",
    "frames_lost",
    "packets_sent",
    "packets_repaired",
    "bytes_received",
    "stalls",
    "stalled_s",
    "played_s",
    "video_s",
    "video_bits",
];

/// A packet of a frame.
#[derive(Clone, Copy, Debug)]
struct Part {
    frame: u64,
    index: usize,
    captured: Instant,
    /// Payload and RTP header, in bytes.
    len: u32,
}

/// A sent packet.
#[derive(Clone, Copy, Debug)]
struct Sent {
    part: Part,
    at: Instant,
    /// Whether a report has acknowledged it or reported it lost.
    known: bool,
}

/// Contents of a report: packet numbers, arrival times and codepoints.
type Arrivals = Vec<(u64, Instant, Ecn)>;

/// A call in one direction.
pub(super) struct Call {
    params: Params,
    control: Control,
    // The sender.
    next_frame: Instant,
    frames: u64,
    pacer: VecDeque<Part>,
    /// When the pacer may send the next packet.
    free: Instant,
    sent: VecDeque<Sent>,
    /// Packet number of `sent[0]`.
    first: u64,
    repaired: u64,
    /// When the last report arrived.
    last_report: Instant,
    // The receiver.
    screen: Screen,
    next_report: Instant,
    /// Packets that arrived since the last report, and those in that report.
    arrived: Arrivals,
    reported: Arrivals,
    bytes: u64,
    /// Reports in flight, by number.
    reports: BTreeMap<u64, Arrivals>,
    made: u64,
    over: bool,
}

impl Call {
    pub(super) fn new(params: Params) -> Self {
        Call {
            control: params.control(),
            params,
            next_frame: Instant::ZERO,
            frames: 0,
            pacer: VecDeque::new(),
            free: Instant::ZERO,
            sent: VecDeque::new(),
            first: 0,
            repaired: 0,
            last_report: Instant::ZERO,
            screen: Screen::default(),
            next_report: Instant::ZERO,
            arrived: Vec::new(),
            reported: Vec::new(),
            bytes: 0,
            reports: BTreeMap::new(),
            made: 0,
            over: false,
        }
    }

    /// The camera captures a frame.
    fn capture(&mut self, now: Instant, rng: &mut Rng) {
        let held = self.held();
        if 8.0 * held > HELD * self.control.rate() {
            return;
        }
        let mean = self.control.video(held) / self.params.fps / 8.0;
        let size = (mean * (1.0 + laplacian(rng, VARIATION)).max(LEAST_FRAME)).max(1.0) as u64;
        let packets = size.div_ceil(PAYLOAD);
        let frame = self.screen.expect(now, size, packets as usize);
        self.frames += 1;
        for index in 0..packets {
            // The packets of a frame have equal lengths, give or take a byte.
            let len = (size * (index + 1) / packets - size * index / packets) as u32 + RTP;
            self.pacer.push_back(Part { frame, index: index as usize, captured: now, len });
        }
    }

    /// Backlog of the pacer in bytes.
    fn held(&self) -> f64 {
        self.pacer.iter().map(|part| f64::from(part.len)).sum()
    }

    /// Sends packets as the pacing rate allows.
    fn pace(&mut self, cx: &mut Cx<'_>) {
        while self.free <= cx.now {
            let rate = self.control.pacing(self.held());
            let Some(part) = self.pacer.pop_front() else { return };
            let tag = self.first + self.sent.len() as u64;
            self.sent.push_back(Sent { part, at: cx.now, known: false });
            cx.want(Action::Datagram { len: part.len, tag, ecn: self.params.ecn.into() });
            let secs = 8.0 * f64::from(part.len) / rate;
            self.free = self.free.max(cx.now) + Duration::from_secs_f64(secs);
        }
    }

    /// Sends a report of the arrivals since the last but one report.
    fn report(&mut self, cx: &mut Cx<'_>) {
        self.next_report = cx.now + self.params.feedback;
        let new = std::mem::take(&mut self.arrived);
        if new.is_empty() {
            return;
        }
        let mut report = std::mem::replace(&mut self.reported, new);
        report.extend(&self.reported);
        let len = (REPORT + REPORTED * report.len()).min(1472) as u32;
        self.reports.insert(self.made, report);
        cx.want(Action::Reply { len, tag: self.made, ecn: Ecn::NotEct });
        self.made += 1;
    }

    /// Processes a report that has arrived at the sender.
    fn on_report(&mut self, number: u64, made: Instant, cx: &mut Cx<'_>) {
        let Some(mut report) = self.reports.remove(&number) else { return };
        // Reports before this one were lost or overtaken; this one repeats the contents of its predecessor.
        self.reports = self.reports.split_off(&number);
        self.last_report = cx.now;
        report.sort_unstable_by_key(|(seq, ..)| *seq);
        let Some(&(last, last_came, _)) = report.last() else { return };
        let before = last.checked_sub(self.first).map_or(0, |place| place as usize);
        let sent_last = self.sent.get(before).map_or(made, |sent| sent.at);
        let rtt = cx.now.since(made) + last_came.since(sent_last);
        let mut fates: Vec<(u64, Sent, Fate)> = Vec::new();
        for (seq, at, ecn) in report {
            let place = seq.checked_sub(self.first).and_then(|place| self.sent.get_mut(place as usize));
            if let Some(sent) = place.filter(|sent| !sent.known) {
                sent.known = true;
                fates.push((seq, *sent, Fate::Arrived(at, ecn)));
            }
        }
        let mut lost = Vec::new();
        for (seq, sent) in (self.first..).zip(&mut self.sent).take(before).filter(|(_, sent)| !sent.known) {
            sent.known = true;
            lost.push(sent.part);
            fates.push((seq, *sent, Fate::Lost));
        }
        fates.sort_by_key(|(seq, ..)| *seq);
        let (packets, missing) = (fates.len() as u64, lost.len() as u64);
        for (_, sent, fate) in fates {
            self.control.packet(sent.at, sent.part.len, rtt, fate);
        }
        self.control.report(cx.now, Report { made, rtt, packets, lost: missing });
        for part in lost.into_iter().rev().filter(|part| cx.now.since(part.captured) < USEFUL) {
            self.repaired += 1;
            self.pacer.push_front(part);
        }
        while self.sent.front().is_some_and(|sent| sent.known && cx.now.since(sent.at) > REMEMBERED) {
            self.sent.pop_front();
            self.first += 1;
        }
    }

    /// Shows frames as they become complete.
    fn show(&mut self, cx: &mut Cx<'_>) {
        while let Some(shown) = self.screen.show(cx.now) {
            cx.want(Action::Done(Exchange { kind: 0, started: shown.captured, bytes: shown.bytes }));
        }
    }

    fn wake(&mut self, cx: &mut Cx<'_>) {
        if self.next_frame <= cx.now {
            self.next_frame += Duration::from_secs_f64(1.0 / self.params.fps);
            self.capture(cx.now, cx.rng);
        }
        if cx.now.since(self.last_report) >= SILENCE {
            self.last_report = cx.now;
            self.control.silence();
        }
        if self.next_report <= cx.now {
            self.report(cx);
        }
        self.show(cx);
        self.send_due(cx);
    }

    /// Sends what is due, and requests the next wake-up.
    fn send_due(&mut self, cx: &mut Cx<'_>) {
        self.pace(cx);
        let next = self.next_frame.min(self.next_report);
        let next = if self.pacer.is_empty() { next } else { next.min(self.free) };
        cx.want(Action::WakeAt(next));
    }
}

/// A draw from the Laplacian distribution with mean 0.
fn laplacian(rng: &mut Rng, scale: f64) -> f64 {
    let size = -scale * libm::log(rng.uniform_open());
    if rng.chance(0.5) { size } else { -size }
}

impl Application for Call {
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>) {
        match event {
            Event::Stop => self.over = true,
            _ if self.over => {}
            Event::Start => {
                // Cameras are not synchronised.
                let phase = Duration::from_secs_f64(cx.rng.uniform() / self.params.fps);
                (self.next_frame, self.last_report, self.free) = (cx.now + phase, cx.now, cx.now);
                self.control.start(cx.now);
                self.next_report = self.next_frame + self.params.feedback;
                cx.want(Action::WakeAt(self.next_frame));
            }
            Event::Wake => self.wake(cx),
            _ => {}
        }
    }

    fn on_arrival(&mut self, arrival: Arrival, cx: &mut Cx<'_>) {
        if self.over {
            return;
        }
        match arrival.to {
            Side::Client => {
                self.bytes += u64::from(arrival.len);
                self.arrived.push((arrival.tag, cx.now, arrival.ecn));
                let place = arrival.tag.checked_sub(self.first).and_then(|place| self.sent.get(place as usize));
                if let Some(Part { frame, index, .. }) = place.map(|sent| sent.part) {
                    self.screen.packet(frame, index);
                }
                self.show(cx);
            }
            Side::Server => {
                self.on_report(arrival.tag, arrival.sent, cx);
                self.send_due(cx);
            }
        }
    }

    fn reads_marks(&self) -> bool {
        self.params.ecn != Codepoint::Off
    }

    fn exchange_kinds(&self) -> &'static [&'static str] {
        &["frame"]
    }

    fn counters(&self) -> &'static [&'static str] {
        COUNTERS
    }

    fn counter(&self, index: usize) -> f64 {
        let shown = &self.screen.counted;
        let values = [
            self.frames as f64,
            shown.shown as f64,
            shown.lost as f64,
            (self.first + self.sent.len() as u64) as f64,
            self.repaired as f64,
            self.bytes as f64,
            shown.freezes as f64,
            shown.frozen.as_secs_f64(),
            shown.played.as_secs_f64(),
            (shown.frozen + shown.played).as_secs_f64(),
            8.0 * shown.bytes as f64,
        ];
        values.get(index).copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call() -> Call {
        Call::new(Params::default())
    }

    /// Puts a packet of this length into the pacer.
    fn wait(call: &mut Call, len: u32) {
        call.pacer.push_back(Part { frame: 0, index: 0, captured: Instant::ZERO, len });
    }

    /// A quarter of a second at 300 kbit/s is 9375 bytes: with a larger backlog a frame is skipped.
    #[test]
    fn frames_are_skipped_above_a_quarter_of_a_second() {
        let mut rng = Rng::stream(1, "camera");
        for (held, frames) in [(9375, 1), (9376, 0)] {
            let mut call = call();
            wait(&mut call, held);
            call.capture(Instant::ZERO, &mut rng);
            assert_eq!(call.frames, frames, "{held}");
        }
    }

    /// Frame sizes are rate / frame rate, times 1 plus a Laplacian draw of scale 0.15, and at least a tenth of the
    /// mean. A frame is split into equal packets (give or take a byte) of at most 1200 bytes, plus 20 bytes of header.
    #[test]
    fn frames_have_the_published_sizes() {
        let (mut call, mut rng) = (call(), Rng::stream(2, "camera"));
        let mut sizes = Vec::new();
        for number in 0..40_000 {
            call.capture(Instant::ZERO, &mut rng);
            let parts: Vec<Part> = call.pacer.drain(..).collect();
            let lens: Vec<u64> = parts.iter().map(|part| u64::from(part.len - 20)).collect();
            let size: u64 = lens.iter().sum();
            assert_eq!(lens.len() as u64, size.div_ceil(1200));
            assert!(lens.iter().max().unwrap() - lens.iter().min().unwrap() <= 1, "{lens:?}");
            assert!(parts.iter().enumerate().all(|(i, part)| part.index == i && part.frame == number));
            sizes.push(size as f64 / 1250.0 - 1.0);
        }
        let mean = |of: &dyn Fn(f64) -> f64| sizes.iter().map(|x| of(*x)).sum::<f64>() / 40_000.0;
        assert!(mean(&|x| x).abs() < 0.005 && (mean(&f64::abs) / 0.15 - 1.0).abs() < 0.02, "{}", mean(&f64::abs));
        // exp(-2) / 2 of the draws are beyond twice the scale on each side.
        let beyond = |sign: f64| mean(&|x| f64::from(u8::from(sign * x > 0.3)));
        assert!([1.0, -1.0].iter().all(|sign| (beyond(*sign) - 0.0677).abs() < 0.005));
        assert_eq!(sizes.iter().copied().fold(0.0, f64::min), 125.0 / 1250.0 - 1.0);
    }
}
