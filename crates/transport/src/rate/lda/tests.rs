//! Each rule by hand, with packets of 1000 bytes.

use aqmkit_base::Bytes;

use super::*;

const fn ms(n: u64) -> Instant {
    Instant::from_nanos(n * 1_000_000)
}

fn profile() -> Profile {
    Profile { mss: Bytes(1000), ..Profile::ns2() }
}

fn near(got: f64, wanted: f64) {
    assert!((got - wanted).abs() < 1e-6 * wanted.abs().max(1.0), "{got} instead of {wanted}");
}

/// 12.5 packets per second, and 1.25 more each time; reports every 5 s over a round trip of 40 ms.
#[test]
fn the_rate_follows_the_reports() {
    let profile = profile();
    let at = |n| Cx { now: ms(n), profile: &profile };
    let mut sender = Sender::new(&at(0));
    assert_eq!((sender.rtt(), sender.timer()), (None, Some(ms(20_000))));
    near(sender.rate(&at(0)), 12_500.0);
    let report = |now: u64, loss, capacity| Report { echo: ms(now - 70), held: Duration::from_millis(30), loss, capacity, ..Report::default() };
    // Half of 25,000 bytes/s is free: the increase grows by a half.
    sender.on_report(&report(5_000, 0.0, 25_000.0), &at(5_000));
    assert_eq!((sender.rtt(), sender.timer()), (Some(Duration::from_millis(40)), Some(ms(25_000))));
    near(sender.rate(&at(5_000)), 14_375.0);
    // Nothing is known about the bottleneck: the increase stays.
    sender.on_report(&report(10_000, 0.0, 0.0), &at(10_000));
    near(sender.rate(&at(10_000)), 16_250.0);
    // A rate above the bottleneck's counts as all of it.
    sender.on_report(&report(15_000, 0.0, 8_000.0), &at(15_000));
    near(sender.rate(&at(15_000)), 18_125.0);
    // A decrease by three times a tenth; the increase is reset.
    sender.on_report(&report(20_000, 0.05, 0.0), &at(20_000));
    near(sender.rate(&at(20_000)), 15_406.25);
    sender.on_report(&report(25_000, 0.0, 0.0), &at(25_000));
    near(sender.rate(&at(25_000)), 16_656.25);
    // Never lower than the initial rate, however much is lost; four intervals without a report halve it with the same
    // floor.
    sender.on_report(&report(30_000, 0.9, 0.0), &at(30_000));
    near(sender.rate(&at(30_000)), 12_500.0);
    sender.rate = 30_000.0;
    sender.on_timer(&at(50_000));
    near(sender.rate(&at(50_000)), 15_000.0);
    assert_eq!(sender.timer(), Some(ms(70_000)));
    sender.on_timer(&at(70_000));
    near(sender.rate(&at(70_000)), 12_500.0);
    // A rate below the initial one stays.
    sender.rate = 10_000.0;
    sender.on_timer(&at(90_000));
    near(sender.rate(&at(90_000)), 10_000.0);
}

/// At most a packet per round trip and round trip: 1000 bytes * 0.5 s / (0.5 s)^2 in the half second since the last
/// report.
#[test]
fn the_increase_is_no_more_than_a_packet_in_a_round_trip() {
    let profile = profile();
    let at = |n| Cx { now: ms(n), profile: &profile };
    let mut sender = Sender::new(&at(1_000));
    sender.air = 1e6;
    sender.on_report(&Report { echo: ms(1_000), ..Report::default() }, &at(1_500));
    near(sender.rate(&at(1_500)), 14_500.0);
}

/// Packets are spaced at the rate, but the sixteenth follows the fifteenth at once, and the one after it waits twice as
/// long.
#[test]
fn the_second_of_a_pair_goes_at_once() {
    let profile = profile();
    let at = |n| Cx { now: ms(n), profile: &profile };
    let mut sender = Sender::new(&at(0));
    let mut times = Vec::new();
    for seq in 0..34 {
        let now = sender.next(&at(0)).unwrap();
        let cx = Cx { now, profile: &profile };
        assert_eq!(sender.pairs(seq), seq == 15 || seq == 31);
        sender.on_sent(seq, true, &cx);
        times.push(now.as_nanos() / 1_000_000);
        if sender.at_once {
            assert_eq!(sender.next(&cx), Some(now));
            times.push(now.as_nanos() / 1_000_000);
            sender.on_sent(seq + 1, true, &cx);
            assert!(!sender.at_once && sender.pairs(seq + 1));
            break;
        }
    }
    // 80 ms apart.
    let even: Vec<u64> = (0..15).map(|n| 80 * n).chain([80 * 14]).collect();
    assert_eq!(times, even);
    assert_eq!(sender.next(&at(0)), Some(ms(80 * 16)));
}

