//! Notes below a table: about imprecise means, and about other influences than the queue, such as a receive window or
//! send buffer that limited TCP senders, or flows that were in slow start when the measurement began.
//!
//! Notes on limits name the key to change. A limit that applies less than a tenth of the time has no note.

use std::collections::BTreeMap;

use aqmkit_measure::output::{AppStats, Limits};
use aqmkit_results::place::{AXIS, SIMULATED};
use aqmkit_results::{Entry, Results, Stat};

use crate::circuits;
use crate::format::significant;

/// Smallest share of the time, or of the flows, for which a limit is noted.
const WORTH_A_NOTE: f64 = 0.1;

/// General notes, then notes on each traffic.
#[must_use]
pub fn notes(results: &Results) -> Vec<String> {
    let mut found: Vec<String> = circuits::sentence(results).into_iter().chain(results.notes.clone()).collect();
    for (real, [receive, send]) in [(false, KEYS), (true, SYSCTLS)] {
        for (name, runs) in by_traffic(results, |entry| is_real(entry) == real) {
            found.extend(window_limited(name, &runs, "receive window", |l| l.receive_window, receive));
            found.extend(window_limited(name, &runs, "send buffer", |l| l.send_buffer, send));
        }
    }
    for (name, runs) in by_traffic(results, |_| true) {
        found.extend(late(name, &runs));
        found.extend(in_slow_start(name, &runs));
    }
    found
}

/// How to change the receive window and the send buffer of simulated hosts, and of live ones, whose network namespaces
/// use the machine's sysctls.
const KEYS: [&str; 2] = [
    "transport.receive_window, or transport.tcp_rmem where it is autotuned, changes it",
    "transport.tcp_wmem changes it",
];
const SYSCTLS: [&str; 2] =
    ["the machine's sysctl net.ipv4.tcp_rmem changes it", "the machine's sysctl net.ipv4.tcp_wmem changes it"];

/// The runs of a traffic in all windows and repeats: name of the combination, and statistics of each run.
type Runs<'a> = BTreeMap<String, Vec<&'a AppStats>>;

/// Whether a run used real packets.
fn is_real(entry: &Entry) -> bool {
    entry.labels.get(AXIS).is_some_and(|label| label != SIMULATED)
}

/// Runs accepted by `takes`, by traffic and combination.
fn by_traffic(results: &Results, takes: impl Fn(&Entry) -> bool) -> BTreeMap<&str, Runs<'_>> {
    let mut all: BTreeMap<&str, Runs<'_>> = BTreeMap::new();
    for entry in results.runs.iter().filter(|entry| takes(entry)) {
        for (name, app) in &entry.apps {
            all.entry(name).or_default().entry(place(results, entry)).or_default().push(app);
        }
    }
    all
}

/// A combination's labels: `fifo`, `fifo, 10mbit`.
fn place(results: &Results, entry: &Entry) -> String {
    let labels = results.axes.iter().filter_map(|axis| entry.labels.get(&axis.name));
    labels.map(String::as_str).collect::<Vec<_>>().join(", ")
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    Stat::of(&values.collect::<Vec<_>>()).map(|stat| stat.mean)
}

/// Names of combinations: the first, and the number of others.
fn listed(places: &[&str]) -> String {
    match places {
        _ if places.iter().all(|place| place.is_empty()) => String::new(),
        [one] => format!("{one}: "),
        [one, other] => format!("{one} and {other}: "),
        [one, rest @ ..] => format!("{one} and {} more: ", rest.len()),
        [] => String::new(),
    }
}

/// A combination in which a window limited the senders.
struct WindowLimited<'a> {
    place: &'a str,
    /// Share of the time.
    share: f64,
    bytes: Option<f64>,
    bps: Option<f64>,
}

