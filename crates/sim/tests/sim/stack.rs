//! Stacks from outside on a simulated link.

use std::sync::{Arc, Mutex};

use crate::common::{dumbbell, finish, group, spec};
use aqmkit_base::{BitRate, Duration, Ecn, Instant};
use aqmkit_sim::observe::{Content, Observer, Sighting};
use aqmkit_sim::scenario::{Delays, Group, Loss, Reorder, Wire};
use aqmkit_sim::{Control, Output, Scenario, Simulation, run_observed};
use aqmkit_stack::stop_and_wait::Factory;
use aqmkit_stack::{Datagram, Event, NewEnd, Stack, StackStats, StackView};
use aqmkit_traffic::{Action, Application, Conn, Cx};

/// The events of an application.
type Seen = Arc<Mutex<Vec<String>>>;

/// Asks once, on one connection, for a response of this size, and closes.
struct Transfer {
    response: u64,
    seen: Seen,
}

impl Application for Transfer {
    fn on_event(&mut self, event: aqmkit_traffic::Event, cx: &mut Cx<'_>) {
        self.seen.lock().expect("a lock of one thread").push(format!("{event:?}"));
        if event == aqmkit_traffic::Event::Start {
            let (conn, think) = (Conn(0), Duration::from_millis(5));
            cx.want(Action::Open { conn, server: 0 });
            cx.want(Action::Request { conn, request: 2500, response: self.response, think, close: true });
        }
    }
}

const RTT: Duration = Duration::from_millis(40);

/// A transfer over a stack.
fn transfer(response: u64, stack: impl aqmkit_stack::Factory + 'static) -> (Group, Seen) {
    let seen = Seen::default();
    let app = Box::new(Transfer { response, seen: Arc::clone(&seen) });
    let base = group("stack", vec![app], aqmkit_transport::Profile::rfc(), Delays::Each(vec![RTT]));
    (Group { stack: Some(Arc::new(stack)), ..base }, seen)
}

/// A transfer of 50 segments on 10 Mbit/s.
fn scenario(stack: Factory, aqm: &str, parameters: &str, wire: Wire) -> (Scenario, Seen) {
    let (group, seen) = transfer(50_000, stack);
    let mut scenario = dumbbell(BitRate::from_mbps(10), spec(aqm, parameters), vec![group], 0, 120);
    scenario.links[0].wire = wire;
    (scenario, seen)
}

fn is_complete(output: &Output, seen: &Seen) {
    assert_eq!(output.flows[0].delivered_bytes, [50_000]);
    assert_eq!(
        *seen.lock().expect("a lock of one thread"),
        ["Start", "Opened(Conn(0))", "Response(Conn(0))", "Closed(Conn(0))"]
    );
}

/// Stop and wait: each of 50 segments takes a round trip and the time in which the link sends it.
#[test]
fn it_takes_the_time_that_its_datagrams_take() {
    let (group, seen) = transfer(50_000, Factory::default());
    let scenario = dumbbell(BitRate::from_mbps(10), spec("fifo", "{}"), vec![group], 0, 10);
    let mut simulation = Simulation::new(scenario).unwrap();
    let has_response = || seen.lock().unwrap().iter().any(|event| event.starts_with("Response"));
    // To open, two and a half segments of the request, and the time to think; each with headers of 46 bytes and the link's share of the
    // trip.
    let expected = 0.040 * (1.0 + 3.0 + 49.5) + 0.005 + 50.0 * 1046.0 * 8.0 / 10e6;
    simulation.advance(Instant::ZERO + Duration::from_secs_f64(expected - 0.042)).unwrap();
    assert!(!has_response());
    simulation.advance(Instant::ZERO + Duration::from_secs_f64(expected + 0.042)).unwrap();
    assert!(has_response());
}

#[test]
fn all_data_arrives_despite_losses_and_reordering() {
    let reorder = Some(Reorder { chance: 0.1, delay: Duration::from_millis(400) });
    let wire = Wire { loss: Loss::Random(0.1), reorder, ..Wire::default() };
    let once = || {
        let (scenario, seen) = scenario(Factory::default(), "fifo", "{}", wire);
        let output = finish(scenario);
        is_complete(&output, &seen);
        output
    };
    let output = once();
    assert!(output.flows[0].timeouts > 0 && output.flows[0].retransmissions > 0);
    // As text: seconds without a packet have NaN, which differs from itself.
    assert!(format!("{output:?}") == format!("{:?}", once()), "the same seed is the same run");
}

