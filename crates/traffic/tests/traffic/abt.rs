use aqmkit_base::Duration;

use crate::harness::{Host, population, spec};

/// A sequential connection at 1 s and a concurrent one at 2 s.
const FILE: &str = "\
SEQ 1000000 2 1 1
> 300
t 60000
< 5000
t 2000000
> 200
t 10000
< 700
t 500000
CONC 2000000 2 2 1 1
c> 100
t> 300000
c> 101
t> 50000
c< 1000
t< 4000000
c< 1001
t< 10
";

fn play(file: &str, json: &str, index: usize) -> Host {
    let p = spec("abt", json).prepare(&[file.into()]).unwrap();
    let mut host = Host::new(&*p, index, 1);
    host.run(Duration::from_secs(60));
    host
}

fn seconds(times: impl Iterator<Item = aqmkit_base::Instant>) -> Vec<f64> {
    times.map(|t| (t.as_secs_f64() * 1e6).round() / 1e6).collect()
}

#[test]
fn epochs_wait_for_what_they_were_seen_to_wait_for() {
    let host = play(FILE, r#"{"vectors": "x", "hosts": 2}"#, 0);
    assert_eq!(host.requests, [(300, 5000), (200, 700)]);
    // The request takes 100 ms to be answered and the acceptor waits 60 ms; then the initiator waits 2 s.
    assert_eq!(seconds(host.asked.iter().copied()), [1.0, 3.16]);
    // An epoch excludes the acceptor's wait.
    let took: Vec<_> = host.done.iter().filter(|d| d.1.kind == 0).map(|d| d.0.since(d.1.started)).collect();
    assert_eq!(took, [Duration::from_millis(100); 2]);
    // 3.16 + 0.1 + 0.01, half a second before the end, and 100 ms for the close.
    let (at, whole) = host.done.last().unwrap();
    assert_eq!((seconds([*at].into_iter()), whole.kind, whole.bytes), (vec![3.87], 1, 5700));
}

#[test]
fn the_sides_of_a_concurrent_connection_have_clocks_of_their_own() {
    let host = play(FILE, r#"{"vectors": "x", "hosts": 2}"#, 1);
    assert_eq!(host.requests, [(100, 0), (101, 0)]);
    assert_eq!(seconds(host.asked.iter().copied()), [2.0, 2.3]);
    assert_eq!(seconds(host.pushes.iter().map(|p| p.0)), [2.0, 6.0]);
    assert_eq!(host.pushes.iter().map(|p| p.1).collect::<Vec<_>>(), [1000, 1001]);
    let (at, whole) = host.done.last().unwrap();
    assert_eq!((seconds([*at].into_iter()), whole.bytes), (vec![6.10001], 2001));
}

#[test]
fn a_server_may_speak_first_and_a_client_alone() {
    let host = play("S 0 2 1 1\nA 0 0 90\nI 0 1000000 20\nI 500000 0 30\nI 7 0 0\n", r#"{"vectors": "x"}"#, 0);
    assert_eq!(host.requests, [(0, 90), (20, 0), (30, 0)]);
    assert_eq!(seconds(host.asked.iter().copied()), [0.0, 1.1, 1.6]);
    assert_eq!(host.app.counter(1), 1.0);
}

/// A client sends twice before the server answers: no step waits for the receipt of the first request.
#[test]
fn the_answer_is_to_the_last_of_several_requests() {
    let file = "S 0 3 1 1\nI 0 0 20\nI 500000 0 30\nA 0 3000 40\nI 0 1000 50\nA 0 0 60\nA 7 0 70\nI 0 2000 0\n";
    let host = play(file, r#"{"vectors": "x"}"#, 0);
    assert_eq!(host.requests, [(20, 0), (30, 40), (50, 60), (0, 70)]);
    // Second request at 0.5 s, its answer at 0.603 s; third request 1 ms later, its answer at 0.704 s; the acceptor's
    // last unit 7 us after that.
    assert_eq!(seconds(host.asked.iter().copied()), [0.0, 0.5, 0.604, 0.704_007]);
    let epochs: Vec<(f64, u64)> =
        host.done.iter().filter(|d| d.1.kind == 0).map(|d| (d.1.started.as_secs_f64(), d.1.bytes)).collect();
    assert_eq!(epochs, [(0.503, 40), (0.604, 60)]);
    let counted = ["connections", "completed", "epochs", "bytes_received", "failures"].map(|name| host.counter(name));
    assert_eq!(counted, [1.0, 1.0, 2.0, 170.0, 0.0]);
    let (at, whole) = host.done.last().unwrap();
    // The initiator closes 2 ms after the receipt at 0.804007 s, which takes 100 ms.
    assert_eq!((seconds([*at].into_iter()), whole.started.as_secs_f64()), (vec![0.906_007], 0.0));
}

/// In a concurrent connection the acceptor's lines may precede the initiator's.
#[test]
fn the_sides_of_a_concurrent_connection_may_stand_in_any_order() {
    let file = "C 0 2 3 1 1\nA 0 0 10\nA 100000 0 11\nI 0 0 20\nA 100000 0 12\nI 50000 0 21\nI 900000 0 0\n";
    let host = play(file, r#"{"vectors": "x"}"#, 0);
    assert_eq!(host.requests, [(20, 0), (21, 0)]);
    assert_eq!(seconds(host.asked.iter().copied()), [0.0, 0.05]);
    assert_eq!(host.pushes.iter().map(|p| p.1).collect::<Vec<_>>(), [10, 11, 12]);
    assert_eq!(seconds(host.pushes.iter().map(|p| p.0)), [0.0, 0.1, 0.2]);
    assert_eq!([host.counter("completed"), host.counter("bytes_received")], [1.0, 33.0]);
    assert_eq!(seconds([host.done[0].0].into_iter()), [1.05]);
}

#[test]
fn starts_are_scaled_and_do_not_wait() {
    let file: String = (0..40).map(|i| format!("SEQ {} 1 1 1\n> 10\nt 30000000\n< 10\n", i * 100_000)).collect();
    let starts = |json| seconds(play(&file, json, 0).opens.iter().map(|o| o.0));
    let one = starts(r#"{"vectors": "x", "hosts": 1}"#);
    assert_eq!(one, (0..40).map(|i| f64::from(i) / 10.0).collect::<Vec<_>>());
    let two = starts(r#"{"vectors": "x", "hosts": 1, "scale": 2.5}"#);
    assert!(one.iter().zip(&two).all(|(a, b)| (a * 2.5 - b).abs() < 1e-6));
    let dealt = starts(r#"{"vectors": "x", "hosts": 4}"#);
    assert_eq!(dealt, one.iter().copied().step_by(4).collect::<Vec<_>>());
}

#[test]
fn the_mix_comes_at_its_rate_and_ends_what_it_begins() {
    let p = population("abt", r#"{"hosts": 20, "interval": "20ms"}"#);
    let (mut opens, mut completed, mut failures, mut first) = (0.0, 0.0, 0.0, f64::MAX);
    for i in 0..20 {
        let mut host = Host::new(&*p, i, 2);
        host.run(Duration::from_secs(600));
        opens += host.opens.len() as f64;
        first = first.min(host.opens[0].0.as_secs_f64());
        completed += host.app.counter(1);
        failures += host.app.counter(4);
    }
    assert!((opens / 30_000.0 - 1.0).abs() < 0.03, "{opens}");
    assert!(first < 0.2, "20 ms on average: {first}");
    assert!(completed / opens > 0.98 && failures == 0.0, "{completed} of {opens}");
}

#[test]
fn lost_connections_are_counted() {
    let p = population("abt", "{}");
    let mut host = Host::new(&*p, 0, 3);
    host.fail_every = 3;
    host.run(Duration::from_secs(600));
    assert!(host.app.counter(4) > 100.0);
}

#[test]
fn wrong_parameters_and_files_are_named() {
    let wrong = |json: &str| spec("abt", json).check().unwrap_err().to_string();
    assert!(wrong(r#"{"hosts": 0}"#).starts_with("hosts = 0"));
    assert!(wrong(r#"{"scale": 0}"#).starts_with("scale = 0"));
    let given = spec("abt", r#"{"vectors": "x.cvec"}"#);
    assert_eq!(given.files(), ["x.cvec"]);
    assert!(given.prepare(&[]).is_err_and(|e| e.to_string().contains("1 must be loaded first")));
    assert!(given.prepare(&["nonsense".into()]).is_err_and(|e| e.to_string().starts_with("x.cvec line 1")));
}

/// Connections at 0, 1, … 19 s; connection `n` has a request of `100 + n` bytes.
fn twenty() -> String {
    (0..20).map(|n| format!("SEQ {}000000 1 1 1\n> {}\nt 1000\n< 100\n", n, 100 + n)).collect()
}

/// Start times in seconds of a host's connections, with the sizes of their requests.
fn starts(json: &str) -> Vec<(u64, u64)> {
    let host = play(&twenty(), &format!(r#"{{"vectors": "x", "hosts": 1, {json}}}"#), 0);
    let opened = host.opens.iter().map(|o| o.0.as_secs_f64() as u64);
    opened.zip(host.requests.iter().map(|r| r.0 - 100)).collect()
}

#[test]
fn blocks_come_in_another_order_and_stay_whole() {
    let shuffled = starts(r#""block": "5s""#);
    let told: Vec<u64> = shuffled.iter().map(|s| s.0).collect();
    assert_eq!(told, (0..20).collect::<Vec<_>>(), "as many in each second as before");
    let order: Vec<u64> = shuffled.chunks(5).map(|block| block[0].1 / 5).collect();
    assert!(shuffled.chunks(5).all(|b| b.iter().zip(0..).all(|(s, n)| s.1 == b[0].1 + n)), "{shuffled:?}");
    let mut sorted = order.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, [0, 1, 2, 3], "each block once");
    let orders: std::collections::BTreeSet<Vec<(u64, u64)>> =
        (1..9).map(|n| starts(&format!(r#""block": "5s", "shuffle": {n}"#))).collect();
    assert!(orders.len() > 4, "{}", orders.len());
    assert_eq!(shuffled, starts(r#""block": "5s""#), "the same number is the same order");
}

#[test]
fn drawn_blocks_come_more_than_once_or_not_at_all() {
    let drawn: Vec<Vec<(u64, u64)>> =
        (1..9).map(|n| starts(&format!(r#""block": "5s", "order": "drawn", "shuffle": {n}"#))).collect();
    assert!(drawn.iter().all(|d| d.len() == 20 && d.iter().zip(0..).all(|(s, n)| s.0 == n)));
    let blocks = |d: &Vec<(u64, u64)>| d.chunks(5).map(|b| b[0].1 / 5).collect::<std::collections::BTreeSet<_>>().len();
    assert!(drawn.iter().any(|d| blocks(d) < 4));
    assert!(spec("abt", r#"{"block": "5s"}"#).check().is_err_and(|e| e.to_string().contains("give one in vectors")));
    assert!(spec("abt", r#"{"vectors": "x", "block": "0s"}"#).check().is_err());
    let many = spec("abt", r#"{"vectors": "x", "block": "1ms"}"#).prepare(&["S 3600000000 1 0 0\nI 0 0 300\n".into()]);
    assert!(many.is_err_and(|e| e.to_string().contains("at most 1000000 blocks")));
}
