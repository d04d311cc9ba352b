//! The common part of all rate-based transports: opening, requests, sending, closing.

use aqmkit_base::{Ecn, Instant};

use super::{Content, Cx, Data, Kind, Packet, Receiver, Sender};
use crate::profile::Profile;
use crate::tcp::Event;

/// The output of an endpoint, which appends to it; its owner empties it.
#[derive(Debug)]
pub struct Output<'a> {
    /// Packets to send now, in order.
    pub packets: &'a mut Vec<Packet>,
    /// Events, in order.
    pub events: &'a mut Vec<Event>,
}

/// Counters of one endpoint since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Packets sent that carried data.
    pub data_packets_sent: u64,
    /// Reports sent.
    pub reports_sent: u64,
    /// Expiries of the sender's timer without reports, and retransmitted requests.
    pub timeouts: u32,
}

/// One end of a connection.
///
/// The end that opens sends requests, repeated at the intervals of [`Profile::syn`] until they are answered; the other
/// end sends data at the rate of the scheme, without retransmissions. Therefore
/// `delivered` of the requesting end counts the received bytes, not everything up to some byte.
///
/// It is driven by its owner: times must not go backwards, the profile must be the same at every call.
#[derive(Clone, Debug)]
pub struct Endpoint {
    kind: Kind,
    role: Role,
    stats: Stats,
}

#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "endpoints are boxed and few")]
enum Role {
    /// Not opened yet, by neither end.
    New,
    Asking(Asking),
    Answering(Answering),
    Done {
        delivered: u64,
    },
}

/// The end that has opened: it sends requests and receives data.
#[derive(Clone, Debug)]
struct Asking {
    /// Bytes of requests written, and those that the peer has received.
    written: u64,
    heard: u64,
    /// Whether the peer has answered.
    open: bool,
    /// The number of transmissions of the current request, and the time of the next.
    tries: usize,
    again: Option<Instant>,
    delivered: u64,
    receiver: Receiver,
}

/// The other end: it sends data.
#[derive(Clone, Debug)]
struct Answering {
    /// Bytes of requests received.
    heard: u64,
    /// Bytes to send; `u64::MAX` for data without end.
    waiting: u64,
    seq: u64,
    sender: Sender,
}

/// One call of an endpoint.
struct Call<'a, 'o> {
    cx: Cx<'a>,
    out: &'a mut Output<'o>,
}

impl Call<'_, '_> {
    fn say(&mut self, content: Content, len: u32, ecn: Ecn) {
        self.out.packets.push(Packet { content, len, ecn });
    }
}

impl Endpoint {
    /// A closed endpoint. It opens actively with [`Endpoint::connect`], or passively when a request arrives.
    #[must_use]
    pub fn new(kind: Kind) -> Self {
        Endpoint { kind, role: Role::New, stats: Stats::default() }
    }

    /// Opens the connection. Does nothing unless it is new.
    pub fn connect(&mut self, p: &Profile, now: Instant, out: &mut Output<'_>) {
        if !matches!(self.role, Role::New) {
            return;
        }
        let mut asking = Asking {
            written: 0,
            heard: 0,
            open: false,
            tries: 0,
            again: None,
            delivered: 0,
            receiver: Receiver::new(&self.kind, p),
        };
        asking.ask(&mut Call { cx: Cx { now, profile: p }, out });
        self.role = Role::Asking(asking);
    }

    /// Adds `bytes` of requests at the end that opened, or of data to send at the other end; `u64::MAX` for unlimited data.
    pub fn write(&mut self, p: &Profile, bytes: u64, now: Instant, out: &mut Output<'_>) {
        let mut call = Call { cx: Cx { now, profile: p }, out };
        match &mut self.role {
            Role::Asking(asking) => {
                asking.written = asking.written.saturating_add(bytes);
                asking.tries = 0;
                asking.ask(&mut call);
            }
            Role::Answering(answering) => {
                answering.waiting = answering.waiting.saturating_add(bytes);
                answering.send(&mut call, &mut self.stats);
            }
            Role::New | Role::Done { .. } => {}
        }
    }

