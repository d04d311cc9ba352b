//! Measures one direction of a bottleneck: reports packets to a [`LinkRecorder`] and opens its windows on time.

use aqmkit_aqm::{Backlog, Packet, Why};
use aqmkit_base::{ClassId, Duration, FlowKey, Instant, Transmission};
use aqmkit_measure::{DropLog, LinkRecorder, Passed, Seen, Traffic, WindowSpec};

use crate::buckets::Buckets;

pub use aqmkit_path::shaper::Watch;

/// A packet that a [`Meter`] can count.
pub trait Measured: Packet {
    /// Payload in bytes, excluding network and transport headers.
    fn payload(&self) -> u32;
    /// Key of its transport connection, however the discipline defines flows.
    fn connection(&self) -> FlowKey;
}

/// Counters since the start, in total or of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets and bytes: offered, sent, dropped, marked.
    pub traffic: Traffic,
    /// Sojourn times of the packets sent, as a histogram that is cheap to copy.
    pub waited: Buckets,
}

/// The start or the end of a measurement window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    at: Instant,
    /// At equal times, ends sort before starts.
    opens: bool,
    window: usize,
}

/// The meter of one direction.
#[derive(Clone, Debug)]
pub struct Meter {
    recorder: LinkRecorder,
    windows: usize,
    /// Pending window starts and ends, the next one last.
    edges: Vec<Edge>,
    waited: Buckets,
    /// Indexed by class.
    waited_of: Vec<Buckets>,
    /// The log of drops, if enabled.
    drops: Option<DropLog>,
}

impl Meter {
    /// A meter with these windows and this number of classes.
    #[must_use]
    pub fn new(windows: &[WindowSpec], classes: usize) -> Self {
        let of = |(window, spec): (usize, &WindowSpec)| {
            [Edge { at: spec.from, opens: true, window }, Edge { at: spec.to, opens: false, window }]
        };
        let mut edges: Vec<Edge> = windows.iter().enumerate().flat_map(of).collect();
        edges.sort_unstable_by(|a, b| b.cmp(a));
        Meter {
            recorder: LinkRecorder::new(windows.len(), classes),
            windows: windows.len(),
            edges,
            waited: Buckets::default(),
            waited_of: vec![Buckets::default(); classes],
            drops: None,
        }
    }

    /// Enables the log of drops by connection.
    #[must_use]
    pub fn listing_drops(self) -> Self {
        Meter { drops: Some(DropLog::default()), ..self }
    }

    /// Takes the log of drops.
    pub fn take_drops(&mut self) -> DropLog {
        self.drops.take().unwrap_or_default()
    }

    /// A meter with a single window over the whole time.
    #[must_use]
    pub fn whole(classes: &[String]) -> Self {
        let all = WindowSpec { name: "all".to_owned(), from: Instant::ZERO, to: Instant::FAR_FUTURE };
        Meter::new(&[all], classes.len())
    }

    /// A meter with a single window, started by [`begin`](Self::begin) and ended by [`end`](Self::end).
    #[must_use]
    pub fn on_demand(classes: &[String]) -> Self {
        Meter { windows: 1, recorder: LinkRecorder::new(1, classes.len()), ..Meter::new(&[], classes.len()) }
    }

    /// Starts the single window at `at`, which may be in the future.
    pub fn begin(&mut self, at: Instant) {
        self.edges = vec![Edge { at, opens: true, window: 0 }];
    }

    /// Ends the single window.
    pub fn end(&mut self, now: Instant) {
        // Its start may be due since the last packet.
        self.advance(now);
        self.edges = vec![Edge { at: now, opens: false, window: 0 }];
        self.advance(now);
    }

    /// Starts and ends windows due by `now`, each at its own time.
    pub fn advance(&mut self, now: Instant) {
        while let Some(edge) = self.edges.pop_if(|edge| edge.at <= now) {
            match edge.opens {
                true => self.recorder.open(edge.window, edge.at),
                false => self.recorder.close(edge.window, edge.at),
            }
        }
    }

    /// The windows as of `now`; an open window is ended there.
    pub fn windows(&mut self, now: Instant) -> Vec<Passed> {
        self.advance(now);
        (0..self.windows).map(|window| self.recorder.passed(window, now)).collect()
    }

    /// The counters so far.
    #[must_use]
    pub fn so_far(&self) -> Counters {
        Counters { traffic: *self.recorder.traffic(), waited: self.waited }
    }

    /// The counters so far, by class.
    #[must_use]
    pub fn classes_so_far(&self) -> Vec<Counters> {
        let classes = self.recorder.classes().iter().zip(&self.waited_of);
        classes.map(|(traffic, waited)| Counters { traffic: *traffic, waited: *waited }).collect()
    }

