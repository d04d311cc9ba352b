#[path = "../tests/common/mod.rs"]
mod common;
use aqmkit_base::*;
use aqmkit_flows::transport::Profile;
use aqmkit_flows::transport::profile::DelayedAck;
use aqmkit_sim::scenario::*;
fn main() {
    let n = 50;
    let d = (0..n).map(|i| Duration::from_secs_f64(0.020 + 0.280 * i as f64 / (n - 1) as f64)).collect();
    let mut p = Profile { mss: Bytes(1460), header: Bytes(40), ..Profile::ns2() };
    if std::env::args().nth(1).is_some() { p.delayed_ack = DelayedAck::After(Duration::from_millis(100)); }
    let g = common::group("b", (0..n).map(|_| Box::new(common::Bulk) as _).collect(), p, Delays::Each(d));
    let red = common::spec("red", r#"{"limit":500,"min":30,"max":90,"weight":0.001953125,"max_p":0.1}"#);
    let mut s = common::dumbbell(BitRate::from_mbps(100), red, vec![g], 20, 80);
    s.links[0].mean_packet = Bytes(1500);
    let t = std::time::Instant::now();
    let o = common::finish(s);
    let e = t.elapsed().as_secs_f64();
    let w = &o.windows[0];
    for f in o.flows.iter().step_by(5) { eprintln!("{:?}", f); }
    println!("{} packets {} events {:.3}s {:.0} pps; util {:.4} drop {:.5} q {:.2} jain {:.4} mean {:.4}", o.engine.packets, o.engine.events, e, o.engine.packets as f64 / e, w.links["bottleneck"].utilization, w.links["bottleneck"].drop_rate, w.links["bottleneck"].queue_packets.mean, w.flows.jain, w.flows.throughput_bps.mean/1e6);
}
