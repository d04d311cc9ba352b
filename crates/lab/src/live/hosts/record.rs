//! What the hosts of a live run measure: feeds a [`HostRecorder`] with what sockets and models say.

use aqmkit_base::{Duration, Instant};
use aqmkit_flows::traffic::Exchange;
use aqmkit_live::tcp_info::TcpInfo;
use aqmkit_measure::{Ended, HostRecorder, Plan, Sent};

/// The recorder, and the plan with the names of everything.
pub(super) struct Record {
    plan: Plan,
    recorder: HostRecorder,
}

impl Record {
    pub(super) fn new(plan: Plan) -> Self {
        Record { recorder: HostRecorder::new(&plan), plan }
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
        let ended = Ended { group, kind: usize::from(exchange.kind), started, bytes };
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

    pub(super) fn finish(self) -> HostRecorder {
        self.recorder
    }
}