impl<'a> WindowLimited<'a> {
    fn of(place: &'a str, apps: &[&AppStats], share: fn(&Limits) -> f64) -> Option<Self> {
        let limits: Vec<Limits> = apps.iter().filter_map(|app| app.limits).collect();
        Some(WindowLimited {
            place,
            share: mean(limits.iter().map(share)).filter(|mean| *mean >= WORTH_A_NOTE)?,
            bytes: mean(limits.iter().filter_map(|l| l.window_bytes)),
            bps: mean(limits.iter().filter_map(|l| l.window_bps)),
        })
    }
}

/// The note about a window that limited the senders, with the numbers of the combination in which it did so the
/// longest.
fn window_limited(name: &str, runs: &Runs<'_>, what: &str, share: fn(&Limits) -> f64, key: &str) -> Option<String> {
    let mut held: Vec<WindowLimited<'_>> =
        runs.iter().filter_map(|(place, apps)| WindowLimited::of(place, apps, share)).collect();
    held.sort_by(|a, b| b.share.total_cmp(&a.share));
    let longest = held.first()?;
    let window = longest.bytes.map_or_else(String::new, |size| format!(" ({})", bytes(size)));
    let rate = longest.bps.map_or_else(String::new, |bps| {
        format!(" at {} Mbit/s per flow (window / round trip)", significant(bps / 1e6, 3))
    });
    let places = listed(&held.iter().map(|h| h.place).collect::<Vec<_>>());
    let percent = significant(100.0 * longest.share, 3);
    Some(format!("{places}the {what}{window} held {name}{rate} for {percent} % of the time; {key}"))
}

/// The largest mean number of flows over all combinations, with the total number of flows.
fn worst(runs: &Runs<'_>, count: fn(&Limits) -> u64) -> Option<(f64, u64)> {
    let of_combination = |apps: &Vec<&AppStats>| {
        let counted = mean(apps.iter().filter_map(|app| app.limits).map(|limits| count(&limits) as f64))?;
        let flows = apps.first().map_or(0, |app| app.population);
        let many = counted > 0.0 && counted >= WORTH_A_NOTE * flows as f64;
        many.then_some((counted, flows))
    };
    runs.values().filter_map(of_combination).max_by(|a, b| a.0.total_cmp(&b.0))
}

fn late(name: &str, runs: &Runs<'_>) -> Option<String> {
    let (count, flows) = worst(runs, |limits| limits.late)?;
    let count = significant(count, 3);
    Some(format!(
        "{count} of {flows} flows of {name} started after the measurement had begun; a longer warmup or a shorter traffic.{name}.stagger changes it"
    ))
}

fn in_slow_start(name: &str, runs: &Runs<'_>) -> Option<String> {
    // Flows that are limited by something else never leave slow start: do not count them.
    let free = |limits: &Limits| if limits.congestion_window > 0.5 { limits.slow_start } else { 0 };
    let (count, flows) = worst(runs, free)?;
    let count = significant(count, 3);
    Some(format!(
        "{count} of {flows} flows of {name} were in their first slow start when the measurement began; a longer warmup changes it"
    ))
}

