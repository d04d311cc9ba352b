//! Rate-based transports on a simulated link.

mod common;

use aqmkit_base::{BitRate, Bytes, Duration};
use aqmkit_sim::Output;
use aqmkit_sim::scenario::{Delays, Group};
use aqmkit_transport::{Kind, Profile};
use common::{Bulk, dumbbell, finish, group, spec};

fn flows(name: &str, congestion: Kind, n: usize) -> Group {
    let profile = Profile { congestion, mss: Bytes(960), header: Bytes(40), sack: true, ..Profile::ns2() };
    let apps = (0..n).map(|_| Box::new(Bulk) as _).collect();
    group(name, apps, profile, Delays::Each(vec![Duration::from_millis(60)]))
}

/// Five flows of each kind on 10 Mb/s, RED.
fn beside_tcp(congestion: Kind) -> (f64, f64, Output) {
    let red = spec("red", r#"{"min": 10, "max": 33, "limit": 100, "max_p": 0.1, "weight": 0.002, "gentle": true}"#);
    let groups = vec![flows("own", congestion, 5), flows("tcp", Kind::Sack, 5)];
    let output = finish(dumbbell(BitRate::from_mbps(10), red, groups, 20, 200));
    let all = &output.flows;
    let goodput =
        |from: usize| all[from..from + 5].iter().map(|f| f.delivered_bytes[0] as f64 * 8.0 / 200e6).sum::<f64>();
    (goodput(0), goodput(5), output)
}

/// Floyd et al. 2000: TFRC gets about what TCP gets. All of the link is used.
#[test]
fn tfrc_gets_about_what_tcp_gets() {
    let (own, tcp, output) = beside_tcp(Kind::Tfrc);
    assert!((0.6..1.5).contains(&(own / tcp)), "TFRC {own:.2} Mb/s, TCP {tcp:.2} Mb/s");
    let used = output.windows[0].links["bottleneck"].utilization;
    assert!(used > 0.95, "{used}");
    // Five times 960 of 1000 bytes: what was delivered is what crossed the link.
    assert!((own + tcp - 9.6 * used).abs() < 0.1, "{own} + {tcp}");
}

/// Its rate over seconds varies less than TCP's (RFC 5348 section 1).
#[test]
fn tfrc_is_smoother_than_tcp() {
    let red = || spec("red", r#"{"min": 10, "max": 33, "limit": 100, "max_p": 0.1, "weight": 0.002, "gentle": true}"#);
    let variation = |kind: Kind| {
        // One flow in a class of its own beside nine of TCP.
        let mut others = flows("tcp", Kind::Sack, 9);
        others.class = aqmkit_base::ClassId(1);
        let mut scenario = dumbbell(BitRate::from_mbps(10), red(), vec![flows("own", kind, 1), others], 20, 200);
        scenario.classes.push("others".into());
        let output = finish(scenario);
        let values = &output.series.columns["classes.data.throughput_bps"];
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        (values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / values.len() as f64).sqrt() / mean
    };
    let (tfrc, tcp) = (variation(Kind::Tfrc), variation(Kind::Sack));
    assert!(tfrc < 0.8 * tcp, "coefficient of variation {tfrc:.3} of TFRC, {tcp:.3} of TCP");
}

#[test]
fn scp_and_lda_run_and_share() {
    for kind in [Kind::Scp, Kind::Lda] {
        let (own, tcp, _) = beside_tcp(kind.clone());
        assert!(own > 0.2 && tcp > 1.0, "{kind:?}: {own:.2} Mb/s beside {tcp:.2} Mb/s of TCP");
    }
}
