//! Makes a [`Stack`] of a connection: one unidirectional stream of zeros in each direction.

use std::collections::VecDeque;
use std::time;

use aqmkit_base::{Ecn, Instant};
use aqmkit_stack::{Datagram, Event, Stack, StackStats, StackView};

use crate::clock::{real, virtual_time};

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The handshake is complete.
    Connected,
    /// The peer has opened its stream.
    Opened,
    /// The peer has acknowledged all of the own stream.
    Acknowledged,
    /// The connection is lost.
    Lost,
}

/// Datagrams that a connection wants to send: in a buffer, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Bytes of all.
    pub size: usize,
    /// Bytes of each but the last.
    pub segment: usize,
    /// The ECN field of all.
    pub ecn: Ecn,
}

/// An endpoint of a stack with one connection.
pub trait Connection: Send {
    /// Opens the connection, at the client. `false` if the stack refuses.
    fn connect(&mut self, now: time::Instant) -> bool;

    /// Takes a datagram. Returns the length of an immediate answer that it has written to `answer`.
    fn receive(&mut self, datagram: &[u8], ecn: Ecn, now: time::Instant, answer: &mut Vec<u8>) -> Option<usize>;

    /// The deadline has passed.
    fn on_deadline(&mut self, now: time::Instant);

    /// The next thing that has happened.
    fn poll(&mut self) -> Option<Progress>;

    /// Reads all that has come in the peer's stream: the number of bytes, and whether the stream has ended.
    fn read(&mut self) -> (u64, bool);

    /// Writes up to this number of zeros to the own stream; returns how many were taken.
    fn write(&mut self, bytes: u64) -> u64;

    /// Ends the own stream. `false` if it cannot be ended yet.
    fn finish(&mut self) -> bool;

    /// The next datagrams, at most this number, in `buffer`.
    fn send(&mut self, now: time::Instant, most: usize, buffer: &mut Vec<u8>) -> Option<Sent>;

    /// The time of the next call of [`Connection::on_deadline`].
    fn deadline(&mut self) -> Option<time::Instant>;

    /// The number of timers that have expired while waiting for the peer; 0 where the stack does not show it.
    fn timeouts(&mut self) -> u32;

    /// The number of packets that were declared lost or sent again.
    fn lost(&mut self) -> u64;

    /// The state of the sender.
    fn view(&self) -> StackView;
}

/// Data that an end still has to write.
#[derive(Debug, Default)]
struct Writing {
    /// Bytes that are still to be written; `u64::MAX` for data without end.
    waiting: u64,
    /// Whether the stream ends after them.
    closing: bool,
    finished: bool,
    acknowledged: bool,
}

/// One end of a connection.
#[derive(Debug)]
pub struct End<C> {
    connection: C,
    /// Datagrams that leave back to back at most.
    burst: usize,
    ecn: bool,
    open: bool,
    own: Writing,
    delivered: u64,
    peer_opened: bool,
    peer_finished: bool,
    over: bool,
    out: VecDeque<Datagram>,
    events: VecDeque<Event>,
    ce_received: u64,
    buffer: Vec<u8>,
}

impl<C: Connection> End<C> {
    /// An end with this connection, which sends at most `burst` datagrams back to back, with ECN fields only if `ecn`.
    pub fn new(connection: C, burst: u16, ecn: bool) -> Self {
        End {
            connection,
            burst: usize::from(burst.max(1)),
            ecn,
            open: false,
            own: Writing::default(),
            delivered: 0,
            peer_opened: false,
            peer_finished: false,
            over: false,
            out: VecDeque::new(),
            events: VecDeque::new(),
            ce_received: 0,
            buffer: Vec::new(),
        }
    }

    fn end_with(&mut self, event: Event) {
        if !self.over {
            self.over = true;
            self.events.push_back(event);
        }
    }

    /// Passes on what a call has brought, and writes and reads what is possible.
    fn drive(&mut self) {
        while let Some(progress) = self.connection.poll() {
            match progress {
                Progress::Connected => {
                    self.open = true;
                    self.events.push_back(Event::Connected);
                }
                Progress::Opened => self.peer_opened = true,
                Progress::Acknowledged => self.own.acknowledged = true,
                Progress::Lost => self.end_with(Event::Failed),
            }
        }
        self.read();
        self.write_on();
        if self.own.acknowledged && self.peer_finished {
            self.end_with(Event::Closed);
        }
    }

    fn read(&mut self) {
        if !self.peer_opened || self.peer_finished {
            return;
        }
        let (bytes, finished) = self.connection.read();
        self.delivered += bytes;
        self.peer_finished = finished;
        if bytes > 0 {
            self.events.push_back(Event::Delivered);
        }
        if finished {
            self.events.push_back(Event::PeerFinished);
        }
    }

    /// Writes as much as the stack takes.
    fn write_on(&mut self) {
        if !self.open || self.own.finished {
            return;
        }
        while self.own.waiting > 0 {
            let taken = self.connection.write(self.own.waiting);
            if taken == 0 {
                return;
            }
            if self.own.waiting != u64::MAX {
                self.own.waiting -= taken;
            }
        }
        if self.own.closing {
            self.own.finished = self.connection.finish();
        }
    }
}

impl<C: Connection> Stack for End<C> {
    fn connect(&mut self, now: Instant) {
        if !self.connection.connect(real(now)) {
            self.end_with(Event::Failed);
        }
        self.drive();
    }

    fn write(&mut self, bytes: u64, _: Instant) {
        self.own.waiting = self.own.waiting.saturating_add(bytes);
        self.drive();
    }

    fn close(&mut self, _: Instant) {
        self.own.closing = true;
        self.drive();
    }

    fn on_datagram(&mut self, datagram: Datagram, now: Instant) {
        self.ce_received += u64::from(datagram.ecn == Ecn::Ce);
        self.buffer.clear();
        let answer = self.connection.receive(&datagram.bytes, datagram.ecn, real(now), &mut self.buffer);
        if let Some(len) = answer {
            self.out.push_back(Datagram { bytes: self.buffer[..len].to_vec(), ecn: Ecn::NotEct });
        }
        self.drive();
    }

    fn on_deadline(&mut self, now: Instant) {
        self.connection.on_deadline(real(now));
        self.drive();
    }

    fn transmit(&mut self, now: Instant) -> Option<Datagram> {
        if self.out.is_empty() {
            self.buffer.clear();
            let sent = self.connection.send(real(now), self.burst, &mut self.buffer)?;
            let ecn = if self.ecn { sent.ecn } else { Ecn::NotEct };
            let parts = self.buffer[..sent.size].chunks(sent.segment.max(1));
            self.out.extend(parts.map(|part| Datagram { bytes: part.to_vec(), ecn }));
        }
        self.out.pop_front()
    }

    fn event(&mut self, _: Instant) -> Option<Event> {
        self.events.pop_front()
    }

    fn deadline(&mut self, _: Instant) -> Option<Instant> {
        if self.over { None } else { self.connection.deadline().map(virtual_time) }
    }

    fn delivered(&self) -> u64 {
        self.delivered
    }

    fn is_closed(&self) -> bool {
        self.over
    }

    fn stats(&mut self) -> StackStats {
        StackStats { timeouts: self.connection.timeouts(), lost: self.connection.lost(), ce_received: self.ce_received }
    }

    fn view(&self) -> StackView {
        self.connection.view()
    }
}
