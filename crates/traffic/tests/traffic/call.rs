use aqmkit_base::Duration;

use crate::harness::{Host, population};

/// Runs a call for `secs` seconds over a network with these delays of datagrams in each direction; `None` loses one.
fn call(json: &str, there: fn(usize) -> Option<Duration>, back: fn(usize) -> Option<Duration>, secs: u64) -> Host {
    let mut host = Host::new(&*population("call", json), 0, 1);
    (host.network, host.network_back) = (Some(there), Some(back));
    host.run(Duration::from_secs(secs));
    host
}

fn ms(ms: u64) -> Option<Duration> {
    Some(Duration::from_millis(ms))
}

/// Mean bit rate of the displayed video over the whole call.
fn video_rate(host: &Host) -> f64 {
    host.counter("video_bits") / host.counter("video_s")
}

#[test]
fn on_an_idle_path_the_rate_rises_to_the_highest() {
    let host = call("{}", |_| ms(20), |_| ms(20), 120);
    let last = host.bytes_between(90.0, 120.0) * 8.0 / 30.0;
    // 1.5 Mbit/s of video, and 20 bytes of header for each of the 180 packets per second.
    assert!((last / 1.5e6 - 1.0).abs() < 0.06, "{last}");
    let first = host.bytes_between(0.0, 2.0) * 8.0 / 2.0;
    assert!((first / 300e3 - 1.0).abs() < 0.2, "{first}");
    // 5 % a second from 300 kbit/s: 33 s to the maximum.
    let at_30 = host.bytes_between(28.0, 30.0) * 8.0 / 2.0;
    assert!((1.0e6..1.4e6).contains(&at_30), "{at_30}");
    assert_eq!([host.counter("frames_lost"), host.counter("stalls"), host.counter("packets_repaired")], [0.0; 3]);
    assert!((host.counter("frames_received") - 120.0 * 30.0).abs() < 4.0);
    assert!((host.counter("video_s") - 120.0).abs() < 0.2);
}

/// Recounts sent, reported and displayed frames and packets.
#[test]
fn counters_are_those_of_what_was_sent() {
    let host = call("{}", |n| (n % 40 != 9).then(|| Duration::from_millis(20)), |_| ms(20), 60);
    assert_eq!(host.counter("packets_sent"), host.sent.len() as f64);
    let came: f64 =
        host.sent.iter().zip(0..).filter(|(_, n)| n % 40 != 9).map(|(packet, _)| f64::from(packet.len)).sum();
    let last: f64 = host.sent.iter().filter(|packet| packet.at.as_secs_f64() > 59.98).map(|p| f64::from(p.len)).sum();
    assert!((0.0..=last).contains(&(came - host.counter("bytes_received"))));
    // A frame every 33 ms; frames that are not shown were given up or are in transit.
    assert!((host.counter("frames_sent") - 1800.0).abs() <= 1.0, "{}", host.counter("frames_sent"));
    let open = host.counter("frames_sent") - host.counter("frames_received") - host.counter("frames_lost");
    assert!((0.0..12.0).contains(&open), "{open}");
    assert_eq!(host.counter("frames_received"), host.done.len() as f64);
    let bytes: u64 = host.done.iter().map(|(_, frame)| frame.bytes).sum();
    assert_eq!(host.counter("video_bits"), 8.0 * bytes as f64);
    // A report has two bytes for each arrival since the last but one report.
    let arrivals = |from: f64, to: f64| {
        let told = host.sent.iter().zip(0..).filter(|(packet, n)| {
            let at = packet.at.as_secs_f64() + 0.02;
            n % 40 != 9 && from < at && at <= to + 1e-9
        });
        told.count() as u32
    };
    for three in host.replies.windows(3) {
        let [before, _, now] = [0, 1, 2].map(|i| three[i].at.as_secs_f64());
        assert_eq!(three[2].len, 20 + 2 * arrivals(before, now), "{now}");
    }
}

