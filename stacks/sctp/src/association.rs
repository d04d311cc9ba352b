//! An endpoint of sctp-proto with one association.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use aqmkit_base::{Duration, Ecn};
use aqmkit_stack::{NewEnd, Role, StackView};
use aqmkit_stack_common::{Connection, Progress, Sent, ZEROS};
use bytes::Bytes;
use sctp_proto::PayloadProtocolIdentifier::{Binary, BinaryEmpty};
use sctp_proto::{
    Association, AssociationHandle, ClientConfig, DatagramEvent, Endpoint, EndpointConfig, Event, Payload,
    ServerConfig, StreamEvent, StreamId, TransportConfig,
};

use crate::Params;
use crate::clock::Clock;
use crate::tsn::Numbers;

/// The streams of client and server.
const STREAMS: [StreamId; 2] = [0, 1];

/// Bytes of the headers of a packet and of a chunk of data.
const HEADERS: u32 = 12 + 16;

pub(crate) struct Sctp {
    endpoint: Endpoint,
    is_client: bool,
    config: Arc<TransportConfig>,
    first_timeout: std::time::Duration,
    association: Option<(AssociationHandle, Association)>,
    clock: Clock,
    peer: SocketAddr,
    message: usize,
    send_buffer: usize,
    /// Whether the own stream is open, and whether the peer's has ended.
    is_open: bool,
    peer_finished: bool,
    progress: VecDeque<Progress>,
    packets: VecDeque<Bytes>,
    numbers: Numbers,
}

fn milliseconds(of: Duration) -> u64 {
    of.as_nanos().div_ceil(1_000_000)
}

impl Sctp {
    pub(crate) fn new(params: &Params, new: &NewEnd) -> Self {
        let is_client = new.role == Role::Client;
        let transport = TransportConfig::default()
            .with_max_receive_buffer_size(params.receive_buffer.0 as u32)
            .with_rto_initial_ms(milliseconds(params.rto_initial))
            .with_rto_min_ms(milliseconds(params.rto_min))
            .with_max_init_retransmits(Some(usize::from(params.init_retransmits)));
        let config = Arc::new(transport);
        let mut server = ServerConfig::new();
        server.transport = Arc::clone(&config);
        let mut endpoint = EndpointConfig::new();
        endpoint.max_payload_size(u32::from(params.mtu) - HEADERS);
        Sctp {
            endpoint: Endpoint::new(Arc::new(endpoint), (!is_client).then(|| Arc::new(server))),
            is_client,
            config,
            first_timeout: std::time::Duration::from_millis(milliseconds(params.rto_initial)),
            association: None,
            clock: Clock::default(),
            peer: SocketAddr::from((Ipv4Addr::new(10, 0, 0, if is_client { 2 } else { 1 }), 9899)),
            message: params.message.0 as usize,
            send_buffer: params.send_buffer.0 as usize,
            is_open: false,
            peer_finished: false,
            progress: VecDeque::new(),
            packets: VecDeque::new(),
            numbers: Numbers::default(),
        }
    }

    fn association(&mut self) -> Option<&mut Association> {
        self.association.as_mut().map(|(_, association)| association)
    }

    fn own(&self) -> StreamId {
        STREAMS[usize::from(!self.is_client)]
    }

    fn theirs(&self) -> StreamId {
        STREAMS[usize::from(self.is_client)]
    }

    /// Takes what has happened since the last call.
    fn take_events(&mut self) {
        let Some((handle, association)) = &mut self.association else { return };
        while let Some(event) = association.poll_endpoint_event() {
            if let Some(answer) = self.endpoint.handle_event(*handle, event) {
                association.handle_event(answer);
            }
        }
        while let Some(event) = self.association().and_then(Association::poll) {
            let progress = match event {
                Event::Connected => Progress::Connected,
                Event::AssociationLost { .. } | Event::HandshakeFailed { .. } => Progress::Lost,
                Event::Stream(StreamEvent::Opened { id }) if id == self.theirs() => Progress::Opened,
                Event::Stream(StreamEvent::ResetComplete { id }) if id == self.own() => Progress::Acknowledged,
                Event::Stream(StreamEvent::Finished { id }) if id == self.theirs() => {
                    self.peer_finished = true;
                    continue;
                }
                _ => continue,
            };
            self.progress.push_back(progress);
        }
    }

