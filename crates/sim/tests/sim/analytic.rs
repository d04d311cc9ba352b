//! The engine and the transports against closed forms.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use crate::common::{Bulk, Poisson, dumbbell, finish, group, spec};
use aqmkit_aqm::registry::Spec;
use aqmkit_base::{BitRate, Bytes, Duration};
use aqmkit_sim::scenario::{Delays, Loss};
use aqmkit_transport::Profile;
use aqmkit_transport::profile::DelayedAck;

/// Mean wait in an M/D/1 queue (Pollaczek and Khinchine): rho / (2 (1 - rho)) service times.
#[test]
fn poisson_packets_wait_as_in_md1() {
    let service = Duration::from_micros(800);
    for rho in [0.3, 0.5, 0.7, 0.8] {
        let mean = Duration::from_secs_f64(service.as_secs_f64() / rho);
        let apps: Vec<Box<dyn aqmkit_traffic::Application>> = vec![Box::new(Poisson { mean, len: 972 })];
        let traffic = group("poisson", apps, Profile::rfc(), Delays::None);
        let queue = spec("fifo", r#"{"limit": 1000000}"#);
        let out = finish(dumbbell(BitRate::from_mbps(10), queue, vec![traffic], 10, 4000));
        let link = &out.windows[0].links["bottleneck"];
        let wait = link.queue_delay_ms.unwrap().mean / service.as_millis_f64();
        let theory = rho / (2.0 * (1.0 - rho));
        assert!((wait / theory - 1.0).abs() < 0.02, "rho {rho}: waits {wait} services, theory {theory}");
        assert!((link.utilization / rho - 1.0).abs() < 0.01, "rho {rho}: utilisation {}", link.utilization);
        // Little's law ties the two measurements together.
        let little = link.queue_delay_ms.unwrap().mean / 1e3 * link.packets_per_s;
        assert!((link.queue_packets.mean / little - 1.0).abs() < 0.005, "{} is not {little}", link.queue_packets.mean);
    }
}

/// Packets per second of one Reno flow over (rtt sqrt(p))^-1, with random loss.
fn reno_constant(p: f64, delayed_ack: DelayedAck) -> f64 {
    let rtt = Duration::from_millis(100);
    let profile = Profile { receive_window: Bytes(1 << 24), cwnd_limit: Bytes(1 << 24), delayed_ack, ..Profile::rfc() };
    let size = profile.mss.as_f64();
    let flows = group("reno", (0..8).map(|_| Box::new(Bulk) as _).collect(), profile, Delays::Each(vec![rtt]));
    // Fast enough that nothing queues.
    let mut scenario =
        dumbbell(BitRate::from_mbps(10_000), spec("fifo", r#"{"limit": 1000000}"#), vec![flows], 20, 600);
    scenario.links[0].wire.loss = Loss::Random(p);
    let out = finish(scenario);
    let (lost, sent) = out.flows.iter().fold((0, 0), |(l, s), f| (l + f.drops.unwrap(), s + f.packets));
    let rate = lost as f64 / sent as f64;
    assert!((rate / p - 1.0).abs() < 0.1, "the loss rate is {rate}: {lost} of {sent}");
    let class = &out.windows[0].classes["data"];
    class.goodput_bps / 8.0 / size / 8.0 * rtt.as_secs_f64() * p.sqrt()
}

/// Mathis, Semke, Mahdavi and Ott 1997: sqrt(3/2) with an acknowledgement for every packet and random
/// loss gives 1.31 where timeouts are rare; delayed acknowledgements divide by sqrt(2).
#[test]
fn tcp_follows_the_square_root_law() {
    for p in [0.0005, 0.002] {
        let each = reno_constant(p, DelayedAck::None);
        assert!((1.1..1.42).contains(&each), "p {p}: constant {each}");
        let delayed = reno_constant(p, DelayedAck::After(Duration::from_millis(40)));
        let ratio = each / delayed;
        assert!((ratio / std::f64::consts::SQRT_2 - 1.0).abs() < 0.15, "p {p}: {each} and {delayed}");
    }
}

/// A window of 16 KB over 100 ms.
#[test]
fn a_receive_window_limits_to_window_over_rtt() {
    let profile = Profile { receive_window: Bytes(16 * 1448), ..Profile::rfc() };
    let flow = group("one", vec![Box::new(Bulk)], profile, Delays::Each(vec![Duration::from_millis(100)]));
    let out = finish(dumbbell(BitRate::from_mbps(1000), Spec::named("fifo").unwrap(), vec![flow], 5, 60));
    let expected = 16.0 * 1448.0 * 8.0 / 0.1;
    let got = out.windows[0].classes["data"].goodput_bps;
    assert!((got / expected - 1.0).abs() < 0.01, "{got} is not {expected}");
}
