//! Version 3 of BBR on a bottleneck, beside version 1 and beside CUBIC.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use crate::common::{Bulk, dumbbell, finish, group, linux_with, spec};
use aqmkit_base::{BitRate, Duration, Instant};
use aqmkit_sim::Simulation;
use aqmkit_sim::change::Change;
use aqmkit_sim::output::Output;
use aqmkit_sim::scenario::{Delays, Loss};
use aqmkit_transport::congestion::faults::{Fault, with};
use aqmkit_transport::{Kind, Overrides, Profile};

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// One flow of each kind with round trips of 40 ms on 20 Mb/s, so many packets of room (a product is 67), measured for 200 s
/// after 60.
fn share(kinds: &[Kind], limit: u64, loss: Loss) -> Output {
    let flows = |(i, kind): (usize, &Kind)| {
        group(&format!("flow{i}"), vec![Box::new(Bulk) as _], linux_with(kind.clone()), Delays::Each(vec![ms(40)]))
    };
    let aqm = spec("fifo", &format!(r#"{{"limit": {limit}}}"#));
    let mut scenario = dumbbell(BitRate::from_mbps(20), aqm, kinds.iter().enumerate().map(flows).collect(), 60, 200);
    scenario.links[0].wire.loss = loss;
    finish(scenario)
}

fn rates(out: &Output) -> Vec<f64> {
    out.flows.iter().map(|f| f.delivered_bytes[0] as f64 * 8e-6 / 200.0).collect()
}

fn used(out: &Output) -> f64 {
    out.windows[0].links["bottleneck"].utilization
}

/// Alone it fills the link almost without a queue, and bears 1 % of losses at random, half of what its threshold is.
#[test]
fn one_flow_fills_the_link_without_a_queue() {
    let out = share(&[Kind::Bbr3], 1000, Loss::Random(0.0));
    let queue = out.windows[0].links["bottleneck"].queue_delay_ms.unwrap();
    assert!(used(&out) > 0.95 && queue.mean < 5.0, "{} {queue:?}", used(&out));
    let lossy = share(&[Kind::Bbr3], 1000, Loss::Random(0.01));
    assert!(used(&lossy) > 0.7, "{}", used(&lossy));
}

/// With room for less than a quarter of the product version 1 loses more than a percent for ever. Version 3 loses packets only where it
/// probes for more, every few seconds and at most 2 % of a round trip (`BBR.LossThresh`): alone next to nothing, two flows a few in
/// a thousand.
#[test]
fn shallow_queues_are_not_overrun() {
    for flows in [1, 2] {
        let [one, three] = [Kind::Bbr, Kind::Bbr3].map(|kind| share(&vec![kind; flows], 15, Loss::Random(0.0)));
        let lost = |out: &Output| out.windows[0].links["bottleneck"].drop_rate;
        let most: f64 = if flows == 1 { 0.001 } else { 0.01 };
        assert!(
            lost(&one) > 0.01 && lost(&three) < most.min(lost(&one) / 10.0),
            "{flows}: {} and {}",
            lost(&one),
            lost(&three)
        );
        assert!(used(&three) > 0.95, "{flows}: {}", used(&three));
    }
}

/// Beside CUBIC: with room for half of the product version 1 takes nearly all, version 3 about half; as it does with more room.
#[test]
fn cubic_keeps_its_share() {
    let cubic = |kind, limit| {
        let out = share(&[kind, Kind::Cubic], limit, Loss::Random(0.0));
        assert!(used(&out) > 0.97, "{limit}: {}", used(&out));
        let r = rates(&out);
        r[1] / (r[0] + r[1])
    };
    assert!(cubic(Kind::Bbr, 33) < 0.2);
    for limit in [33, 100] {
        let share = cubic(Kind::Bbr3, limit);
        assert!((0.3..0.7).contains(&share), "{limit}: {share}");
    }
}

/// The mean number of packets in a deep queue from 30 to 60 s, where the link becomes four times slower at 17 s, and the cycles of probing
/// counted in that time.
fn queue_of_a_slower_link() -> (f64, u64) {
    let changes = Overrides { congestion: Some(Kind::Bbr3), ..Overrides::default() };
    let hosts = changes.apply(Profile::named("linux-6").unwrap()).unwrap();
    let flow = group("own", vec![Box::new(Bulk) as _], hosts, Delays::Each(vec![ms(40)]));
    let aqm = spec("fifo", r#"{"limit": 1000}"#);
    let mut run = Simulation::new(dumbbell(BitRate::from_mbps(20), aqm, vec![flow], 1, 60)).unwrap();
    let at = |seconds: u64| Instant::ZERO + Duration::from_secs(seconds);
    run.advance(at(17)).unwrap();
    let mut slower = run.links()[0].clone();
    slower.rate = BitRate::from_mbps(5);
    run.change(Change::Link { link: 0, to: Box::new(slower) }).unwrap();
    run.advance(at(30)).unwrap();
    let cycles = |of: &Simulation<'_>| of.flows(1)[0].model.unwrap().cycles;
    let (before, mut packets) = (cycles(&run), 0);
    for _ in 0..3000 {
        run.advance(run.now() + ms(10)).unwrap();
        packets += run.link(0).backlog.packets;
    }
    (packets as f64 / 3000.0, cycles(&run) - before)
}

/// The draft counts no cycle where `ProbeRTT` interrupts the probe, because what follows it counts as limited by the application: the rate of
/// the faster link is never forgotten, and the queue fills. Where that is counted, as some implementations do, it empties.
#[test]
fn on_a_slower_link_the_rate_is_forgotten_only_if_a_cycle_is_counted() {
    let (queue, cycles) = queue_of_a_slower_link();
    assert!(queue > 500.0 && cycles == 0, "{queue} packets, {cycles} cycles");
    let (short, counted) = with(Fault::CountsAfterProbeRtt, queue_of_a_slower_link);
    assert!(short < 20.0 && counted > 5, "{short} packets, {counted} cycles");
}
