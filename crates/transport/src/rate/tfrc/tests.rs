//! The sender against a second implementation of RFC 5348 sections 4.3, 4.4 and 8.2.1, and single rules by hand.

use aqmkit_base::{Bytes, Rng};

use super::*;
use crate::profile::Profile;
use crate::rate::{Data, Receiving};


/// RFC 5348 section 4.5: `X R_sqmean / sqrt(R_sample)`, and at least one packet in 64 s; without it `X`.
#[test]
fn a_longer_round_trip_than_usual_slows_down() {
    for (prevents, x, sample, wanted) in [
        (true, 1000.0, 0.16, 750.0),
        (true, 1000.0, 0.09, 1000.0),
        (true, 1000.0, 0.04, 1500.0),
        (true, 16.0, 0.16, 15.625),
        (false, 1000.0, 0.16, 1000.0),
    ] {
        let mut profile = Profile { mss: Bytes(1000), ..Profile::rfc() };
        profile.tfrc.oscillation_prevention = prevents;
        let cx = Cx { now: Instant::ZERO, profile: &profile };
        let mut sender = Sender::new(&cx);
        sender.x = x;
        sender.rtt = Some(RoundTrip { mean: 0.1, root_mean: 0.3, root: f64::sqrt(sample) });
        assert!((sender.rate(&cx) - wanted).abs() < 1e-9, "{prevents} {x} {sample}: {}", sender.rate(&cx));
    }
}

/// `s`, in bytes.
const S: f64 = 1000.0;

/// The variables of sections 4.3, 4.4 and 8.2.1; times in seconds.
#[derive(Debug)]
struct Rfc {
    x: f64,
    x_bps: f64,
    p: f64,
    r: Option<f64>,
    /// Reported rates and when they were reported.
    x_recv_set: Vec<(f64, f64)>,
    tld: f64,
    timer: f64,
    idle: bool,
    not_limited: [f64; 2],
    t_new: f64,
    t_next: f64,
}

impl Rfc {
    fn new(now: f64) -> Self {
        let never = -1.0;
        Rfc {
            x: S,
            x_bps: 0.0,
            p: 0.0,
            r: None,
            x_recv_set: vec![(now, f64::INFINITY)],
            tld: now,
            timer: now + 2.0,
            idle: true,
            not_limited: [never; 2],
            t_new: 0.0,
            t_next: 0.0,
        }
    }

    /// The initial rate: four packets per round trip, at most 4380 bytes but at least two packets.
    fn w_init(&self) -> f64 {
        (4.0 * S).min((2.0 * S).max(4380.0)) / self.r.unwrap()
    }

    fn max_x_recv(&self) -> f64 {
        self.x_recv_set.iter().map(|(_, x)| *x).fold(0.0, f64::max)
    }

    fn maximize(&mut self, x_recv: f64, now: f64) {
        self.x_recv_set.push((now, x_recv));
        self.x_recv_set.retain(|(_, x)| x.is_finite());
        self.x_recv_set = vec![(now, self.max_x_recv())];
    }

    fn sends(&mut self, now: f64, more: bool) {
        self.idle = false;
        if !more {
            return;
        }
        if self.not_limited[0] <= self.t_new {
            self.not_limited[0] = now;
        } else if self.not_limited[1] <= self.t_next {
            self.not_limited[1] = now;
        }
    }

    fn feedback(&mut self, echo: f64, sample: f64, x_recv: f64, p: f64, now: f64) {
        let first = self.r.is_none();
        let r = self.r.map_or(sample, |r| 0.9 * r + 0.1 * sample);
        self.r = Some(r);
        let t_old = (echo - r).max(0.0);
        let limited = !self.not_limited.iter().any(|&at| t_old <= at && at <= echo);
        (self.t_new, self.t_next) = (echo, now);
        if self.not_limited[0] <= echo && self.not_limited[1] > echo {
            self.not_limited[0] = self.not_limited[1];
        }
        let recv_limit = if limited && p > self.p {
            self.x_recv_set.iter_mut().for_each(|(_, x)| *x *= 0.5);
            self.maximize(0.85 * x_recv, now);
            self.max_x_recv()
        } else {
            if limited {
                self.maximize(x_recv, now);
            } else {
                self.x_recv_set.retain(|(at, _)| now - at <= 2.0 * r + 1e-9);
                self.x_recv_set.push((now, x_recv));
            }
            2.0 * self.max_x_recv()
        };
        self.p = p;
        if first && p == 0.0 {
            (self.x, self.tld) = (self.w_init(), now);
        } else {
            self.update(recv_limit, now);
        }
        self.restart(now);
    }

