//! An endpoint of quinn-proto with one connection.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use aqmkit_base::{Duration, Ecn};
use aqmkit_stack::{NewEnd, Role, Settings, StackView, Trace};
use aqmkit_stack_common::{Connection, Progress, Sent, ZEROS};
use aqmkit_stack_quic::Params;
use bytes::{Bytes, BytesMut};
use quinn_proto::{
    ClientConfig, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, Event, StreamEvent, StreamId,
};

use crate::config;

pub(crate) struct Quinn {
    endpoint: Endpoint,
    /// Until the connection is opened.
    client: Option<ClientConfig>,
    connection: Option<(ConnectionHandle, quinn_proto::Connection)>,
    peer: SocketAddr,
    own: Option<StreamId>,
    theirs: Option<StreamId>,
}

impl Quinn {
    pub(crate) fn new(params: &Params, settings: &Settings, new: &NewEnd, mut trace: Option<Trace>) -> Self {
        let is_client = new.role == Role::Client;
        let server = (!is_client).then(|| Arc::new(config::server(params, settings, trace.take())));
        Quinn {
            endpoint: Endpoint::new(Arc::new(config::endpoint(new)), server, true, None),
            client: is_client.then(|| config::client(params, settings, trace.take())),
            connection: None,
            peer: SocketAddr::from((Ipv4Addr::new(10, 0, 0, if is_client { 2 } else { 1 }), 4433)),
            own: None,
            theirs: None,
        }
    }

    fn connection(&mut self) -> Option<&mut quinn_proto::Connection> {
        self.connection.as_mut().map(|(_, connection)| connection)
    }

    fn on_event(&mut self, event: &Event) -> Option<Progress> {
        match event {
            Event::Connected => Some(Progress::Connected),
            Event::ConnectionLost { .. } => Some(Progress::Lost),
            Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                let opened = self.connection()?.streams().accept(Dir::Uni);
                self.theirs = self.theirs.or(opened);
                Some(Progress::Opened)
            }
            Event::Stream(StreamEvent::Finished { .. }) => Some(Progress::Acknowledged),
            _ => None,
        }
    }
}

impl Connection for Quinn {
    fn connect(&mut self, now: Instant) -> bool {
        let Some(config) = self.client.take() else { return true };
        self.connection = self.endpoint.connect(now, config, self.peer, "server").ok();
        self.connection.is_some()
    }

    fn receive(&mut self, datagram: &[u8], ecn: Ecn, now: Instant, answer: &mut Vec<u8>) -> Option<usize> {
        let ecn = EcnCodepoint::from_bits(ecn as u8);
        match self.endpoint.handle(now, self.peer, None, ecn, BytesMut::from(datagram), answer)? {
            DatagramEvent::ConnectionEvent(_, event) => {
                if let Some(connection) = self.connection() {
                    connection.handle_event(event);
                }
                None
            }
            DatagramEvent::NewConnection(incoming) => {
                self.connection = self.endpoint.accept(incoming, now, answer, None).ok();
                None
            }
            DatagramEvent::Response(sent) => Some(sent.size),
        }
    }

    fn on_deadline(&mut self, now: Instant) {
        if let Some(connection) = self.connection() {
            connection.handle_timeout(now);
        }
    }

    fn poll(&mut self) -> Option<Progress> {
        let (handle, connection) = self.connection.as_mut()?;
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(answer) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(answer);
            }
        }
        loop {
            let event = self.connection()?.poll()?;
            if let Some(progress) = self.on_event(&event) {
                return Some(progress);
            }
        }
    }

    fn read(&mut self) -> (u64, bool) {
        let mut delivered = (0, false);
        let (Some((_, connection)), Some(stream)) = (&mut self.connection, self.theirs) else { return delivered };
        let mut stream = connection.recv_stream(stream);
        let Ok(mut chunks) = stream.read(true) else { return delivered };
        while let Ok(next) = chunks.next(usize::MAX) {
            match next {
                Some(chunk) => delivered.0 += chunk.bytes.len() as u64,
                None => {
                    delivered.1 = true;
                    break;
                }
            }
        }
        // Window updates leave with the next packets, which are asked for after each call.
        let _ = chunks.finalize();
        delivered
    }

    fn write(&mut self, bytes: u64) -> u64 {
        let Some((_, connection)) = &mut self.connection else { return 0 };
        self.own = self.own.or_else(|| connection.streams().open(Dir::Uni));
        let Some(stream) = self.own else { return 0 };
        let len = bytes.min(ZEROS.len() as u64) as usize;
        let written = connection.send_stream(stream).write_chunks(&mut [Bytes::from_static(&ZEROS[..len])]);
        written.map_or(0, |written| written.bytes as u64)
    }

    fn finish(&mut self) -> bool {
        let Some((_, connection)) = &mut self.connection else { return false };
        self.own = self.own.or_else(|| connection.streams().open(Dir::Uni));
        self.own.is_some_and(|stream| connection.send_stream(stream).finish().is_ok())
    }

    fn send(&mut self, now: Instant, most: usize, buffer: &mut Vec<u8>) -> Option<Sent> {
        let sent = self.connection()?.poll_transmit(now, most, buffer)?;
        let ecn = match sent.ecn {
            Some(EcnCodepoint::Ect0) => Ecn::Ect0,
            Some(EcnCodepoint::Ect1) => Ecn::Ect1,
            _ => Ecn::NotEct,
        };
        Some(Sent { size: sent.size, segment: sent.segment_size.unwrap_or(sent.size), ecn })
    }

    fn deadline(&mut self) -> Option<Instant> {
        self.connection()?.poll_timeout()
    }

    /// quinn does not count its probe timeouts where others can read them.
    fn timeouts(&mut self) -> u32 {
        0
    }

    fn lost(&mut self) -> u64 {
        self.connection().map_or(0, |connection| connection.stats().path.lost_packets)
    }

    /// quinn does not show its bytes in flight.
    fn view(&self) -> StackView {
        let Some((_, connection)) = &self.connection else { return StackView::default() };
        let control = connection.congestion_state();
        let (window, metrics) = (control.window(), control.metrics());
        StackView {
            window: Some(window),
            ssthresh: metrics.ssthresh.filter(|threshold| *threshold < u64::MAX),
            pacing_bps: metrics.pacing_rate.map(|rate| rate as f64),
            rtt: Some(Duration::from_nanos(u64::try_from(connection.rtt().as_nanos()).unwrap_or(u64::MAX))),
            phase: if metrics.ssthresh.is_some_and(|threshold| window < threshold) { "slow start" } else { "" },
            ..StackView::default()
        }
    }
}
