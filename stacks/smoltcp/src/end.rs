//! One end: an interface of smoltcp with one TCP socket.

use std::collections::VecDeque;

use aqmkit_base::{Duration, Ecn, Instant};
use aqmkit_stack::{Datagram, Event, NewEnd, Role, Settings, Stack, StackStats, StackView};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer, State};
use smoltcp::time;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};

use crate::Params;
use crate::device::Device;
use crate::sequence::Sequence;

const CLIENT: IpAddress = IpAddress::v4(10, 0, 0, 1);
const SERVER: IpAddress = IpAddress::v4(10, 0, 0, 2);
const CLIENT_PORT: u16 = 49152;
const SERVER_PORT: u16 = 80;

/// smoltcp's times are whole microseconds.
fn clock(now: Instant) -> time::Instant {
    time::Instant::from_micros((now.as_nanos() / 1000).cast_signed())
}

fn virtual_time(at: time::Instant) -> Instant {
    Instant::from_nanos(u64::try_from(at.total_micros()).unwrap_or(0).saturating_mul(1000))
}

fn span(of: Duration) -> time::Duration {
    time::Duration::from_micros(of.as_nanos() / 1000)
}

/// One end of a connection.
pub(crate) struct End {
    interface: Interface,
    device: Device,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
    sequence: Sequence,
    /// Bytes that are still to be written, `u64::MAX` for data without end, and whether the stream ends after them.
    waiting: u64,
    closing: bool,
    open: bool,
    delivered: u64,
    peer_finished: bool,
    over: bool,
    events: VecDeque<Event>,
}

impl End {
    pub(crate) fn new(params: &Params, settings: &Settings, new: &NewEnd) -> Self {
        let mut device = Device::new(params.mtu);
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = new.seed;
        let mut interface = Interface::new(config, &mut device, time::Instant::ZERO);
        let own = if new.role == Role::Client { CLIENT } else { SERVER };
        interface.update_ip_addrs(|list| {
            // The list is empty and has room for two.
            let _ = list.push(IpCidr::new(own, 24));
        });
        let buffer = |bytes: aqmkit_base::Bytes| SocketBuffer::new(vec![0; bytes.0 as usize]);
        let mut socket = Socket::new(buffer(params.receive_buffer), buffer(params.send_buffer));
        socket.set_congestion_control(match settings.congestion {
            "reno" => CongestionControl::Reno,
            "none" => CongestionControl::None,
            _ => CongestionControl::Cubic,
        });
        socket.set_ack_delay((!params.ack_delay.is_zero()).then(|| span(params.ack_delay)));
        socket.set_timeout((!params.timeout.is_zero()).then(|| span(params.timeout)));
        socket.set_nagle_enabled(params.nagle);
        if new.role == Role::Server {
            // Refused only for a socket that is open, or for port 0.
            let _ = socket.listen(SERVER_PORT);
        }
        let mut sockets = SocketSet::new(Vec::new());
        let socket = sockets.add(socket);
        End {
            interface,
            device,
            sockets,
            socket,
            sequence: Sequence::default(),
            waiting: 0,
            closing: false,
            open: false,
            delivered: 0,
            peer_finished: false,
            over: false,
            events: VecDeque::new(),
        }
    }

    fn finish(&mut self, event: Event) {
        if !self.over {
            self.over = true;
            self.events.push_back(event);
        }
    }

    /// Reads, writes and polls until the stack has no more to do now.
    fn drive(&mut self, now: Instant) {
        let before = self.device.sent.len();
        self.interface.poll(clock(now), &mut self.device, &mut self.sockets);
        // Data that was read opens the window, and data that was written can leave.
        if self.exchange() {
            self.interface.poll(clock(now), &mut self.device, &mut self.sockets);
        }
        self.device.sent.iter().skip(before).for_each(|packet| self.sequence.sent(packet));
        self.note_state();
    }

