//! `aqmkit measure`: estimates from files, and what `compare` and `advise` take from them.

use std::fmt::Write as _;

use super::Desk;

/// A ping log and the JSON of iperf3 for a FIFO of 100 ms at 10 Mbit/s with a round trip of 20 ms, worked out by hand: a load from 5 s to 25 s that fills the queue
/// within 5 s, and loses packets once a second while it is full.
fn files(desk: &Desk) {
    let mut ping = "PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.\n".to_owned();
    for n in 0..350 {
        let at = f64::from(n) * 0.1;
        let full = ((at - 5.0) / 5.0).clamp(0.0, 1.0);
        let rtt = if (5.0..25.0).contains(&at) { 20.0 + 100.0 * full - f64::from(n % 5) * full } else { 20.0 };
        let _ = writeln!(
            ping,
            "[{:.6}] 64 bytes from 192.0.2.1: icmp_seq={} ttl=57 time={rtt:.1} ms",
            1.7e9 + at + rtt / 1000.0,
            n + 1
        );
    }
    desk.write("ping.txt", &ping);
    let interval = |n: u32| {
        let full = (f64::from(n) / 5.0).min(1.0);
        let (rtt, lost) = (22_000.0 + 98_000.0 * full, if n >= 5 { 3 } else { 0 });
        // 10 Mbit/s are 1,206,667 bytes of payload in packets of 1448 of 1500 bytes.
        format!(
            "{{\"streams\": [{{\"socket\": 5, \"start\": {n}, \"end\": {}, \"bytes\": 1206667, \"retransmits\": {lost}, \"rtt\": {rtt}, \"sender\": true}}]}}",
            n + 1
        )
    };
    let intervals: Vec<String> = (0..20).map(interval).collect();
    let iperf3 = format!(
        "{{\"start\": {{\"tcp_mss_default\": 1448, \"timestamp\": {{\"timemillisecs\": 1700000005000}}, \"test_start\": {{\"protocol\": \"TCP\"}}}}, \"intervals\": [{}], \"end\": {{}}}}",
        intervals.join(",")
    );
    desk.write("iperf3.json", &iperf3);
}

#[test]
fn an_estimate_is_a_sentence_a_table_and_what_was_not_seen() {
    let desk = Desk::new();
    files(&desk);
    let told = desk.run("measure ping.txt iperf3.json --out measured.toml").good();
    assert!(
        told.starts_with("A link of 10.0 Mbit/s with a round trip of 19.9 ms; its queue is a FIFO of 100 ms.\n"),
        "{told}"
    );
    assert!(told.contains("  fair queueing "), "{told}");
    assert!(told.contains("Not seen:\n  * the rate and the queue to this machine"), "{told}");
    assert!(
        told.ends_with("\nNext: aqmkit advise --measured measured.toml --want \"video, web; p99 < 20ms\"\n"),
        "{told}"
    );
    let file = desk.read("measured.toml");
    assert!(file.starts_with("# Estimated by aqmkit measure ping.txt iperf3.json\n# A link of 10.0 Mbit/s"), "{file}");
    assert!(file.contains("\nbuffer = \"100ms\"\n") && file.contains("\naqm = \"no\"\n"), "{file}");
    let json: serde_json::Value =
        serde_json::from_str(&desk.run("measure ping.txt iperf3.json --json").good()).unwrap();
    let rate = json["up_bps"]["value"].as_f64().unwrap();
    assert!((rate / 1e7 - 1.0).abs() < 0.01, "{rate}");
    assert_eq!((&json["aqm"]["answer"], &json["filled"]), (&"no".into(), &true.into()));
}

#[test]
fn a_ping_log_and_a_speed_test_are_enough_for_the_delay() {
    let desk = Desk::new();
    files(&desk);
    let told = desk.run("measure ping.txt --load 5s..25s --rate 10mbit").good();
    assert!(told.starts_with("A link of 10.0 Mbit/s with a round trip of 19.9 ms; "), "{told}");
}

#[test]
fn compare_takes_rate_round_trip_and_the_limit_of_fifo() {
    let desk = Desk::new();
    desk.write("m.toml", "version = 1\ndown = \"9mbit\"\nup = \"2mbit\"\nrtt = \"33ms\"\nbuffer = \"150ms\"\n");
    desk.run("compare fifo codel --measured m.toml --bulk 1 --duration 1s --repeat 1 --quiet --save saved.toml --out results").good();
    let saved = desk.read("saved.toml");
    for part in ["rate = \"9mbit\"", "rate = \"2mbit\"", "delays = \"33ms\"", "limit = \"150ms\"", "limit = \"1000p\""]
    {
        assert!(saved.contains(part), "{part} is not in\n{saved}");
    }
}

#[test]
fn what_is_wrong_is_told() {
    let desk = Desk::new();
    files(&desk);
    desk.run("measure missing.json").wrong(&["missing.json cannot be read"]);
    desk.run("measure tiny.toml").wrong(&["tiny.toml has no line with the time of a reply", "icmp_seq=1"]);
    desk.run("measure ping.txt --load 25s..5s").wrong(&["--load", "the earlier first"]);
    desk.run("measure ping.txt --rate 0mbit").wrong(&["must be above zero"]);
    let plain: String =
        desk.read("ping.txt").lines().map(|l| l.split_once("] ").map_or(l, |(_, r)| r).to_owned() + "\n").collect();
    desk.write("plain.txt", &plain);
    desk.run("measure plain.txt iperf3.json").wrong(&["plain.txt has no times of day", "--load 20s..50s"]);
    desk.run("measure plain.txt iperf3.json --load 5s..25s").good();
    desk.write("empty.toml", "version = 1\n");
    desk.run("compare fifo --measured empty.toml").wrong(&["empty.toml has no rate", "down = \"50mbit\""]);
    desk.run("compare fifo --measured tiny.toml").wrong(&["tiny.toml line 4", "aqmkit measure"]);
    desk.run("compare fifo --measured empty.toml --rate 5mbit").wrong(&["--measured", "--rate"]);
    desk.run("advise --want video --measured empty.toml --rtt 5ms").wrong(&["--measured", "--rtt"]);
    desk.run("advise --want video --measured empty.toml").wrong(&["empty.toml has no rate"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_test_has_bounds_and_needs_a_server() {
    let desk = Desk::new();
    let wrong = |line: &str, parts: &[&str]| desk.run(line).wrong(parts);
    wrong("measure", &["<FILE>"]);
    wrong("measure --to 127.0.0.1 --port 1", &["127.0.0.1, port 1", "refused", "measure --serve"]);
    wrong("measure --to 127.0.0.1 --time 61s", &["61 s", "no more than 60 s"]);
    wrong("measure --to 127.0.0.1 --flows 0", &["0 connections", "between 1 and 64"]);
    wrong("measure --to 127.0.0.1 ping.txt", &["--to", "cannot be used with"]);
    wrong("measure ping.txt --time 5s", &["--time", "cannot be used with"]);
    wrong("measure --serve --out x", &["--serve", "cannot be used with"]);
    wrong("measure --serve=192.0.2.77", &["cannot serve at 192.0.2.77 port 7799", "--port"]);
}
