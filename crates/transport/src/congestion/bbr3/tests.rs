//! Each law by hand. Segments of 1000 bytes, a path of 1 MB/s and 100 ms: a product of 100 segments.

use aqmkit_base::{Bytes, Duration, Instant};

use super::losses::inflight_at_loss;
use super::*;
use crate::profile::LossDetection;
use crate::tcp::Rtt;

const RATE: f64 = 1e6;
const PRODUCT: u64 = 100_000;

fn profile() -> Profile {
    Profile {
        mss: Bytes(1000),
        header: Bytes(0),
        sack: true,
        loss_detection: LossDetection::Rack,
        cwnd_limit: Bytes(1 << 30),
        ..Profile::rfc()
    }
}

/// A flow and the acknowledgements that reach it.
struct Flow {
    bbr: Bbr3,
    profile: Profile,
    rtt: Rtt,
    now: Instant,
    delivered: u64,
    counts_marks: bool,
}

impl Flow {
    fn new() -> Self {
        let profile = profile();
        let rtt = Rtt::new(&profile);
        Flow { bbr: Bbr3::new(&profile), profile, rtt, now: Instant::ZERO, delivered: 0, counts_marks: false }
    }

    /// A control that already knows its path, in some state, with a window of twice the product.
    fn in_state(state: State) -> Self {
        let mut flow = Flow::new();
        flow.now = Instant::ZERO + Duration::from_secs(1);
        flow.delivered = 1_000_000;
        let bbr = &mut flow.bbr;
        bbr.max_bw.add(0, RATE);
        (bbr.bw, bbr.state, bbr.sampled) = (RATE, state, true);
        (bbr.full.reached, bbr.window.cwnd) = (true, 2 * PRODUCT);
        bbr.min_rtt = Some((Duration::from_millis(100), flow.now));
        bbr.probe_rtt = bbr.min_rtt;
        (bbr.rounds, bbr.latest) = (Rounds::default(), Latest::default());
        bbr.cycle.wait = Duration::from_secs(100);
        bbr.rounds.restart(flow.delivered);
        bbr.latest.round_end = flow.delivered;
        flow
    }

