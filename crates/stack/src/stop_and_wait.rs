//! # stop-and-wait: one datagram at a time
//!
//! A complete [`Stack`], as an example and for tests: each end sends one datagram, waits for its acknowledgement, and repeats it after a timeout
//! that doubles from 300 ms. It therefore delivers one segment per round trip, whatever the rate of the link.
//!
//! ## Parameters
//!
//! | key | default | meaning |
//! |---|---|---|
//! | `segment` | 1000 | bytes of data in a datagram |
//! | `tries` | 8 | transmissions of a datagram before the connection is given up |
//!
//! ## Datagrams
//!
//! A header of 18 bytes: flags (1: the sender has not heard from its peer and wants an answer, 2: no data follows), whether the latest datagram from the peer had CE, the
//! number of the first byte, and the number of the next byte that is expected from the peer, all big-endian; then data.

use std::collections::VecDeque;
use std::sync::Arc;

use aqmkit_base::param::require;
use aqmkit_base::{Duration, Ecn, Instant, ParamError};
use serde::{Deserialize, Serialize};

use crate::catalogue::{self, Settings};
use crate::factory::{self, NewEnd};
use crate::stack::{Datagram, Event, Stack, StackStats, StackView};

/// Bytes of the header.
const HEADER: usize = 18;
const UNANSWERED: u8 = 1;
const FINISHED: u8 = 2;
/// The first timeout, which each further one doubles.
const TIMEOUT: Duration = Duration::from_millis(300);

/// The parameters, in the table `stop-and-wait` of `[transport]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Bytes of data in a datagram.
    pub segment: u16,
    /// Transmissions of a datagram before the connection is given up.
    pub tries: u32,
}

impl Default for Params {
    fn default() -> Self {
        Params { segment: 1000, tries: 8 }
    }
}

/// The stack as an entry of a catalogue.
#[derive(Debug)]
pub struct StopAndWait;

impl catalogue::Kind for StopAndWait {
    const NAME: &'static str = "stop-and-wait";
    const VERSION: &'static str = "1";
    const PAGE: &'static str = "# stop-and-wait: one datagram at a time, an example";
    const CONTROLS: &'static [&'static str] = &[];

    type Params = Params;

    fn check(params: &Params, _: &Settings) -> Result<(), ParamError> {
        require(params.segment > 0, "segment", params.segment, "it must be above 0")?;
        require((1..=16).contains(&params.tries), "tries", params.tries, "it must be from 1 to 16")
    }

    fn factory(params: &Params, settings: &Settings) -> Arc<dyn factory::Factory> {
        Arc::new(Factory { params: params.clone(), ecn: settings.ecn })
    }
}

/// Makes the ends.
#[derive(Clone, Debug, Default)]
pub struct Factory {
    /// The parameters.
    pub params: Params,
    /// Whether datagrams are sent with ECT(0).
    pub ecn: bool,
}

impl factory::Factory for Factory {
    fn name(&self) -> String {
        <StopAndWait as catalogue::Kind>::NAME.to_owned()
    }

    fn headers(&self) -> u32 {
        28
    }

    fn end(&self, _: &NewEnd) -> Box<dyn Stack> {
        Box::new(End { settings: self.clone(), ..End::default() })
    }
}

/// One end of a connection.
#[derive(Default)]
struct End {
    settings: Factory,
    open: bool,
    over: bool,
    /// Bytes written, and those of them that the peer has; `u64::MAX` written is data without end. Closing adds one more byte to `end()`.
    written: u64,
    acknowledged: u64,
    closing: bool,
    /// When to send the current datagram again, and how often it was sent.
    again: Option<Instant>,
    tries: u32,
    /// Bytes that have come, the peer's closing included, and whether it has come.
    received: u64,
    peer_finished: bool,
    /// The ECN field of the latest datagram that has come.
    latest: Ecn,
    stats: StackStats,
    /// Marks that the peer has reported.
    marks_reported: u64,
    out: VecDeque<Datagram>,
    events: VecDeque<Event>,
}

/// The header of a datagram.
struct Header {
    flags: u8,
    ce: bool,
    seq: u64,
    ack: u64,
}

