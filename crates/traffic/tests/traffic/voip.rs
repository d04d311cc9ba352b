use aqmkit_base::Duration;
use aqmkit_traffic::voip::Codec;
use aqmkit_traffic::voip::emodel::{mos, rating};

use crate::harness::{Host, population};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Runs a call over a network for 52 s: four intervals of 500 packets are rated by then.
fn call(json: &str, network: fn(usize) -> Option<Duration>) -> Host {
    let mut host = Host::new(&*population("voip", json), 0, 1);
    host.network = Some(network);
    host.run(ms(52_100));
    assert_eq!(host.counter("mos_intervals"), 5.0);
    host
}

/// The mean opinion score of a call.
fn score(host: &Host) -> f64 {
    host.counter("mos_sum") / host.counter("mos_intervals")
}

#[test]
fn packets_have_the_rates_and_sizes_of_their_codec() {
    for (json, len, per_s) in [
        ("{}", 172, 50.0),
        (r#"{"codec": "g711-bare", "packet": "10ms"}"#, 92, 100.0),
        (r#"{"codec": "g729"}"#, 32, 50.0),
        (r#"{"codec": "g729", "packet": "200ms"}"#, 212, 5.0),
    ] {
        let mut host = Host::new(&*population("voip", json), 0, 1);
        host.run(Duration::from_secs(100));
        assert!(host.sent.iter().all(|packet| packet.len == len), "{json}");
        assert!((host.sent.len() as f64 / 100.0 - per_s).abs() <= 0.01, "{json}: {}", host.sent.len());
    }
}

#[test]
fn with_silence_suppression_speech_is_sent_in_spurts() {
    let mut host = Host::new(&*population("voip", r#"{"vad": true}"#), 0, 1);
    host.run(Duration::from_secs(20_000));
    // 1.004 s of 2.591 s: 38.7 %.
    let share = host.sent.len() as f64 / (20_000.0 * 50.0);
    assert!((share - 0.387).abs() < 0.01, "{share}");
    let gaps: Vec<f64> = host.sent.windows(2).map(|pair| pair[1].at.since(pair[0].at).as_secs_f64()).collect();
    let spurts = gaps.iter().filter(|gap| **gap > 0.03).count() as f64;
    // Pauses and spurts shorter than a packet are not visible.
    assert!((20_000.0 / spurts / 2.591 - 1.0).abs() < 0.05, "{spurts}");
}

/// A call starts in a spurt with probability 1.004 s / 2.591 s; otherwise it sends only after a pause.
#[test]
fn a_call_begins_in_a_spurt_or_in_a_pause() {
    let p = population("voip", r#"{"vad": true}"#);
    let talking = (0..4000).filter(|&i| {
        let mut host = Host::new(&*p, i, 1);
        host.run(ms(20));
        !host.sent.is_empty()
    });
    let share = talking.count() as f64 / 4000.0;
    assert!((share - 0.3875).abs() < 0.025, "{share}");
}

/// The provisional planning values of G.113, appendix I.
#[test]
fn codecs_have_the_published_impairments() {
    let of = |codec: Codec| (codec.impairment().ie, codec.impairment().bpl);
    assert_eq!([Codec::G711, Codec::G711Bare, Codec::G729].map(of), [(0.0, 25.1), (0.0, 4.3), (11.0, 19.0)]);
}

/// G.107 section 3.5, at delays where the term 6 exp(-0.3 T^2) of the talker echo is not negligible; computed
/// independently of the code, with Roe = 94.77 and Re = 80 + 2.5 (TERV - 14), where TERV = 65 - 40 lg((1 + T/10) / (1 +
/// T/150)) + 6 exp(-0.3 T^2).
#[test]
fn the_talker_hears_an_echo_of_few_milliseconds() {
    for (delay, rated) in [(1, 93.267_47), (2, 93.211_88), (3, 93.142_21)] {
        let found = rating(Codec::G711.impairment(), ms(delay), 0.0, 1.0);
        assert!((found - rated).abs() < 1e-4, "{delay} ms: {found}");
    }
}

#[test]
fn a_call_without_trouble_is_rated_by_its_delay() {
    for (json, codec, before) in [("{}", Codec::G711, 20), (r#"{"codec": "g729"}"#, Codec::G729, 25)] {
        let host = call(json, |_| Some(ms(30)));
        assert_eq!([host.counter("packets_missed"), host.counter("packets_late")], [0.0; 2]);
        assert_eq!([host.counter("packets_due"), host.counter("packets_played")], [2500.0; 2]);
        // 30 ms of network delay, and the minimum buffer of one packet.
        let mouth_to_ear = ms(before + 30 + 20);
        let mean = host.counter("delay_sum_s") / 2500.0;
        assert!((mean - mouth_to_ear.as_secs_f64()).abs() < 1e-6, "{mean}");
        let r = rating(codec.impairment(), mouth_to_ear, 0.0, 1.0);
        assert!(
            (score(&host) - mos(r)).abs() < 1e-4 && (host.counter("r_sum") / 5.0 - r).abs() < 1e-3,
            "{}",
            score(&host)
        );
    }
}

#[test]
fn the_delay_of_the_path_counts_for_the_rating_only() {
    let host = call(r#"{"path_delay": "250ms"}"#, |_| Some(ms(30)));
    assert_eq!([host.counter("packets_missed"), host.counter("packets_late")], [0.0; 2]);
    let r = rating(Codec::G711.impairment(), ms(20 + 30 + 20 + 250), 0.0, 1.0);
    assert!((score(&host) - mos(r)).abs() < 1e-4 && score(&host) < 4.0, "{}", score(&host));
}

#[test]
fn single_losses_cost_what_the_e_model_says_and_bursts_more() {
    // One of 100 packets; five consecutive ones of 500.
    let single = call(r#"{"codec": "g711-bare"}"#, |n| (n % 100 != 0).then_some(ms(30)));
    let burst = call(r#"{"codec": "g711-bare"}"#, |n| (n % 500 >= 5).then_some(ms(30)));
    assert_eq!([single.counter("packets_missed"), burst.counter("packets_missed")], [25.0; 2]);
    let r = |ratio| rating(Codec::G711Bare.impairment(), ms(70), 0.01, ratio);
    assert!((score(&single) - mos(r(1.0))).abs() < 1e-4, "{}", score(&single));
    assert!((score(&burst) - mos(r(5.0 * 0.99))).abs() < 1e-4, "{}", score(&burst));
    assert!(score(&burst) < score(&single));
    // Every other packet: the runs are shorter than those of random losses, so the burst ratio is 1.
    let even = call(r#"{"codec": "g711-bare"}"#, |n| (n % 2 == 0).then_some(ms(30)));
    let r_even = rating(Codec::G711Bare.impairment(), ms(70), 0.5, 1.0);
    assert!((even.counter("r_sum") / 5.0 - r_even).abs() < 1e-3, "{} {r_even}", even.counter("r_sum"));
    let concealed = call("{}", |n| (n % 100 != 0).then_some(ms(30)));
    assert!(score(&concealed) > score(&single) + 0.3, "{} {}", score(&concealed), score(&single));
}

#[test]
fn a_packet_that_comes_too_late_is_lost() {
    // Every tenth packet is delayed by 100 ms: too late for a buffer of 60 ms, but not for one of 120 ms unless it is
    // the first packet of a spurt.
    let network = |n: usize| Some(ms(if n % 10 == 9 { 130 } else { 30 }));
    let short = call(r#"{"jitter_buffer": "60ms"}"#, network);
    let late = short.counter("packets_late");
    // In 52 s there are 260 of them; those of the last two seconds are not yet rated.
    assert!(late > 150.0 && late <= 261.0, "{late}");
    let missed = short.counter("packets_missed");
    assert!(missed <= late && missed >= late - 11.0, "{missed} of {late}");
    let long = call(r#"{"jitter_buffer": "120ms"}"#, network);
    assert_eq!(long.counter("packets_late"), 0.0);
    assert!(long.counter("delay_sum_s") > short.counter("delay_sum_s") * 1.2 && score(&long) > score(&short));
}

#[test]
fn an_adaptive_buffer_learns_the_jitter() {
    let mut host = Host::new(&*population("voip", "{}"), 0, 1);
    host.network = Some(|n| Some(ms(20 + 10 * (n as u64 * 7 % 11))));
    host.run(Duration::from_secs(120));
    let late_at_first = host.counter("packets_late");
    let mut longer = Host::new(&*population("voip", "{}"), 0, 1);
    longer.network = host.network;
    longer.run(Duration::from_secs(240));
    // Delays from 20 to 120 ms, with a mean deviation of 30 ms: four times that covers all of them.
    assert!(late_at_first > 0.0 && longer.counter("packets_late") == late_at_first, "{late_at_first}");
}

#[test]
fn a_call_of_which_nothing_comes_is_bad() {
    let host = call("{}", |_| None);
    assert_eq!((score(&host), host.counter("packets_missed")), (1.0, 2500.0));
}

#[test]
fn intervals_are_rated_after_their_stragglers() {
    let mut host = Host::new(&*population("voip", r#"{"jitter_buffer": "1s"}"#), 0, 1);
    host.network = Some(|_| Some(ms(900)));
    host.run(ms(11_900));
    assert_eq!([host.counter("mos_intervals"), host.counter("packets_due")], [0.0, 0.0]);
    let later = call(r#"{"jitter_buffer": "1s"}"#, |_| Some(ms(900)));
    assert_eq!(later.counter("packets_missed"), 0.0);
}
