//! LDA against what Parris 2001, section II.2.3.2 says of it.

use aqmkit_base::BitRate;
use aqmkit_transport::Kind;

use super::*;

/// By hand. 100 kbit/s are 12.5 packets of 1000 bytes per second, and 10 kbit/s are 1.25. The bottleneck has 1000 packets
/// per second: with b known, `AIR = 1.25 (1 + 1 - 0.0125) = 2.484`, so 14.98; then `AIR = 2.484 (2 - 0.01498) = 4.932`: 19.92.
#[test]
fn without_loss_the_increase_itself_grows_by_the_share_that_is_free() {
    let mut net = Net::sending(&profile(Kind::Lda), 1, 20);
    net.bottleneck = Some(Bottleneck { bytes_per_second: 1_000_000.0, limit: 100.0 });
    net.run_until(ms(5_100));
    assert!((net.rate(0) - 14.984).abs() < 0.02, "{}", net.rate(0));
    net.run_until(ms(10_100));
    assert!((net.rate(0) - 19.916).abs() < 0.05, "{}", net.rate(0));
    let (_, report) = net.reports(0)[0];
    assert!((report.capacity / 1e6 - 1.0).abs() < 1e-6, "pairs say {}", report.capacity);
}

/// By hand: a tenth is lost, and three times as much is taken off; the increase begins anew at 1.25 packets per second.
#[test]
fn losses_are_answered_in_proportion() {
    let mut net = Net::sending(&profile(Kind::Lda), 1, 20);
    net.bottleneck = Some(Bottleneck { bytes_per_second: 1_000_000.0, limit: 100.0 });
    net.run_until(ms(40_050));
    let before = net.rate(0);
    // To the end of what the next report covers.
    net.script = Box::new(|packet, now| match packet.content {
        Content::Data(data) if data.seq % 10 == 5 && now < ms(45_000) => Fate::Drop,
        _ => Fate::Pass,
    });
    net.run_until(ms(45_050));
    let after = net.rate(0);
    assert!((after / before - 0.7).abs() < 0.02, "{before} to {after}");
    net.run_until(ms(50_050));
    let share = after / 1000.0;
    assert!((net.rate(0) - after - 1.25 * (2.0 - share)).abs() < 0.05, "{after} to {}", net.rate(0));
}

/// "In all cases, the increment is bounded to be no more than one packet per round-trip time": a TCP with 500 ms adds 11 packets to its window in the 5.5 s to
/// the first report, so 22 packets per second.
#[test]
fn the_increase_is_no_more_than_tcps() {
    let mut p = profile(Kind::Lda);
    p.lda.increase = BitRate::from_bps(8_000_000);
    let mut net = Net::sending(&p, 1, 500);
    net.run_until(ms(5_800));
    assert!((net.rate(0) - 12.5 - 22.0).abs() < 0.5, "{}", net.rate(0));
}

fn start(net: &mut Net, flow: usize) {
    net.call(flow, A, Endpoint::connect);
    net.run_until(net.now + Duration::from_millis(60));
    net.call(flow, B, |end, p, now, out| end.write(p, u64::MAX, now, out));
}

fn counts(net: &Net) -> [u64; 4] {
    std::array::from_fn(|flow| net.delivered(flow))
}

/// Data of the slowest of four flows since then, over that of the fastest.
fn evenness(net: &Net, since: &[u64; 4]) -> f64 {
    let now = counts(net);
    let rates = || (0..4).map(|flow| (now[flow] - since[flow]) as f64);
    rates().fold(f64::MAX, f64::min) / rates().fold(0.0, f64::max)
}

/// "In one experiment, the algorithm took 300 seconds for 4 flows to converge": the one that was there first gives way over
/// minutes, not seconds.
#[test]
fn four_flows_converge_over_minutes() {
    let mut net = Net::new(&profile(Kind::Lda), 4, 50);
    net.keep = false;
    net.bottleneck = Some(Bottleneck { bytes_per_second: 500_000.0, limit: 50.0 });
    start(&mut net, 0);
    net.run_until(ms(300_000));
    (1..4).for_each(|flow| start(&mut net, flow));
    let at_start = counts(&net);
    net.run_until(ms(330_000));
    let early = evenness(&net, &at_start);
    net.run_until(ms(900_000));
    let settled = counts(&net);
    net.run_until(ms(1_200_000));
    let late = evenness(&net, &settled);
    assert!(early < 0.5 && late > 0.6, "{early} after 30 s, {late} after 600 s");
}

#[test]
fn without_reports_the_rate_falls_to_what_it_began_with() {
    let mut net = Net::sending(&profile(Kind::Lda), 1, 50);
    net.run_until(ms(60_000));
    assert!(net.rate(0) > 20.0);
    net.script = Box::new(|_, _| Fate::Drop);
    net.run_until(ms(300_000));
    assert!((net.rate(0) - 12.5).abs() < 1e-6, "{}", net.rate(0));
}