    fn update(&mut self, recv_limit: f64, now: f64) {
        let Some(r) = self.r else { return };
        if self.p > 0.0 {
            self.x_bps = throughput_with_timeout(S, r, 4.0 * r, self.p);
            self.x = self.x_bps.min(recv_limit).max(S / 64.0);
        } else if now - self.tld >= r - 1e-9 {
            self.x = (2.0 * self.x).min(recv_limit).max(self.w_init());
            self.tld = now;
        }
    }

    fn restart(&mut self, now: f64) {
        let wait = (4.0 * self.r.unwrap_or(0.0)).max(2.0 * S / self.x);
        self.timer = now + if self.r.is_some() { wait } else { wait.max(2.0) };
        self.idle = true;
    }

    fn no_feedback(&mut self, now: f64) {
        let x_recv = self.max_x_recv();
        let below = match self.r {
            None => true,
            Some(_) if self.p > 0.0 => x_recv < self.w_init(),
            Some(_) => self.x < 2.0 * self.w_init(),
        };
        if self.p == 0.0 && !(self.idle && below) {
            self.x = (self.x / 2.0).max(S / 64.0);
        } else if !(self.idle && below) {
            let limit = if self.x_bps > 2.0 * x_recv { x_recv } else { self.x_bps / 2.0 }.max(S / 64.0);
            self.x_recv_set = vec![(now, limit / 2.0)];
            self.update(limit, now);
        }
        self.restart(now);
    }
}

/// Reports of all kinds, silence, and senders with and without data.
#[test]
fn the_rate_is_the_rfcs() {
    let profile = Profile { mss: Bytes(1000), ..Profile::rfc() };
    let mut counts = [0_u32; 5];
    for seed in 0..60 {
        let mut rng = Rng::stream(seed, "tfrc");
        let mut now = Instant::ZERO + Duration::from_secs(1);
        let mut sender = Sender::new(&Cx { now, profile: &profile });
        let mut rfc = Rfc::new(1.0);
        let (mut busy, mut seq, mut rtt) = (true, 0, 0.1);
        let mut loss = 0.0;
        for _ in 0..300 {
            if rng.chance(0.05) {
                busy = rng.chance(0.5);
            }
            if rng.chance(0.05) {
                rtt = [0.003, 0.02, 0.1, 0.4][rng.below(4) as usize];
            }
            now += Duration::from_secs_f64(rtt * rng.uniform_open());
            let cx = Cx { now, profile: &profile };
            let t = now.as_secs_f64();
            match rng.below(10) {
                0..4 => {
                    sender.on_sent(seq, busy, &cx);
                    rfc.sends(t, busy);
                    seq += 1;
                }
                4..9 => {
                    let held = Duration::from_secs_f64(0.001 * rng.uniform());
                    let sample = Duration::from_secs_f64(rtt * (0.8 + 0.4 * rng.uniform()));
                    let echo = Instant::ZERO + now.since(Instant::ZERO).saturating_sub(sample + held);
                    loss = match rng.below(6) {
                        0 => loss * 1.5 + 0.001,
                        1 => 0.0,
                        2 => loss * 0.7,
                        _ => loss,
                    };
                    let rate = sender.x * (0.4 + rng.uniform());
                    let report = Report { echo, held, seq, rate, loss, capacity: 0.0 };
                    sender.on_report(&report, &cx);
                    rfc.feedback(echo.as_secs_f64(), sample.as_secs_f64(), rate, loss, t);
                    counts[if loss > 0.0 { 0 } else { 1 }] += 1;
                    counts[2] += u32::from(!busy);
                }
                _ => {
                    // Silence until the timer.
                    now = now.max(sender.nofeedback);
                    counts[3] += u32::from(rfc.idle);
                    counts[4] += 1;
                    sender.on_timer(&Cx { now, profile: &profile });
                    rfc.no_feedback(now.as_secs_f64());
                }
            }
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-6 * b.abs() + 2e-9;
            let after = Cx { now, profile: &profile };
            assert!(near(sender.rate(&after), rfc.x), "{} instead of {rfc:?}", sender.x);
            assert!(near(sender.timer().unwrap().as_secs_f64(), rfc.timer), "{:?}, {rfc:?}", sender.timer());
            assert!(near(sender.rtt().map_or(0.0, Duration::as_secs_f64), rfc.r.unwrap_or(0.0)));
            // One packet after another at the rate.
            if let Some(last) = sender.last {
                assert!(near(sender.next(&after).unwrap().since(last).as_secs_f64(), S / rfc.x));
            }
        }
    }
    assert!(counts.iter().all(|&count| count > 300), "{counts:?}");
}