    fn with<R>(&mut self, f: impl FnOnce(&mut Bbr3, &Cx<'_>) -> R) -> R {
        let cx = Cx {
            now: self.now,
            profile: &self.profile,
            flight: PRODUCT,
            reducing: None,
            peer_window: 1 << 30,
            sack: true,
            sent: None,
            counts_marks: self.counts_marks,
            sample: None,
            one_way: None,
            rtt: &self.rtt,
        };
        f(&mut self.bbr, &cx)
    }

    /// An acknowledgement of a segment sent one product earlier, at this delivery rate, with `in_flight` left.
    fn sample(&self, rate: f64, in_flight: u64) -> Sample {
        Sample {
            rate: Some(rate),
            rtt: Some(Duration::from_millis(100)),
            acked: 1000,
            lost: 0,
            prior_delivered: (self.delivered + 1000).saturating_sub(PRODUCT),
            delivered: self.delivered + 1000,
            in_flight,
            app_limited: false,
            tx_in_flight: in_flight,
            lost_since: 0,
        }
    }

    fn ack(&mut self, sample: Sample) {
        self.delivered = sample.delivered;
        self.with(|bbr, cx| bbr.update(&sample, cx));
    }

    /// The acknowledgement that ends a round trip.
    fn round(&mut self, rate: f64, in_flight: u64) {
        self.now += Duration::from_millis(100);
        self.delivered += PRODUCT;
        let sample = Sample { prior_delivered: self.delivered - 1000, ..self.sample(rate, in_flight) };
        self.ack(sample);
    }

    /// A loss of a segment, with the data in flight when it was sent and the data lost since, itself included.
    fn lose(&mut self, tx_in_flight: u64, since: u64) {
        let sample = Sample { tx_in_flight, lost_since: since, ..self.sample(RATE, PRODUCT) };
        let app_limited = sample.app_limited;
        self.with(|bbr, cx| {
            bbr.note_loss(cx);
            if Bbr3::is_too_high(since, tx_in_flight) {
                bbr.end_probe_too_high(inflight_at_loss(1000, tx_in_flight, since), app_limited, cx);
            }
        });
    }
}

/// A window of 10.5 segments is used in full by ten, since an eleventh does not fit, and not by nine
/// (`C.is_cwnd_limited`; Linux compares whole segments in `tcp_cwnd_test`).
#[test]
fn a_window_is_used_in_full_where_no_further_segment_fits() {
    for (in_flight, limited) in [(8_000, false), (9_000, true)] {
        let mut flow = Flow::new();
        flow.bbr.window.cwnd = 10_500;
        // The sample's own 1,000 bytes were in flight too.
        flow.ack(flow.sample(RATE, in_flight));
        assert_eq!(flow.bbr.is_cwnd_limited(), limited, "{in_flight}");
    }
}

/// "Exiting STARTUP on Bandwidth Plateau": a factor of 1.24 does not count as growth, and the third such round trip
/// ends Startup. App-limited samples do not count.
#[test]
fn startup_ends_after_three_round_trips_without_growth() {
    let mut flow = Flow::new();
    for (rate, count) in [(1e5, 0), (2e5, 0), (2.4e5, 1), (2.49e5, 2), (2.5e5, 0), (2.5e5, 1), (3.1e5, 2)] {
        flow.round(rate, PRODUCT);
        assert_eq!((flow.bbr.full.count, flow.bbr.state), (count, State::Startup), "{rate}");
    }
    let quiet = Sample { app_limited: true, prior_delivered: flow.delivered + 1, ..flow.sample(1e5, PRODUCT) };
    flow.ack(quiet);
    assert_eq!(flow.bbr.full.count, 2);
    flow.round(3e5, PRODUCT);
    assert!(flow.bbr.full.reached && matches!(flow.bbr.state, State::Drain { .. }), "{:?}", flow.bbr.state);
    // 0.5 of 310 kB/s less 1 %, on the wire.
    let rate = flow.bbr.pacer.rate().unwrap().bytes_per_sec();
    assert!((rate - 0.5 * 0.99 * 3.1e5).abs() < 1.0, "{rate}");
}

/// "Exiting STARTUP on Loss When Application-Limited": six pieces and more than 2 %, after a round trip of recovery.
#[test]
fn startup_ends_when_a_round_trip_loses_in_six_places() {
    for (pieces, lost, ends) in [(6, 3_000, true), (5, 3_000, false), (6, 2_000, false)] {
        let mut flow = Flow::new();
        flow.round(RATE, PRODUCT);
        flow.with(|bbr, cx| {
            bbr.on_loss(cx);
            (0..pieces).for_each(|n| bbr.latest.note_piece(2000 * n + 1, 2000 * n + 1001));
            // Another loss in the last piece does not count as a further piece.
            bbr.latest.note_piece(2000 * pieces - 999, 2000 * pieces);
            bbr.latest.round_end = u64::MAX;
        });
        flow.ack(Sample { lost_since: lost, app_limited: true, ..flow.sample(RATE, PRODUCT) });
        assert_eq!(flow.bbr.state, State::Startup, "the round trip has not ended");
        flow.bbr.latest.round_end = flow.delivered;
        let sample = Sample { prior_delivered: flow.delivered, ..Sample { lost_since: lost, ..flow.sample(RATE, PRODUCT) } };
        flow.ack(Sample { app_limited: true, ..sample });
        assert_eq!(flow.bbr.full.reached, ends, "{pieces} pieces, {lost} bytes");
        // At least what was delivered in a round trip, and at least one product.
        assert_eq!(flow.bbr.bounds.inflight_long, if ends { PRODUCT } else { u64::MAX });
    }
}

/// "Exiting DRAIN": when the product is in flight, or in the fourth round trip.
#[test]
fn drain_ends_with_the_queue_or_after_three_round_trips() {
    let mut flow = Flow::in_state(State::Drain { since: 0 });
    flow.ack(flow.sample(RATE, PRODUCT + 1));
    assert_eq!(flow.bbr.state, State::Drain { since: 0 });
    flow.ack(flow.sample(RATE, PRODUCT));
    assert_eq!(flow.bbr.state, State::Cruise, "Down ends at once where nothing is queued");
    flow = Flow::in_state(State::Drain { since: 0 });
    for _ in 0..3 {
        flow.round(RATE, PRODUCT + 1);
        assert_eq!(flow.bbr.state, State::Drain { since: 0 });
    }
    flow.round(RATE, PRODUCT + 1);
    assert_eq!(flow.bbr.state, State::Down);
}

/// The window is the gain times the product, plus the aggregation, plus two segments in Up.
#[test]
fn windows_and_rates_follow_the_table_of_gains() {
    for (state, pacing, cwnd) in [
        (State::Drain { since: 0 }, 0.5, 2.0),
        (State::Down, 0.9, 2.0),
        (State::Cruise, 1.0, 2.0),
        (State::Refill, 1.0, 2.0),
        (State::Up, 1.25, 2.25),
    ] {
        let mut flow = Flow::in_state(state);
        flow.bbr.window.cwnd = 10 * PRODUCT;
        flow.ack(flow.sample(RATE, PRODUCT + 10_000));
        assert_eq!(flow.bbr.state, state);
        let rate = flow.bbr.pacer.rate().unwrap().bytes_per_sec();
        assert!((rate - pacing * 0.99 * RATE).abs() < 1.0, "{state:?} {rate}");
        let more = if state == State::Up { 2_000 } else { 0 };
        // The one acknowledged segment is the aggregation.
        assert_eq!(flow.bbr.window.cwnd, (cwnd * PRODUCT as f64) as u64 + 1_000 + more, "{state:?}");
    }
}

/// Never less than four segments, whatever the product; and the sizes of quanta.
#[test]
fn short_paths_have_four_segments_and_three_quanta() {
    let mut flow = Flow::in_state(State::Cruise);
    flow.bbr.min_rtt = Some((Duration::from_micros(100), flow.now));
    flow.bbr.probe_rtt = flow.bbr.min_rtt;
    flow.bbr.aggregation.restart(flow.now);
    flow.with(|bbr, cx| bbr.pace(1.0, cx));
    assert_eq!(flow.with(|bbr, cx| bbr.inflight(RATE, cx)), 6_000, "a quantum is two segments at least");
    flow.bbr.bw = 1e7;
    flow.with(|bbr, cx| bbr.pace(1.0, cx));
    assert_eq!(flow.with(|bbr, cx| bbr.inflight(1e7, cx)), 29_700, "three times a millisecond at 0.99");
    flow.bbr.bounds.inflight_short = 1;
    assert_eq!(flow.with(|bbr, cx| bbr.cwnd_cap(cx)), 4_000);
}

/// 2 to 3 s by the clock, or Reno's period, at most 63 round trips.
#[test]
fn probes_come_by_the_clock_or_when_reno_would() {
    let mut waits = Vec::new();
    for n in 0..100_u64 {
        let mut flow = Flow::in_state(State::Cruise);
        flow.now += Duration::from_millis(n);
        flow.with(|bbr, cx| bbr.start_down(7 * n, cx));
        assert!(flow.bbr.cycle.rounds_since_up <= 1);
        flow.bbr.state = State::Cruise;
        let start = flow.now;
        while flow.bbr.state == State::Cruise {
            flow.now += Duration::from_millis(10);
            flow.ack(flow.sample(RATE, PRODUCT));
            flow.bbr.probe_rtt = Some((Duration::from_millis(100), flow.now));
        }
        assert_eq!(flow.bbr.state, State::Refill);
        waits.push(flow.now.since(start).as_secs_f64());
    }
    let mean = waits.iter().sum::<f64>() / 100.0;
    assert!(waits.iter().all(|w| (2.0..3.02).contains(w)) && (2.4..2.6).contains(&mean), "{mean}");
    // A product of 100 segments: 63 round trips; of 20: 20.
    for (rate, rounds) in [(RATE, 63), (0.2 * RATE, 20)] {
        let mut flow = Flow::in_state(State::Cruise);
        (flow.bbr.max_bw, flow.bbr.bw) = (MaxFilter::new(), rate);
        flow.bbr.cycle.wait = Duration::from_secs(100);
        for n in 1..=rounds {
            assert_eq!(flow.bbr.state, State::Cruise, "{n}");
            flow.round(rate, PRODUCT / 10);
            flow.bbr.probe_rtt = Some((Duration::from_millis(100), flow.now));
        }
        assert_eq!(flow.bbr.state, State::Refill, "{rounds}");
    }
}

/// "Exiting `PROBE_DOWN` on Inflight": 15 % of the bound stay free, and the product is not exceeded.
#[test]
fn down_ends_with_headroom_and_without_a_queue() {
    for (bound, enough) in [(u64::MAX, PRODUCT), (100_000, 85_000), (200_000, PRODUCT)] {
        let mut flow = Flow::in_state(State::Down);
        flow.bbr.cycle.wait = Duration::from_secs(100);
        flow.bbr.bounds.inflight_long = bound;
        flow.ack(Sample { tx_in_flight: 0, ..flow.sample(RATE, enough + 1) });
        assert_eq!(flow.bbr.state, State::Down, "{bound}");
        flow.ack(Sample { tx_in_flight: 0, ..flow.sample(RATE, enough) });
        assert_eq!(flow.bbr.state, State::Cruise, "{bound}");
    }
}

/// Refill lasts a round trip and clears the short-term bounds; Up ends when the rate has not grown for three.
#[test]
fn up_ends_on_a_plateau() {
    let mut flow = Flow::in_state(State::Cruise);
    (flow.bbr.bounds.bw_short, flow.bbr.bounds.inflight_short) = (RATE / 2.0, PRODUCT);
    flow.with(|bbr, _| bbr.start_refill(1_000_000));
    assert_eq!(flow.bbr.bounds, Bounds::NONE);
    flow.ack(flow.sample(RATE, PRODUCT));
    assert_eq!((flow.bbr.state, flow.bbr.cycle.sample), (State::Refill, false));
    flow.round(RATE, PRODUCT);
    assert_eq!((flow.bbr.state, flow.bbr.cycle.sample), (State::Up, true));
    for rounds in 0..3 {
        assert_eq!((flow.bbr.state, flow.bbr.full.count), (State::Up, rounds));
        flow.round(1.2 * RATE, PRODUCT);
    }
    assert_eq!(flow.bbr.state, State::Down);
    // A round trip later the next sample expires the previous cycle; the sample of this cycle stays.
    flow.bbr.cycle.wait = Duration::from_secs(100);
    flow.round(RATE, 2 * PRODUCT);
    assert_eq!(flow.bbr.cycle.count, 1);
    assert!((flow.bbr.max_bw.max() - 1.2 * RATE).abs() < 1.0);
}

/// Losses above 2 % of the data in flight: the bound is the amount at which the losses exceeded that, also within one
/// lump of several segments (`InflightAtLoss`), and not below 0.7 of the window.
#[test]
fn a_probe_that_loses_too_much_sets_the_bound() {
    for (size, tx, lost, at) in [
        (1_000, 100_000, 3_000, 99_000),  // the two before were 2 %
        (1_000, 100_000, 2_000, 99_000),  // (1980 - 1000) / 0.98 = 1000: all of it
        (10_000, 100_000, 10_000, 91_836), // 1800 / 0.98 of the lump
    ] {
        let seen = inflight_at_loss(size, tx, lost);
        assert!(seen.abs_diff(if lost == 2_000 { 100_000 } else { at }) <= 1, "{size} of {tx}: {seen}");
    }
    let mut flow = Flow::in_state(State::Up);
    flow.bbr.cycle.sample = true;
    flow.lose(120_000, 2_000);
    assert_eq!((flow.bbr.state, flow.bbr.bounds.inflight_long), (State::Up, u64::MAX), "2 % of 120 segments is 2.4");
    flow.lose(120_000, 3_000);
    // (0.02 * 119000 - 2000) / 0.98 = 387.
    assert_eq!((flow.bbr.state, flow.bbr.bounds.inflight_long), (State::Down, 119_387));
    assert!(flow.bbr.cycle.too_high);
    flow.lose(50_000, 30_000);
    assert_eq!(flow.bbr.bounds.inflight_long, 119_387, "once in a probe");
    // 0.7 of the product.
    flow = Flow::in_state(State::Up);
    flow.bbr.cycle.sample = true;
    flow.lose(20_000, 3_000);
    assert_eq!(flow.bbr.bounds.inflight_long, 70_000);
}

/// The probe after one that went too high stops at the bound; if that was safe, the next does not wait there.
#[test]
fn the_next_probe_is_cautious() {
    let mut flow = Flow::in_state(State::Up);
    (flow.bbr.cycle.too_high, flow.bbr.bounds.inflight_long) = (true, 110_000);
    flow.ack(flow.sample(RATE, 109_000));
    assert_eq!(flow.bbr.state, State::Up);
    flow.ack(flow.sample(RATE, 110_000));
    assert_eq!((flow.bbr.state, flow.bbr.cycle.precautionary, flow.bbr.cycle.too_high), (State::Down, true, false));
    flow.bbr.cycle.wait = Duration::from_secs(100);
    flow.round(RATE, 105_000);
    assert_eq!((flow.bbr.state, flow.bbr.cycle.precautionary), (State::Refill, false));
}

/// "Increasing Bandwidth 10x": at the bound, 1, 2, 4, … segments per round trip; the bound, not the path, limits the
/// rate, so Up continues.
#[test]
fn the_bound_grows_faster_in_each_round_trip() {
    let mut flow = Flow::in_state(State::Refill);
    (flow.bbr.bounds.inflight_long, flow.bbr.window.cwnd) = (PRODUCT, PRODUCT);
    flow.round(RATE, PRODUCT);
    assert_eq!(flow.bbr.state, State::Up);
    let mut before = flow.bbr.bounds.inflight_long;
    let mut steps = Vec::new();
    for _ in 0..5 {
        let window = flow.bbr.window.cwnd;
        for n in 1..=window / 1000 {
            flow.now += Duration::from_micros(100_000 * 1000 / window);
            let prior_delivered = if n == 1 { flow.delivered } else { 0 };
            flow.ack(Sample { tx_in_flight: 0, prior_delivered, ..flow.sample(RATE, window) });
        }
        steps.push((flow.bbr.bounds.inflight_long - before) / 1000);
        before = flow.bbr.bounds.inflight_long;
        assert_eq!(flow.bbr.state, State::Up);
    }
    assert!(steps.windows(2).all(|w| w[1] >= 2 * w[0] - 1 && w[1] <= 2 * w[0] + 2), "{steps:?}");
    // The data in flight without loss is safe, too.
    flow.ack(Sample { tx_in_flight: 300_000, ..flow.sample(RATE, PRODUCT) });
    assert!(flow.bbr.bounds.inflight_long >= 300_000);
}

/// Outside of probes, once per round trip with a loss: 0.7 of the value, or what was delivered.
#[test]
fn losses_between_probes_lower_the_short_term() {
    let mut flow = Flow::in_state(State::Cruise);
    flow.bbr.cycle.wait = Duration::from_secs(100);
    flow.lose(PRODUCT, 1_000);
    flow.lose(PRODUCT, 2_000);
    assert_eq!(flow.bbr.bounds, Bounds::NONE, "not before the round trip has ended");
    flow.bbr.latest = Latest { bw: 0.5 * RATE, inflight: 50_000, ..flow.bbr.latest };
    flow.round(0.4 * RATE, 60_000);
    // The window was two products.
    assert!((flow.bbr.bounds.bw_short - 0.7 * RATE).abs() < 1.0 && (flow.bbr.bw - 0.7 * RATE).abs() < 1.0);
    assert_eq!((flow.bbr.bounds.inflight_short, flow.bbr.window.cwnd), (140_000, 140_000));
    // The short-term bounds do not fall below the delivered rate.
    flow.lose(PRODUCT, 1_000);
    flow.round(0.9 * RATE, 60_000);
    assert!((flow.bbr.bounds.bw_short - 0.9 * RATE).abs() < 1.0);
    // No such reduction while it probes.
    flow = Flow::in_state(State::Refill);
    flow.lose(PRODUCT, 1_000);
    flow.round(RATE, PRODUCT);
    assert_eq!(flow.bbr.bounds, Bounds::NONE);
}

/// "Entering and Exiting `PROBE_RTT`": after 5 s without a shorter round trip, half of the product for 200 ms and a
/// round trip, then back to Cruise, or to Startup. Samples of data sent meanwhile do not count.
#[test]
fn probe_rtt_comes_every_five_seconds() {
    for full in [true, false] {
        let mut flow = Flow::in_state(if full { State::Cruise } else { State::Startup });
        (flow.bbr.full.reached, flow.bbr.cycle.wait) = (full, Duration::from_secs(100));
        flow.now += Duration::from_secs(5);
        flow.ack(flow.sample(RATE, PRODUCT));
        assert!(!flow.bbr.state.is_probe_rtt());
        let window = flow.bbr.window.cwnd;
        flow.now += Duration::from_millis(1);
        flow.ack(Sample { app_limited: true, ..flow.sample(RATE, PRODUCT) });
        assert_eq!((flow.bbr.state.is_probe_rtt(), flow.bbr.window.cwnd), (true, PRODUCT / 2));
        let from = flow.delivered;
        flow.ack(flow.sample(RATE, PRODUCT / 2));
        flow.now += Duration::from_millis(201);
        flow.ack(flow.sample(RATE, PRODUCT / 2));
        assert!(flow.bbr.state.is_probe_rtt(), "no round trip has passed");
        assert_eq!(flow.bbr.quiet, (from, flow.delivered + PRODUCT / 2));
        flow.round(0.5 * RATE, PRODUCT / 2);
        assert_eq!(flow.bbr.state, if full { State::Cruise } else { State::Startup });
        assert!(flow.bbr.window.cwnd >= window, "{}", flow.bbr.window.cwnd);
    }
}

/// "Skipping `PROBE_RTT`": an idle period has emptied the queue already.
#[test]
fn idle_time_stands_for_probe_rtt() {
    let mut flow = Flow::in_state(State::Cruise);
    flow.now += Duration::from_secs(6);
    flow.bbr.idle_restart = true;
    flow.bbr.cycle.wait = Duration::from_secs(100);
    flow.ack(flow.sample(RATE, PRODUCT));
    assert_eq!((flow.bbr.state, flow.bbr.idle_restart), (State::Cruise, false));
}

/// The 10 s minimum takes the value of the 5 s one when it is older or larger.
#[test]
fn the_shortest_round_trip_is_that_of_ten_seconds() {
    let mut bbr = Bbr3::new(&profile());
    let ms = Duration::from_millis;
    for (at, rtt, least, expired) in [
        (0, 50, 50, false),
        (4_000, 60, 50, false),
        (5_001, 70, 50, true), // of 5 s: 70
        (9_000, 55, 50, false),
        (10_001, 80, 55, false),
        (12_000, 40, 40, false),
    ] {
        let seen = bbr.update_min_rtt(Some(ms(rtt)), Instant::ZERO + ms(at));
        assert_eq!((bbr.min_rtt(), seen), (Some(ms(least)), expired), "at {at}");
    }
}

/// Aggregation beyond the rate: ten segments at once every 10 ms on 1 MB/s are nine more than expected.
#[test]
fn lumps_are_added_to_the_window() {
    let mut lumps = Aggregation::new();
    let ms = |n: u64| Instant::from_nanos(n * 1_000_000);
    lumps.update(1_000, RATE, PRODUCT, (true, 1), true, ms(1_000));
    for n in 0..10_u64 {
        lumps.update(1_000, RATE, PRODUCT, (false, 1), true, ms(1_010));
        assert_eq!(lumps.extra(), 1_000 * (n + 1), "the first begins an interval");
    }
    lumps.update(1_000, RATE, PRODUCT, (true, 11), true, ms(2_000));
    assert_eq!(lumps.extra(), 1_000, "ten rounds later");
    lumps.update(500_000, RATE, PRODUCT, (false, 11), true, ms(2_000));
    assert_eq!(lumps.extra(), PRODUCT, "a window at most");
}

/// "Handling Spurious Fast Recovery": state, bounds and window are restored.
#[test]
fn a_needless_recovery_is_taken_back() {
    let mut flow = Flow::in_state(State::Up);
    flow.bbr.cycle.sample = true;
    flow.bbr.bounds.inflight_long = 150_000;
    flow.lose(120_000, 3_000);
    flow.with(Bbr3::on_loss);
    assert_eq!((flow.bbr.state, flow.bbr.bounds.inflight_long), (State::Down, 119_387));
    flow.bbr.window.cwnd = 50_000;
    flow.with(|bbr, _| bbr.take_back(1_000_000));
    assert_eq!((flow.bbr.state, flow.bbr.bounds.inflight_long), (State::Refill, 150_000));
    assert_eq!(flow.bbr.window.cwnd, 2 * PRODUCT);
    // Startup, which the losses had ended, continues.
    flow = Flow::in_state(State::Drain { since: 0 });
    flow.with(Bbr3::on_loss);
    flow.bbr.undo.end_startup();
    flow.with(|bbr, _| bbr.take_back(1_000_000));
    assert_eq!((flow.bbr.state, flow.bbr.full.reached), (State::Startup, false));
}

/// Linux: the short-term bound is reduced by a third of the share of marks once per round trip; a share above a half
/// ends a probe.
#[test]
fn marks_count_by_their_share_on_short_paths() {
    let short = |state| {
        let mut flow = Flow::in_state(state);
        flow.counts_marks = true;
        flow.bbr.min_rtt = Some((Duration::from_millis(5), flow.now));
        flow.bbr.cycle.wait = Duration::from_secs(100);
        flow
    };
    let mut flow = short(State::Cruise);
    flow.bbr.marks.count(10_000, 2_500);
    flow.round(RATE, 1_000);
    // alpha 15/16 + 1/64 = 0.953125 of a window of 200 segments.
    assert_eq!(flow.bbr.bounds.inflight_short, 136_458);
    flow = short(State::Up);
    flow.bbr.cycle.sample = true;
    flow.bbr.marks.count(10_000, 6_000);
    flow.round(RATE, 90_000);
    assert_eq!((flow.bbr.state, flow.bbr.bounds.inflight_long), (State::Down, 90_000));
    // On a longer path, or if marks are not counted, a mark is a loss.
    flow = Flow::in_state(State::Cruise);
    flow.bbr.cycle.wait = Duration::from_secs(100);
    flow.with(Bbr3::on_ecn);
    flow.round(0.5 * RATE, 50_000);
    assert_eq!(flow.bbr.bounds.inflight_short, 140_000);
}