    /// Opens the own stream, once.
    fn open(&mut self) {
        let own = self.own();
        if !self.is_open
            && let Some(association) = self.association()
        {
            self.is_open = association.open_stream(own, Binary).is_ok();
        }
    }
}

impl Connection for Sctp {
    fn connect(&mut self, now: Instant) -> bool {
        let mut config = ClientConfig::new();
        config.transport = Arc::clone(&self.config);
        self.association = self.endpoint.connect(config, self.peer).ok();
        self.clock.opened(now, self.first_timeout);
        self.association.is_some()
    }

    fn receive(&mut self, datagram: &[u8], _: Ecn, now: Instant, _: &mut Vec<u8>) -> Option<usize> {
        let now = self.clock.inward(now);
        match self.endpoint.handle(now, self.peer, None, None, Bytes::copy_from_slice(datagram))? {
            (_, DatagramEvent::AssociationEvent(event)) => self.association()?.handle_event(event),
            (handle, DatagramEvent::NewAssociation(association)) => self.association = Some((handle, association)),
        }
        self.clock.first_is_over();
        None
    }

    fn on_deadline(&mut self, now: Instant) {
        let inward = self.clock.inward(now);
        let Some((_, association)) = &mut self.association else { return };
        if association.poll_timeout().is_some_and(|due| self.clock.deadline(due) <= now) {
            association.handle_timeout(inward);
            self.clock.first_is_over();
        }
    }

    fn poll(&mut self) -> Option<Progress> {
        self.take_events();
        self.progress.pop_front()
    }

    fn read(&mut self) -> (u64, bool) {
        let theirs = self.theirs();
        let mut bytes = 0;
        while let Some(message) = self.association().and_then(|a| a.stream(theirs).ok()?.read_sctp().ok()?) {
            // A message without data has a byte all the same.
            if message.ppi != BinaryEmpty {
                bytes += message.len() as u64;
            }
        }
        // A stream ends once it is read.
        self.take_events();
        (bytes, self.peer_finished)
    }

    fn write(&mut self, bytes: u64) -> u64 {
        self.open();
        let (own, message, room) = (self.own(), self.message, self.send_buffer);
        let Some(mut stream) = self.association().and_then(|a| a.stream(own).ok()) else { return 0 };
        let len = bytes.min(message as u64) as usize;
        if stream.buffered_amount().is_ok_and(|buffered| buffered + len <= room) {
            stream.write_sctp(&Bytes::from_static(&ZEROS[..len]), Binary).unwrap_or(0) as u64
        } else {
            0
        }
    }

    /// Resets the stream (RFC 6525), as the end of a data channel of WebRTC does. The peer has to know of the stream.
    fn finish(&mut self) -> bool {
        let is_new = !self.is_open;
        self.open();
        let own = self.own();
        let Some(mut stream) = self.association().and_then(|a| a.stream(own).ok()) else { return false };
        if is_new && stream.write_sctp(&Bytes::from_static(&[0]), BinaryEmpty).is_err() {
            return false;
        }
        stream.close().is_ok()
    }

    fn send(&mut self, now: Instant, _: usize, buffer: &mut Vec<u8>) -> Option<Sent> {
        if self.packets.is_empty() {
            let now = self.clock.inward(now);
            if let Payload::RawEncode(packets) = self.association()?.poll_transmit(now)?.payload {
                self.packets.extend(packets);
            }
        }
        let packet = self.packets.pop_front()?;
        self.numbers.sent(&packet);
        buffer.extend_from_slice(&packet);
        Some(Sent { size: packet.len(), segment: packet.len(), ecn: Ecn::NotEct })
    }

    fn deadline(&mut self) -> Option<Instant> {
        let due = self.association()?.poll_timeout()?;
        Some(self.clock.deadline(due))
    }

    fn timeouts(&mut self) -> u32 {
        let timeouts = self.association().map_or(0, |association| association.stats().get_num_t3timeouts());
        u32::try_from(timeouts).unwrap_or(u32::MAX)
    }

    fn lost(&mut self) -> u64 {
        self.numbers.repeated
    }

    /// sctp-proto shows neither its window nor its bytes in flight; its `rtt` is the retransmission timeout.
    fn view(&self) -> StackView {
        StackView::default()
    }
}
