//! A video call with congestion control on a link of its own, and beside TCP.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use crate::common::{Bulk, dumbbell, finish, group, linux_with, spec};
use aqmkit_base::{BitRate, Duration, Rng};
use aqmkit_sim::output::{LinkStats, Window};
use aqmkit_sim::scenario::{Delays, Group};
use aqmkit_traffic::Application;
use aqmkit_traffic::registry::Spec;
use aqmkit_transport::{Kind, Profile};

/// A call of up to 3 Mbit/s.
fn call() -> Group {
    let parameters = serde_json::json!({ "max_rate": "3mbit", "start_rate": "500kbit" });
    let population = Spec::read("call", parameters).unwrap().prepare(&[]).unwrap();
    let apps: Vec<Box<dyn Application>> = vec![population.make(0, &mut Rng::stream(1, "call"))];
    group("call", apps, Profile::rfc(), Delays::Each(vec![Duration::from_millis(50)]))
}

/// The last minute of two, on a link of this rate with a queue of 100 packets.
fn second_minute(rate: BitRate, aqm: &str, groups: Vec<Group>) -> Window {
    let output = finish(dumbbell(rate, spec(aqm, r#"{"limit": 100}"#), groups, 60, 60));
    output.windows[0].clone()
}

fn delay_ms(link: &LinkStats) -> f64 {
    link.queue_delay_ms.unwrap().mean
}

#[test]
fn alone_it_uses_most_of_the_link_and_keeps_the_queue_short() {
    let all = second_minute(BitRate::from_mbps(1), "fifo", vec![call()]);
    let (link, app) = (&all.links["bottleneck"], &all.apps["call"]);
    assert!((0.65..0.98).contains(&link.utilization), "{}", link.utilization);
    assert!(delay_ms(link) < 60.0, "{}", delay_ms(link));
    assert!(link.drop_rate < 0.005 && app.computed["stalled"] < 0.01, "{app:?}");
    assert!((app.frame_rate.unwrap() - 30.0).abs() < 0.5);
    // The video gets the throughput of the link, less the headers.
    assert!((app.computed["video_rate_bps"] / link.throughput_bps - 0.95).abs() < 0.04);
}

#[test]
fn on_a_fast_link_it_reaches_its_highest_rate() {
    let all = second_minute(BitRate::from_mbps(20), "fifo", vec![call()]);
    assert!((all.apps["call"].computed["video_rate_bps"] / 3e6 - 1.0).abs() < 0.03);
    assert!(all.apps["call"].response_time_ms["frame"].p99 < 40.0);
}

#[test]
fn beside_tcp_in_a_long_queue_it_lives_and_with_short_queues_it_is_fast() {
    let run = |aqm: &str| {
        let apps: Vec<Box<dyn Application>> = vec![Box::new(Bulk)];
        let tcp = group("tcp", apps, linux_with(Kind::Cubic), Delays::Each(vec![Duration::from_millis(50)]));
        let all = second_minute(BitRate::from_mbps(4), aqm, vec![call(), tcp]);
        (all.apps["call"].computed["video_rate_bps"], all.apps["call"].response_time_ms["frame"].mean)
    };
    let (fifo, fq) = (run("fifo"), run("fq-codel"));
    assert!(fifo.0 > 150e3, "it does not starve: {}", fifo.0);
    assert!(fq.0 > fifo.0 && fq.0 > 1e6, "its share of the link: {} and {}", fq.0, fifo.0);
    assert!(fq.1 < fifo.1, "and shorter queues: {} and {} ms", fq.1, fifo.1);
}
