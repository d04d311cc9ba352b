//! Connection vectors over a link: servers that speak first, data that nobody answers, ends with clocks of their own.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use aqmkit_base::{BitRate, Duration, Rng};
use aqmkit_sim::output::Responses;
use aqmkit_sim::scenario::Delays;
use aqmkit_sim::{Output, Scenario};
use aqmkit_traffic::registry::Spec;
use aqmkit_transport::Profile;

use crate::common::{dumbbell, finish, group, spec};

const RTT: Duration = Duration::from_millis(100);

/// Plays a file on a link of 10 Mb/s with a round trip of 100 ms.
fn play(file: &str) -> Output {
    let table = serde_json::json!({ "vectors": "x", "hosts": 1 });
    let population = Spec::read("abt", table).unwrap().prepare(&[file.into()]).unwrap();
    let app = population.make(0, &mut Rng::stream(1, "x"));
    let group = group("abt", vec![app], Profile::named("rfc").unwrap(), Delays::Each(vec![RTT]));
    finish(dumbbell(BitRate::from_bps(10_000_000), spec("fifo", r#"{"limit": 1000}"#), vec![group], 0, 30))
}

/// How long the exchanges of a kind took, in milliseconds, and their bytes.
fn exchanges(output: &Output, kind: &str) -> Vec<(f64, u64)> {
    output.exchanges.iter().filter(|e| e.kind == kind).map(|e| (e.duration_ms, e.bytes)).collect()
}

#[test]
fn a_sequential_connection_takes_its_waits_and_its_round_trips() {
    let output = play("SEQ 0 2 1 1\n> 300\nt 40000\n< 1000\nt 2000000\n> 200\nt 10000\n< 700\nt 500000\n");
    let epochs = exchanges(&output, "epoch");
    // A round trip, and less than 2 ms on the link of 10 Mb/s.
    assert!(epochs.iter().all(|e| (100.0..102.0).contains(&e.0)), "{epochs:?}");
    assert_eq!(epochs.iter().map(|e| e.1).collect::<Vec<_>>(), [1000, 700]);
    // Handshake, two epochs with their waits, 2 s and half a second of waiting, and the end.
    let whole = exchanges(&output, "connection");
    let sum = 100.0 + 140.0 + 2000.0 + 110.0 + 500.0;
    assert!(whole.len() == 1 && (sum + 99.0..sum + 210.0).contains(&whole[0].0), "{whole:?}");
}

#[test]
fn a_server_speaks_first_and_data_needs_no_answer() {
    let output = play("S 0 2 1 1\nA 0 0 90\nI 0 1000000 20\nI 500000 0 30000\nI 7 0 0\n");
    let whole = exchanges(&output, "connection");
    assert_eq!(whole.len(), 1, "{:?}", output.windows[0].apps);
    assert_eq!(whole[0].1, 90);
    // Handshake, the greeting, both waits; 30 000 bytes take some round trips.
    assert!((1700.0..2400.0).contains(&whole[0].0), "{whole:?}");
}

#[test]
fn the_ends_of_a_concurrent_connection_do_not_wait_for_each_other() {
    let output = play(
        "CONC 0 2 3 1 1\nc> 100000\nt> 300000\nc> 101\nt> 50000\nc< 1000\nt< 4000000\nc< 1001\nt< 10\nc< 1002\nt< 10\n",
    );
    let whole = exchanges(&output, "connection");
    assert_eq!(whole.iter().map(|w| w.1).collect::<Vec<_>>(), [3003]);
    assert!((4100.0..4500.0).contains(&whole[0].0), "{whole:?}");
    assert_eq!(output.windows[0].apps["abt"].counters["failures"], 0.0);
}

/// Two hundred seconds of the mix, with at most `max_exchanges` exchanges listed.
fn mix(max_exchanges: usize) -> Output {
    let population =
        Spec::read("abt", serde_json::json!({ "hosts": 5, "interval": "50ms" })).unwrap().prepare(&[]).unwrap();
    let apps = (0..5).map(|i| population.make(i, &mut Rng::stream(1, &i.to_string()))).collect();
    let group = group("abt", apps, Profile::named("rfc").unwrap(), Delays::Each(vec![RTT]));
    let link = dumbbell(BitRate::from_bps(100_000_000), spec("fifo", r#"{"limit": 1000}"#), vec![group], 0, 200);
    finish(Scenario { max_exchanges, ..link })
}

#[test]
fn every_connection_of_the_mix_ends() {
    let output = mix(0);
    let counters = &output.windows[0].apps["abt"].counters;
    let (begun, ended) = (counters["connections"], counters["completed"]);
    assert!((begun * 5.0 / 20.0 - 1.0).abs() < 0.05 && ended / begun > 0.9, "{begun} begun, {ended} ended");
    assert_eq!(counters["failures"], 0.0);
}

#[test]
fn exchanges_are_all_counted_where_they_are_too_many_to_list() {
    let (all, none) = (mix(1_000_000), mix(100));
    let total: u64 = all.responses.iter().map(Responses::total).sum();
    assert_eq!((all.exchanges.len() as u64, all.exchanges_dropped), (total, 0));
    // A list of the first hundred would be taken for one of all.
    assert_eq!((none.exchanges.len(), none.exchanges_dropped), (0, total));
    assert_eq!(none.responses, all.responses);
    let quick = all.exchanges.iter().filter(|e| e.kind == "epoch" && e.duration_ms < 500.0).count() as u64;
    let cells = all.responses.iter().find(|r| r.kind == "epoch").unwrap().cells();
    let below: u64 = cells.filter(|(time, ..)| Responses::from_ms(time + 1) <= 500.0).map(|(.., n)| n).sum();
    // The cell that 500 ms lies in is 4.7 % wide.
    assert!(below <= quick && quick - below < quick / 10, "{below} of {quick}");
}
