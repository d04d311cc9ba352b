use aqmkit_base::Duration;
use aqmkit_traffic::Data;

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

/// Half of the stays, and so half of the objects, have persistent connections: at most two for 4.01 pages of 5.65
/// objects, where the others have 22.7. That is at most 2 / 24.7 = 8.1 % of the connections, and less because some
/// stays have only pages of one object.
#[test]
fn half_of_the_objects_come_on_a_twelfth_of_the_connections() {
    let hosts = users("{}", 1500, ANSWER, 3600);
    // Persistent connections are closed by the browser, the others by the server.
    let open: f64 = sum(&hosts, |h| h.servers_in_use().len() as f64);
    let persistent = (sum(&hosts, |h| h.closes as f64) + open) / sum(&hosts, |h| h.opens.len() as f64);
    assert!((0.055..0.081).contains(&persistent), "{persistent}");
    let on_their_own = sum(&hosts, |h| h.opens.len() as f64) * (1.0 - persistent);
    let objects = sum(&hosts, |h| h.requests.len() as f64);
    assert!((on_their_own / objects - 0.5).abs() < 0.05, "{}", on_their_own / objects);
}

/// "20,000 users" make "approximately 105 Mbps" in one direction (le04, 4.2); here 18 900 on each side do. Nothing was
/// fitted to this.
#[test]
fn the_load_is_near_what_was_printed() {
    let hosts = users("{}", 4000, ANSWER, 3600);
    let per_second = |n: f64| n / 4000.0 / 3600.0;
    let pages = per_second(sum(&hosts, |h| h.app.counter(0)));
    let objects = per_second(sum(&hosts, |h| h.requests.len() as f64));
    let opens = per_second(sum(&hosts, |h| h.opens.len() as f64));
    // Sizes are replaced by their exact means: with such heavy tails those of a run vary too much.
    let (top, embedded) = (pages * 14_886.0, (objects - pages) * 5665.0);
    // In one direction: 52 bytes of headers for each 1448 and for one half-filled packet, 52 for every second packet
    // acknowledged, 164 for handshake and close of a connection; and the requests of the other side's users.
    let packets = (top + embedded) / 1448.0 + 0.5 * objects;
    let requests = pages * 607.0 + (objects - pages) * 536.0 + objects * 52.0;
    let wire = top + embedded + packets * 52.0 + packets / 2.0 * 52.0 + opens * 2.0 * 164.0 + requests;
    let mbit = wire * 18_900.0 * 8.0 / 1e6;
    assert!((mbit / 105.0 - 1.0).abs() < 0.08, "{mbit} Mb/s");
}

#[test]
fn sizes_asked_for_are_those_of_the_distributions() {
    let hosts = users("{}", 1500, ANSWER, 3600);
    let mut replies: Vec<u64> = hosts.iter().flat_map(|h| h.requests.iter().map(|r| r.1)).collect();
    replies.sort_unstable();
    let at = |p: f64| replies[(p * replies.len() as f64) as usize] as f64;
    let all = aqmkit_traffic::http_unc::responses();
    for p in [0.25, 0.5, 0.75, 0.9, 0.99] {
        assert!((at(p) / all.quantile(p) - 1.0).abs() < 0.1, "{p}: {} is not {}", at(p), all.quantile(p));
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
    assert!(wrong(r#"{"objects": ""}"#).contains("objects.cdf"));
}

/// Six small tables in the order of the files: top-level and embedded responses and requests, objects, think times. The
/// header is not valid UTF-8.
fn published() -> Vec<Data> {
    let tables = ["7000 1", "500 0.5\n900 1", "300 1", "200 1", "1 0.25\n3 1", "10000 1.0"];
    tables.map(|table| Data::from(format!("# \u{a9} header\n{table}\n").as_str())).to_vec()
}

/// Objects, pages and think times come from the files: 1 or 3 objects per page, 7000 bytes for its first object and 500
/// or 900 for the others, think times of 10 s.
#[test]
fn published_distributions_are_drawn_from() {
    let with = spec("http-unc", r#"{"data": "unc/"}"#);
    assert_eq!(
        with.files(),
        [
            "unc/top_responses.cdf",
            "unc/embedded_responses.cdf",
            "unc/top_requests.cdf",
            "unc/embedded_requests.cdf",
            "unc/objects.cdf",
            "unc/think_times.cdf"
        ]
    );
    let p = with.prepare(&published()).unwrap();
    let (mut single, mut pages) = (0, 0);
    for i in 0..200 {
        let mut host = Host::new(&*p, i, 3);
        host.answer = ANSWER;
        host.run(Duration::from_secs(600));
        assert!(host.requests.iter().all(|r| matches!(r, (300, 7000) | (200, 500 | 900))), "{:?}", host.requests);
        let done = host.done.iter().filter(|(_, done)| done.kind == 1).map(|(_, done)| done.bytes);
        for bytes in done {
            assert!(matches!(bytes, 7000 | 8000 | 8400 | 8800), "{bytes}");
            pages += 1;
            single += u32::from(bytes == 7000);
        }
    }
    assert!((f64::from(single) / f64::from(pages) - 0.25).abs() < 0.03, "{single} of {pages}");
    // 10 s of thinking, 0.25 s for the first object and, for three quarters of the pages, 0.25 s for two more in
    // parallel: 10.44 s.
    let expected = 200.0 * 600.0 / (10.25 + 0.75 * 0.25);
    assert!((f64::from(pages) / expected - 1.0).abs() < 0.1, "{pages} of {expected}");
}

#[test]
fn wrong_files_are_named() {
    let with = spec("http-unc", r#"{"data": "unc", "objects": "pages.txt"}"#);
    assert_eq!(with.files()[4], "unc/pages.txt");
    let fails = |i: usize, text: &str| {
        let mut texts = published();
        texts[i] = text.into();
        with.prepare(&texts).err().unwrap().to_string()
    };
    assert!(
        fails(0, "5 0.5\n4 1\n").starts_with("top_responses.cdf line 2") && fails(0, "5 0.5\n4 1\n").contains("sort")
    );
    assert!(fails(1, "5 1.5\n").contains("from 0 to 1") && fails(4, "x").starts_with("pages.txt line 1"));
    assert!(fails(5, "1e13 1").contains("at most") && fails(4, "2000000 1").contains("at most 1000000"));
    assert!(fails(5, "0 1").starts_with("think_times.cdf"));
    assert!(with.prepare(&[]).is_err_and(|e| e.to_string().contains("6 must be loaded first")));
}
