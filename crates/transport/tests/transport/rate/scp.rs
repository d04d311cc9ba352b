//! SCP against what Parris 2001, section II.2.3.1 says of it.

use aqmkit_transport::Kind;

use super::*;

/// 100 packets per second, 100 ms (10 packets in flight), and a long queue.
fn on_a_bottleneck(limit: f64) -> Net {
    let mut net = Net::sending(&profile(Kind::Scp), 1, 90);
    net.bottleneck = Some(Bottleneck { bytes_per_second: 100_000.0, limit });
    net
}

fn waiting(net: &Net) -> f64 {
    net.free.since(net.now).as_secs_f64() * 100.0
}

/// Slow start ends when the arrival rate no longer grows, without a loss; then the window is the path's and one more, which is all that waits.
#[test]
fn the_steady_window_is_what_an_empty_path_holds_and_a_little_more() {
    let mut net = on_a_bottleneck(1e9);
    net.run_until(ms(30_000));
    let mut most: f64 = 0.0;
    let seen = (0..20)
        .map(|_| {
            let rate = net.throughput(0, 1);
            most = most.max(waiting(&net));
            rate
        })
        .sum::<f64>()
        / 20.0;
    assert!((seen - 100.0).abs() < 1.5, "{seen} packets/s");
    assert!(most <= 3.0, "{most} packets wait");
    assert_eq!(net.flows[0][B].stats().timeouts, 0);
}

/// "If the available bandwidth increases those additional packets will reach the receiver": it finds twice the bandwidth, and half of it.
#[test]
fn the_window_follows_the_bandwidth() {
    let mut net = on_a_bottleneck(50.0);
    net.run_until(ms(30_000));
    net.bottleneck = Some(Bottleneck { bytes_per_second: 200_000.0, limit: 50.0 });
    net.throughput(0, 30);
    let more = net.throughput(0, 10);
    assert!((more - 200.0).abs() < 5.0, "{more} packets/s");
    net.bottleneck = Some(Bottleneck { bytes_per_second: 50_000.0, limit: 50.0 });
    net.throughput(0, 30);
    let less = net.throughput(0, 10);
    assert!((less - 50.0).abs() < 2.0, "{less} packets/s");
}

/// A loss halves the window once, however many packets of the same window are lost; nothing is sent again.
#[test]
fn a_loss_halves_the_window_once() {
    let mut net = on_a_bottleneck(1e9);
    net.run_until(ms(10_000));
    let sent = net.flows[0][B].stats().data_packets_sent;
    let before = net.rate(0);
    net.script = lose(move |seq| (sent..sent + 3).contains(&seq));
    let mut least = f64::MAX;
    for _ in 0..60 {
        net.run_until(net.now + Duration::from_millis(5));
        least = least.min(net.rate(0));
    }
    assert!((0.4..0.62).contains(&(least / before)), "{before} to {least}");
    // Numbers are never used twice.
    let mut numbers: Vec<u64> = net
        .sent
        .iter()
        .filter_map(|s| match s.packet.content {
            Content::Data(data) => Some(data.seq),
            _ => None,
        })
        .collect();
    let count = numbers.len();
    numbers.dedup();
    assert_eq!(numbers.len(), count);
}

/// Without acknowledgements it tries again, each time after twice the time.
#[test]
fn timeouts_back_off() {
    let mut net = on_a_bottleneck(1e9);
    net.run_until(ms(10_000));
    net.script = Box::new(|_, _| Fate::Drop);
    net.sent.clear();
    net.run_until(ms(30_000));
    let data = net.data();
    let bursts: Vec<Instant> = data.iter().copied().filter(|&at| at > ms(10_200)).collect();
    let mut starts = vec![bursts[0]];
    starts.extend(bursts.windows(2).filter(|w| w[1].since(w[0]) > Duration::from_millis(100)).map(|w| w[1]));
    let gaps: Vec<f64> = starts.windows(2).map(|w| w[1].since(w[0]).as_secs_f64()).collect();
    assert!(gaps.len() >= 3 && gaps.windows(2).all(|g| (g[1] / g[0] - 2.0).abs() < 0.01), "{gaps:?}");
}

/// An acknowledgement ends the backing off: after it the sender waits for the next one as long as it did before the first timeout.
#[test]
fn an_acknowledgement_ends_the_backing_off() {
    let waits = |silences: &[u64]| {
        let mut net = on_a_bottleneck(1e9);
        net.run_until(ms(10_000));
        let mut first = Vec::new();
        for silence in silences {
            let (begins, ends) = (net.now, net.now + Duration::from_millis(*silence));
            net.script = Box::new(move |_, now| if now < ends { Fate::Drop } else { Fate::Pass });
            // Data in flight is delivered, and its acknowledgements are lost.
            net.run_until(ends);
            let tries = net.data().into_iter().filter(|&at| at > begins + Duration::from_millis(200) && at <= ends);
            first.push(tries.min().map(|at| at.since(begins).as_secs_f64()));
            net.run_until(ends + Duration::from_secs(30));
        }
        first
    };
    let found = waits(&[8_000, 8_000]);
    let (Some(before), Some(after)) = (found[0], found[1]) else { panic!("no timeout: {found:?}") };
    assert!((after / before - 1.0).abs() < 0.5, "{before} s, then {after} s");
}
