//! TFRC against RFC 5348.

use aqmkit_base::Rng;
use aqmkit_transport::Kind;
use aqmkit_transport::rate::tfrc::{throughput, throughput_with_timeout};

use super::*;

fn tfrc() -> Profile {
    profile(Kind::Tfrc)
}

/// Sections 4.2 and 4.3 by hand. s = 1000 bytes, R = 100 ms: one packet, its report after a round trip, then `W_init / R` = 4000 bytes in
/// a round trip. A rate reaches the receiver after half a round trip, has been measured after one and a half, and is reported after two:
/// only then may it double again.
#[test]
fn slow_start_doubles_what_arrives() {
    let mut net = Net::sending(&tfrc(), 1, 100);
    assert!((net.rate(0) - 1.0).abs() < 1e-9);
    net.run_until(ms(149));
    assert_eq!(net.data().len(), 1);
    for (at, rate) in [(151, 40.0), (300, 40.0), (351, 80.0), (500, 80.0), (551, 160.0), (751, 320.0)] {
        net.run_until(ms(at));
        let seen = net.rate(0);
        assert!((seen / rate - 1.0).abs() < 0.13, "{seen} instead of {rate} at {at} ms");
    }
}

/// Section 4.4 by hand: nothing comes any more. Without a report for `max(4 R, 2 s / X)` the rate is halved, again and again, down to one packet in 64 s.
#[test]
fn silence_halves_the_rate() {
    let mut net = Net::sending(&tfrc(), 1, 100);
    net.bottleneck = Some(Bottleneck { bytes_per_second: 100_000.0, limit: 20.0 });
    net.run_until(ms(20_000));
    net.script = Box::new(|_, _| Fate::Drop);
    // The last report that was under way.
    net.run_until(ms(20_200));
    let (mut rate, mut halved) = (net.rate(0), Vec::new());
    for step in 20_201..40_000 {
        net.run_until(ms(step));
        if (net.rate(0) / rate - 1.0).abs() > 1e-6 {
            halved.push((step, net.rate(0) / rate));
            rate = net.rate(0);
        }
    }
    assert!(halved.len() > 5, "{halved:?}");
    // The first may be limited by what arrived last instead; then each is a half.
    assert!(halved[1..].iter().all(|(_, factor)| (factor - 0.5).abs() < 1e-6), "{halved:?}");
    net.run_until(ms(2_000_000));
    assert!((net.rate(0) - 1.0 / 64.0).abs() < 1e-9, "{}", net.rate(0));
}

#[test]
fn before_the_first_report_silence_halves_one_packet_in_a_second() {
    let mut net = Net::new(&tfrc(), 1, 100);
    net.call(0, A, Endpoint::connect);
    net.run_until(ms(50));
    net.script = Box::new(|_, _| Fate::Drop);
    net.call(0, B, |end, p, now, out| end.write(p, u64::MAX, now, out));
    // 2 s from the opening; then 2 s / X = 4 s.
    for (until, rate, timeouts) in [(2_049, 1.0, 0), (2_050, 0.5, 1), (6_049, 0.5, 1), (6_050, 0.25, 2)] {
        net.run_until(ms(until));
        assert!((net.rate(0) - rate).abs() < 1e-9, "{} at {until} ms", net.rate(0));
        assert_eq!(net.flows[0][B].stats().timeouts, timeouts, "at {until} ms");
    }
    // Down to one packet in 64 s.
    for _ in 0..100 {
        net.run_until(net.now + Duration::from_secs(10));
        assert!(net.rate(0) >= 1.0 / 64.0, "{}", net.rate(0));
    }
    assert!((net.rate(0) - 1.0 / 64.0).abs() < 1e-9);
}

/// Section 6.2: once in a round trip, and at once when the loss event rate has risen.
#[test]
fn the_receiver_reports_once_in_a_round_trip_and_losses_at_once() {
    let mut net = Net::sending(&tfrc(), 1, 100);
    net.bottleneck = Some(Bottleneck { bytes_per_second: 100_000.0, limit: 30.0 });
    net.script = lose(|seq| seq == 400);
    net.run_until(ms(3_000));
    let reports = net.reports(0);
    let regular: Vec<f64> = reports.windows(2).map(|w| w[1].0.since(w[0].0).as_millis_f64()).collect();
    // The queue of 30 packets of 10 ms each lengthens round trips up to 400 ms.
    assert!(regular[3..].iter().all(|gap| *gap < 410.0), "{regular:?}");
    let rises = |w: &[(Instant, Report)]| w[1].1.loss > w[0].1.loss;
    assert!(reports.windows(2).any(rises));
}

