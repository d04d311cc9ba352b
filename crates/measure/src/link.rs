//! Measurements at one link: counters in total and by class, queue length, windows and intervals.

use aqmkit_aqm::Why;
use aqmkit_base::{ClassId, Duration, Instant, Transmission};

use crate::arithmetic::{bits_per_s, by_reason, by_reasons_of, mean_ms, per_second, share, utilization};
use crate::counters::{Seen, Traffic};
use crate::fates::{Ended, Fate, Fates};
use crate::metric::value::{known, of_link};
use crate::metric::{Counted, METRICS};
use crate::output::{ClassStats, Length, LinkStats};
use crate::plan::Plan;
use crate::queue::{QueueMark, QueueTime};
use crate::series::Columns;
use crate::times::Times;

/// Measures one link. The simulator or the live bottleneck reports each event here, in the order of time.
///
/// Counters are monotonic; the difference between the edges of a window or an interval gives its values. A packet whose
/// transmission spans an edge counts on each side with the part transmitted there. Drops and marks count in the window
/// of the packet's arrival, even if they occur later; the fate of packets that still wait at the end of the run is
/// unknown. Distributions are recorded only while a window is open.
#[derive(Clone, Debug, Default)]
pub struct LinkRecorder {
    on: bool,
    traffic: Traffic,
    queue: QueueTime,
    /// By class; empty if classes are not measured.
    classes: Vec<Traffic>,
    windows: Vec<WindowMeter>,
    /// Windows that have started but not ended.
    open: Vec<usize>,
    /// The last transmitted packet, and its transmission.
    sent: Option<Seen>,
    transmission: Transmission,
    interval: Option<Mark>,
    /// The start of the first interval.
    series_from: Instant,
    /// Drops and marks of packets that arrived in the current interval: of the link, then of each class.
    fates: Vec<Fates>,
    ended: Ended,
    series: Columns,
}

/// The counters at one time.
#[derive(Clone, Debug, Default)]
struct Mark {
    when: Instant,
    traffic: Traffic,
    classes: Vec<Traffic>,
    /// The untransmitted bytes of the packet in transmission, and its class.
    unsent: (ClassId, f64),
    area: u128,
}

impl Mark {
    /// Bytes transmitted between an earlier mark and this one.
    fn passed_since(&self, earlier: &Mark) -> f64 {
        (self.traffic.sent_bytes - earlier.traffic.sent_bytes) as f64 - (self.unsent.1 - earlier.unsent.1)
    }

    /// As [`passed_since`](Self::passed_since), for one class.
    fn passed_of_class_since(&self, earlier: &Mark, class: usize) -> f64 {
        let unsent = |mark: &Mark| if mark.unsent.0.index() == class { mark.unsent.1 } else { 0.0 };
        let sent = self.classes[class].sent_bytes - earlier.classes[class].sent_bytes;
        sent as f64 - (unsent(self) - unsent(earlier))
    }
}

/// A window with its measurements so far.
#[derive(Clone, Debug)]
struct WindowMeter {
    opened: Mark,
    queue: QueueMark,
    closed: Option<(Mark, Length)>,
    /// Sojourn times of departed packets by class; those of unmeasured classes are in `other_delay`.
    class_delays: Vec<Times>,
    other_delay: Times,
    /// Drops and marks of the packets that arrived in the window: of the link, then by class.
    fates: Vec<Fates>,
}

impl WindowMeter {
    /// The sojourn times of all packets that left.
    fn delay(&self) -> Times {
        let mut all = self.other_delay.clone();
        self.class_delays.iter().for_each(|of_class| all.add(of_class));
        all
    }
}

/// The traffic of a link in one window.
#[derive(Clone, Debug, Default)]
pub struct Passed {
    /// Start of the window, or the current time if it has not started.
    pub from: Instant,
    /// End of the window, or the current time if it has not ended.
    pub to: Instant,
    /// Whether it is still open; events at the current time then belong to it.
    pub goes_on: bool,
    /// Counters of all packets: sent ones by the start of their transmission, dropped and marked ones by their arrival.
    pub total: Traffic,
    /// Bytes transmitted in the window; packets in transmission at an edge count with the part inside.
    pub passed_bytes: f64,
    /// Sojourn times of the packets that left.
    pub delay: Times,
    /// The same by class; empty if classes are not measured.
    pub classes: Vec<PassedClass>,
    /// Queue length in packets over time.
    pub length: Length,
}

/// The traffic of one class in one window.
#[derive(Clone, Debug, Default)]
pub struct PassedClass {
    /// All traffic, as in [`Passed::total`].
    pub total: Traffic,
    /// Bytes transmitted in the window, as in [`Passed::passed_bytes`].
    pub passed_bytes: f64,
    /// Sojourn times of the packets that left.
    pub delay: Times,
}

