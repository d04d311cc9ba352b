//! The engine beside ns-2 2.35 (Debian's package) on the same dumbbell.

use crate::common::{Bulk, dumbbell, finish, group, spec};
use aqmkit_base::{BitRate, Bytes, Duration};
use aqmkit_sim::scenario::Delays;
use aqmkit_transport::Profile;

/// 100 Mbit/s, 50 NewReno flows, round trips spread evenly over 20 to 300 ms, RED 30/90 without ns-2's `wait`;
/// 80 s measured after 20. ns-2 gives, with `Agent/TCP/Newreno`, 1500-byte packets, an acknowledgement for each
/// and `Queue/RED set wait_ false`: utilisation 0.8868, drops 0.00810, mean queue 20.50, Jain 0.4726, and
/// 1.7226 Mbit/s of goodput per flow (seed 1).
/// The same with SACK (`Agent/TCP/Sack1`) and ns-2's `wait_` as ns-2 has it: utilisation 0.9219, drops 0.00829, mean queue 28.27 (seed 1, three access
/// links on each path) and 0.9245, 0.00777, 28.47 (two). Without `wait` the queue is 20.
#[test]
fn fifty_sack_flows_over_red_that_waits_behave_as_in_ns2() {
    let rtt = |i: u32| Duration::from_secs_f64(0.020 + 0.280 * f64::from(i) / 49.0);
    let header = Bytes(40);
    let profile = Profile { mss: Bytes(1460), header, sack: true, limited_transmit: true, ..Profile::ns2() };
    let flows = (0..50).map(|_| Box::new(Bulk) as _).collect();
    let flows = group("bulk", flows, profile, Delays::Each((0..50).map(rtt).collect()));
    let red = spec("red", r#"{"limit": 500, "min": 30, "max": 90, "weight": 0.001953125, "max_p": 0.1, "wait": true}"#);
    let mut scenario = dumbbell(BitRate::from_mbps(100), red, vec![flows], 20, 80);
    scenario.links[0].mean_packet = Bytes(1500);
    let link = &finish(scenario).windows[0].links["bottleneck"];
    let near = |what: &str, got: f64, ns2: f64, share: f64| {
        assert!((got / ns2 - 1.0).abs() < share, "{what}: {got} here, {ns2} in ns-2");
    };
    near("utilisation", link.utilization, 0.9219, 0.03);
    near("drops", link.drop_rate, 0.0080, 0.15);
    near("queue", link.queue_packets.mean, 28.3, 0.1);
}

#[test]
fn fifty_newreno_flows_over_red_behave_as_in_ns2() {
    let rtt = |i: u32| Duration::from_secs_f64(0.020 + 0.280 * f64::from(i) / 49.0);
    let profile = Profile { mss: Bytes(1460), header: Bytes(40), ..Profile::ns2() };
    let flows = (0..50).map(|_| Box::new(Bulk) as _).collect();
    let flows = group("bulk", flows, profile, Delays::Each((0..50).map(rtt).collect()));
    let red = spec("red", r#"{"limit": 500, "min": 30, "max": 90, "weight": 0.001953125, "max_p": 0.1}"#);
    let mut scenario = dumbbell(BitRate::from_mbps(100), red, vec![flows], 20, 80);
    scenario.links[0].mean_packet = Bytes(1500);
    let out = finish(scenario);
    let (link, rates) = (&out.windows[0].links["bottleneck"], &out.windows[0].flows);
    let near = |what: &str, got: f64, ns2: f64, share: f64| {
        assert!((got / ns2 - 1.0).abs() < share, "{what}: {got} here, {ns2} in ns-2");
    };
    near("utilisation", link.utilization, 0.8868, 0.03);
    near("drops", link.drop_rate, 0.00810, 0.15);
    near("queue", link.queue_packets.mean, 20.50, 0.1);
    near("fairness", rates.jain, 0.4726, 0.1);
    near("goodput", rates.throughput_bps.mean, 1.7226e6, 0.03);
}