#[test]
fn marks_are_read_where_packets_can_be_marked() {
    let reads = |json: &str| Host::new(&*population("call", json), 0, 1).app.reads_marks();
    assert!(reads(r#"{"control": "nada", "ecn": "ect0"}"#) && reads(r#"{"control": "nada", "ecn": "ect1"}"#));
    assert!(!reads(r#"{"control": "nada"}"#) && !reads("{}"));
}

#[test]
fn frames_take_the_network_and_the_pacer() {
    let host = call(r#"{"start_rate": "1mbit", "max_rate": "1mbit"}"#, |_| ms(50), |_| ms(20), 20);
    for (at, frame) in &host.done {
        let took = at.since(frame.started).as_millis_f64();
        // At 2.5 times the rate a frame of mean size takes 0.4 frame intervals, one of twice that size 0.8.
        assert!((50.0..50.0 + 33.4).contains(&took), "{took}");
    }
    assert!(host.done.len() > 590);
    assert!(host.sent.iter().all(|packet| (30..=1220).contains(&packet.len)));
}

#[test]
fn lost_packets_are_repaired() {
    // One of 50 packets is lost.
    let host = call("{}", |n| (n % 50 != 7).then(|| Duration::from_millis(20)), |_| ms(20), 60);
    let lost = host.sent.len() as f64 / 50.0;
    assert!((host.counter("packets_repaired") - lost).abs() <= 3.0, "{lost}");
    assert_eq!(host.counter("frames_lost"), 0.0);
    assert!(host.counter("frames_received") > 60.0 * 30.0 - 10.0);
    let slow = host.done.iter().filter(|(at, e)| at.since(e.started) > Duration::from_millis(60)).count();
    assert!(slow > 30, "a frame waits for its repair, and the next ones with it: {slow}");
}

#[test]
fn many_losses_lower_the_rate_and_freeze_the_picture() {
    let some = call(r#"{"start_rate": "1mbit"}"#, |n| (n % 4 != 0).then(|| Duration::from_millis(20)), |_| ms(20), 60);
    let rate = some.bytes_between(50.0, 60.0) * 8.0 / 10.0;
    assert!(rate < 300e3, "a quarter of all packets is lost: {rate}");
    // Packets 1000 to 1200 are lost.
    let gap = call(
        r#"{"start_rate": "1mbit"}"#,
        |n| (!(1000..1200).contains(&n)).then(|| Duration::from_millis(20)),
        |_| ms(20),
        60,
    );
    assert!(gap.counter("stalls") >= 1.0 && gap.counter("stalled_s") > 0.3, "{}", gap.counter("stalled_s"));
    let all = gap.counter("played_s") + gap.counter("stalled_s");
    assert!((gap.counter("video_s") - all).abs() < 1e-9);
}

#[test]
fn without_reports_the_rate_falls_to_the_lowest() {
    let host = call(r#"{"start_rate": "1mbit"}"#, |_| ms(20), |_| None, 30);
    let rate = host.bytes_between(20.0, 30.0) * 8.0 / 10.0;
    // 150 kbit/s of video, and 30 headers of 20 bytes per second.
    assert!((rate / 155e3 - 1.0).abs() < 0.05, "{rate}");
    let never = call(r#"{"start_rate": "1mbit"}"#, |_| None, |_| ms(20), 30);
    assert_eq!((never.done.len(), never.replies.len()), (0, 0), "there is nothing to report");
}

#[test]
fn lost_reports_are_made_up_for_by_the_next() {
    let host = call("{}", |_| ms(20), |n| (n % 3 != 1).then(|| Duration::from_millis(20)), 60);
    assert_eq!([host.counter("packets_repaired"), host.counter("frames_lost")], [0.0; 2]);
    assert!(video_rate(&host) > 0.8e6, "{}", video_rate(&host));
    let made = host.replies.len() as f64;
    assert!((made - 600.0).abs() < 5.0, "a report in 100 ms: {made}");
}