impl LinkRecorder {
    /// Creates a recorder for a link with this number of windows and classes.
    #[must_use]
    pub fn new(windows: usize, classes: usize) -> Self {
        let empty = WindowMeter {
            opened: Mark::default(),
            queue: QueueMark::default(),
            closed: None,
            class_delays: vec![Times::new(); classes],
            other_delay: Times::new(),
            fates: vec![Fates::default(); 1 + classes],
        };
        LinkRecorder {
            on: true,
            fates: vec![Fates::default(); 1 + classes],
            classes: vec![Traffic::default(); classes],
            windows: vec![empty; windows],
            ..LinkRecorder::default()
        }
    }

    /// A recorder that measures nothing, for a link that is not reported.
    #[must_use]
    pub fn off() -> Self {
        LinkRecorder::default()
    }

    /// The recorder for link number `link` of the plan.
    #[must_use]
    pub fn of(plan: &Plan, link: usize) -> Self {
        let classes = if link == plan.measured { plan.classes.len() } else { 0 };
        if plan.links[link].report { LinkRecorder::new(plan.windows.len(), classes) } else { LinkRecorder::off() }
    }

    /// Records the arrival of a packet.
    #[inline]
    pub fn offered(&mut self, packet: Seen) {
        if !self.on {
            return;
        }
        let count = |t: &mut Traffic| {
            t.offered_packets += 1;
            t.offered_bytes += u64::from(packet.len);
            t.offered_payload += u64::from(packet.payload);
        };
        count(&mut self.traffic);
        self.classes.get_mut(packet.class.index()).into_iter().for_each(count);
    }

    /// Records that a packet left the queue after waiting, and its transmission.
    #[inline]
    pub fn departed(&mut self, packet: Seen, waited: Duration, transmission: Transmission) {
        if !self.on {
            return;
        }
        let count = |t: &mut Traffic| {
            t.sent_packets += 1;
            t.sent_bytes += u64::from(packet.len);
            t.waited_ns += waited.as_nanos();
        };
        count(&mut self.traffic);
        self.classes.get_mut(packet.class.index()).into_iter().for_each(count);
        for &window in &self.open {
            let window = &mut self.windows[window];
            window.class_delays.get_mut(packet.class.index()).unwrap_or(&mut window.other_delay).record(waited);
        }
        self.sent = Some(packet);
        self.transmission = transmission;
    }

    /// Records a change of the link's rate: the rest of the packet in transmission takes until `until`.
    pub fn continued(&mut self, now: Instant, until: Instant) {
        self.transmission = self.transmission.continued(now, until);
    }

    /// Records that the queue dropped a packet that arrived at `arrived`.
    #[inline]
    pub fn dropped(&mut self, packet: Seen, why: Why, arrived: Instant) {
        if !self.on {
            return;
        }
        self.traffic.dropped[why as usize] += 1;
        if let Some(class) = self.classes.get_mut(packet.class.index()) {
            class.dropped[why as usize] += 1;
        }
        self.fate(packet.class.index(), Fate::Dropped(why), arrived);
    }

    /// Records that the queue marked a packet that arrived at `arrived`.
    #[inline]
    pub fn marked(&mut self, packet: Seen, why: Why, arrived: Instant) {
        if !self.on {
            return;
        }
        self.traffic.marked[why as usize] += 1;
        if let Some(class) = self.classes.get_mut(packet.class.index()) {
            class.marked[why as usize] += 1;
        }
        self.fate(packet.class.index(), Fate::Marked(why), arrived);
    }

    /// Counts a drop or a mark at the time of the packet's arrival.
    fn fate(&mut self, class: usize, fate: Fate, arrived: Instant) {
        let count = |fates: &mut [Fates]| {
            fates[0].add(fate);
            fates.get_mut(1 + class).into_iter().for_each(|of_class| of_class.add(fate));
        };
        let windows = self.windows.iter_mut().enumerate();
        for (_, window) in windows.filter(|(i, w)| w.closed.is_some() || self.open.contains(i)) {
            let ended = window.closed.as_ref().is_some_and(|(closed, _)| arrived >= closed.when);
            if arrived >= window.opened.when && !ended {
                count(&mut window.fates);
            }
        }
        match &self.interval {
            Some(began) if arrived >= began.when => count(&mut self.fates),
            Some(_) if arrived >= self.series_from => self.ended.late(arrived, class, fate),
            _ => {}
        }
    }