    /// Ends the connection at once; unsent data is discarded. The peer is notified, and again if it continues to send.
    pub fn close(&mut self, p: &Profile, now: Instant, out: &mut Output<'_>) {
        let mut call = Call { cx: Cx { now, profile: p }, out };
        if !self.is_closed() {
            call.say(Content::Close, 0, Ecn::NotEct);
            self.finish(Event::Closed, &mut call);
        }
    }

    fn finish(&mut self, event: Event, call: &mut Call<'_, '_>) {
        self.role = Role::Done { delivered: self.delivered() };
        call.out.events.push(event);
    }

    /// A packet has arrived.
    pub fn on_packet(&mut self, p: &Profile, packet: &Packet, now: Instant, out: &mut Output<'_>) {
        let mut call = Call { cx: Cx { now, profile: p }, out };
        if packet.content == Content::Close {
            if !self.is_closed() {
                self.finish(Event::Closed, &mut call);
            }
            return;
        }
        if let (Role::New, Content::Ask { .. }) = (&self.role, packet.content) {
            let sender = Sender::new(&self.kind, &call.cx);
            self.role = Role::Answering(Answering { heard: 0, waiting: 0, seq: 0, sender });
            call.out.events.push(Event::Connected);
        }
        match &mut self.role {
            Role::Asking(asking) => asking.on_packet(packet, &mut call, &mut self.stats),
            Role::Answering(answering) => answering.on_packet(packet, &mut call, &mut self.stats),
            Role::Done { .. } => call.say(Content::Close, 0, Ecn::NotEct),
            Role::New => {}
        }
    }

    /// Call this at [`Endpoint::deadline`]. Early or late calls are allowed.
    pub fn on_deadline(&mut self, p: &Profile, now: Instant, out: &mut Output<'_>) {
        let mut call = Call { cx: Cx { now, profile: p }, out };
        match &mut self.role {
            Role::Asking(asking) => {
                if asking.on_deadline(&mut call, &mut self.stats) {
                    self.finish(Event::Failed, &mut call);
                }
            }
            Role::Answering(answering) => answering.on_deadline(&mut call, &mut self.stats),
            Role::New | Role::Done { .. } => {}
        }
    }

    /// When to call [`Endpoint::on_deadline`], if at all.
    #[must_use]
    pub fn deadline(&self, p: &Profile, now: Instant) -> Option<Instant> {
        match &self.role {
            Role::Asking(asking) => [asking.again, asking.receiver.half().timer()].into_iter().flatten().min(),
            Role::Answering(answering) => answering.deadline(&Cx { now, profile: p }),
            Role::New | Role::Done { .. } => None,
        }
    }

    /// Bytes received: of data at the end that opened, of requests at the other.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        match &self.role {
            Role::Asking(asking) => asking.delivered,
            Role::Answering(answering) => answering.heard,
            Role::Done { delivered } => *delivered,
            Role::New => 0,
        }
    }

    /// Whether the connection has ended.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(self.role, Role::Done { .. })
    }

    /// Counters.
    #[must_use]
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// The sending rate, in bytes of data per second; `None` at the end that does not send data.
    #[must_use]
    pub fn rate(&self, p: &Profile, now: Instant) -> Option<f64> {
        match &self.role {
            Role::Answering(a) => Some(a.sender.half().rate(&Cx { now, profile: p })),
            _ => None,
        }
    }
}

impl Asking {
    /// Sends the requests that the peer has not acknowledged, or only opens the connection; and sets the timer.
    fn ask(&mut self, call: &mut Call<'_, '_>) {
        let p = call.cx.profile;
        let len = (self.written - self.heard).min(p.mss.0) as u32;
        call.say(Content::Ask { from: self.heard }, len, Ecn::NotEct);
        self.again = p.syn.get(self.tries).map(|&wait| call.cx.now + wait);
        self.tries += 1;
    }