/// Section 6.2: the timer reports the data since the last report, even a single byte. After silence there is no timer,
/// and the next packet is reported at once.
#[test]
fn the_timer_reports_what_has_come() {
    let profile = Profile { mss: Bytes(1000), ..Profile::rfc() };
    let at = |ms: u64| Cx { now: Instant::ZERO + Duration::from_millis(ms), profile: &profile };
    let data = |seq, sent| Data {
        seq,
        sent: Instant::ZERO + Duration::from_millis(sent),
        rtt: Duration::from_millis(100),
        heard: 0,
        pair: false,
    };
    let mut receiver = Receiver::new(&profile);
    assert!(receiver.on_data(&data(0, 950), 1, false, &at(1_000)).is_some(), "the first is reported");
    assert_eq!(receiver.timer(), Some(at(1_100).now));
    assert!(receiver.on_data(&data(1, 960), 1, false, &at(1_010)).is_none());
    let report = receiver.on_timer(&at(1_100)).unwrap();
    assert!((report.rate - 10.0).abs() < 1e-9, "a byte in 100 ms, not {}", report.rate);
    assert!(receiver.on_timer(&at(1_200)).is_none() && receiver.timer().is_none(), "nothing has come");
    assert!(receiver.on_data(&data(2, 4_950), 1, false, &at(5_000)).is_some());
}

/// Sections 4.3 and 4.4: at least one packet in 64 s. If every packet is lost and the round trip is 400 ms, the
/// equation gives one in 97 s; for a receiver that received nothing, half of the minimum rate is recorded.
#[test]
fn no_rate_is_below_a_packet_in_64_seconds() {
    let profile = Profile { mss: Bytes(1000), ..Profile::rfc() };
    let at = |ms: u64| Cx { now: Instant::ZERO + Duration::from_millis(ms), profile: &profile };
    let mut sender = Sender::new(&at(1_000));
    sender.on_sent(0, true, &at(1_000));
    let report = Report { echo: at(1_000).now, rate: 1e6, loss: 1.0, ..Report::default() };
    sender.on_report(&report, &at(1_400));
    assert!(throughput(S, 0.4, 1.0) < S / 90.0);
    assert_eq!(sender.rate(&at(1_400)), S / 64.0);
    sender.on_report(&Report { echo: at(2_000).now, rate: 0.0, ..report }, &at(2_400));
    sender.on_sent(1, true, &at(2_500));
    sender.x_recv.iter_mut().for_each(|(_, x)| *x = 0.0);
    sender.on_timer(&at(200_000));
    assert_eq!((sender.rate(&at(200_000)), sender.largest_x_recv()), (S / 64.0, S / 128.0));
}

/// Section 6.3.1: the first loss interval is derived from the maximum rate received before it, not from that of the
/// last round trip.
#[test]
fn the_first_loss_stands_for_the_largest_rate_so_far() {
    let profile = Profile { mss: Bytes(1000), ..Profile::rfc() };
    let at = |ms: u64| Cx { now: Instant::ZERO + Duration::from_millis(ms), profile: &profile };
    let (mut receiver, mut seq) = (Receiver::new(&profile), 0);
    let mut come = |end: &mut Receiver, ms: u64, marked: bool| {
        let data = Data { seq, sent: at(ms - 50).now, rtt: Duration::from_millis(100), heard: 0, pair: false };
        seq += 1;
        end.on_data(&data, 1000, marked, &at(ms))
    };
    // Ten packets in one round trip, then one in each of five.
    for ms in (1_000..1_100).step_by(10) {
        come(&mut receiver, ms, false);
    }
    assert!((receiver.on_timer(&at(1_100)).unwrap().rate - 90_000.0).abs() < 1.0, "the first packet has no rate");
    for ms in [1_150, 1_250, 1_350, 1_450, 1_550] {
        come(&mut receiver, ms, false);
        assert!(receiver.on_timer(&at(ms + 50)).is_some());
    }
    let report = come(&mut receiver, 1_650, true).unwrap();
    let x = throughput(S, 0.1, report.loss);
    assert!((x / 90_000.0 - 1.0).abs() < 0.01, "{x}");
}

/// Section 6.3.1, a loss before any rate is known: half a packet per round trip; without a round trip a loss rate of 1.
#[test]
fn the_first_loss_of_all_stands_for_half_a_packet_in_a_round_trip() {
    let profile = Profile { mss: Bytes(1000), ..Profile::rfc() };
    let cx = Cx { now: Instant::from_nanos(1_000_000_000), profile: &profile };
    for (rtt, wanted) in [(Some(100), 5_000.0), (Some(400), 1_250.0), (None, 0.0)] {
        let rtt = rtt.map_or(Duration::ZERO, Duration::from_millis);
        let data = Data { seq: 0, sent: Instant::ZERO, rtt, heard: 0, pair: false };
        let report = Receiver::new(&profile).on_data(&data, 1000, true, &cx).unwrap();
        if wanted > 0.0 {
            let x = throughput(S, rtt.as_secs_f64(), report.loss);
            assert!((x / wanted - 1.0).abs() < 0.01, "{x} instead of {wanted}");
        } else {
            assert!((report.loss - 1.0).abs() < 1e-9, "{}", report.loss);
        }
    }
}