    /// The recorder of the link.
    pub fn recorder_mut(&mut self) -> &mut LinkRecorder {
        &mut self.recorder
    }

    /// Takes the recorder, with its measurements up to `now`.
    pub fn take_recorder(&mut self, now: Instant) -> LinkRecorder {
        self.advance(now);
        std::mem::take(&mut self.recorder)
    }

    fn waited(&mut self, class: ClassId, waited: Duration) {
        self.waited.record(waited);
        if let Some(buckets) = self.waited_of.get_mut(class.index()) {
            buckets.record(waited);
        }
    }
}

/// The fields of a packet that the recorder needs.
fn seen<P: Measured>(packet: &P) -> Seen {
    Seen { class: packet.class(), len: packet.len(), payload: packet.payload() }
}

impl<P: Measured> Watch<P> for Meter {
    fn offered(&mut self, packet: &P, now: Instant) {
        self.advance(now);
        self.recorder.offered(seen(packet));
    }

    fn departed(&mut self, packet: &P, waited: Duration, transmission: Transmission, now: Instant) {
        self.advance(now);
        self.recorder.departed(seen(packet), waited, transmission);
        self.waited(packet.class(), waited);
    }

    fn continued(&mut self, until: Instant, now: Instant) {
        self.advance(now);
        self.recorder.continued(now, until);
    }

    fn dropped(&mut self, packet: P, why: Why, arrived: Instant, now: Instant) {
        self.advance(now);
        self.recorder.dropped(seen(&packet), why, arrived);
        if let Some(log) = &mut self.drops {
            log.add(packet.connection(), now);
        }
    }

    fn marked(&mut self, packet: &P, why: Why, arrived: Instant, now: Instant) {
        self.advance(now);
        self.recorder.marked(seen(packet), why, arrived);
    }

    fn queue(&mut self, backlog: Backlog, now: Instant) {
        self.advance(now);
        self.recorder.queue(backlog.packets, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn length_is(meter: &mut Meter, packets: u64, now: Instant) {
        meter.advance(now);
        meter.recorder.queue(packets, now);
    }

    #[test]
    fn the_length_is_weighed_by_time_and_ends_with_its_window() {
        let mut meter = Meter::new(&[WindowSpec { name: "w".to_owned(), from: at(100), to: at(200) }], 0);
        length_is(&mut meter, 4, at(50));
        length_is(&mut meter, 10, at(150));
        length_is(&mut meter, 1000, at(250));
        let window = &meter.windows(at(1000))[0];
        assert_eq!((window.length.mean, window.length.p99, window.to), (7.0, 10.0, at(200)));
    }

    #[test]
    fn the_length_is_never_more_than_there_was() {
        let mut meter = Meter::whole(&[]);
        length_is(&mut meter, 1000, Instant::ZERO);
        assert_eq!(meter.windows(at(1000))[0].length.p99, 1000.0);
    }

    #[test]
    fn a_window_on_demand_is_from_its_begin_to_its_end() {
        let mut meter = Meter::on_demand(&[]);
        let packet = Seen { class: ClassId(0), len: 1500, payload: 1448 };
        for ms in 0..10 {
            if ms == 3 {
                meter.begin(at(ms));
            }
            if ms == 8 {
                meter.end(at(ms));
            }
            meter.advance(at(ms));
            meter.recorder.offered(packet);
        }
        let window = &meter.windows(at(100))[0];
        assert_eq!((window.total.offered_packets, window.from, window.to), (5, at(3), at(8)));
        // A window without any packet.
        let mut idle = Meter::on_demand(&[]);
        idle.begin(at(3));
        idle.end(at(8));
        assert_eq!((idle.windows(at(100))[0].from, idle.windows(at(100))[0].to), (at(3), at(8)));
    }

    #[test]
    fn a_window_ends_where_the_next_begins() {
        let spec = |name: &str, from, to| WindowSpec { name: name.to_owned(), from: at(from), to: at(to) };
        let mut meter = Meter::new(&[spec("a", 0, 10), spec("b", 10, 20), spec("late", 30, 40)], 0);
        let packet = Seen { class: ClassId(0), len: 1500, payload: 1448 };
        for ms in [0, 9, 10, 19, 20] {
            meter.advance(at(ms));
            meter.recorder.offered(packet);
        }
        let counts: Vec<u64> = meter.windows(at(25)).iter().map(|w| w.total.offered_packets).collect();
        assert_eq!(counts, [2, 2, 0]);
    }
}