    fn on_packet(&mut self, packet: &Packet, call: &mut Call<'_, '_>, stats: &mut Stats) {
        let heard = match packet.content {
            Content::Heard { bytes } => bytes,
            Content::Data(data) => data.heard,
            _ => return,
        };
        if !self.open {
            self.open = true;
            call.out.events.push(Event::Connected);
        }
        if heard > self.heard {
            (self.heard, self.tries) = (heard.min(self.written), 0);
            if self.heard < self.written {
                self.ask(call);
            }
        }
        if self.heard == self.written {
            self.again = None;
        }
        if let Content::Data(data) = packet.content {
            self.delivered += u64::from(packet.len);
            call.out.events.push(Event::Delivered);
            let report = self.receiver.half_mut().on_data(&data, packet.len, packet.ecn == Ecn::Ce, &call.cx);
            say_report(report, call, stats);
        }
    }

    /// Returns whether the peer has not answered for too long.
    fn on_deadline(&mut self, call: &mut Call<'_, '_>, stats: &mut Stats) -> bool {
        let now = call.cx.now;
        if self.again.is_some_and(|at| at <= now) {
            if self.tries >= call.cx.profile.syn.len() {
                return true;
            }
            stats.timeouts += 1;
            self.ask(call);
        }
        if self.receiver.half().timer().is_some_and(|at| at <= now) {
            let report = self.receiver.half_mut().on_timer(&call.cx);
            say_report(report, call, stats);
        }
        false
    }
}

fn say_report(report: Option<super::Report>, call: &mut Call<'_, '_>, stats: &mut Stats) {
    if let Some(report) = report {
        stats.reports_sent += 1;
        call.say(Content::Report(report), 0, Ecn::NotEct);
    }
}

impl Answering {
    fn on_packet(&mut self, packet: &Packet, call: &mut Call<'_, '_>, stats: &mut Stats) {
        match packet.content {
            Content::Ask { from } => {
                let end = from + u64::from(packet.len);
                let news = end > self.heard;
                self.heard = self.heard.max(end);
                call.say(Content::Heard { bytes: self.heard }, 0, Ecn::NotEct);
                if news {
                    call.out.events.push(Event::Delivered);
                }
            }
            Content::Report(report) => {
                self.sender.half_mut().on_report(&report, &call.cx);
                self.send(call, stats);
            }
            _ => {}
        }
    }

    /// Sends all packets that may be sent now.
    fn send(&mut self, call: &mut Call<'_, '_>, stats: &mut Stats) {
        let Cx { now, profile } = call.cx;
        while self.waiting > 0 && self.sender.half().next(&call.cx).is_some_and(|at| at <= now) {
            let len = self.waiting.min(profile.mss.0);
            if self.waiting != u64::MAX {
                self.waiting -= len;
            }
            let sender = self.sender.half_mut();
            let (seq, pair) = (self.seq, sender.pairs(self.seq));
            self.seq += 1;
            stats.data_packets_sent += 1;
            sender.on_sent(seq, self.waiting > 0, &call.cx);
            let data = Data { seq, sent: now, rtt: sender.rtt().unwrap_or_default(), heard: self.heard, pair };
            let ecn = if profile.ecn { Ecn::Ect0 } else { Ecn::NotEct };
            call.say(Content::Data(data), len as u32, ecn);
        }
    }

    fn on_deadline(&mut self, call: &mut Call<'_, '_>, stats: &mut Stats) {
        let sender = self.sender.half_mut();
        if sender.timer().is_some_and(|at| at <= call.cx.now) {
            stats.timeouts += 1;
            sender.on_timer(&call.cx);
        }
        self.send(call, stats);
    }

    fn deadline(&self, cx: &Cx<'_>) -> Option<Instant> {
        let sender = self.sender.half();
        let next = if self.waiting > 0 { sender.next(cx) } else { None };
        [sender.timer(), next].into_iter().flatten().min()
    }
}
