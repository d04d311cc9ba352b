//! One end: a peer, what it still has to write, and what has come.

use std::collections::VecDeque;
use std::time;

use aqmkit_base::{Ecn, Instant};
use aqmkit_stack::{Datagram, Event, NewEnd, Role, Stack, StackStats, StackView};
use aqmkit_stack_common::ZEROS;
use aqmkit_stack_common::clock::{real, virtual_time};
use str0m::bwe::BweKind;
use str0m::channel::ChannelData;
use str0m::net::{Protocol, Receive};
use str0m::{Input, Output, RtcError};

use crate::Params;
use crate::peer::{self, Peer, address};
use crate::video::Video;

/// Bytes of a message on the data channel, and of the messages that wait there at most.
const MESSAGE: u64 = 16_384;
const BUFFER: usize = 128 << 10;

/// How long an end answers after it has closed: longer than an acknowledgement of SCTP waits.
const LINGER: time::Duration = time::Duration::from_secs(1);

/// One end of a connection.
pub(crate) struct End {
    is_client: bool,
    params: Params,
    /// The state of the generator of random numbers between calls.
    random: u64,
    peer: Option<Peer>,
    video: Option<Video>,
    /// Bits per second.
    estimate: f64,
    /// Bytes that are still to be written to the data channel, and whether that ends.
    waiting: u64,
    closing: bool,
    finished: bool,
    is_open: bool,
    /// When the connection is given up unless it is open.
    opens_until: Option<time::Instant>,
    delivered: u64,
    peer_finished: bool,
    over: bool,
    /// Until when a closed end still answers.
    answers_until: Option<time::Instant>,
    next: Option<time::Instant>,
    out: VecDeque<Datagram>,
    events: VecDeque<Event>,
}

