//! Measures the hosts of a live run: feeds a [`HostRecorder`] with the counters of sockets and the events of traffic models.

use std::net::SocketAddr;

use aqmkit_base::{Duration, Instant};
use aqmkit_live::tcp_info::TcpInfo;
use aqmkit_measure::{FinishedExchange, HostRecorder, Owners, Plan, Sent};
use aqmkit_packets::wire::{FiveTuple, Flow};
use aqmkit_traffic::Exchange;

use crate::live::plan::on_the_clock;

/// The recorder, and the plan with the names of everything.
pub(super) struct Record {
    plan: Plan,
    recorder: HostRecorder,
    owners: Owners,
    /// The salt that the link adds to the keys of flows.
    salt: u64,
}

/// The measurements of the hosts of a run.
pub(crate) struct Recorded {
    /// The applications' measurements.
    pub recorder: HostRecorder,
    /// The owners of connections, in the time of the link's clock.
    pub owners: Owners,
}

/// The protocol numbers of the two transports.
pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;

impl Record {
    pub(super) fn new(plan: Plan, salt: u64) -> Self {
        Record { recorder: HostRecorder::new(&plan), owners: Owners::default(), salt, plan }
    }

    /// From `now` on, what passes between these ends in either direction belongs to an application.
    pub(super) fn owns(&mut self, app: usize, protocol: u8, [a, b]: [SocketAddr; 2], now: Instant) {
        for (from, to) in [(a, b), (b, a)] {
            let (source, destination) = (from.ip(), to.ip());
            let ports = Some((from.port(), to.port()));
            let flow = Flow::Ip(FiveTuple { source, destination, protocol, ports });
            self.owners.owns(app as u32, flow.key(self.salt), on_the_clock(now));
        }
    }

    /// An application has sent what the kernel cuts into fragments, which have no ports.
    pub(super) fn sends_fragments(&mut self, app: usize) {
        self.owners.cannot_tell(app as u32);
    }

    pub(super) fn class_of(&self, app: usize) -> usize {
        self.plan.groups.iter().find(|g| g.apps.contains(&app)).map_or(0, |g| g.class)
    }

    /// How long an interval of the series is.
    pub(super) fn interval_length(&self) -> Duration {
        self.plan.interval
    }

    pub(super) fn sent(&mut self, app: usize) -> &mut Sent {
        self.recorder.sent(app as u32)
    }

    /// An application's connection has sent more.
    pub(super) fn segments(&mut self, app: usize, more: TcpInfo) {
        let sent = self.sent(app);
        sent.packets += u64::from(more.data_segments);
        sent.retransmissions += more.retransmissions;
        sent.timeouts += more.timeouts;
    }

    pub(super) fn delivered(&mut self, app: usize, class: usize, bytes: u64) {
        self.recorder.delivered(app as u32, class, bytes);
    }

    pub(super) fn arrived(&mut self, class: usize, latency: Duration) {
        self.recorder.arrived(class, latency);
    }

    pub(super) fn exchange(&mut self, group: usize, exchange: Exchange, now: Instant) {
        let Exchange { started, bytes, .. } = exchange;
        let ended = FinishedExchange { group, kind: usize::from(exchange.kind), started, bytes };
        self.recorder.exchange(&self.plan, ended, now);
    }

    pub(super) fn open(&mut self, window: usize, at: Instant, counters: Vec<Vec<f64>>) {
        self.recorder.open(window, at, &self.plan, counters);
    }

    pub(super) fn close(&mut self, window: usize, at: Instant, counters: Vec<Vec<f64>>) {
        self.recorder.close(window, at, &self.plan, counters);
    }

    pub(super) fn interval(&mut self, at: Instant, counters: Vec<Vec<f64>>) {
        self.recorder.interval(at, &self.plan, counters);
    }

    pub(super) fn finish(self) -> Recorded {
        Recorded { recorder: self.recorder, owners: self.owners }
    }
}
