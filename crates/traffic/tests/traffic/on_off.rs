use aqmkit_base::Duration;

use crate::harness::{Host, population, spec};

fn run(json: &str, seed: u64, seconds: u64) -> Host {
    let mut host = Host::new(&*population("on-off", json), 0, seed);
    host.run(Duration::from_secs(seconds));
    host
}

/// Lengths of the bursts in packets, and of the silences (without the gap) in seconds.
fn bursts(host: &Host) -> (Vec<f64>, Vec<f64>) {
    let gap = 210.0 * 8.0 / 64_000.0;
    let (mut lengths, mut silences, mut packets) = (Vec::new(), Vec::new(), 1.0);
    for w in host.sent.windows(2) {
        let rest = w[1].at.since(w[0].at).as_secs_f64() - gap;
        if rest < 1e-7 {
            packets += 1.0;
        } else {
            lengths.push(packets);
            silences.push(rest);
            packets = 1.0;
        }
    }
    (lengths, silences)
}

fn mean(xs: &[f64]) -> f64 {
    xs.iter().sum::<f64>() / xs.len() as f64
}

#[test]
fn times_are_exponential_by_default() {
    let (lengths, silences) = bursts(&run("{}", 3, 40_000));
    // 500 ms are 19.05 packets; the rounding to at least one packet adds a little.
    assert!((mean(&lengths) / 19.05 - 1.0).abs() < 0.02, "{}", mean(&lengths));
    assert!((mean(&silences) / 0.5 - 1.0).abs() < 0.02, "{}", mean(&silences));
    let above = silences.iter().filter(|&&s| s > 1.0).count() as f64 / silences.len() as f64;
    assert!((above - (-2.0_f64).exp()).abs() < 0.01, "{above}");
}

#[test]
fn pareto_times_have_their_least_value_and_tail() {
    let (lengths, silences) = bursts(&run(r#"{"law": "pareto"}"#, 3, 40_000));
    // The minimum is mean (shape - 1) / shape: a third of the mean.
    assert!(silences.iter().all(|&s| s > 0.5 / 3.0 - 1e-6) && lengths.iter().all(|&n| n >= 6.0));
    let above = silences.iter().filter(|&&s| s > 5.0 / 3.0).count() as f64 / silences.len() as f64;
    assert!((above / 0.1_f64.powf(1.5) - 1.0).abs() < 0.12, "{above}");
}

#[test]
fn the_rate_is_the_peak_rate_in_a_burst_and_half_of_it_in_the_mean() {
    let host = run("{}", 4, 40_000);
    let mean_rate = host.sent.len() as f64 * 210.0 * 8.0 / 40_000.0;
    assert!((mean_rate / 32_000.0 - 1.0).abs() < 0.02, "{mean_rate}");
    let always = run(r#"{"law": "constant", "off": "0s"}"#, 4, 1000);
    let peak = always.sent.len() as f64 * 210.0 * 8.0 / 1000.0;
    assert!((peak / 64_000.0 - 1.0).abs() < 0.001, "{peak}");
}

#[test]
fn the_sum_of_pareto_sources_stays_bursty_over_time() {
    // Variance of the load over 1 s and over 64 s: with independent values it would fall to a 64th.
    let fall = |law: &str| {
        let mut counts = vec![0.0; 16_384];
        let p = population("on-off", &format!(r#"{{"flows": 20, "law": "{law}", "shape": 1.2}}"#));
        for i in 0..20 {
            let mut host = Host::new(&*p, i, 6);
            host.run(Duration::from_secs(16_384));
            host.sent.iter().for_each(|s| counts[(s.at.as_secs_f64() as usize).min(16_383)] += 1.0);
        }
        let variance = |xs: &[f64]| xs.iter().map(|x| (x - mean(xs)).powi(2)).sum::<f64>() / xs.len() as f64;
        let coarse: Vec<f64> = counts.chunks_exact(64).map(mean).collect();
        variance(&counts) / variance(&coarse)
    };
    let (exponential, pareto) = (fall("exponential"), fall("pareto"));
    assert!(exponential > 25.0 && pareto < 12.0, "{exponential} {pareto}");
}

#[test]
fn a_source_begins_with_a_silence() {
    let p = population("on-off", r#"{"flows": 2000, "off": "10s"}"#);
    let firsts: Vec<f64> = (0..2000)
        .map(|i| {
            let mut host = Host::new(&*p, i, 5);
            host.run(Duration::from_secs(200));
            host.sent[0].at.as_secs_f64()
        })
        .collect();
    assert!((mean(&firsts) / 10.0 - 1.0).abs() < 0.07, "{}", mean(&firsts));
}

#[test]
fn wrong_parameters_are_named() {
    let wrong = |json: &str| spec("on-off", json).check().unwrap_err().to_string();
    assert!(wrong(r#"{"packet": "28b"}"#).starts_with("packet"));
    assert!(wrong(r#"{"rate": "0bit"}"#).starts_with("rate"));
    assert!(wrong(r#"{"on": "0s"}"#).starts_with("on"));
    assert!(wrong(r#"{"shape": 0.9}"#).starts_with("shape = 0.9"));
}
