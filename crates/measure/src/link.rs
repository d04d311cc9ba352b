//! What passes one link: counters in total and by class, the queue's length, windows and intervals.

use aqmkit_aqm::Why;
use aqmkit_base::{Duration, Instant};

use crate::arithmetic::{bits_per_s, by_reason, by_reasons_of, mean_ms, share};
use crate::counters::{Seen, Traffic};
use crate::output::{ClassStats, Length, LinkStats};
use crate::plan::Plan;
use crate::queue::{QueueMark, QueueTime};
use crate::series::Columns;
use crate::times::Times;

/// Measures one link. Whoever moves the packets reports each event here, in the order of their times.
///
/// Counters are monotonic; the difference between the edges of a window or an interval gives its values.
/// Distributions are recorded only while a window is open.
#[derive(Clone, Debug, Default)]
pub struct LinkRecorder {
    on: bool,
    traffic: Traffic,
    queue: QueueTime,
    /// By class; empty where classes are not measured.
    classes: Vec<Traffic>,
    windows: Vec<WindowMeter>,
    /// The windows that have begun and not ended.
    open: Vec<usize>,
    interval: Option<Mark>,
    series: Columns,
}

/// The counters at one moment.
#[derive(Clone, Debug, Default)]
struct Mark {
    when: Instant,
    traffic: Traffic,
    classes: Vec<Traffic>,
    area: u128,
}

/// A window with what has been measured in it so far.
#[derive(Clone, Debug)]
struct WindowMeter {
    opened: Mark,
    queue: QueueMark,
    closed: Option<(Mark, Length)>,
    delay: Times,
    class_delays: Vec<Times>,
}

/// What passed a link in one window.
#[derive(Clone, Debug, Default)]
pub struct Passed {
    /// Its first moment; of a window that has not begun, the present.
    pub from: Instant,
    /// The first moment after it; of a window that has not ended, the present.
    pub to: Instant,
    /// Everything that passed.
    pub total: Traffic,
    /// Sojourn time of the packets that left.
    pub delay: Times,
    /// The same by class; empty where classes are not measured.
    pub classes: Vec<PassedClass>,
    /// The length of the queue in packets, over time.
    pub length: Length,
}

/// What passed of one class in one window.
#[derive(Clone, Debug, Default)]
pub struct PassedClass {
    /// Everything that passed.
    pub total: Traffic,
    /// Sojourn time of the packets that left.
    pub delay: Times,
}

impl LinkRecorder {
    /// A recorder for a link with so many windows and classes.
    #[must_use]
    pub fn new(windows: usize, classes: usize) -> Self {
        let empty = WindowMeter {
            opened: Mark::default(),
            queue: QueueMark::default(),
            closed: None,
            delay: Times::new(),
            class_delays: vec![Times::new(); classes],
        };
        LinkRecorder {
            on: true,
            classes: vec![Traffic::default(); classes],
            windows: vec![empty; windows],
            ..LinkRecorder::default()
        }
    }

    /// One that measures nothing, for a link that is not reported.
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

    /// A packet has arrived.
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

