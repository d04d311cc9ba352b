//! Rate-based transports on a simulated link.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::collections::BTreeMap;

use crate::common::{Bulk, dumbbell, finish, group, spec};
use aqmkit_base::{BitRate, Bytes, Duration, Instant};
use aqmkit_sim::observe::{Content, Observer, Sighting};
use aqmkit_sim::scenario::{Delays, Group};
use aqmkit_sim::{Control, Output, run_observed};
use aqmkit_transport::{Kind, Profile};

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

/// The packets of conversations, to the client and from it.
#[derive(Default)]
struct Talks(BTreeMap<u64, [u64; 2]>);

impl Observer for Talks {
    fn packet(&mut self, _: Instant, seen: &Sighting) {
        assert!(matches!(seen.content, Content::Datagram(_)), "the segments of TCP are others");
        self.0.entry(seen.parties.conversation).or_default()[usize::from(seen.parties.from_client)] += 1;
    }
}

/// Data takes what it waits, and 0.8 ms for its transmission; each connection is a conversation in both directions.
#[test]
fn what_rate_based_transports_send_is_measured() {
    for kind in [Kind::Tfrc, Kind::Scp, Kind::Lda] {
        let scenario = dumbbell(BitRate::from_mbps(10), spec("fifo", "{}"), vec![flows("own", kind.clone(), 3)], 5, 40);
        let mut talks = Talks::default();
        let out = run_observed(scenario, &mut talks, &mut |_| Control::Continue).unwrap();
        let window = &out.windows[0];
        let (link, class) = (&window.links["bottleneck"], &window.classes["data"]);
        let (waited, took) = (link.queue_delay_ms.unwrap().mean, class.latency_ms.unwrap().mean);
        assert!((took - waited - 0.8).abs() < 0.01 * took, "{kind:?}: {took} ms, of which {waited} in the queue");
        assert_eq!(talks.0.len(), 3, "{kind:?}");
        for [down, up] in talks.0.values() {
            assert!(*down > 100 && *up > 3 && up <= down, "{kind:?}: {down} packets of data, {up} of the receiver");
        }
        let sent: u64 = out.flows.iter().map(|flow| flow.packets).sum();
        let seen: u64 = talks.0.values().map(|[down, _]| down).sum();
        assert!(seen <= sent && seen > sent / 2, "{kind:?}: {seen} of {sent}");
    }
}