impl Header {
    fn read(bytes: &[u8]) -> Option<Self> {
        let number = |at: usize| Some(u64::from_be_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let header = Header { flags: *bytes.first()?, ce: bytes.get(1) == Some(&1), seq: number(2)?, ack: number(10)? };
        Some(header)
    }
}

impl End {
    /// The number after everything that is to be sent, the closing included.
    fn end(&self) -> u64 {
        self.written.saturating_add(u64::from(self.closing))
    }

    /// Bytes of data in the current datagram.
    fn len(&self) -> u64 {
        (self.written - self.acknowledged.min(self.written)).min(u64::from(self.settings.params.segment))
    }

    /// Sends the current datagram: data, the end of data, or only the acknowledgement.
    fn send(&mut self) {
        let len = self.len();
        let finished = self.closing && self.acknowledged + len == self.written;
        let mut bytes = vec![0; HEADER + len as usize];
        bytes[0] = u8::from(!self.open) * UNANSWERED + u8::from(finished) * FINISHED;
        bytes[1] = u8::from(self.latest == Ecn::Ce);
        bytes[2..10].copy_from_slice(&self.acknowledged.to_be_bytes());
        bytes[10..18].copy_from_slice(&self.received.to_be_bytes());
        let ecn = if self.settings.ecn { Ecn::Ect0 } else { Ecn::NotEct };
        self.out.push_back(Datagram { bytes, ecn });
    }

    fn waits(&self) -> bool {
        !self.open || self.acknowledged < self.end()
    }

    /// Sends the current datagram for the first time.
    fn begin(&mut self, now: Instant) {
        self.tries = 0;
        self.send_and_wait(now);
    }

    fn send_and_wait(&mut self, now: Instant) {
        self.send();
        self.again = self.waits().then(|| now + TIMEOUT.mul_f64(f64::from(1 << self.tries.min(16))));
        self.tries += 1;
    }

    fn finish(&mut self, event: Event) {
        if !self.over {
            (self.over, self.again) = (true, None);
            self.events.push_back(event);
        }
    }
}

impl Stack for End {
    fn connect(&mut self, now: Instant) {
        self.begin(now);
    }

    fn write(&mut self, bytes: u64, now: Instant) {
        let idle = !self.waits();
        self.written = self.written.saturating_add(bytes);
        if idle && !self.over {
            self.begin(now);
        }
    }

    fn close(&mut self, now: Instant) {
        let idle = !self.waits();
        if self.closing || self.over {
            return;
        }
        self.closing = true;
        if idle {
            self.begin(now);
        }
    }

    fn on_datagram(&mut self, datagram: Datagram, now: Instant) {
        let Some(header) = Header::read(&datagram.bytes) else { return };
        self.latest = datagram.ecn;
        self.stats.ce_received += u64::from(datagram.ecn == Ecn::Ce);
        self.marks_reported += u64::from(header.ce);
        let opened = !self.open;
        if opened {
            self.open = true;
            self.events.push_back(Event::Connected);
        }
        let len = (datagram.bytes.len() - HEADER) as u64;
        let finished = header.flags & FINISHED != 0;
        let end = header.seq + len + u64::from(finished);
        let news = header.seq <= self.received && end > self.received;
        if news {
            self.received = end;
            if len > 0 {
                self.events.push_back(Event::Delivered);
            }
            if finished {
                self.peer_finished = true;
                self.events.push_back(Event::PeerFinished);
            }
        }
        let acknowledged = header.ack > self.acknowledged && header.ack <= self.end();
        if acknowledged {
            self.acknowledged = header.ack;
        }
        if self.waits() && (opened || acknowledged || self.again.is_none()) {
            self.begin(now);
        } else if end > header.seq || header.flags & UNANSWERED != 0 {
            // A repeated packet is answered as well: the answer to the first was lost.
            self.send();
        }
        if !self.waits() {
            self.again = None;
        }
        if self.closing && self.peer_finished && !self.waits() {
            self.finish(Event::Closed);
        }
    }

    fn on_deadline(&mut self, now: Instant) {
        if self.again.is_none_or(|at| at > now) {
            return;
        }
        if self.tries >= self.settings.params.tries {
            return self.finish(Event::Failed);
        }
        self.stats.timeouts += 1;
        self.stats.lost += 1;
        self.send_and_wait(now);
    }

    fn transmit(&mut self, _: Instant) -> Option<Datagram> {
        self.out.pop_front()
    }

    fn event(&mut self, _: Instant) -> Option<Event> {
        self.events.pop_front()
    }