/// Section 6.2: a receiver that has got nothing says nothing when its timer expires, and reports what comes next at once.
#[test]
fn silence_is_not_reported() {
    let mut net = Net::new(&tfrc(), 1, 100);
    net.call(0, A, Endpoint::connect);
    net.run_until(ms(50));
    net.call(0, B, |end, p, now, out| end.write(p, 20_000, now, out));
    net.run_until(ms(10_000));
    let before = net.reports(0);
    assert!(net.delivered(0) == 20_000 && before.len() > 3, "{}", before.len());
    net.run_until(ms(60_000));
    assert_eq!(net.reports(0).len(), before.len());
    net.call(0, B, |end, p, now, out| end.write(p, 1_000, now, out));
    net.run_until(ms(70_000));
    let after: Vec<Instant> = net.reports(0)[before.len()..].iter().map(|report| report.0).collect();
    assert_eq!(after, [ms(60_050)]);
}

/// Section 6.3.1: after the first loss the rate is about what came in until then, not what a count of packets would say.
#[test]
fn the_first_loss_brings_the_rate_to_what_arrives() {
    let mut net = Net::sending(&tfrc(), 1, 100);
    net.bottleneck = Some(Bottleneck { bytes_per_second: 200_000.0, limit: 40.0 });
    let mut seen = None;
    for step in 51..5_000 {
        net.run_until(ms(step));
        if let Some((_, report)) = net.reports(0).iter().find(|(_, r)| r.loss > 0.0) {
            seen = Some(*report);
            break;
        }
    }
    let report = seen.unwrap();
    // Solved with the mean round trip at that time, between 100 ms and that of a full queue.
    let (high, low) = (throughput(1000.0, 0.1, report.loss), throughput(1000.0, 0.31, report.loss));
    assert!(low < 200_000.0 * 1.05 && high > 200_000.0 * 0.9, "{low} to {high}");
}

/// Goodput in packets per second where each packet is lost with this chance.
fn measured(p: &Profile, loss: f64, rtt: u64, seconds: u64) -> f64 {
    let mut net = Net::sending(p, 1, rtt);
    net.keep = false;
    let mut rng = Rng::stream(3, "loss");
    net.script = Box::new(move |packet, _| if packet.len > 0 && rng.chance(loss) { Fate::Drop } else { Fate::Pass });
    net.throughput(0, 50);
    net.throughput(0, seconds)
}

/// Section 3.1. Where there is at most one loss in a round trip the loss event rate is the loss rate, and the mean of the rate lies below the equation's
/// value at the mean interval by what its curvature makes of eight intervals: some percent.
#[test]
fn throughput_under_random_loss_is_the_equations() {
    for (loss, rtt, low, high) in [(0.002, 100, 0.80, 1.10), (0.01, 100, 0.80, 1.10), (0.05, 100, 0.75, 1.15)] {
        let law = throughput(1000.0, rtt as f64 / 1e3, loss) / 1000.0;
        let seen = measured(&tfrc(), loss, rtt, 2_000);
        assert!((low..high).contains(&(seen / law)), "p {loss}: {seen:.1} packets/s, the equation says {law:.1}");
    }
}

/// A timeout of 300 ms where four round trips are 120 ms: at 5 % loss the equation says 67 % of what it says with those.
#[test]
fn a_given_timeout_is_the_equations() {
    let mut slow = tfrc();
    slow.tfrc.timeout = Some(Duration::from_millis(300));
    let (law, usual) = (throughput_with_timeout(1000.0, 0.03, 0.3, 0.05), throughput(1000.0, 0.03, 0.05));
    let ratio = measured(&slow, 0.05, 30, 1_000) / measured(&tfrc(), 0.05, 30, 1_000);
    assert!((ratio / (law / usual) - 1.0).abs() < 0.1, "{ratio}, the equations {}", law / usual);
}

