//! Each rule by hand, with packets of 1000 bytes.

use aqmkit_base::Bytes;

use super::*;

const fn ms(n: u64) -> Instant {
    Instant::from_nanos(n * 1_000_000)
}

fn profile() -> Profile {
    Profile {
        mss: Bytes(1000),
        initial_window: 4,
        min_rto: Duration::from_millis(200),
        initial_rto: Duration::from_secs(3),
        max_rto: Duration::from_secs(10),
        ..Profile::ns2()
    }
}

/// A sender, and what happens to it.
struct Flow {
    sender: Sender,
    profile: Profile,
    sent: u64,
}

impl Flow {
    fn new() -> Self {
        let profile = profile();
        let sender = Sender::new(&Cx { now: Instant::ZERO, profile: &profile });
        Flow { sender, profile, sent: 0 }
    }

    fn with<R>(&mut self, now: Instant, f: impl FnOnce(&mut Sender, &Cx<'_>) -> R) -> R {
        f(&mut self.sender, &Cx { now, profile: &self.profile })
    }

    /// Sends everything allowed.
    fn send(&mut self, now: Instant) {
        while self.with(now, |sender, cx| sender.next(cx)).is_some() {
            let seq = self.sent;
            self.with(now, |sender, cx| sender.on_sent(seq, true, cx));
            self.sent += 1;
        }
    }

    /// Packet `seq`, sent at `echo`, is acknowledged, with this arrival rate in packets per second.
    fn ack(&mut self, now: Instant, echo: Instant, seq: u64, rate: f64) {
        let report = Report { echo, seq, rate: rate * 1000.0, ..Report::default() };
        self.with(now, |sender, cx| sender.on_report(&report, cx));
    }

    fn flying(&self) -> Vec<u64> {
        self.sender.flying.iter().copied().collect()
    }
}

fn near(got: f64, wanted: f64) -> bool {
    (got - wanted).abs() < 1e-9
}

/// Jacobson's estimator by hand: an eighth of the error, and a quarter of its size, each time.
#[test]
fn round_trips_are_smoothed_as_in_tcp() {
    let profile = Profile::ns2();
    let mut sender = Sender::new(&Cx { now: Instant::ZERO, profile: &profile });
    for (sample, least, smoothed, variation) in [
        // The first sample also stands for those before it.
        (0.1, 0.1, 0.1, 0.075),
        // The error is 0.08.
        (0.18, 0.1, 0.11, 0.07625),
        // The error is -0.03.
        (0.08, 0.08, 0.10625, 0.0646875),
    ] {
        sender.measure(sample);
        let rtt = sender.rtt.unwrap();
        let near = |got: f64, wanted: f64| (got - wanted).abs() < 1e-12;
        assert!(near(rtt.least, least) && near(rtt.smoothed, smoothed) && near(rtt.variation, variation), "{rtt:?}");
    }
}

/// The timer runs while packets are outstanding: for `initial_rto` from the first packet, then for `srtt + 4 rttvar`
/// from each acknowledgement, within the profile's bounds; each timeout doubles it, and an acknowledgement resets it.
#[test]
fn the_timer_runs_for_the_timeout_of_tcp() {
    let mut flow = Flow::new();
    assert_eq!(flow.sender.timer(), None, "nothing was sent");
    flow.send(ms(1_000));
    assert_eq!(flow.sender.timer(), Some(ms(4_000)));
    // More packets do not restart it.
    flow.with(ms(2_000), |sender, cx| sender.on_sent(4, true, cx));
    flow.sent = 5;
    assert_eq!(flow.sender.timer(), Some(ms(4_000)));
    // 100 ms + 4 * 75 ms.
    flow.ack(ms(2_100), ms(2_000), 0, 0.0);
    assert_eq!(flow.sender.timer(), Some(ms(2_500)));
    assert_eq!(flow.with(ms(2_100), |sender, _| sender.rtt()), Some(Duration::from_millis(100)));
    // Doubled with each timeout, up to 10 s.
    let mut now = ms(2_500);
    for wait in [800, 1_600, 3_200, 6_400, 10_000, 10_000] {
        flow.with(now, Sender::on_timer);
        assert_eq!(flow.sender.timer(), None, "everything in flight is taken for lost");
        flow.send(now);
        now += Duration::from_millis(wait);
        assert_eq!(flow.sender.timer(), Some(now), "{wait}");
    }
    // After many equal round trips the minimum applies.
    for _ in 0..100 {
        flow.send(now);
        let seq = flow.sent - 1;
        flow.ack(now + Duration::from_millis(100), now, seq, 0.0);
        now += Duration::from_millis(100);
    }
    flow.send(now);
    let seq = flow.sent - 2;
    flow.ack(now + Duration::from_millis(100), now, seq, 0.0);
    let left = flow.sender.timer().unwrap().since(now).as_secs_f64();
    assert!((left - 0.3).abs() < 1e-4, "200 ms from the acknowledgement on: {left}");
    // With everything acknowledged the timer is off.
    for last in flow.flying() {
        flow.ack(now + Duration::from_millis(101), now, last, 0.0);
    }
    assert_eq!((flow.flying(), flow.sender.timer()), (vec![], None));
}

/// A packet is lost when the third packet after it is acknowledged, not the second; the window is halved once for all
/// packets sent before the detection, and again for the first loss after.
#[test]
fn the_third_later_packet_shows_a_loss() {
    let mut flow = Flow::new();
    flow.sender.window = 8.0;
    flow.sender.state = State::Steady;
    flow.sender.round = 1_000;
    flow.send(ms(0));
    assert_eq!(flow.flying(), [0, 1, 2, 3, 4, 5, 6, 7]);
    flow.ack(ms(100), ms(0), 2, 50.0);
    assert_eq!((flow.flying(), flow.sender.window), (vec![0, 1, 3, 4, 5, 6, 7], 8.0));
    flow.ack(ms(110), ms(0), 3, 50.0);
    assert_eq!((flow.flying(), flow.sender.window), (vec![1, 4, 5, 6, 7], 4.0));
    assert_eq!(flow.sender.state, State::Congested(8));
    assert!(flow.with(ms(110), |sender, cx| sender.next(cx)).is_none(), "five fly, and four may");
    // Two more losses of the same window.
    flow.ack(ms(120), ms(0), 7, 50.0);
    assert_eq!((flow.flying(), flow.sender.window, flow.sender.state), (vec![5, 6], 4.0, State::Congested(8)));
    flow.send(ms(130));
    assert_eq!(flow.flying(), [5, 6, 8, 9]);
    // The first packet sent after the loss: the arrival rate counts from here on, and the window stays for a round
    // trip.
    flow.ack(ms(230), ms(130), 8, 60.0);
    assert_eq!((flow.sender.state, flow.sender.window, flow.sender.round), (State::Steady, 4.0, 10));
    // Never below one packet.
    for now in [1_000, 2_000, 3_000] {
        flow.with(ms(now), Sender::on_timer);
    }
    assert_eq!(flow.sender.window, 1.0);
}

/// Slow start: one packet more per acknowledgement, until a round trip's rate exceeds the previous one's by less than a
/// quarter; then, once per round trip, the arrivals of the minimum round trip plus `excess`.
#[test]
fn slow_start_ends_where_the_rate_stops_to_grow() {
    let mut flow = Flow::new();
    flow.profile.scp.excess = 2.5;
    assert_eq!(flow.with(ms(0), |sender, cx| sender.rate(cx)), 0.0, "nothing is known");
    flow.send(ms(0));
    assert_eq!(flow.flying(), [0, 1, 2, 3]);
    // A round trip ends with the first packet sent after the end of the previous one. The first has no rate to compare
    // with; then the rate grows by a quarter each time, and finally by less.
    let (mut sent, mut window) = (ms(0), 4.0);
    for (n, rate) in [0.0, 40.0, 50.0, 62.5, 78.0].into_iter().enumerate() {
        let now = sent + Duration::from_millis(100);
        let flying = flow.flying();
        assert_eq!((flying.len() as f64, flow.sender.round), (window, flying[0]), "{rate}");
        for seq in flying {
            flow.ack(now, sent, seq, rate);
            window += 1.0;
            if n < 4 {
                assert_eq!((flow.sender.state, flow.sender.window), (State::SlowStart, window), "{rate}");
            }
        }
        flow.send(now);
        sent = now;
    }
    // 78 packets per second for 100 ms.
    assert_eq!(flow.sender.state, State::Steady);
    assert!(near(flow.sender.window, 10.3), "{}", flow.sender.window);
    assert!(near(flow.with(ms(0), |sender, cx| sender.rate(cx)), 103_000.0), "bytes per second");
    // Within a round trip nothing changes; at its end the window follows the rate, up or down, with the minimum round
    // trip.
    let mut now = ms(500);
    for (rate, rtt, wanted) in [(200.0, 150, 22.5), (20.0, 50, 3.5), (1.0, 100, 2.55), (0.0, 100, 2.5)] {
        let (start, before, round) = (now, flow.sender.window, flow.sent);
        flow.sender.flying.clear();
        flow.sender.round = round;
        flow.send(start);
        assert!(flow.sent > round + 1);
        now += Duration::from_millis(rtt);
        flow.ack(now, start, round - 1, rate);
        assert_eq!(flow.sender.window, before);
        flow.ack(now, start, round, rate);
        assert!(near(flow.sender.window, wanted), "{} instead of {wanted}", flow.sender.window);
    }
    // At least one packet.
    flow.profile.scp.excess = 0.5;
    let last = flow.sent;
    flow.sender.flying.clear();
    flow.sender.round = last;
    flow.send(now);
    flow.ack(now, now, last, 0.0);
    assert_eq!(flow.sender.window, 1.0);
}

/// By hand: 1000 bytes each, a round trip of 100 ms. The bytes after the first packet over the time since it; then half
/// of that plus half of the next round trip's rate.
#[test]
fn the_arrival_rate_is_a_running_mean_over_round_trips() {
    let profile = profile();
    let mut receiver = Receiver::new(&profile);
    let mut data = |at: u64, rtt: u64| {
        let data = Data { seq: at, sent: ms(at - 50), rtt: Duration::from_millis(rtt), heard: 0, pair: false };
        let report = receiver.on_data(&data, 1000, false, &Cx { now: ms(at), profile: &profile }).unwrap();
        assert_eq!((report.echo, report.seq, report.held), (ms(at - 50), at, Duration::ZERO));
        report.rate
    };
    // Without a round-trip time from the sender there is no rate.
    assert_eq!([data(100, 0), data(150, 0)], [0.0, 0.0]);
    // Two packets in 99 ms, and three in 100 ms.
    assert_eq!(data(199, 100), 0.0);
    assert!(near(data(200, 100), 30_000.0));
    // Data at the exact time of the first is not counted.
    assert!(near(data(200, 100), 30_000.0));
    // Two in 125 ms: 16,000.
    assert!(near(data(210, 100), 30_000.0) && near(data(325, 100), 23_000.0));
    // One in 100 ms.
    assert!(near(data(425, 100), 16_500.0));
    assert!(receiver.timer().is_none());
}