impl End {
    pub(crate) fn new(params: &Params, new: &NewEnd) -> Self {
        End {
            is_client: new.role == Role::Client,
            params: params.clone(),
            random: new.seed,
            peer: None,
            video: None,
            estimate: params.start_rate.as_bps() as f64,
            waiting: 0,
            closing: false,
            finished: false,
            is_open: false,
            opens_until: None,
            delivered: 0,
            peer_finished: false,
            over: false,
            answers_until: None,
            next: None,
            out: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    fn end_with(&mut self, event: Event) {
        if !self.over {
            self.over = true;
            self.events.push_back(event);
        }
    }

    /// Gives the peer an input, and takes all that comes of it. str0m draws from the generator of the thread, which gets the state of this
    /// end for as long.
    fn call(&mut self, datagram: Option<&[u8]>, now: Instant) {
        if self.over && self.answers_until.is_none_or(|until| real(now) > until) {
            return;
        }
        let before = fastrand::get_seed();
        fastrand::seed(self.random);
        if self.drive(datagram, real(now)).is_err() {
            self.end_with(Event::Failed);
        }
        self.random = fastrand::get_seed();
        fastrand::seed(before);
    }

    fn drive(&mut self, datagram: Option<&[u8]>, now: time::Instant) -> Result<(), RtcError> {
        if self.peer.is_none() {
            self.peer = Some(peer::new(self.is_client, &self.params, now)?);
            self.opens_until = Some(now + time::Duration::from_nanos(self.params.timeout.as_nanos()));
        }
        if let Some(bytes) = datagram {
            let (from, to) = (address(!self.is_client), address(self.is_client));
            // What is not of this protocol is left aside, as at a socket.
            if let Ok(received) = Receive::new(Protocol::Udp, from, to, bytes) {
                self.input(Input::Receive(now, received))?;
            }
        }
        self.input(Input::Timeout(now))?;
        self.poll()?;
        while self.write(now)? {
            self.input(Input::Timeout(now))?;
            self.poll()?;
        }
        if !self.is_open && self.opens_until.is_some_and(|until| until <= now) {
            self.end_with(Event::Failed);
        }
        Ok(())
    }

    fn input(&mut self, input: Input<'_>) -> Result<(), RtcError> {
        self.peer.as_mut().map_or(Ok(()), |peer| peer.rtc.handle_input(input))
    }

    /// Takes what the peer has to give.
    fn poll(&mut self) -> Result<(), RtcError> {
        while let Some(peer) = &mut self.peer {
            match peer.rtc.poll_output()? {
                Output::Timeout(at) => {
                    self.next = Some(at);
                    break;
                }
                Output::Transmit(sent) => {
                    self.out.push_back(Datagram { bytes: sent.contents.to_vec(), ecn: Ecn::NotEct });
                }
                Output::Event(event) => self.on_event(event),
            }
        }
        Ok(())
    }

    fn on_event(&mut self, event: str0m::Event) {
        match event {
            str0m::Event::ChannelOpen(..) if !self.is_open => {
                self.is_open = true;
                self.events.push_back(Event::Connected);
            }
            str0m::Event::ChannelData(ChannelData { binary: true, data, .. }) => self.deliver(data.len()),
            // The peer's last word.
            str0m::Event::ChannelData(_) if !self.peer_finished => {
                self.peer_finished = true;
                self.events.push_back(Event::PeerFinished);
            }
            str0m::Event::RtpPacket(packet) => self.deliver(packet.payload.len()),
            str0m::Event::EgressBitrateEstimate(BweKind::Twcc { estimate, .. }) => self.estimate = estimate.as_f64(),
            str0m::Event::ChannelClose(_) | str0m::Event::Closed => self.end_with(Event::Failed),
            _ => {}
        }
    }

    fn deliver(&mut self, bytes: usize) {
        self.delivered += bytes as u64;
        self.events.push_back(Event::Delivered);
    }

    /// Writes what is due and what there is room for. Whether there was any.
    fn write(&mut self, now: time::Instant) -> Result<bool, RtcError> {
        let Some(peer) = self.peer.as_mut().filter(|_| self.is_open) else { return Ok(false) };
        if self.waiting == u64::MAX {
            let video = self.video.get_or_insert_with(|| Video::new(peer.mid, peer.pt, &self.params, now));
            let (least, most) = (self.params.min_rate.as_bps() as f64, self.params.max_rate.as_bps() as f64);
            let rate = (self.params.share * self.estimate).clamp(least, most);
            return Ok(video.write(&mut peer.rtc, rate, now));
        }
        let Some(mut channel) = peer.rtc.channel(peer.channel) else { return Ok(false) };
        let mut has_written = false;
        while self.waiting > 0 && channel.buffered_amount() < BUFFER {
            let len = self.waiting.min(MESSAGE);
            if !channel.write(true, &ZEROS[..len as usize])? {
                break;
            }
            self.waiting -= len;
            has_written = true;
        }
        if self.waiting == 0 && self.closing && !self.finished {
            self.finished = channel.write(false, b"end")?;
            has_written |= self.finished;
        }
        if self.finished && self.peer_finished && channel.buffered_amount() == 0 {
            // The peer's last message is still to be acknowledged.
            self.answers_until = self.answers_until.or(Some(now + LINGER));
            self.end_with(Event::Closed);
        }
        Ok(has_written)
    }
}

impl Stack for End {
    fn connect(&mut self, now: Instant) {
        self.call(None, now);
    }

    fn write(&mut self, bytes: u64, now: Instant) {
        self.waiting = self.waiting.saturating_add(bytes);
        if self.is_open {
            self.call(None, now);
        }
    }

    fn close(&mut self, now: Instant) {
        self.closing = true;
        if self.is_open {
            self.call(None, now);
        }
    }

    fn on_datagram(&mut self, datagram: Datagram, now: Instant) {
        self.call(Some(&datagram.bytes), now);
    }

    fn on_deadline(&mut self, now: Instant) {
        if self.peer.is_some() {
            self.call(None, now);
        }
    }

    fn transmit(&mut self, _: Instant) -> Option<Datagram> {
        self.out.pop_front()
    }

    fn event(&mut self, _: Instant) -> Option<Event> {
        self.events.pop_front()
    }

    fn deadline(&mut self, _: Instant) -> Option<Instant> {
        if self.over {
            let next = self.next.filter(|next| self.answers_until.is_some_and(|until| *next <= until));
            return next.map(virtual_time);
        }
        let frame = self.video.as_ref().map(Video::due);
        let opens = self.opens_until.filter(|_| !self.is_open);
        [self.next, frame, opens].into_iter().flatten().min().map(virtual_time)
    }

    fn delivered(&self) -> u64 {
        self.delivered
    }

    fn is_closed(&self) -> bool {
        self.over
    }

    /// str0m repairs losses, and counts them in reports for people only.
    fn stats(&mut self) -> StackStats {
        StackStats::default()
    }

    /// The rate is the estimate of the bandwidth.
    fn view(&self) -> StackView {
        StackView { pacing_bps: Some(self.estimate), ..StackView::default() }
    }
}