    /// Reads all that has come, and writes as much as the stack takes. Whether there was any.
    fn exchange(&mut self) -> bool {
        let socket = self.sockets.get_mut::<Socket<'_>>(self.socket);
        let mut read = 0;
        // A buffer that wraps round is read in two parts.
        while socket.can_recv() {
            match socket.recv(|data| (data.len(), data.len())) {
                Ok(len) if len > 0 => read += len as u64,
                _ => break,
            }
        }
        let mut written = false;
        while self.waiting > 0 && socket.can_send() {
            let most = usize::try_from(self.waiting).unwrap_or(usize::MAX);
            // The buffer has zeros, and remains so.
            let Ok(taken) = socket.send(|room| (room.len().min(most), room.len().min(most))) else { break };
            if taken == 0 {
                break;
            }
            written = true;
            if self.waiting != u64::MAX {
                self.waiting -= taken as u64;
            }
        }
        if self.closing && self.waiting == 0 && socket.may_send() {
            socket.close();
            written = true;
        }
        self.delivered += read;
        if read > 0 {
            self.events.push_back(Event::Delivered);
        }
        read > 0 || written
    }

    /// Reports what has changed in the socket's state.
    fn note_state(&mut self) {
        let socket = self.sockets.get::<Socket<'_>>(self.socket);
        let (state, can_read) = (socket.state(), socket.can_recv());
        let was_opened = !matches!(state, State::Closed | State::Listen | State::SynSent | State::SynReceived);
        if was_opened && !self.open {
            self.open = true;
            self.events.push_front(Event::Connected);
        }
        let has_end = matches!(state, State::CloseWait | State::LastAck | State::Closing | State::TimeWait);
        if has_end && !can_read && !self.peer_finished {
            self.peer_finished = true;
            self.events.push_back(Event::PeerFinished);
        }
        match state {
            State::TimeWait => self.finish(Event::Closed),
            State::Closed if self.open && self.peer_finished && self.closing => self.finish(Event::Closed),
            State::Closed => self.finish(Event::Failed),
            _ => {}
        }
    }
}

impl Stack for End {
    fn connect(&mut self, now: Instant) {
        let socket = self.sockets.get_mut::<Socket<'_>>(self.socket);
        if socket.connect(self.interface.context(), (SERVER, SERVER_PORT), CLIENT_PORT).is_err() {
            self.finish(Event::Failed);
        }
        self.drive(now);
    }

    fn write(&mut self, bytes: u64, now: Instant) {
        self.waiting = self.waiting.saturating_add(bytes);
        if self.open {
            self.drive(now);
        }
    }

    fn close(&mut self, now: Instant) {
        self.closing = true;
        if self.open {
            self.drive(now);
        }
    }

    fn on_datagram(&mut self, datagram: Datagram, now: Instant) {
        self.sequence.received(&datagram.bytes);
        self.device.received = Some(datagram.bytes);
        self.drive(now);
    }

    fn on_deadline(&mut self, now: Instant) {
        self.drive(now);
    }

    fn transmit(&mut self, _: Instant) -> Option<Datagram> {
        self.device.sent.pop_front().map(|bytes| Datagram { bytes, ecn: Ecn::NotEct })
    }

    fn event(&mut self, _: Instant) -> Option<Event> {
        self.events.pop_front()
    }

    fn deadline(&mut self, now: Instant) -> Option<Instant> {
        self.interface.poll_at(clock(now), &self.sockets).map(virtual_time)
    }

    fn delivered(&self) -> u64 {
        self.delivered
    }

    fn is_closed(&self) -> bool {
        self.over
    }

    /// smoltcp does not count its retransmission timeouts.
    fn stats(&mut self) -> StackStats {
        StackStats { timeouts: 0, lost: self.sequence.repeated, ce_received: 0 }
    }

    /// smoltcp shows neither its window nor its estimate of the round trip.
    fn view(&self) -> StackView {
        StackView { in_flight: self.sequence.in_flight(), ..StackView::default() }
    }
}