#[test]
fn a_link_without_a_way_through_fails_the_connection() {
    let wire = Wire { loss: Loss::Random(1.0), ..Wire::default() };
    let (scenario, seen) = scenario(Factory::default(), "fifo", "{}", wire);
    assert_eq!(finish(scenario).flows[0].delivered_bytes, [0]);
    assert_eq!(*seen.lock().unwrap(), ["Start", "Failed(Conn(0))"]);
}

#[test]
fn its_datagrams_pass_every_kind_of_queue() {
    for (aqm, parameters) in [("fq-codel", "{}"), ("cake", r#"{"bandwidth": "5mbit"}"#), ("red", r#"{"limit": 100}"#)] {
        let (scenario, seen) = scenario(Factory::default(), aqm, parameters, Wire::default());
        is_complete(&finish(scenario), &seen);
    }
}

/// The ECN fields and the bytes of datagrams at the link.
#[derive(Default)]
struct Fields(Vec<(Ecn, u32, usize)>);

impl Observer for Fields {
    fn packet(&mut self, _: Instant, seen: &Sighting) {
        let Content::Bytes(bytes) = &seen.content else { panic!("it sends datagrams") };
        self.0.push((seen.ecn, seen.len, bytes.len()));
    }
}

/// Marks reach the stack, and its ECN fields reach the queue.
#[test]
fn ecn_fields_pass_in_both_directions() {
    let marks = Wire { mark: Loss::Every { n: 3, burst: 1 }, ..Wire::default() };
    let count = |ecn: bool| {
        let reported = Arc::new(Mutex::new(0));
        let inner = Factory { ecn, ..Factory::default() };
        let (group, _) = transfer(50_000, Watched { inner, marks: Arc::clone(&reported) });
        let mut scenario = dumbbell(BitRate::from_mbps(10), spec("fifo", "{}"), vec![group], 0, 20);
        scenario.links[0].wire = marks;
        let mut fields = Fields::default();
        run_observed(scenario, &mut fields, &mut |_| Control::Continue).unwrap();
        assert!(fields.0.iter().all(|(_, len, bytes)| *len as usize == bytes + 28));
        let capable = fields.0.iter().filter(|(field, ..)| *field == Ecn::Ect0).count();
        let marked = *reported.lock().unwrap();
        (capable, fields.0.len(), marked)
    };
    let (capable, all, marked) = count(true);
    assert!(capable > 100, "{capable} of {all}");
    assert!(
        (15..25).contains(&marked),
        "{marked}: every third datagram of the server is marked, and there are some 55"
    );
    assert_eq!((count(false).0, count(false).2), (0, 0));
}

/// Counts the datagrams that come with CE.
#[derive(Debug)]
struct Watched {
    inner: Factory,
    marks: Arc<Mutex<u64>>,
}

impl aqmkit_stack::Factory for Watched {
    fn name(&self) -> String {
        self.inner.name()
    }

    fn headers(&self) -> u32 {
        self.inner.headers()
    }

    fn end(&self, new: &NewEnd) -> Box<dyn Stack> {
        Box::new(WatchedEnd { inner: self.inner.end(new), marks: Arc::clone(&self.marks) })
    }
}

struct WatchedEnd {
    inner: Box<dyn Stack>,
    marks: Arc<Mutex<u64>>,
}

impl Stack for WatchedEnd {
    fn connect(&mut self, now: Instant) {
        self.inner.connect(now);
    }

    fn write(&mut self, bytes: u64, now: Instant) {
        self.inner.write(bytes, now);
    }

    fn close(&mut self, now: Instant) {
        self.inner.close(now);
    }

    fn on_datagram(&mut self, datagram: Datagram, now: Instant) {
        *self.marks.lock().expect("a lock of one thread") += u64::from(datagram.ecn == Ecn::Ce);
        self.inner.on_datagram(datagram, now);
    }

    fn on_deadline(&mut self, now: Instant) {
        self.inner.on_deadline(now);
    }

    fn transmit(&mut self, now: Instant) -> Option<Datagram> {
        self.inner.transmit(now)
    }

    fn event(&mut self, now: Instant) -> Option<Event> {
        self.inner.event(now)
    }

    /// A stack that always wants to be called at once does not stop the time.
    fn deadline(&mut self, now: Instant) -> Option<Instant> {
        let own = self.inner.deadline(now);
        if now < Instant::from_nanos(1_000_000) { Some(now) } else { own }
    }

    fn delivered(&self) -> u64 {
        self.inner.delivered()
    }

    fn is_closed(&self) -> bool {
        self.inner.is_closed()
    }

    fn stats(&mut self) -> StackStats {
        self.inner.stats()
    }

    fn view(&self) -> StackView {
        self.inner.view()
    }
}
