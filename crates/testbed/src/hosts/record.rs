//! Measures the hosts of a live run: feeds a [`HostRecorder`] with the counters of sockets and the events of traffic models.

use std::net::SocketAddr;

use aqmkit_base::{Duration, Instant, SendLimit};
use aqmkit_live::tcp_info::{Sender, TcpInfo};
use aqmkit_measure::{HostRecorder, Owners, Plan, SenderSample};
use aqmkit_packets::wire::{FiveTuple, Flow};

use super::effort::{Begun, Effort, Endless};
use crate::setup::on_the_clock;

/// The recorder, and the plan with the names of everything.
pub(super) struct Record {
    plan: Plan,
    recorder: HostRecorder,
    owners: Owners,
    endless: Endless,
    /// By window.
    begun: Vec<Begun>,
    efforts: Vec<Effort>,
    /// The salt that the link adds to the keys of flows.
    salt: u64,
}

/// The measurements of the hosts of a run.
pub(crate) struct Recorded {
    /// The applications' measurements.
    pub recorder: HostRecorder,
    /// The owners of connections, in the time of the link's clock.
    pub owners: Owners,
    /// The effort of the hosts, by window: whether they could keep up.
    pub efforts: Vec<Effort>,
}

/// The protocol numbers of the two transports.
pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;

impl Record {
    pub(super) fn new(plan: Plan, salt: u64) -> Self {
        Record {
            recorder: HostRecorder::new(&plan),
            owners: Owners::default(),
            endless: Endless::default(),
            begun: vec![Begun::default(); plan.windows.len()],
            efforts: vec![Effort::default(); plan.windows.len()],
            salt,
            plan,
        }
    }

    /// From `now` on, what passes between these ends in either direction belongs to an application.
    pub(super) fn owns(&mut self, app: u32, protocol: u8, [a, b]: [SocketAddr; 2], now: Instant) {
        for (from, to) in [(a, b), (b, a)] {
            let (source, destination) = (from.ip(), to.ip());
            let ports = Some((from.port(), to.port()));
            let flow = Flow::Ip(FiveTuple { source, destination, protocol, ports });
            self.owners.owns(app, flow.key(self.salt), on_the_clock(now));
        }
    }

    /// An application has sent what the kernel cuts into fragments, which have no ports.
    pub(super) fn sends_fragments(&mut self, app: u32) {
        self.owners.cannot_tell(app);
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The plan, and the recorder of the hosts.
    pub(super) fn hosts(&mut self) -> (&Plan, &mut HostRecorder) {
        (&self.plan, &mut self.recorder)
    }

    /// How long an interval of the series is.
    pub(super) fn interval_length(&self) -> Duration {
        self.plan.interval
    }

    /// An application's connection has sent more.
    pub(super) fn segments(&mut self, app: u32, more: TcpInfo) {
        let sent = self.recorder.sent(app);
        sent.packets += u64::from(more.data_segments);
        sent.retransmissions += more.retransmissions;
        sent.timeouts += more.timeouts;
    }

    /// What limited the sender of a group's connection for `time`, from its state at both ends of it. The kernel counts the time in which it had something to
    /// send, and of it what the two windows held; the rest was the congestion window's or, while there was nothing to send, the application's.
    pub(super) fn limited(&mut self, group: usize, endless: bool, [first, last]: [Sender; 2], time: Duration) {
        let held = [last.receive_window - first.receive_window, last.send_buffer - first.send_buffer];
        let busy = last.busy - first.busy;
        let rtt = Some(last.rtt).filter(|rtt| !rtt.is_zero());
        for (limit, spent, window) in [
            (SendLimit::ReceiveWindow, held[0], last.window),
            (SendLimit::SendBuffer, held[1], last.unacknowledged),
            (SendLimit::CongestionWindow, busy - held[0] - held[1], 0),
            (SendLimit::Application, time - busy, 0),
        ] {
            self.recorder.limited(group, &SenderSample { limit, window, rtt, endless }, spent);
        }
        if endless {
            self.endless.open += time;
            self.endless.idle += time - busy;
            self.endless.held += held[0] + held[1];
        }
    }

    /// The client of an application's connection has received data.
    pub(super) fn delivered(&mut self, app: u32, group: usize, bytes: u64) {
        self.recorder.delivered(app, self.plan.groups[group].class, bytes);
    }

    pub(super) fn open(&mut self, window: usize, at: Instant, counters: Vec<Vec<f64>>) {
        self.begun[window] = Begun::now(self.endless, at);
        self.recorder.open(window, at, &self.plan, counters);
    }

    /// The number of connections in their first slow start at the start of a window, by group.
    pub(super) fn slow_start(&mut self, window: usize, connections: Vec<u64>) {
        self.recorder.slow_start(window, connections);
    }

    pub(super) fn close(&mut self, window: usize, at: Instant, counters: Vec<Vec<f64>>) {
        self.efforts[window] = self.begun[window].end(self.endless, at);
        self.recorder.close(window, at, &self.plan, counters);
    }

    pub(super) fn interval(&mut self, at: Instant, counters: Vec<Vec<f64>>) {
        self.recorder.interval(at, &self.plan, counters);
    }

    pub(super) fn finish(self) -> Recorded {
        Recorded { recorder: self.recorder, owners: self.owners, efforts: self.efforts }
    }
}
