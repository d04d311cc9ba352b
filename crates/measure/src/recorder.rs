//! The recorder of a simulated run: all links and hosts.

use aqmkit_aqm::Why;
use aqmkit_base::{BitRate, Duration, Instant, Transmission};

use crate::counters::{Seen, Sent, Traffic};
use crate::hosts::HostRecorder;
use crate::join::join;
use crate::limits::SenderSample;
use crate::link::LinkRecorder;
use crate::output::Output;
use crate::plan::Plan;

/// A [`LinkRecorder`] for each link and a [`HostRecorder`], with windows that open and close together.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    plan: Plan,
    links: Vec<LinkRecorder>,
    hosts: HostRecorder,
}

impl Recorder {
    /// Creates a recorder for a plan.
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        Recorder {
            links: (0..plan.links.len()).map(|link| LinkRecorder::of(&plan, link)).collect(),
            hosts: HostRecorder::new(&plan),
            plan,
        }
    }

    /// The plan of the measurement.
    #[inline]
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Adds an application to a group; returns its index.
    pub fn join(&mut self, group: usize) -> usize {
        let app = self.hosts.join();
        self.plan.groups[group].joined.push(app);
        app
    }

    /// Records a new rate of a link.
    pub fn rate(&mut self, link: usize, rate: BitRate, now: Instant) {
        self.plan.links[link].changes.push((now, rate));
    }

    /// The traffic of a link so far; all zero if it is not reported.
    #[must_use]
    pub fn passed(&self, link: usize) -> &Traffic {
        self.links[link].traffic()
    }

    /// Bytes that a link has transmitted so far; zero if it is not reported.
    #[must_use]
    pub fn passed_bytes(&self, link: usize, now: Instant) -> f64 {
        self.links[link].passed_bytes(now)
    }

    /// Records the arrival of a packet at a link.
    #[inline]
    pub fn offered(&mut self, link: usize, packet: Seen) {
        self.links[link].offered(packet);
    }

    /// Records that a packet left a link's queue after waiting, and its transmission.
    #[inline]
    pub fn departed(&mut self, link: usize, packet: Seen, waited: Duration, transmission: Transmission) {
        self.links[link].departed(packet, waited, transmission);
    }

    /// Records a change of a link's rate: the rest of the packet in transmission takes until `until`.
    pub fn continued(&mut self, link: usize, now: Instant, until: Instant) {
        self.links[link].continued(now, until);
    }

    /// Records that a link's queue dropped a packet of an application that arrived at `arrived`.
    #[inline]
    pub fn dropped(&mut self, link: usize, app: u32, packet: Seen, why: Why, arrived: Instant) {
        self.lost(app);
        self.links[link].dropped(packet, why, arrived);
    }

    /// Records the loss of an application's packet on the wire.
    #[inline]
    pub fn lost(&mut self, app: u32) {
        self.hosts.sent(app).drops += 1;
    }

    /// Records that a link's queue marked a packet that arrived at `arrived`.
    #[inline]
    pub fn marked(&mut self, link: usize, packet: Seen, why: Why, arrived: Instant) {
        self.links[link].marked(packet, why, arrived);
    }

    /// Sets the current length of a link's queue, in packets.
    #[inline]
    pub fn queue(&mut self, link: usize, packets: u64, now: Instant) {
        self.links[link].queue(packets, now);
    }

    /// Records that a packet with data reached its receiver after `latency`.
    #[inline]
    pub fn arrived(&mut self, class: usize, latency: Duration) {
        self.hosts.arrived(class, latency);
    }

    /// Records the delivery of `bytes` of new application data.
    #[inline]
    pub fn delivered(&mut self, app: u32, class: usize, bytes: u64) {
        self.hosts.delivered(app, class, bytes);
    }

    /// Counters of application `app`.
    #[inline]
    #[must_use]
    pub fn app(&self, app: u32) -> &Sent {
        self.hosts.app(app)
    }

    /// Mutable counters of an application.
    #[inline]
    pub fn sent(&mut self, app: u32) -> &mut Sent {
        self.hosts.sent(app)
    }

    /// The plan, and the recorder of the hosts.
    #[inline]
    pub fn hosts(&mut self) -> (&Plan, &mut HostRecorder) {
        (&self.plan, &mut self.hosts)
    }

    /// Opens a window; `counters` has the traffic models' own counters, by group.
    pub fn open(&mut self, window: usize, now: Instant, counters: Vec<Vec<f64>>) {
        self.links.iter_mut().for_each(|l| l.open(window, now));
        self.hosts.open(window, now, &self.plan, counters);
    }

    /// Records the number of connections in their first slow start, by group, at the start of a window.
    pub fn slow_start(&mut self, window: usize, connections: Vec<u64>) {
        self.hosts.slow_start(window, connections);
    }

    /// Records a sample of the sender of a connection in a group.
    pub fn sampled(&mut self, group: usize, sample: &SenderSample) {
        self.hosts.sampled(group, sample);
    }

    /// Closes a window; `counters` has the traffic models' own counters, by group.
    pub fn close(&mut self, window: usize, now: Instant, counters: Vec<Vec<f64>>) {
        self.links.iter_mut().for_each(|l| l.close(window, now));
        self.hosts.close(window, now, &self.plan, counters);
    }

    /// Ends an interval of the series (the first call starts it). `counters` has the traffic models' own counters, by
    /// group; `gauges` those of the discipline at the measured link.
    pub fn interval(&mut self, now: Instant, counters: Vec<Vec<f64>>, gauges: &[(String, f64)]) {
        for (i, link) in self.links.iter_mut().enumerate() {
            let gauges = if i == self.plan.measured { gauges } else { &[] };
            link.interval(now, &self.plan, i, gauges);
        }
        self.hosts.interval(now, &self.plan, counters);
    }

    /// The output up to `now`: open windows are evaluated as if they ended now, and windows that have not started are
    /// omitted. `counters` has the traffic models' own counters, by group.
    #[must_use]
    pub fn output_so_far(&self, now: Instant, counters: &[Vec<f64>]) -> Output {
        let mut ended = self.clone();
        let kept: Vec<bool> = (0..ended.plan.windows.len()).map(|w| ended.hosts.has_begun(w)).collect();
        for window in (0..kept.len()).filter(|&w| !kept[w]) {
            ended.open(window, now, counters.to_vec());
        }
        for window in ended.hosts.open_windows().to_vec() {
            ended.plan.windows[window].to = now;
            // The windows of the links stay open.
            ended.hosts.close(window, now, &ended.plan, counters.to_vec());
        }
        let mut output = ended.output(now);
        let mut of_window = kept.iter().copied();
        output.windows.retain(|_| of_window.next().unwrap_or(true));
        for flow in &mut output.flows {
            let mut of_column = kept.iter().copied();
            flow.delivered_bytes.retain(|_| of_column.next().unwrap_or(true));
        }
        output
    }

    /// The output of a run that ends at `now`. Of the costs, only the number of packets is set.
    #[must_use]
    pub fn output(self, now: Instant) -> Output {
        join(&self.plan, self.links, self.hosts, now)
    }
}
