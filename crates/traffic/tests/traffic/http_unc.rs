use aqmkit_base::Duration;

use crate::harness::{Host, population, spec};

fn users(json: &str, n: usize, answer: Duration, seconds: u64) -> Vec<Host> {
    let p = population("http-unc", json);
    let run = |i| {
        let mut host = Host::new(&*p, i, 11);
        host.answer = answer;
        host.run(Duration::from_secs(seconds));
        host
    };
    (0..n).map(run).collect()
}

const ANSWER: Duration = Duration::from_millis(250);

fn sum(hosts: &[Host], of: impl Fn(&Host) -> f64) -> f64 {
    hosts.iter().map(of).sum()
}

#[test]
fn half_of_the_objects_come_on_some_fifteen_percent_of_the_connections() {
    let hosts = users("{}", 1500, ANSWER, 3600);
    // The browser closes persistent connections, the server the others.
    let open: f64 = sum(&hosts, |h| h.servers_in_use().len() as f64);
    let persistent = (sum(&hosts, |h| h.closes as f64) + open) / sum(&hosts, |h| h.opens.len() as f64);
    assert!((0.11..0.19).contains(&persistent), "{persistent}");
    let on_their_own = sum(&hosts, |h| h.opens.len() as f64) * (1.0 - persistent);
    let objects = sum(&hosts, |h| h.requests.len() as f64);
    assert!((on_their_own / objects - 0.5).abs() < 0.05, "{}", on_their_own / objects);
}

#[test]
fn twenty_thousand_users_offer_what_was_printed() {
    // Sizes from their exact mean: with an exponent of 1.15 that of a run wanders.
    let hosts = users("{}", 2000, ANSWER, 3600);
    let objects = sum(&hosts, |h| h.requests.len() as f64) / 2000.0 / 3600.0;
    let opens = sum(&hosts, |h| h.opens.len() as f64) / 2000.0 / 3600.0;
    let mean = 7240.0;
    // In one direction: 52 bytes of headers for each 1448, one half-filled packet, acknowledgements and ends.
    let wire = objects * (mean + 52.0 * (mean / 1448.0 + 0.5)) + opens * 164.0;
    let mbit = wire * 20_000.0 * 8.0 / 1e6;
    assert!((mbit / 105.0 - 1.0).abs() < 0.05, "{mbit} Mb/s");
}

#[test]
fn sizes_asked_for_are_those_of_the_distribution() {
    let hosts = users("{}", 1500, ANSWER, 3600);
    let mut sizes: Vec<u64> = hosts.iter().flat_map(|h| h.requests.iter().map(|r| r.1)).collect();
    sizes.sort_unstable();
    let at = |p: f64| sizes[(p * sizes.len() as f64) as usize] as f64;
    for (p, wanted) in [(0.5, 900.0), (0.7, 2440.0), (0.9, 10_270.0), (0.99, 76_000.0)] {
        assert!((at(p) / wanted - 1.0).abs() < 0.06, "{p}: {} is not {wanted}", at(p));
    }
}

#[test]
fn users_wait_for_responses() {
    let pages = |answer| sum(&users("{}", 500, answer, 3600), |h| h.app.counter(0));
    let (fast, slow) = (pages(ANSWER), pages(Duration::from_secs(10)));
    assert!(slow < 0.8 * fast, "{fast} pages, and {slow} with slow servers");
}

#[test]
fn never_more_than_two_at_a_time_on_either_protocol() {
    for json in [r#"{"persistent": 0}"#, r#"{"persistent": 1}"#] {
        let hosts = users(json, 200, ANSWER, 1800);
        assert_eq!(hosts.iter().map(|h| h.most_awaited).max(), Some(2), "{json}");
        let (opens, objects) = (sum(&hosts, |h| h.opens.len() as f64), sum(&hosts, |h| h.requests.len() as f64));
        if json.contains('1') {
            assert!(opens < 0.25 * objects);
        } else {
            assert_eq!(opens, objects);
        }
    }
}

#[test]
fn wrong_parameters_are_named() {
    let wrong = |json: &str| spec("http-unc", json).check().unwrap_err().to_string();
    assert!(wrong(r#"{"users": 0}"#).starts_with("users = 0"));
    assert!(wrong(r#"{"persistent": 1.5}"#).starts_with("persistent"));
    assert!(wrong(r#"{"parallel": 0}"#).starts_with("parallel = 0"));
    assert!(wrong(r#"{"think_max": "1s"}"#).contains("at least 2s"));
}