fn bytes(value: f64) -> String {
    const KIB: f64 = 1024.0;
    match value {
        v if v >= KIB * KIB => format!("{} MiB", significant(v / KIB / KIB, 3)),
        v if v >= KIB => format!("{} KiB", significant(v / KIB, 3)),
        v => format!("{} bytes", significant(v, 3)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmkit_results::Axis;

    fn entry(aqm: &str, limits: Limits) -> Entry {
        let app = AppStats { limits: Some(limits), population: 4, ..AppStats::default() };
        let labels = [("aqm", aqm), ("repeat", "1"), ("window", "all")];
        Entry {
            labels: labels.map(|(k, v)| (k.to_owned(), v.to_owned())).into(),
            apps: [("bulk".to_owned(), app)].into(),
            ..Entry::default()
        }
    }

    fn notes_of(runs: Vec<Entry>) -> Vec<String> {
        let axes = vec![Axis { name: "aqm".to_owned(), ..Axis::default() }];
        notes(&Results { runs, axes, ..Results::default() })
    }

    const HELD: Limits = Limits {
        application: 0.0,
        congestion_window: 0.07,
        receive_window: 0.93,
        send_buffer: 0.0,
        window_bytes: Some(1_048_576.0),
        window_bps: Some(167_400_000.0),
        late: 0,
        slow_start: 1,
    };
    const FREE: Limits = Limits {
        congestion_window: 1.0,
        receive_window: 0.0,
        window_bytes: None,
        window_bps: None,
        slow_start: 0,
        ..HELD
    };

    #[test]
    fn a_window_that_holds_the_senders_is_named_with_its_key() {
        assert_eq!(
            notes_of(vec![entry("fifo", HELD), entry("codel", FREE)]),
            [format!(
                "fifo: the receive window (1 MiB) held bulk at 167 Mbit/s per flow (window / round trip) for 93 % of the time; {}",
                KEYS[0]
            )]
        );
        let send = Limits { receive_window: 0.0, send_buffer: 0.5, ..HELD };
        let both = notes_of(vec![entry("fifo", send), entry("codel", send), entry("red", send)]);
        assert!(
            both.len() == 1 && both[0].contains("and 2 more: the send buffer (1 MiB)") && both[0].ends_with(KEYS[1]),
            "{both:?}"
        );
    }

    /// For live hosts the note names sysctls, because experiment keys do not set the kernel's windows.
    #[test]
    fn a_window_of_live_hosts_is_named_with_its_sysctl() {
        let on = |label: &str| {
            let mut run = entry("fifo", HELD);
            run.labels.insert(AXIS.to_owned(), label.to_owned());
            run
        };
        let axes = ["aqm", AXIS].map(|name| Axis { name: name.to_owned(), ..Axis::default() });
        let results = Results { runs: vec![on(SIMULATED), on("live")], axes: axes.into(), ..Results::default() };
        let said = notes(&results);
        assert!(said.len() == 2 && said[0].starts_with("fifo, simulated: ") && said[0].ends_with(KEYS[0]), "{said:?}");
        assert!(said[1].starts_with("fifo, live: ") && said[1].ends_with("net.ipv4.tcp_rmem changes it"), "{said:?}");
        // The warm-up is a key of simulated and live experiments alike.
        let late = |label: &str| {
            let limits = Some(Limits { late: 3, ..FREE });
            let app = AppStats { limits, population: 4, ..AppStats::default() };
            Entry { apps: [("bulk".to_owned(), app)].into(), ..on(label) }
        };
        assert_eq!(notes(&Results { runs: vec![late(SIMULATED), late("live")], ..results }).len(), 1);
    }

    /// Below a tenth of the time, averaged over the repeats, there is no note.
    #[test]
    fn what_hardly_limits_is_left_out() {
        assert_eq!(notes_of(vec![entry("fifo", FREE)]), [""; 0]);
        let twelfth = [Limits { receive_window: 0.12, ..HELD }, FREE].map(|limits| entry("fifo", limits));
        assert_eq!(notes_of(twelfth.into()), [""; 0]);
    }

    #[test]
    fn flows_that_were_not_under_way_are_counted() {
        let late = Limits { late: 3, slow_start: 1, ..FREE };
        let notes = notes_of(vec![entry("fifo", late)]);
        assert!(notes[0].starts_with("3 of 4 flows of bulk started after the measurement had begun"), "{notes:?}");
        assert!(notes[1].starts_with("1 of 4 flows of bulk were in their first slow start"), "{notes:?}");
        // One of four flows in one of three runs is a twelfth.
        let seldom = Limits { slow_start: 1, ..FREE };
        let runs = vec![entry("fifo", seldom), entry("fifo", FREE), entry("fifo", FREE)];
        assert_eq!(notes_of(runs), [""; 0]);
    }

    #[test]
    fn sizes_have_readable_units() {
        assert_eq!([3_145_728.0, 65_535.0, 100.0].map(bytes), ["3 MiB", "64 KiB", "100 bytes"]);
    }
}