    fn deadline(&mut self, _: Instant) -> Option<Instant> {
        self.again
    }

    fn delivered(&self) -> u64 {
        self.received - u64::from(self.peer_finished)
    }

    fn is_closed(&self) -> bool {
        self.over
    }

    fn stats(&mut self) -> StackStats {
        self.stats
    }

    fn view(&self) -> StackView {
        let segment = u64::from(self.settings.params.segment);
        let phase = if self.marks_reported > 0 { "marked" } else { "" };
        StackView { window: Some(segment), in_flight: Some(self.len()), phase, ..StackView::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::factory::{Factory as _, Role};

    fn pair(settings: &Factory) -> [Box<dyn Stack>; 2] {
        [Role::Client, Role::Server].map(|role| settings.end(&NewEnd { role, seed: 1, number: 1 }))
    }

    /// Passes datagrams between the ends at once, except those whose number `lost` names, and jumps to the next deadline when nothing moves.
    fn exchange(ends: &mut [Box<dyn Stack>; 2], lost: &[usize], mark: bool) -> Vec<(usize, Event)> {
        let (mut now, mut sent, mut seen) = (Instant::ZERO, 0, Vec::new());
        for _ in 0..1000 {
            let mut moved = false;
            for side in 0..2 {
                while let Some(mut datagram) = ends[side].transmit(now) {
                    sent += 1;
                    moved = true;
                    if mark {
                        datagram.ecn = Ecn::Ce;
                    }
                    if !lost.contains(&sent) {
                        ends[1 - side].on_datagram(datagram, now);
                    }
                }
                while let Some(event) = ends[side].event(now) {
                    seen.push((side, event));
                    if event == Event::PeerFinished {
                        ends[side].close(now);
                    }
                }
            }
            if moved {
                continue;
            }
            let Some(due) = (0..2).filter_map(|side| ends[side].deadline(now)).min() else { break };
            now = now.max(due);
            ends.iter_mut().for_each(|end| end.on_deadline(now));
        }
        seen
    }

    #[test]
    fn both_streams_arrive_whole_and_close_despite_losses() {
        for lost in [&[][..], &[1], &[2, 3], &[4, 7, 8, 9]] {
            let mut ends = pair(&Factory::default());
            ends[0].connect(Instant::ZERO);
            ends[0].write(2500, Instant::ZERO);
            ends[1].write(1200, Instant::ZERO);
            ends[0].close(Instant::ZERO);
            let seen = exchange(&mut ends, lost, false);
            assert_eq!((ends[0].delivered(), ends[1].delivered()), (1200, 2500), "{lost:?}");
            for side in 0..2 {
                let count = |event| seen.iter().filter(|e| **e == (side, event)).count();
                let counts = [Event::Connected, Event::PeerFinished, Event::Closed, Event::Failed].map(count);
                assert_eq!(counts, [1, 1, 1, 0], "{lost:?}, end {side}");
            }
        }
    }

    /// An end without data of its own answers as well, once for each datagram that wants it.
    #[test]
    fn an_end_that_writes_nothing_opens() {
        for lost in [&[][..], &[1], &[2], &[1, 3]] {
            let mut ends = pair(&Factory::default());
            ends[0].connect(Instant::ZERO);
            let seen = exchange(&mut ends, lost, false);
            assert_eq!(seen.iter().filter(|(_, event)| *event == Event::Connected).count(), 2, "{lost:?}");
            assert_eq!(seen.len(), 2, "{lost:?}");
        }
    }

    #[test]
    fn a_peer_that_is_silent_fails_the_connection() {
        let mut ends = pair(&Factory::default());
        ends[0].connect(Instant::ZERO);
        let all: Vec<usize> = (1..100).collect();
        assert_eq!(exchange(&mut ends, &all, false), [(0, Event::Failed)]);
        assert_eq!((ends[0].is_closed(), ends[0].stats().timeouts), (true, 7));
    }

    #[test]
    fn marks_are_reported_to_the_sender() {
        let mut ends = pair(&Factory { ecn: true, ..Factory::default() });
        ends[0].connect(Instant::ZERO);
        ends[0].write(1000, Instant::ZERO);
        exchange(&mut ends, &[], true);
        assert_eq!(ends[0].view().phase, "marked");
        assert!(ends[1].stats().ce_received > 0);
    }
}