    /// Sets the current length of the queue, in packets.
    #[inline]
    pub fn queue(&mut self, packets: u64, now: Instant) {
        if self.on {
            self.queue.set(packets, now);
        }
    }

    /// All traffic so far.
    #[must_use]
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// All traffic so far, by class.
    #[must_use]
    pub fn classes(&self) -> &[Traffic] {
        &self.classes
    }

    /// The class of the packet in transmission, and its bytes that are not yet transmitted.
    fn unsent(&self, now: Instant) -> (ClassId, f64) {
        let of = |packet: Seen| (packet.class, f64::from(packet.len) * self.transmission.unsent(now));
        self.sent.map(of).unwrap_or_default()
    }

    /// Bytes transmitted so far, including the transmitted part of the packet in transmission.
    #[must_use]
    pub fn passed_bytes(&self, now: Instant) -> f64 {
        self.traffic.sent_bytes as f64 - self.unsent(now).1
    }

    fn mark(&mut self, now: Instant) -> Mark {
        Mark {
            when: now,
            traffic: self.traffic,
            classes: self.classes.clone(),
            unsent: self.unsent(now),
            area: self.queue.area(now),
        }
    }

    /// Opens a window at `now`.
    pub fn open(&mut self, window: usize, now: Instant) {
        if self.on {
            self.windows[window].opened = self.mark(now);
            self.windows[window].queue = self.queue.mark(now);
            self.open.push(window);
        }
    }

    /// Closes a window at `now`.
    pub fn close(&mut self, window: usize, now: Instant) {
        if self.on {
            let mark = self.mark(now);
            let meter = &mut self.windows[window];
            meter.closed = Some((mark, self.queue.since(&meter.queue, now)));
            self.open.retain(|&w| w != window);
        }
    }

    /// Ends an interval of the series (the first call starts it). Columns are named after the plan's link number
    /// `link`; `gauges` has the discipline's gauges.
    pub fn interval(&mut self, now: Instant, plan: &Plan, link: usize, gauges: &[(String, f64)]) {
        if !self.on || !plan.links[link].report {
            return;
        }
        let this = self.mark(now);
        if let Some(last) = self.interval.take() {
            let path = format!("links.{}", plan.links[link].name);
            let seconds = this.when.since(last.when).as_secs_f64();
            let fates = std::mem::replace(&mut self.fates, vec![Fates::default(); 1 + self.classes.len()]);
            let traffic = this.traffic.since(&last.traffic);
            self.traffic_columns(&path, &traffic, this.passed_since(&last), &fates[0], seconds);
            let area = (this.area - last.area) as f64;
            self.series.set(format!("{path}.queue_packets.mean"), area / (seconds * 1e9));
            for (gauge, value) in gauges {
                self.series.set(format!("{path}.aqm.{gauge}"), *value);
            }
            if link == plan.measured {
                self.class_columns(plan, &last, &this, &fates[1..], seconds);
            }
            self.series.end_row();
            let of_classes = this.classes.iter().zip(&last.classes);
            let arrived = of_classes.map(|(after, before)| after.offered_packets - before.offered_packets);
            self.ended.push(now, std::iter::once(traffic.offered_packets).chain(arrived));
        } else {
            self.series_from = now;
        }
        self.interval = Some(this);
    }

    fn class_columns(&mut self, plan: &Plan, last: &Mark, this: &Mark, fates: &[Fates], seconds: f64) {
        let of_classes = plan.classes.iter().zip(last.classes.iter().zip(&this.classes)).zip(fates);
        for (class, ((name, (before, after)), of_class)) in of_classes.enumerate() {
            let path = format!("classes.{name}");
            let passed = this.passed_of_class_since(last, class);
            self.traffic_columns(&path, &after.since(before), passed, of_class, seconds);
            // Drops for each reason that has occurred so far.
            for why in Why::ALL.iter().filter(|why| after.dropped[**why as usize] > 0) {
                self.series.set(format!("{path}.drops.{}", why.name()), of_class.dropped[*why as usize] as f64);
            }
            let flows = plan.flows_of_class(class) as f64;
            self.series.set(format!("{path}.loss_rate_pps"), of_class.drops() as f64 / seconds / flows);
        }
    }

    fn traffic_columns(&mut self, path: &str, t: &Traffic, passed_bytes: f64, fates: &Fates, seconds: f64) {
        // Without arrivals, shares of arriving packets are undefined.
        let share = |part: u64| if t.offered_packets == 0 { f64::NAN } else { part as f64 / t.offered_packets as f64 };
        let mut set = |name: &str, value: f64| self.series.set(format!("{path}.{name}"), value);
        set("throughput_bps", bits_per_s(passed_bytes, seconds));
        set("offered_bps", bits_per_s(t.offered_bytes as f64, seconds));
        set("drop_rate", share(fates.drops()));
        set("mark_rate", share(fates.marks()));
        set("queue_delay_ms.mean", mean_ms(t.waited_ns, t.sent_packets));
    }

