use aqmkit_base::Duration;
use aqmkit_traffic::Data;
use aqmkit_traffic::http_mah::Params;
use aqmkit_traffic::mah_tables::MahTables;

use crate::harness::{Host, population, spec};

const HOUR: Duration = Duration::from_secs(3600);

/// `n` users for an hour each, on a host where every reply takes `answer`.
fn users(json: &str, n: usize, answer: Duration) -> Vec<Host> {
    let p = population("http-mah", json);
    let run = |i| {
        let mut host = Host::new(&*p, i, 7);
        host.answer = answer;
        host.run(HOUR);
        host
    };
    (0..n).map(run).collect()
}

#[test]
fn what_users_ask_for_has_the_published_means() {
    let hosts = users("{}", 1500, Duration::from_millis(300));
    let requests: Vec<_> = hosts.iter().flat_map(|h| h.requests.iter()).collect();
    let mean = |f: fn(&(u64, u64)) -> u64| requests.iter().map(|r| f(r) as f64).sum::<f64>() / requests.len() as f64;
    assert!((mean(|r| r.0) / 337.0 - 1.0).abs() < 0.03, "{}", mean(|r| r.0));
    assert!((mean(|r| r.1) / 7231.0 - 1.0).abs() < 0.05, "{}", mean(|r| r.1));
    let pages = hosts.iter().map(|h| h.app.counter(0)).sum::<f64>();
    assert!((requests.len() as f64 / pages / 2.84 - 1.0).abs() < 0.03, "{}", requests.len() as f64 / pages);
}

#[test]
fn three_thousand_users_ask_for_what_was_measured() {
    // A page takes about 0.5 s: one exchange of 300 ms for half of them, two or more for the others.
    let hosts = users("{}", 1500, Duration::from_millis(300));
    let bytes = hosts.iter().map(|h| h.app.counter(2)).sum::<f64>();
    let replies = bytes / 1500.0 / 3600.0;
    let model = Params::default().users_with(&MahTables::default()).unwrap();
    assert!((replies / model.load_per_user(0.5) - 1.0).abs() < 0.05, "{replies}");
    // On the wire: 52 bytes of headers for each 1448, and 60 + 2 x 52 bytes for the handshake and close of each file.
    let packets = (model.mean_page() / 1448.0 + 0.5 * 2.84).ceil();
    let wire = model.load_per_user(1.0) * (1.0 + (packets * 52.0 + 2.84 * 164.0) / model.mean_page());
    let kbit = wire * 3000.0 * 8.0 / 1000.0;
    let published = 2.9546 * 3000.0 - 53.596;
    assert!((kbit / published - 1.0).abs() < 0.03, "{kbit} kb/s, published {published}");
}

#[test]
fn the_load_is_level_from_the_start() {
    let hosts = users("{}", 3000, Duration::from_millis(300));
    let pages = |from: f64, to: f64| {
        let ends = hosts.iter().flat_map(|h| h.done.iter()).filter(|d| d.1.kind == 1);
        ends.filter(|d| (from..to).contains(&d.1.started.as_secs_f64())).count() as f64 / (to - from)
    };
    let (first, last) = (pages(0.0, 120.0), pages(1800.0, 3600.0));
    assert!((first / last - 1.0).abs() < 0.08, "{first} pages a second at first, {last} later");
}

#[test]
fn never_more_than_four_at_a_time_and_pages_use_them() {
    for host in users("{}", 200, Duration::from_millis(300)) {
        assert!(host.most_awaited <= 4);
        assert_eq!(host.opens.len(), host.requests.len());
        assert_eq!(host.app.counter(3), 0.0);
    }
    let most = users("{}", 50, Duration::from_millis(300)).iter().map(|h| h.most_awaited).max();
    assert_eq!(most, Some(4));
    assert_eq!(users(r#"{"parallel": 1}"#, 50, HOUR / 1000).iter().map(|h| h.most_awaited).max(), Some(1));
}

#[test]
fn stays_at_a_server_have_the_published_length() {
    let hosts = users(r#"{"persistent": true, "think_max": "30s"}"#, 300, Duration::from_millis(10));
    let (mut pages, mut stays) = (0.0, 0.0);
    for host in &hosts {
        assert!(host.most_awaited <= 1 && host.servers_in_use().len() <= 1);
        assert!(host.opens.windows(2).all(|w| w[0].1 != w[1].1), "the next server is another");
        pages += host.app.counter(0);
        stays += host.opens.len() as f64;
        assert!(host.opens.len() - host.closes <= 1);
    }
    assert!((pages / stays / 4.01 - 1.0).abs() < 0.05, "{}", pages / stays);
}

#[test]
fn connections_that_fail_cost_files_and_no_more() {
    for json in ["{}", r#"{"persistent": true}"#] {
        let p = population("http-mah", json);
        let mut failures = 0.0;
        for i in 0..100 {
            let mut host = Host::new(&*p, i, 3);
            host.fail_every = 3;
            host.run(HOUR);
            failures += host.app.counter(3);
            assert!(host.app.counter(1) <= host.requests.len() as f64);
        }
        assert!(failures > 100.0, "{failures}");
    }
}

#[test]
fn pages_hold_the_bytes_of_their_requests() {
    for host in users("{}", 50, Duration::from_millis(50)) {
        let (mut files, mut pages) = (0, 0);
        for (_, done) in &host.done {
            let sum = if done.kind == 0 { &mut files } else { &mut pages };
            *sum += done.bytes;
        }
        assert!(pages <= files && files as f64 == host.app.counter(2));
    }
}

#[test]
fn one_server_and_none_are_survived() {
    let p = population("http-mah", "{}");
    let mut host = Host::new(&*p, 0, 1);
    host.servers = 1;
    host.run(HOUR);
    assert!(!host.opens.is_empty());
}

#[test]
fn the_same_seed_asks_for_the_same() {
    let p = population("http-mah", "{}");
    let trace = |seed| {
        let mut host = Host::new(&*p, 0, seed);
        host.run(HOUR);
        (host.opens, host.requests)
    };
    assert_eq!(trace(1), trace(1));
    assert_ne!(trace(1), trace(2));
}

#[test]
fn data_files_are_named_and_read() {
    let with = spec("http-mah", r#"{"data": "mah/"}"#);
    assert_eq!(with.files()[0], "mah/HttpRequestLength.cdf");
    assert!(with.prepare(&[]).is_err_and(|e| e.to_string().contains("5 must be loaded first")));
    let texts: Vec<Data> = (0..5).map(|_| "2 1 0.5\n5 1 1.0\n".into()).collect();
    assert!(with.prepare(&texts).is_ok());
    let check = |json: &str| spec("http-mah", json).check().unwrap_err().to_string();
    assert!(check(r#"{"parallel": 0}"#).starts_with("parallel = 0"));
    assert!(check(r#"{"think_max": "1s"}"#).contains("at least 2s"));
}
