use aqmkit_base::Duration;
use aqmkit_flows::traffic::Population;
use aqmkit_flows::traffic::registry::ALL;

use crate::harness::{Host, population};
use crate::pcap;

/// A model as it is without parameters. The one that needs a file gets one.
fn example(name: &str) -> Box<dyn Population> {
    if name == "pcap" { pcap::example() } else { population(name, "{}") }
}

#[test]
fn the_same_seed_is_the_same_run() {
    for entry in ALL {
        let p = example(entry.name);
        let trace = |index: usize, seed| {
            let mut host = Host::new(&*p, index, seed);
            host.run(Duration::from_secs(300));
            let sent: Vec<_> = host.sent.iter().map(|s| (s.at, s.len, s.tag)).collect();
            (host.opens, host.requests, sent, host.done)
        };
        assert_eq!(trace(0, 1), trace(0, 1), "{}", entry.name);
        // A capture is what it is.
        let same = trace(0, 1) == trace(0, 2);
        assert_eq!(same, entry.name == "pcap", "{} takes nothing from its seed", entry.name);
    }
}

#[test]
fn counters_and_kinds_are_named_and_answer() {
    for entry in ALL {
        let p = example(entry.name);
        let mut host = Host::new(&*p, p.instances() - 1, 1);
        host.run(Duration::from_secs(200));
        for packet in host.sent.clone() {
            host.app.on_datagram(packet.tag, packet.len, packet.at, packet.at + Duration::from_millis(5));
        }
        let names = host.app.counters();
        assert!(names.iter().all(|n| n.chars().all(|c| c.is_ascii_lowercase() || c == '_')));
        assert!((0..names.len()).all(|i| host.app.counter(i) >= 0.0));
        assert_eq!(host.app.counter(names.len()), 0.0);
        let page = entry.page();
        for name in names.iter().chain(host.app.exchange_kinds()) {
            assert!(page.contains(&format!("`{name}`")) || page.contains("those of `cbr`"), "{} {name}", entry.name);
        }
        if let Some(mean) = p.mean_payload() {
            let sent: f64 = host.sent.iter().map(|s| f64::from(s.len)).sum();
            assert!((sent / host.sent.len() as f64 / mean - 1.0).abs() < 0.2, "{}", entry.name);
        }
    }
}