    /// A packet has left the queue, after having waited so long, and is being sent.
    #[inline]
    pub fn departed(&mut self, packet: Seen, waited: Duration) {
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
            window.delay.record(waited);
            if let Some(times) = window.class_delays.get_mut(packet.class.index()) {
                times.record(waited);
            }
        }
    }

    /// A packet has been dropped by the queue.
    #[inline]
    pub fn dropped(&mut self, packet: Seen, why: Why) {
        if !self.on {
            return;
        }
        self.traffic.dropped[why as usize] += 1;
        if let Some(class) = self.classes.get_mut(packet.class.index()) {
            class.dropped[why as usize] += 1;
        }
    }

    /// A packet has been marked by the queue.
    #[inline]
    pub fn marked(&mut self, packet: Seen, why: Why) {
        if !self.on {
            return;
        }
        self.traffic.marked[why as usize] += 1;
        if let Some(class) = self.classes.get_mut(packet.class.index()) {
            class.marked[why as usize] += 1;
        }
    }

    /// Sets the current length of the queue, in packets.
    #[inline]
    pub fn queue(&mut self, packets: u64, now: Instant) {
        if self.on {
            self.queue.set(packets, now);
        }
    }

    /// Everything that has passed so far.
    #[must_use]
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// Everything that has passed so far, by class.
    #[must_use]
    pub fn classes(&self) -> &[Traffic] {
        &self.classes
    }

    fn mark(&mut self, now: Instant) -> Mark {
        Mark { when: now, traffic: self.traffic, classes: self.classes.clone(), area: self.queue.area(now) }
    }

    /// A window begins.
    pub fn open(&mut self, window: usize, now: Instant) {
        if self.on {
            self.windows[window].opened = self.mark(now);
            self.windows[window].queue = self.queue.mark(now);
            self.open.push(window);
        }
    }

    /// A window ends.
    pub fn close(&mut self, window: usize, now: Instant) {
        if self.on {
            let mark = self.mark(now);
            let meter = &mut self.windows[window];
            meter.closed = Some((mark, self.queue.since(&meter.queue, now)));
            self.open.retain(|&w| w != window);
        }
    }

    /// An interval of the series ends; the first call marks where they begin. The columns have the names of the plan's link
    /// number `link`; `gauges` are those of the discipline.
    pub fn interval(&mut self, now: Instant, plan: &Plan, link: usize, gauges: &[(String, f64)]) {
        if !self.on || !plan.links[link].report {
            return;
        }
        let this = self.mark(now);
        if let Some(last) = self.interval.take() {
            let path = format!("links.{}", plan.links[link].name);
            let seconds = this.when.since(last.when).as_secs_f64();
            self.traffic_columns(&path, &this.traffic.since(&last.traffic), seconds);
            let area = (this.area - last.area) as f64;
            self.series.set(format!("{path}.queue_packets.mean"), area / (seconds * 1e9));
            for (gauge, value) in gauges {
                self.series.set(format!("{path}.aqm.{gauge}"), *value);
            }
            if link == plan.measured {
                self.class_columns(plan, &last, &this, seconds);
            }
            self.series.end_row();
        }
        self.interval = Some(this);
    }

    fn class_columns(&mut self, plan: &Plan, last: &Mark, this: &Mark, seconds: f64) {
        let of_classes = plan.classes.iter().zip(last.classes.iter().zip(&this.classes));
        for (class, (name, (before, after))) in of_classes.enumerate() {
            let path = format!("classes.{name}");
            let traffic = after.since(before);
            self.traffic_columns(&path, &traffic, seconds);
            // Drops by each reason that there has been so far.
            for why in Why::ALL.iter().filter(|why| after.dropped[**why as usize] > 0) {
                self.series.set(format!("{path}.drops.{}", why.name()), traffic.dropped[*why as usize] as f64);
            }
            let flows = plan.flows_of_class(class) as f64;
            self.series.set(format!("{path}.loss_rate_pps"), traffic.drops() as f64 / seconds / flows);
        }
    }

    fn traffic_columns(&mut self, path: &str, t: &Traffic, seconds: f64) {
        // What is dropped or marked while nothing arrives is a share of nothing.
        let share = |part: u64| if t.offered_packets == 0 { f64::NAN } else { part as f64 / t.offered_packets as f64 };
        let mut set = |name: &str, value: f64| self.series.set(format!("{path}.{name}"), value);
        set("throughput_bps", bits_per_s(t.sent_bytes, seconds));
        set("offered_bps", bits_per_s(t.offered_bytes, seconds));
        set("drop_rate", share(t.drops()));
        set("mark_rate", share(t.marks()));
        set("queue_delay_ms.mean", mean_ms(t.waited_ns, t.sent_packets));
    }

    /// What has passed in a window. One that has not ended ends at `now`.
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
        let classes = closed.classes.iter().zip(&opened.classes).zip(&meter.class_delays);
        Passed {
            from: opened.when,
            to: closed.when,
            total: closed.traffic.since(&opened.traffic),
            delay: meter.delay.clone(),
            classes: classes
                .map(|((after, before), delay)| PassedClass { total: after.since(before), delay: delay.clone() })
                .collect(),
            length,
        }
    }

    /// The columns of the series.
    pub(crate) fn take_series(&mut self) -> Columns {
        std::mem::take(&mut self.series)
    }
}

impl Passed {
    /// How long the window was.
    #[must_use]
    pub fn span(&self) -> Duration {
        self.to.since(self.from)
    }

    /// The numbers of the link. `capacity_bps` is what it could have sent, in bits per second.
    #[must_use]
    pub fn stats(&self, capacity_bps: f64) -> LinkStats {
        let (t, seconds) = (&self.total, self.span().as_secs_f64());
        let throughput_bps = bits_per_s(t.sent_bytes, seconds);
        LinkStats {
            throughput_bps,
            offered_bps: bits_per_s(t.offered_bytes, seconds),
            utilization: if capacity_bps > 0.0 { throughput_bps / capacity_bps } else { 0.0 },
            packets_per_s: t.sent_packets as f64 / seconds,
            drop_rate: share(t.drops(), t.offered_packets),
            mark_rate: share(t.marks(), t.offered_packets),
            drops: by_reason(&t.dropped),
            queue_packets: self.length,
            queue_delay_ms: self.delay.summary(),
        }
    }

    /// The numbers of a class, as far as the link can tell: what reaches the receivers and what one flow loses is left at zero.
    #[must_use]
    pub fn class_stats(&self, class: usize) -> ClassStats {
        let nothing = PassedClass::default();
        let passed = self.classes.get(class).unwrap_or(&nothing);
        let (t, seconds) = (&passed.total, self.span().as_secs_f64());
        ClassStats {
            throughput_bps: bits_per_s(t.sent_bytes, seconds),
            offered_bps: bits_per_s(t.offered_bytes, seconds),
            drop_rate: share(t.drops(), t.offered_packets),
            mark_rate: share(t.marks(), t.offered_packets),
            drops: by_reasons_of(&t.dropped, &self.total.dropped),
            packet_bytes: share(t.offered_bytes, t.offered_packets),
            queue_delay_ms: passed.delay.summary(),
            ..ClassStats::default()
        }
    }
}
