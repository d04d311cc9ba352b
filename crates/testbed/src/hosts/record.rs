//! Measures the hosts of a live run: feeds a [`HostRecorder`] with the counters of sockets and the events of traffic models.

use std::net::SocketAddr;

use aqmkit_base::{Duration, Instant, SendLimit};
use aqmkit_live::tcp_info::{Sender, TcpInfo};
use aqmkit_measure::{HostRecorder, Owners, Plan, SenderSample};
use aqmkit_packets::wire::{FiveTuple, Flow};

use super::effort::{Begun, Effort, Endless};
use crate::setup::on_the_clock;

/// The recorder, and the measurement plan that it follows.
pub(super) struct Record {
    plan: Plan,
    recorder: HostRecorder,
    owners: Owners,
    endless: Endless,
    /// By measurement window.
    begun: Vec<Begun>,
    efforts: Vec<Effort>,
    /// The salt of the link's flow hashes.
    salt: u64,
}

/// The measurements at the hosts.
pub(crate) struct Recorded {
    /// The applications' measurements.
    pub recorder: HostRecorder,
    /// The application of each flow, with times on the link's clock.
    pub owners: Owners,
    /// By measurement window, the load of the hosts: whether they could keep up.
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

    /// Assigns the packets between two addresses, in both directions and from `now` on, to an application.
    pub(super) fn owns(&mut self, app: u32, protocol: u8, [a, b]: [SocketAddr; 2], now: Instant) {
        for (from, to) in [(a, b), (b, a)] {
            let (source, destination) = (from.ip(), to.ip());
            let ports = Some((from.port(), to.port()));
            let flow = Flow::Ip(FiveTuple { source, destination, protocol, ports });
            self.owners.owns(app, flow.key(self.salt), on_the_clock(now));
        }
    }

    /// Notes that an application sends fragmented datagrams, whose later fragments have no ports.
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

    /// The interval of the time series.
    pub(super) fn interval_length(&self) -> Duration {
        self.plan.interval
    }

    /// Adds what an application's connection has sent.
    pub(super) fn segments(&mut self, app: u32, more: TcpInfo) {
        let sent = self.recorder.sent(app);
        sent.packets += u64::from(more.data_segments);
        sent.retransmissions += more.retransmissions;
        sent.timeouts += more.timeouts;
    }

    /// Records for `time` what limited the sender of a group's connection, from its state before and after. The kernel
    /// counts the time during which it had data to send, and how much of that was limited by the receive window or the
    /// send buffer. The rest is attributed to the congestion window or, while there was no data, to the application.
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

    /// Records data received by a client.
    pub(super) fn delivered(&mut self, app: u32, group: usize, bytes: u64) {
        self.recorder.delivered(app, self.plan.groups[group].class, bytes);
    }

    pub(super) fn open(&mut self, window: usize, at: Instant, counters: Vec<Vec<f64>>) {
        self.begun[window] = Begun::now(self.endless, at);
        self.recorder.open(window, at, &self.plan, counters);
    }

    /// Records, by group, the number of connections in their first slow start at the start of a window.
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
