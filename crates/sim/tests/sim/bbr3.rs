//! Version 3 of BBR on a bottleneck, beside version 1 and beside CUBIC.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use crate::common::{Bulk, dumbbell, finish, group, linux_with, spec};
use aqmkit_base::{BitRate, Duration};
use aqmkit_sim::output::Output;
use aqmkit_sim::scenario::{Delays, Loss};
use aqmkit_transport::Kind;

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

/// With room for less than a quarter of the product version 1 loses more than a percent for ever; version 3 finds out once what fits.
#[test]
fn shallow_queues_are_not_overrun() {
    for flows in [1, 2] {
        let [one, three] = [Kind::Bbr, Kind::Bbr3].map(|kind| share(&vec![kind; flows], 15, Loss::Random(0.0)));
        let lost = |out: &Output| out.windows[0].links["bottleneck"].drop_rate;
        assert!(lost(&one) > 0.01 && lost(&three) < 0.001, "{flows}: {} and {}", lost(&one), lost(&three));
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
