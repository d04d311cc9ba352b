use std::io::{Read, Write};
use std::net::TcpStream;

use aqmkit_base::BitRate;
use aqmkit_live::ctl::{Change, Client, CtlError, running, serve};
use aqmkit_live::metrics;
use serde_json::json;

use super::Place;

fn change(direction: Option<&str>, parameters: &serde_json::Value) -> Change {
    let parameters = parameters.as_object().cloned().unwrap();
    Change { direction: direction.map(str::to_owned), parameters, ..Change::default() }
}

#[test]
fn parameters_change_while_it_runs() {
    let Some(place) = Place::new() else { return };
    let bridge = place.bridge("codel", "{}", BitRate::from_mbps(20)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let server = serve(directory.path(), bridge.control()).unwrap();
    assert_eq!(running(directory.path()).unwrap(), ["test"]);
    let client = Client::new(directory.path(), "test");
    let targets = |r: &aqmkit_live::ctl::Report| {
        r.directions.iter().map(|d| d.parameters["target"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(targets(&client.report().unwrap()), ["5ms", "5ms"]);
    let report = client.change(change(Some("back"), &json!({ "target": "9ms" }))).unwrap();
    assert_eq!(targets(&report), ["5ms", "9ms"]);
    for (bad, part) in [
        (change(None, &json!({ "target": "fast" })), "\"fast\" is not a time"),
        (change(None, &json!({ "targt": "5ms" })), "targt"),
        (change(Some("up"), &json!({})), "the directions are forth and back"),
        (change(None, &json!({ "limit": 99_999_999_999_999_u64 })), "at most 1000000 packets"),
        (Change { rate_bps: Some(0), ..Change::default() }, "above zero"),
        (Change { rate_bps: Some(9_999_000_000_000), ..Change::default() }, "at most 1tbit"),
    ] {
        let CtlError::Refused(why) = client.change(bad).unwrap_err() else { panic!("not refused") };
        assert!(why.contains(part), "{why}");
    }
    assert_eq!(targets(&client.report().unwrap()), ["5ms", "9ms"], "what was refused changed nothing");
    // 1 MB takes 0.4 s at 20 Mbit/s, but 2 s at 4 Mbit/s.
    client.change(Change { rate_bps: Some(4_000_000), ..Change::default() }).unwrap();
    let took = place.transfer(1_000_000).as_secs_f64();
    assert!((1.9..60.0).contains(&took), "{took}");
    drop(server);
    assert!(matches!(client.report().unwrap_err(), CtlError::NotRunning(_)));
    assert!(running(directory.path()).unwrap().is_empty());
}

#[test]
fn another_discipline_takes_over_while_it_runs() {
    let Some(place) = Place::new() else { return };
    let bridge = place.bridge("fifo", "{}", BitRate::from_mbps(20)).unwrap();
    let control = bridge.control();
    let to = |aqm: &str, parameters: serde_json::Value| {
        control.change(&Change { aqm: Some(aqm.into()), ..change(None, &parameters) })
    };
    let names = || control.report().directions.iter().map(|d| d.discipline.clone()).collect::<Vec<_>>();
    assert!(to("coddel", json!({})).unwrap_err().contains("did you mean codel?"));
    assert!(to("codel", json!({ "min": 5 })).unwrap_err().contains("min is not a parameter of codel"));
    assert_eq!(names(), ["fifo", "fifo"]);
    let mut others = ["fq_codel", "codel", "red"].into_iter();
    let sent = std::thread::scope(|scope| {
        let transfer = scope.spawn(|| place.transfer(3_000_000));
        while !transfer.is_finished() {
            if let Some(name) = others.next() {
                to(name, json!({})).unwrap();
            }
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
        transfer.join().unwrap()
    });
    assert!(others.next().is_none() && sent.as_secs_f64() > 1.2, "{sent:?}");
    assert_eq!(names(), ["red", "red"]);
    // The tc spelling names the current discipline, so its other parameters are kept.
    to("codel", json!({ "target": "9ms" })).unwrap();
    to("codel", json!({ "interval": "50ms" })).unwrap();
    let forth = &control.report().directions[0];
    assert_eq!((&forth.parameters["target"], &forth.parameters["interval"]), (&json!("9ms"), &json!("50ms")));
    Place::settled(&bridge);
    let total = &control.report().directions[0].total;
    assert_eq!(total.offered_packets, total.sent_packets + total.drops.values().sum::<u64>());
}

#[test]
fn a_socket_of_a_dead_process_is_taken_over_and_one_in_use_is_not() {
    let Some(place) = Place::new() else { return };
    let bridge = place.bridge("fifo", "{}", BitRate::from_mbps(20)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    drop(std::os::unix::net::UnixListener::bind(directory.path().join("test.sock")).unwrap());
    let _server = serve(directory.path(), bridge.control()).unwrap();
    assert_eq!(serve(directory.path(), bridge.control()).unwrap_err().kind(), std::io::ErrorKind::AddrInUse);
    let mut wrong = std::os::unix::net::UnixStream::connect(directory.path().join("test.sock")).unwrap();
    wrong.write_all(b"GET / HTTP/1.0\n").unwrap();
    let mut answer = String::new();
    wrong.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("invalid request"), "{answer}");
}

#[test]
fn the_page_of_metrics_counts_what_passed() {
    let Some(place) = Place::new() else { return };
    let bridge = place.bridge("fifo", r#"{ "limit": 10 }"#, BitRate::from_mbps(20)).unwrap();
    let control = bridge.control();
    let server = metrics::serve("127.0.0.1:0".parse().unwrap(), move || control.report()).unwrap();
    place.transfer(500_000);
    Place::settled(&bridge);
    let get = |path: &str| {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    };
    let page = get("/metrics");
    let value = |name: &str| -> u64 {
        let line = page.lines().find(|l| l.starts_with(name)).unwrap_or_else(|| panic!("{name} in {page}"));
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    let labels = r#"{name="test",direction="forth",class="tcp""#;
    let [offered, sent, dropped] = ["offered_packets_total", "sent_packets_total", "dropped_packets_total"]
        .map(|n| value(&format!("aqmkit_{n}{labels}")));
    assert!(sent > 300 && dropped > 0, "{sent} {dropped}");
    assert_eq!(offered, sent + dropped);
    assert_eq!(value(&format!("aqmkit_queue_delay_seconds_count{labels}")), sent);
    assert!(page.contains("openmetrics-text") && page.trim_end().ends_with("# EOF"));
    assert!(get("/other").starts_with("HTTP/1.0 404") || get("/other").contains(" 404 "));
}