    /// The measurements of a window; an open window is evaluated as if it ended at `now`.
    pub fn passed(&mut self, window: usize, now: Instant) -> Passed {
        let present = self.mark(now);
        let meter = &self.windows[window];
        let begun = meter.closed.is_some() || self.open.contains(&window);
        let (opened, queue) =
            if begun { (&meter.opened, meter.queue.clone()) } else { (&present, QueueMark::default()) };
        let (closed, length) = match &meter.closed {
            Some((mark, length)) => (mark, *length),
            None if begun => (&present, self.queue.since(&queue, now)),
            None => (&present, Length::default()),
        };
        let of_window = |total: Traffic, fates: Option<&Fates>| {
            let fates = fates.filter(|_| begun).copied().unwrap_or_default();
            Traffic { dropped: fates.dropped, marked: fates.marked, ..total }
        };
        let class = |(class, ((after, before), delay)): (usize, ((&Traffic, &Traffic), &Times))| PassedClass {
            total: of_window(after.since(before), meter.fates.get(1 + class)),
            passed_bytes: closed.passed_of_class_since(opened, class),
            delay: delay.clone(),
        };
        let classes = closed.classes.iter().zip(&opened.classes).zip(&meter.class_delays);
        Passed {
            from: opened.when,
            to: closed.when,
            goes_on: meter.closed.is_none(),
            total: of_window(closed.traffic.since(&opened.traffic), meter.fates.first()),
            passed_bytes: closed.passed_since(opened),
            delay: meter.delay(),
            classes: classes.enumerate().map(class).collect(),
            length,
        }
    }

    /// The columns of the series of the plan's link number `link`.
    pub(crate) fn take_series(&mut self, plan: &Plan, link: usize) -> Columns {
        let mut columns = std::mem::take(&mut self.series);
        let paths = std::iter::once(format!("links.{}", plan.links[link].name));
        let paths: Vec<String> = paths.chain(plan.classes.iter().map(|name| format!("classes.{name}"))).collect();
        let of_flow = |class| 1.0 / plan.interval.as_secs_f64() / plan.flows_of_class(class) as f64;
        let loss_pps: Vec<f64> = (0..plan.classes.len()).map(of_flow).collect();
        self.ended.amend(&mut columns, &paths, &loss_pps);
        columns
    }
}

impl Passed {
    /// The length of the window.
    #[must_use]
    pub fn span(&self) -> Duration {
        self.to.since(self.from)
    }

    /// The results of the link. `capacity_bps` is the mean rate of the link in the window, in bits per second.
    #[must_use]
    pub fn stats(&self, capacity_bps: f64) -> LinkStats {
        let (t, seconds) = (&self.total, self.span().as_secs_f64());
        let counted = Counted { seconds, traffic: *t, passed_bytes: self.passed_bytes, ..Counted::default() };
        LinkStats {
            throughput_bps: bits_per_s(self.passed_bytes, seconds),
            offered_bps: bits_per_s(t.offered_bytes as f64, seconds),
            utilization: utilization(self.passed_bytes, capacity_bps, seconds),
            packets_per_s: per_second(t.sent_packets as f64, seconds),
            drop_rate: share(t.drops(), t.offered_packets),
            mark_rate: share(t.marks(), t.offered_packets),
            drops: by_reason(&t.dropped),
            queue_packets: self.length,
            queue_delay_ms: self.delay.summary(),
            computed: known(of_link(METRICS, &counted)),
        }
    }

    /// The part of a class's results that the link can measure; deliveries to receivers and losses per flow are zero.
    #[must_use]
    pub fn class_stats(&self, class: usize) -> ClassStats {
        let nothing = PassedClass::default();
        let passed = self.classes.get(class).unwrap_or(&nothing);
        let (t, seconds) = (&passed.total, self.span().as_secs_f64());
        ClassStats {
            throughput_bps: bits_per_s(passed.passed_bytes, seconds),
            offered_bps: bits_per_s(t.offered_bytes as f64, seconds),
            drop_rate: share(t.drops(), t.offered_packets),
            mark_rate: share(t.marks(), t.offered_packets),
            drops: by_reasons_of(&t.dropped, &self.total.dropped),
            packet_bytes: share(t.offered_bytes, t.offered_packets),
            queue_delay_ms: passed.delay.summary(),
            ..ClassStats::default()
        }
    }
}