fn data(seq: u64, at: u64, pair: bool) -> Data {
    Data { seq, sent: ms(at - 20), rtt: Duration::ZERO, heard: 0, pair }
}

/// A report every 5 s, if anything arrived: the missing share, and the bytes received over the interval.
#[test]
fn reports_say_what_is_missing() {
    let profile = profile();
    let at = |n| Cx { now: ms(n), profile: &profile };
    let mut receiver = Receiver::new(&profile);
    assert_eq!(receiver.timer(), None);
    let come = |end: &mut Receiver, seqs: &[u64], now: u64| {
        for &seq in seqs {
            assert!(end.on_data(&data(seq, now, false), 1000, false, &at(now)).is_none());
        }
    };
    come(&mut receiver, &[0, 1, 2, 4], 100);
    come(&mut receiver, &[9], 4_000);
    assert_eq!(receiver.timer(), Some(ms(5_100)));
    let report = receiver.on_timer(&at(5_100)).unwrap();
    near(report.loss, 0.5);
    near(report.rate, 1_000.0);
    assert_eq!((report.seq, report.echo, report.held), (9, ms(3_980), Duration::from_millis(1_100)));
    assert_eq!((report.capacity, receiver.timer()), (0.0, Some(ms(10_100))));
    // Nothing arrived: no report, and the missing packets count in the next one.
    assert!(receiver.on_timer(&at(10_100)).is_none());
    assert_eq!(receiver.timer(), Some(ms(15_100)));
    come(&mut receiver, &[13, 3], 12_000);
    let next = receiver.on_timer(&at(15_100)).unwrap();
    // Two of 10 to 13 are missing: a late packet counts as one of them.
    near(next.loss, 0.5);
    near(next.rate, 400.0);
    // With duplicates the missing share is zero, not negative.
    come(&mut receiver, &[13, 13, 14, 12], 16_000);
    near(receiver.on_timer(&at(20_100)).unwrap().loss, 0.0);
    // Only late packets, when at least one was expected.
    come(&mut receiver, &[5], 21_000);
    near(receiver.on_timer(&at(25_100)).unwrap().loss, 0.0);
}

/// The median of the last fifteen pairs; a gap within a pair, and packets outside of pairs, contribute nothing.
#[test]
fn the_bottleneck_is_the_median_of_pairs() {
    let profile = profile();
    let at = |n| Cx { now: ms(n), profile: &profile };
    let mut receiver = Receiver::new(&profile);
    let mut now = 1_000;
    let mut pair = |end: &mut Receiver, first: u64, second: u64, gap: u64| {
        end.on_data(&data(first, now, false), 1000, false, &at(now));
        end.on_data(&data(second, now + gap, true), 1000, false, &at(now + gap));
        now += 100;
    };
    // 1000 bytes in this many ms.
    pair(&mut receiver, 14, 15, 5);
    near(receiver.capacity(), 200_000.0);
    pair(&mut receiver, 30, 31, 20);
    pair(&mut receiver, 46, 47, 10);
    near(receiver.capacity(), 100_000.0);
    // The first of the pair was lost; then both arrived at the same time.
    pair(&mut receiver, 61, 63, 1);
    pair(&mut receiver, 78, 79, 0);
    assert_eq!(receiver.capacities.len(), 3);
    for n in 6..18 {
        pair(&mut receiver, 16 * n - 2, 16 * n - 1, 4);
    }
    assert_eq!(receiver.capacities.len(), 15);
    near(receiver.capacity(), 250_000.0);
    // Fifteen pairs later none of the others is left.
    for n in 18..33 {
        pair(&mut receiver, 16 * n - 2, 16 * n - 1, 8);
        assert_eq!(receiver.capacities.len(), 15);
        if n == 20 {
            let oldest = receiver.capacities.iter().any(|c| *c < 110_000.0 || (199_000.0..201_000.0).contains(c));
            assert!(!oldest, "the three oldest are gone: {:?}", receiver.capacities);
        }
    }
    assert!(receiver.capacities.iter().all(|c| (c - 125_000.0).abs() < 1.0), "{:?}", receiver.capacities);
    // Neither do packets that are not a pair.
    receiver.on_data(&data(600, now, false), 1000, false, &at(now));
    receiver.on_data(&data(601, now + 1, false), 1000, false, &at(now + 1));
    near(receiver.capacity(), 125_000.0);
}
