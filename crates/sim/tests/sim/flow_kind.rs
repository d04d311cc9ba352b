//! Definitions of a flow, at a simulated queue that gives every flow the same share.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use crate::common::{dumbbell, finish, group, linux_with, spec};
use aqmkit_base::{BitRate, Duration};
use aqmkit_sim::Output;
use aqmkit_sim::scenario::{Delays, Route};
use aqmkit_traffic::{Action, Application, Conn, Cx, ENDLESS, Event};

/// A download from this server for ever, or nothing at all.
struct Download(Option<u32>);

impl Application for Download {
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>) {
        let (Event::Start, Some(server)) = (event, self.0) else { return };
        cx.want(Action::Open { conn: Conn(0), server });
        let (request, response, think) = (100, ENDLESS, Duration::ZERO);
        cx.want(Action::Request { conn: Conn(0), request, response, think, close: false });
    }
}

/// One download from server 0 to client 0, and nine others from `server` to `client`, over two servers and two clients. The
/// applications stand at the clients in turn.
fn one_and_nine(aqm: &str, parameters: &str, server: u32, client: usize) -> Output {
    let nine = |i: usize| Download((i % 2 == client).then_some(server));
    let apps: [Vec<Box<dyn Application>>; 2] =
        [vec![Box::new(Download(Some(0)))], (0..18).map(|i| Box::new(nine(i)) as Box<dyn Application>).collect()];
    let groups = ["one", "nine"].into_iter().zip(apps).map(|(name, apps)| {
        let profile = linux_with(aqmkit_transport::Kind::NewReno);
        let mut group = group(name, apps, profile, Delays::Each(vec![Duration::from_millis(20)]));
        group.routes = vec![Route { forward: vec![0], ..Route::default() }; 2];
        group.clients = 2;
        group
    });
    finish(dumbbell(BitRate::from_mbps(10), spec(aqm, parameters), groups.collect(), 5, 20))
}

/// The part of what was delivered that the one download had.
fn share(aqm: &str, flow: &str, server: u32, client: usize) -> f64 {
    let out = one_and_nine(aqm, &format!(r#"{{"limit": 200, "flow": "{flow}"}}"#), server, client);
    let delivered = |group: &str| -> u64 {
        out.flows.iter().filter(|one| one.traffic == group).map(|one| one.delivered_bytes[0]).sum()
    };
    delivered("one") as f64 / (delivered("one") + delivered("nine")) as f64
}

#[test]
fn a_share_goes_to_each_flow_of_the_kind() {
    for aqm in ["drr", "sfq", "fq-codel"] {
        let shares = |server, client| {
            ["connection", "hosts", "source", "destination"].map(|flow| share(aqm, flow, server, client))
        };
        // One TCP alone does not always have something to send after CoDel's drops.
        let half = |share: f64| (0.45..0.55).contains(&share);
        let tenth = |share: f64| (0.09..0.11).contains(&share);
        let another_server = shares(1, 0);
        let [connection, hosts, source, destination] = another_server;
        assert!(tenth(connection) && half(hosts) && half(source), "{aqm}: {another_server:?}");
        assert!(destination < 0.3, "{aqm}: both are one flow: {another_server:?}");
        let another_client = shares(0, 1);
        assert!(
            tenth(another_client[0]) && half(another_client[1]) && half(another_client[3]),
            "{aqm}: {another_client:?}"
        );
        assert!(another_client[2] < 0.3, "{aqm}: both are one flow: {another_client:?}");
    }
}

/// FRED counts the flows that have packets in its queue: connections, or pairs of hosts.
#[test]
fn a_discipline_remembers_flows_of_the_kind() {
    let most = |flow: &str| {
        let out = one_and_nine("fred", &format!(r#"{{"flow": "{flow}"}}"#), 1, 1);
        let flows = &out.series.columns["links.bottleneck.aqm.flows"];
        flows.iter().copied().fold(0.0, f64::max)
    };
    assert!(most("connection") > 5.0);
    assert_eq!(["hosts", "source", "destination"].map(most), [2.0; 3]);
}
