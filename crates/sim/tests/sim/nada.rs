//! Calls with NADA on simulated links: what RFC 8698 says they do, alone, together and beside TCP.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use crate::common::{Bulk, dumbbell, finish, group, linux_with, spec};
use aqmkit_base::{BitRate, Duration, Rng};
use aqmkit_sim::output::Window;
use aqmkit_sim::scenario::{Delays, Group};
use aqmkit_traffic::Application;
use aqmkit_traffic::registry::Spec;
use aqmkit_transport::{Kind, Profile};
use serde_json::json;

/// Calls of up to 1.5 Mbit/s with a round trip of 100 ms and these additional parameters.
fn calls(name: &str, count: usize, more: &serde_json::Value, delay: u64) -> Group {
    let mut parameters = json!({ "control": "nada", "calls": count });
    parameters.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let population = Spec::read("call", parameters).unwrap().prepare(&[]).unwrap();
    let make = |i| population.make(i, &mut Rng::stream(1, &format!("{name}.{i}")));
    let apps: Vec<Box<dyn Application>> = (0..count).map(make).collect();
    group(name, apps, Profile::rfc(), Delays::Each(vec![Duration::from_millis(delay)]))
}

/// The last two of three minutes, on a link of this rate in kbit/s with a queue of 300 ms.
fn run(kbit: u64, aqm: &str, parameters: &str, groups: Vec<Group>) -> Window {
    let bytes = kbit * 1000 / 8 * 3 / 10;
    let limit = format!(r#"{{"limit": "{bytes}b"{parameters}}}"#);
    let output = finish(dumbbell(BitRate::from_bps(kbit * 1000), spec(aqm, &limit), groups, 60, 120));
    output.windows[0].clone()
}

fn rate(all: &Window, name: &str) -> f64 {
    all.apps[name].computed["video_rate_bps"]
}

#[test]
fn alone_it_fills_the_link_and_holds_the_queue_of_its_equilibrium() {
    for (kbit, signal) in [(500, 30.0), (1000, 15.0), (1300, 11.5)] {
        let all = run(kbit, "fifo", "", vec![calls("call", 1, &json!({}), 100)]);
        let link = &all.links["bottleneck"];
        let delay = link.queue_delay_ms.unwrap();
        assert!(link.utilization > 0.9, "{kbit}: {}", link.utilization);
        assert_eq!(link.drop_rate, 0.0, "{kbit}");
        // The least of 15 delays is at the signal; a packet of up to 1248 bytes waits for the one ahead of it besides.
        let packet = 1248.0 * 8.0 / kbit as f64;
        assert!((signal - packet..signal + 1.5 * packet).contains(&delay.mean), "{kbit}: {} for {signal}", delay.mean);
    }
}

#[test]
fn where_there_is_room_it_has_its_highest_rate_and_no_queue() {
    let all = run(4000, "fifo", "", vec![calls("call", 1, &json!({}), 100)]);
    assert!((rate(&all, "call") / 1.5e6 - 1.0).abs() < 0.06, "{}", rate(&all, "call"));
    assert!(all.links["bottleneck"].queue_delay_ms.unwrap().mean < 2.0);
}

#[test]
fn flows_share_by_their_weights() {
    let of = |name: &str, weight: f64| calls(name, 1, &json!({ "priority": weight }), 100);
    let equal = run(2400, "fifo", "", vec![of("a", 1.0), of("b", 1.0), of("c", 1.0)]);
    for name in ["a", "b", "c"] {
        assert!((rate(&equal, name) / 0.77e6 - 1.0).abs() < 0.1, "{name}: {}", rate(&equal, name));
    }
    let weighted = run(2400, "fifo", "", vec![of("a", 2.0), of("b", 1.0), of("c", 1.0)]);
    for other in ["b", "c"] {
        let ratio = rate(&weighted, "a") / rate(&weighted, other);
        assert!((1.7..2.3).contains(&ratio), "{other}: {ratio}");
    }
}

#[test]
fn flows_of_different_round_trips_share_evenly() {
    let groups = [20, 50, 100, 200, 300].map(|rtt| calls(&format!("of {rtt}"), 1, &json!({}), rtt));
    let names: Vec<String> = groups.iter().map(|group| group.name.clone()).collect();
    let all = run(4000, "fifo", "", groups.into());
    let rates: Vec<f64> = names.iter().map(|name| rate(&all, name)).collect();
    let (sum, squares) = rates.iter().fold((0.0, 0.0), |(s, q), r| (s + r, q + r * r));
    assert!(sum * sum / (5.0 * squares) > 0.95, "{rates:?}");
}

#[test]
fn with_marks_the_queue_is_shorter_and_nothing_is_lost() {
    let with = |aqm: &str, ecn: &str, parameters: &str| {
        let all = run(2000, aqm, parameters, vec![calls("call", 2, &json!({ "ecn": ecn }), 100)]);
        let link = &all.links["bottleneck"];
        (link.utilization, link.queue_delay_ms.unwrap().mean, link.drop_rate, link.mark_rate)
    };
    let (plain, marked) = (with("codel", "off", ""), with("codel", "ect0", r#", "ecn": true"#));
    assert!(plain.3 == 0.0 && marked.3 > 0.0 && marked.2 == 0.0, "{plain:?} {marked:?}");
    assert!(marked.0 > 0.7, "{marked:?}");
    let low = with("dualpi2", "ect1", "");
    assert!(low.0 > 0.5 && low.1 < 10.0 && low.2 == 0.0 && low.3 > 0.0, "{low:?}");
}

#[test]
fn beside_tcp_it_holds_its_ground_and_does_not_starve_tcp() {
    let apps: Vec<Box<dyn Application>> = vec![Box::new(Bulk)];
    let tcp = group("tcp", apps, linux_with(Kind::NewReno), Delays::Each(vec![Duration::from_millis(100)]));
    let all = run(2000, "fifo", "", vec![calls("call", 1, &json!({}), 100), tcp]);
    let call = rate(&all, "call");
    assert!(call > 200e3, "more than the least rate: {call}");
    let rest = all.links["bottleneck"].throughput_bps - call;
    assert!(rest > 300e3, "of TCP: {rest}");
}
