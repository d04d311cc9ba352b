use aqmkit_base::Duration;

use crate::harness::{Host, population};

/// Runs a session in which each segment takes `answer`; also returns a function that reads counters by name.
fn session(json: &str, answer: Duration, secs: u64) -> (Host, impl Fn(&str) -> f64) {
    let mut host = Host::new(&*population("dash", json), 0, 1);
    host.answer = answer;
    host.run(Duration::from_secs(secs));
    let names = host.app.counters();
    let values: Vec<f64> = (0..names.len()).map(|i| host.app.counter(i)).collect();
    let counter = move |name: &str| values[names.iter().position(|n| *n == name).unwrap()];
    (host, counter)
}

/// Time of the request for the first segment, in seconds.
fn began(host: &Host) -> f64 {
    host.asked[0].as_secs_f64()
}

#[test]
fn segments_slower_than_the_video_stall_it_each_time() {
    let (host, counter) = session(r#"{"ladder": ["1mbit"]}"#, Duration::from_secs(6), 100);
    // Each segment has 4 s of video and takes 6 s: a stall of 2 s before each but the first.
    let segments = counter("segments");
    assert_eq!(segments, ((100.0 - began(&host)) / 6.0).floor());
    let since_last = 100.0 - began(&host) - 6.0 * segments;
    assert_eq!(counter("stalls"), segments - 1.0 + f64::from(u8::from(since_last >= 4.0)));
    assert!((counter("stalled_s") - 2.0 * (segments - 1.0) - (since_last - 4.0).max(0.0)).abs() < 1e-6);
    assert!((counter("played_s") - 4.0 * (segments - 1.0) - since_last.min(4.0)).abs() < 1e-6);
    assert_eq!((counter("video_s"), counter("video_bits")), (4.0 * segments, 4e6 * segments));
    let startups: Vec<f64> =
        host.done.iter().filter(|(_, e)| e.kind == 0).map(|(at, e)| at.since(e.started).as_secs_f64()).collect();
    assert_eq!(startups, [6.0], "the first wait is start-up");
}

#[test]
fn the_buffer_never_holds_more_than_it_may() {
    for (json, most) in [("{}", 240.0), (r#"{"player": "rate"}"#, 30.0), (r#"{"player": "rate", "buffer": "4s"}"#, 4.0)]
    {
        let (host, counter) = session(json, Duration::from_millis(100), 1000);
        let buffered = counter("video_s") - counter("played_s");
        assert!(buffered <= most + 1e-6 && buffered > most - 8.5, "{json}: {buffered}");
        assert_eq!(host.most_awaited, 1, "one segment at a time");
        assert_eq!(host.opens.len(), 1, "one connection");
        let watched = counter("played_s") + counter("stalled_s");
        assert!((watched - (1000.0 - began(&host) - 0.1)).abs() < 1e-6, "{watched}");
    }
}

#[test]
fn a_fast_network_leads_to_the_highest_rate_and_a_slow_one_to_the_lowest() {
    for player in ["buffer", "rate"] {
        let json = format!(r#"{{"player": "{player}"}}"#);
        // 2,900,000 bytes in 100 ms, and 117,500 bytes in 3.9 s.
        let (fast, _) = session(&json, Duration::from_millis(100), 1000);
        assert_eq!(fast.requests.last().unwrap().1, 5_800_000 * 4 / 8);
        let (slow, switches) = session(&json, Duration::from_millis(3900), 300);
        assert!(slow.requests.iter().all(|r| r.1 == 235_000 * 4 / 8), "{player}");
        assert_eq!(switches("switches"), 0.0);
    }
}

/// Jiang et al. 2012: a bit rate may take 85 % of the throughput. 4 s of video at 1 Mbit/s in 1.65 s give 2.06 Mbit/s,
/// in 1.75 s 1.94 Mbit/s; at 2 Mbit/s in the same times, twice as much.
#[test]
fn the_rate_rule_asks_for_what_the_throughput_allows() {
    let json = r#"{"player": "rate", "ladder": ["1mbit", "2mbit", "4mbit"]}"#;
    for (answer, last) in [(1_650, 4_000_000), (1_750, 1_000_000)] {
        let (host, _) = session(json, Duration::from_millis(answer), 300);
        assert_eq!(host.requests.last().unwrap().1, last * 4 / 8, "{answer} ms");
    }
}

#[test]
fn the_buffer_rule_climbs_the_ladder_step_by_step() {
    let (host, counter) = session("{}", Duration::from_secs(1), 400);
    let sizes: Vec<u64> = host.requests.iter().map(|r| r.1).collect();
    // Each segment adds 3 s of buffer: the first 30 fill the reservoir of 90 s.
    let first = sizes.iter().position(|&size| size > sizes[0]).unwrap();
    assert!((30..=34).contains(&first), "{first}");
    let mut distinct = sizes.clone();
    distinct.dedup();
    assert!(distinct.is_sorted() && counter("switches") as usize == distinct.len() - 1);
}

#[test]
fn long_start_ups_are_reached() {
    let json = r#"{"player": "rate", "buffer": "10s", "startup": "10s"}"#;
    let (host, counter) = session(json, Duration::from_millis(100), 60);
    assert!(counter("played_s") > 50.0);
    // Three segments have 12 s of video.
    let (at, startup) = host.done.iter().find(|(_, e)| e.kind == 0).unwrap();
    assert!((at.since(startup.started).as_secs_f64() - 0.3).abs() < 1e-9);
}

#[test]
fn a_segment_is_asked_for_again_where_the_connection_fails() {
    let mut host = Host::new(&*population("dash", "{}"), 0, 1);
    host.fail_every = 2;
    host.answer = Duration::from_millis(500);
    host.run(Duration::from_secs(30));
    assert_eq!(host.opens.len(), 1, "the first connection does not fail");
    let mut failing = Host::new(&*population("dash", "{}"), 0, 1);
    failing.fail_every = 1;
    failing.run(Duration::from_secs(10));
    let failures = failing.app.counters().iter().position(|n| *n == "failures").unwrap();
    assert!(failing.app.counter(failures) > 50.0 && failing.opens.len() > 50);
    assert_eq!(failing.done, []);
}

/// Segments of 4 s that take 6.3 s: a stall of 2.3 s before each but the first, wherever in a second it begins.
#[test]
fn a_stall_begins_when_the_buffer_is_empty() {
    let (host, counter) = session(r#"{"ladder": ["1mbit"]}"#, Duration::from_millis(6300), 200);
    let segments = counter("segments");
    let since_last = 200.0 - began(&host) - 6.3 * segments;
    assert!((counter("stalled_s") - 2.3 * (segments - 1.0) - (since_last - 4.0).max(0.0)).abs() < 1e-6);
    assert!((counter("played_s") - 4.0 * (segments - 1.0) - since_last.min(4.0)).abs() < 1e-6);
}

/// With a full buffer a segment is requested whenever there is room for one: every 4 s, while 12 s less a segment are
/// buffered.
#[test]
fn a_full_buffer_asks_for_a_segment_as_it_plays_one() {
    let json = r#"{"ladder": ["1mbit"], "buffer": "12s", "reservoir": "0s", "cushion": "1s"}"#;
    let (host, _) = session(json, Duration::from_millis(100), 200);
    let asked: Vec<f64> = host.asked.iter().map(|at| at.as_secs_f64() - began(&host)).collect();
    // Playback begins at 0.1 s. Two segments are requested at once, as at most 8 s are buffered; the fourth when 8 s of
    // 12 are left.
    let wanted = [0.0, 0.1, 0.2, 4.1, 8.1, 12.1, 16.1];
    assert!(asked.iter().zip(wanted).all(|(at, wanted)| (at - wanted).abs() < 1e-6), "{asked:?}");
    assert!(asked[3..].windows(2).all(|w| (w[1] - w[0] - 4.0).abs() < 1e-6), "{asked:?}");
}

#[test]
fn viewers_choose_a_server_with_equal_chance() {
    let p = population("dash", "{}");
    let mut chosen = [0; 5];
    for i in 0..1000 {
        let mut host = Host::new(&*p, i, 1);
        host.run(Duration::from_secs(5));
        chosen[host.opens[0].1 as usize] += 1;
    }
    assert!(chosen.iter().all(|n| (150..250).contains(n)), "{chosen:?}");
}

#[test]
fn viewers_are_not_in_step() {
    let p = population("dash", r#"{"viewers": 5}"#);
    let starts: std::collections::BTreeSet<u64> = (0..5)
        .map(|i| {
            let mut host = Host::new(&*p, i, 1);
            host.run(Duration::from_secs(10));
            host.asked[0].as_nanos()
        })
        .collect();
    assert_eq!(starts.len(), 5);
}