/// Marks count as losses, so ECN gives the same rate.
#[test]
fn marks_count_as_losses() {
    let p = Profile { ecn: true, ..tfrc() };
    let mut net = Net::sending(&p, 1, 100);
    net.keep = false;
    let mut rng = Rng::stream(3, "loss");
    net.script = Box::new(move |packet, _| if packet.len > 0 && rng.chance(0.01) { Fate::Mark } else { Fate::Pass });
    net.throughput(0, 50);
    let seen = net.throughput(0, 1_000);
    let lossy = measured(&tfrc(), 0.01, 100, 1_000);
    assert!((0.9..1.15).contains(&(seen / lossy)), "{seen} marked, {lossy} lost");
}

/// RFC 5348 section 1 promises a rate smoother than that of TCP, which halves. With every hundredth packet lost it is constant apart from the rhythm
/// of reports.
#[test]
fn even_losses_give_an_even_rate() {
    let mut net = Net::sending(&tfrc(), 1, 100);
    net.script = lose(|seq| seq % 100 == 99);
    net.run_until(ms(60_000));
    let rates: Vec<f64> = (0..100)
        .map(|_| {
            net.run_until(net.now + Duration::from_millis(200));
            net.rate(0)
        })
        .collect();
    let (least, most) = rates.iter().fold((f64::MAX, 0.0), |(l, m): (f64, f64), r| (l.min(*r), m.max(*r)));
    let law = throughput(1000.0, 0.1, 0.01) / 1000.0;
    assert!(least > 0.97 * law && most < 1.1 * law, "{least} to {most}, the equation says {law}");
}

/// Section 5.5: when losses end the past counts less and less, and the rate grows faster than without discounts; section 4.3: never to more than twice
/// what arrives.
#[test]
fn discounting_makes_the_rate_recover_sooner() {
    let after = |discounting: bool| {
        let mut p = tfrc();
        p.tfrc.discounting = discounting;
        let mut net = Net::sending(&p, 1, 100);
        net.script = Box::new(move |packet, now| match packet.content {
            Content::Data(data) if data.seq % 50 == 49 && now < ms(60_000) => Fate::Drop,
            _ => Fate::Pass,
        });
        net.run_until(ms(60_000));
        let before = net.rate(0);
        net.run_until(ms(66_000));
        net.rate(0) / before
    };
    let (with, without) = (after(true), after(false));
    assert!(with > 1.15 * without && without > 1.0, "{with} with, {without} without");
}

/// Section 4.5: behind a deep queue the rate swings less, and the queue with it.
#[test]
fn oscillation_prevention_calms_the_queue() {
    let swing = |oscillation_prevention: bool| {
        let mut p = tfrc();
        p.tfrc.oscillation_prevention = oscillation_prevention;
        let mut net = Net::sending(&p, 1, 40);
        net.bottleneck = Some(Bottleneck { bytes_per_second: 250_000.0, limit: 50.0 });
        net.run_until(ms(60_000));
        let delays: Vec<f64> = (0..600)
            .map(|_| {
                net.run_until(net.now + Duration::from_millis(100));
                net.free.since(net.now).as_secs_f64()
            })
            .collect();
        let mean = delays.iter().sum::<f64>() / 600.0;
        (delays.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>() / 600.0).sqrt()
    };
    let (with, without) = (swing(true), swing(false));
    assert!(with < 0.8 * without, "{with} s with, {without} s without");
}

/// Section 4.3: a sender that has nothing to send for a while is not held to the little that arrived.
#[test]
fn what_arrives_of_a_sender_short_of_data_is_no_limit() {
    let mut net = Net::new(&tfrc(), 1, 100);
    net.call(0, A, Endpoint::connect);
    net.run_until(ms(50));
    // 20 packets a second for 5 s; the initial rate is 40.
    for _ in 0..100 {
        net.call(0, B, |end, p, now, out| end.write(p, 1000, now, out));
        net.run_until(net.now + Duration::from_millis(50));
    }
    assert!(net.rate(0) >= 40.0 - 1e-6, "{}", net.rate(0));
}
