use aqmkit_base::Duration;

use crate::harness::{Host, population, spec};

fn run(json: &str, seconds: u64) -> Host {
    let mut host = Host::new(&*population("short-flows", json), 0, 5);
    host.run(Duration::from_secs(seconds));
    host
}

/// Share of the sizes above `x`.
fn above(host: &Host, x: f64) -> f64 {
    host.requests.iter().filter(|r| r.1 as f64 > x).count() as f64 / host.requests.len() as f64
}

#[test]
fn arrivals_are_a_poisson_process() {
    let host = run(r#"{"interval": "10ms"}"#, 1000);
    let times: Vec<f64> = host.opens.iter().map(|o| o.0.as_secs_f64()).collect();
    assert!((times.len() as f64 / 100_000.0 - 1.0).abs() < 0.015, "{}", times.len());
    let gaps: Vec<f64> = times.windows(2).map(|w| w[1] - w[0]).collect();
    for x in [0.001, 0.01, 0.03] {
        let share = gaps.iter().filter(|&&g| g > x).count() as f64 / gaps.len() as f64;
        assert!((share - (-x / 0.01_f64).exp()).abs() < 0.006, "{x}: {share}");
    }
    assert!((0..5).all(|s| host.opens.iter().filter(|o| o.1 == s).count() > 19_000), "servers are drawn evenly");
}

#[test]
fn sizes_have_the_printed_tail() {
    let host = run(r#"{"interval": "10ms"}"#, 1000);
    assert!(host.requests.iter().all(|r| r.1 >= 1000));
    for x in [2000.0, 10_000.0, 100_000.0, 1_000_000.0_f64] {
        let wanted = (1000.0 / x).powf(0.9);
        assert!((above(&host, x) / wanted - 1.0).abs() < 0.12, "{x}: {} is not {wanted}", above(&host, x));
    }
}

#[test]
fn a_largest_size_cuts_and_does_not_pile_up() {
    let host = run(r#"{"interval": "10ms", "size_max": "1mb"}"#, 2000);
    let most = host.requests.iter().map(|r| r.1).max().unwrap();
    assert!((900_000..=1_048_576).contains(&most), "{most}");
    let mean = host.requests.iter().map(|r| r.1 as f64).sum::<f64>() / host.requests.len() as f64;
    // a / (a - 1) (l - h (l / h)^a) / (1 - (l / h)^a) with a = 0.9, l = 1000, h = 2^20.
    let ratio = (1000.0 / 1_048_576.0_f64).powf(0.9);
    let wanted = -9.0 * (1000.0 - 1_048_576.0 * ratio) / (1.0 - ratio);
    assert!((mean / wanted - 1.0).abs() < 0.03, "{mean} is not {wanted}");
    let (near, cut) = (above(&host, 900_000.0), (1000.0 / 900_000.0_f64).powf(0.9) - ratio);
    assert!((near / cut - 1.0).abs() < 0.3, "{near} is not {cut}");
}

#[test]
fn arrivals_do_not_wait_for_responses() {
    let population = population("short-flows", "{}");
    let opens = |answer| {
        let mut host = Host::new(&*population, 0, 5);
        host.answer = answer;
        host.run(Duration::from_secs(100));
        host.opens
    };
    assert_eq!(opens(Duration::from_millis(1)), opens(Duration::from_secs(20)));
}

#[test]
fn each_completion_is_reported_with_its_size_and_the_server_closes() {
    let host = run("{}", 100);
    let sizes: Vec<u64> = host.done.iter().map(|d| d.1.bytes).collect();
    let asked: Vec<u64> = host.requests.iter().map(|r| r.1).take(sizes.len()).collect();
    assert_eq!(sizes, asked);
    assert!(host.done.iter().all(|d| d.0.since(d.1.started) == Duration::from_millis(100)));
    assert_eq!(host.closes, 0);
}

#[test]
fn failures_are_counted_and_no_more() {
    let mut host = Host::new(&*population("short-flows", "{}"), 0, 5);
    host.fail_every = 4;
    host.run(Duration::from_secs(100));
    let [asked, completed, failed] = [0, 1, 3].map(|i| host.app.counter(i));
    assert!(failed > 100.0 && asked - completed - failed < 5.0, "{asked} {completed} {failed}");
}

#[test]
fn wrong_parameters_are_named() {
    let wrong = |json: &str| spec("short-flows", json).check().unwrap_err().to_string();
    assert!(wrong(r#"{"sources": 1000001}"#).starts_with("sources = 1000001"));
    assert!(wrong(r#"{"interval": "0s"}"#).starts_with("interval"));
    assert!(wrong(r#"{"shape": 0}"#).starts_with("shape"));
    assert!(wrong(r#"{"size_max": "1000b"}"#).contains("above size_min"));
}
