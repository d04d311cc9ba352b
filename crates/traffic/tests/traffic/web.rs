use std::collections::BTreeMap;

use aqmkit_base::Duration;

use crate::harness::{Host, population, spec};

fn sessions(json: &str, answer: Duration, seconds: u64) -> Vec<Host> {
    let p = population("web", json);
    let run = |i| {
        let mut host = Host::new(&*p, i, 9);
        host.answer = answer;
        host.run(Duration::from_secs(seconds));
        host
    };
    (0..p.instances()).map(run).collect()
}

const SHORT: Duration = Duration::from_millis(200);

#[test]
fn objects_and_sizes_follow_their_laws() {
    let hosts = sessions(r#"{"sessions": 400}"#, SHORT, 2000);
    let sizes: Vec<f64> = hosts.iter().flat_map(|h| &h.requests).map(|r| r.1 as f64 / 500.0).collect();
    let pages: f64 = hosts.iter().map(|h| h.app.counter(0)).sum();
    // An exponential variable rounded up has mean 1 / (1 - exp(-1 / mean)).
    let objects = 1.0 / (1.0 - (-0.1_f64).exp());
    assert!((sizes.len() as f64 / pages / objects - 1.0).abs() < 0.02, "{}", sizes.len() as f64 / pages);
    // Sizes are rounded up, so the share above a whole number of packets is that of the unrounded distribution.
    for x in [1.0, 5.0, 24.0, 100.0, 1000.0_f64] {
        let share = sizes.iter().filter(|&&s| s > x).count() as f64 / sizes.len() as f64;
        let law = (1.0 + x / (24.0 * 0.2)).powf(-1.2);
        assert!((share / law - 1.0).abs() < 0.05, "{x}: {share} is not {law}");
    }
    assert!(sizes.iter().all(|s| s.fract() == 0.0 && *s >= 1.0));
    assert!(hosts.iter().all(|h| h.requests.iter().all(|r| r.0 == 500)));
}

#[test]
fn fifty_sessions_offer_about_five_megabits() {
    // With a tail exponent of 1.2 a run's mean size varies too much: count the requested objects, whose mean size is
    // known.
    let hosts = sessions("{}", SHORT, 800);
    let objects: f64 = hosts.iter().map(|h| h.requests.len() as f64).sum();
    let mean_object = 500.0 * 24.5;
    let load = objects * mean_object * 8.0 / 775.0 / 1e6;
    assert!((4.5..5.3).contains(&load), "{load} Mb/s");
}

#[test]
fn the_next_page_waits_for_the_last_object_or_not() {
    let rate = |json: &str, answer| {
        let hosts = sessions(json, answer, 500);
        hosts.iter().map(|h| h.app.counter(0)).sum::<f64>()
    };
    let from_start = r#"{"sessions": 100, "interpage_from": "start"}"#;
    let slow = Duration::from_secs(10);
    let (end, start) = (rate(r#"{"sessions": 100}"#, slow), rate(from_start, slow));
    assert!((end / start - 0.5).abs() < 0.04, "a page takes as long as the time between pages: {end} {start}");
    assert!((rate(from_start, SHORT) / start - 1.0).abs() < 0.05, "pages do not wait");
}

#[test]
fn objects_of_a_page_come_from_one_server_on_a_clock() {
    let json = r#"{"sessions": 20, "interobject_law": "constant", "objects_law": "constant", "objects": 7}"#;
    for host in sessions(json, SHORT, 300) {
        for page in host.opens.chunks_exact(7) {
            assert!(page.iter().all(|o| o.1 == page[0].1), "one server");
            assert!(page.windows(2).all(|w| w[1].0.since(w[0].0) == Duration::from_millis(10)), "10 ms apart");
        }
    }
}

#[test]
fn sessions_begin_at_times_uniform_on_the_span() {
    let firsts: Vec<f64> =
        sessions(r#"{"sessions": 1000, "pages": 1}"#, SHORT, 60).iter().map(|h| h.opens[0].0.as_secs_f64()).collect();
    for part in 0..5 {
        let within =
            firsts.iter().filter(|at| (10.0 * f64::from(part)..10.0 * f64::from(part + 1)).contains(*at)).count();
        assert!((150..250).contains(&within), "{within} from {part}0 s on");
    }
    assert!(firsts.iter().all(|at| *at < 50.0));
}

#[test]
fn a_session_ends_after_its_pages() {
    for host in sessions(r#"{"sessions": 5, "pages": 4, "interpage": "1s"}"#, SHORT, 1000) {
        assert_eq!(host.app.counter(0), 4.0);
        assert_eq!(host.app.counter(1), host.app.counter(2));
        let (mut objects, mut pages) = (0, 0);
        for (_, done) in &host.done {
            *if done.kind == 0 { &mut objects } else { &mut pages } += done.bytes;
        }
        assert_eq!(objects, pages);
    }
}

#[test]
fn a_lost_object_costs_its_page_and_no_more() {
    let p = population("web", "{}");
    let mut kinds = BTreeMap::new();
    for i in 0..20 {
        let mut host = Host::new(&*p, i, 1);
        host.fail_every = 7;
        host.run(Duration::from_secs(3000));
        assert_eq!(host.app.counter(1), host.app.counter(2) + host.app.counter(4));
        host.done.iter().for_each(|d| *kinds.entry(d.1.kind).or_insert(0) += 1);
    }
    assert!(kinds[&1] < 1800 && kinds[&1] > 100, "{kinds:?}");
}

#[test]
fn wrong_parameters_are_named() {
    let wrong = |json: &str| spec("web", json).check().unwrap_err().to_string();
    assert!(wrong(r#"{"sessions": 0}"#).starts_with("sessions = 0"));
    assert!(wrong(r#"{"pages": 0}"#).starts_with("pages = 0"));
    assert!(wrong(r#"{"shape": 1}"#).starts_with("shape = 1"));
    assert!(wrong(r#"{"packet": "0b"}"#).starts_with("packet"));
}
