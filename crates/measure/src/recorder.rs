//! All links and hosts of a run that happens in one place.

use aqmkit_aqm::Why;
use aqmkit_base::{BitRate, Duration, Instant};

use crate::counters::{Seen, Sent, Traffic};
use crate::hosts::{Ended, HostRecorder};
use crate::join::join;
use crate::link::LinkRecorder;
use crate::output::Output;
use crate::plan::Plan;
use crate::transmission::Transmission;

/// A [`LinkRecorder`] for each link and a [`HostRecorder`], with windows that open and close together.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    plan: Plan,
    links: Vec<LinkRecorder>,
    hosts: HostRecorder,
}

impl Recorder {
    /// A recorder for a plan.
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        Recorder {
            links: (0..plan.links.len()).map(|link| LinkRecorder::of(&plan, link)).collect(),
            hosts: HostRecorder::new(&plan),
            plan,
        }
    }

    /// What is measured.
    #[inline]
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Another application joins a group. Says its number.
    pub fn join(&mut self, group: usize) -> usize {
        let app = self.hosts.join();
        self.plan.groups[group].joined.push(app);
        app
    }

    /// A link has another rate from now on.
    pub fn rate(&mut self, link: usize, rate: BitRate, now: Instant) {
        self.plan.links[link].changes.push((now, rate));
    }

    /// What has passed a link so far; nothing where the results do not report it.
    #[must_use]
    pub fn passed(&self, link: usize) -> &Traffic {
        self.links[link].traffic()
    }

    /// A packet has arrived at a link.
    #[inline]
    pub fn offered(&mut self, link: usize, packet: Seen) {
        self.links[link].offered(packet);
    }

    /// A packet has left a link's queue, after having waited so long, and is being sent.
    #[inline]
    pub fn departed(&mut self, link: usize, packet: Seen, waited: Duration, transmission: Transmission) {
        self.links[link].departed(packet, waited, transmission);
    }

    /// The rate of a link has changed: the rest of the packet in transmission goes until `until`.
    pub fn continued(&mut self, link: usize, now: Instant, until: Instant) {
        self.links[link].continued(now, until);
    }

    /// A packet of an application that arrived at `arrived` has been dropped by a link's queue.
    #[inline]
    pub fn dropped(&mut self, link: usize, app: u32, packet: Seen, why: Why, arrived: Instant) {
        self.lost(app);
        self.links[link].dropped(packet, why, arrived);
    }

    /// A packet of an application has been lost on the wire.
    #[inline]
    pub fn lost(&mut self, app: u32) {
        self.hosts.sent(app).drops += 1;
    }

    /// A packet that arrived at `arrived` has been marked by a link's queue.
    #[inline]
    pub fn marked(&mut self, link: usize, packet: Seen, why: Why, arrived: Instant) {
        self.links[link].marked(packet, why, arrived);
    }

    /// Sets the current length of a link's queue, in packets.
    #[inline]
    pub fn queue(&mut self, link: usize, packets: u64, now: Instant) {
        self.links[link].queue(packets, now);
    }

    /// A packet with data has reached its receiver, after having been under way so long.
    #[inline]
    pub fn arrived(&mut self, class: usize, latency: Duration) {
        self.hosts.arrived(class, latency);
    }

    /// `bytes` of new application data have arrived.
    #[inline]
    pub fn delivered(&mut self, app: u32, class: usize, bytes: u64) {
        self.hosts.delivered(app, class, bytes);
    }

    /// An application's counters.
    #[inline]
    #[must_use]
    pub fn app(&self, app: u32) -> &Sent {
        self.hosts.app(app)
    }

    /// An application's counters, to add to.
    #[inline]
    pub fn sent(&mut self, app: u32) -> &mut Sent {
        self.hosts.sent(app)
    }

    /// An exchange has ended.
    pub fn exchange(&mut self, ended: Ended, now: Instant) {
        self.hosts.exchange(&self.plan, ended, now);
    }

    /// A window begins. `counters` are the models' own, by group.
    pub fn open(&mut self, window: usize, now: Instant, counters: Vec<Vec<f64>>) {
        self.links.iter_mut().for_each(|l| l.open(window, now));
        self.hosts.open(window, now, &self.plan, counters);
    }

    /// A window ends. `counters` are the models' own, by group.
    pub fn close(&mut self, window: usize, now: Instant, counters: Vec<Vec<f64>>) {
        self.links.iter_mut().for_each(|l| l.close(window, now));
        self.hosts.close(window, now, &self.plan, counters);
    }

    /// An interval of the series ends; the first call marks where they begin. `counters` are the models' own, by group;
    /// `gauges` those of the discipline at the measured link.
    pub fn interval(&mut self, now: Instant, counters: Vec<Vec<f64>>, gauges: &[(String, f64)]) {
        for (i, link) in self.links.iter_mut().enumerate() {
            let gauges = if i == self.plan.measured { gauges } else { &[] };
            link.interval(now, &self.plan, i, gauges);
        }
        self.hosts.interval(now, &self.plan, counters);
    }

    /// The output so far, at `now`: a window that has not ended ends here, and one that has not begun is left out. `counters`
    /// are the models' own, by group.
    #[must_use]
    pub fn output_so_far(&self, now: Instant, counters: &[Vec<f64>]) -> Output {
        let mut ended = self.clone();
        let kept: Vec<bool> = (0..ended.plan.windows.len()).map(|w| ended.hosts.has_begun(w)).collect();
        for window in (0..kept.len()).filter(|&w| !kept[w]) {
            ended.open(window, now, counters.to_vec());
        }
        for window in ended.hosts.open_windows().to_vec() {
            ended.plan.windows[window].to = now;
            ended.close(window, now, counters.to_vec());
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

    /// The output of a run that ends at `now`. Of the costs, only the packets are filled in.
    #[must_use]
    pub fn output(self, now: Instant) -> Output {
        join(&self.plan, self.links, self.hosts, now)
    }
}
