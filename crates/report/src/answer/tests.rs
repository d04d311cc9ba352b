//! Tests of the sentences, on hand-made tables.

use std::collections::BTreeMap;

use aqmkit_results::{Axis, Stat};

use super::*;
use crate::grid::Group;

/// A row with seeds 1, 2, …; each metric has one value per seed.
fn row(label: &str, metrics: &[(&str, &[f64])]) -> Row {
    let mut row = Row { label: label.to_owned(), ..Row::default() };
    for (path, values) in metrics {
        row.metrics.insert((*path).to_owned(), Stat::of(values).unwrap());
        let by_seed: BTreeMap<String, f64> =
            (1..).map(|seed: u32| seed.to_string()).zip(values.iter().copied()).collect();
        row.samples.insert((*path).to_owned(), by_seed);
    }
    row
}

/// A row with one link and one class: delays in milliseconds (one per seed) and goodput in Mbit/s.
fn bulk(label: &str, delays: &[f64], goodput: f64) -> Row {
    let (p99, goodputs): (Vec<f64>, Vec<f64>) = delays.iter().map(|delay| (2.0 * delay, goodput * 1e6)).unzip();
    row(
        label,
        &[
            ("links.bottleneck.queue_delay_ms.mean", delays),
            ("links.bottleneck.queue_delay_ms.p99", &p99),
            ("classes.tcp.goodput_bps", &goodputs),
        ],
    )
}

/// A row with two directions and a call: queue delays and opinion scores of both directions, and goodput.
fn home(label: &str, [down, up]: [f64; 2], [mos, mos_up]: [f64; 2], goodput: f64) -> Row {
    let vary = |value: f64, by: f64| [value - by, value, value + by];
    row(
        label,
        &[
            ("links.down.queue_delay_ms.mean", &vary(down, 0.01)),
            ("links.up.queue_delay_ms.mean", &vary(up, 0.01)),
            ("apps.voip.mos", &vary(mos, 0.01)),
            ("apps.voip-up.mos", &vary(mos_up, 0.01)),
            ("classes.tcp.goodput_bps", &vary(goodput * 1e6, 1e3)),
        ],
    )
}

fn answer_to(rows: Vec<Row>) -> Option<String> {
    let table = Table { window: String::new(), rows };
    let group = Group { labels: Vec::new(), tables: vec![table.clone()] };
    let focus = Axis { name: "aqm".to_owned(), labels: Vec::new() };
    answer(&Grid { focus, groups: vec![group], ..Grid::default() }, &table)
}

#[test]
fn of_bulk_traffic_the_shortest_queue_at_nearly_all_goodput_is_named_first() {
    let rows = vec![
        bulk("fifo", &[199.0, 200.0, 201.0], 48.0),
        bulk("codel", &[3.9, 4.0, 4.1], 47.8),
        bulk("red", &[0.5, 0.6, 0.7], 40.0),
    ];
    assert_eq!(
        answer_to(rows).unwrap(),
        "Of those with at least 97 % of the highest goodput, codel has the shortest queue: 4 ms on average and 8 ms at the 99th \
         percentile, at 47.8 Mbit/s. fifo has the longest: 200 ms at 48 Mbit/s. red has an even shorter one, 0.6 ms, but only \
         40 Mbit/s."
    );
}

/// 4 ± 5 and 5 ± 5 ms: pairs that differ by 0.4, 1 and 1.6 ms give 1 ± 1.5, which is not significant; 0.9, 1 and 1.1 ms
/// are.
#[test]
fn a_difference_is_claimed_only_where_pairs_of_runs_show_it() {
    let pie = |delays: &[f64]| vec![bulk("red", &[2.0, 4.0, 6.0], 48.0), bulk("pie", delays, 48.0)];
    let text = answer_to(pie(&[2.4, 5.0, 7.6])).unwrap();
    assert!(
        text.starts_with("There is no difference that these runs can show in the length of the queue: 4 ms"),
        "{text}"
    );
    let clear = answer_to(pie(&[2.9, 5.0, 7.1])).unwrap();
    assert!(clear.contains("highest goodput, red has the shortest queue: 4 ms"), "{clear}");
    // A difference of 0.04 ms is significant but not relevant.
    let slight = answer_to(pie(&[2.04, 4.04, 6.04])).unwrap();
    assert!(slight.starts_with("There is no difference"), "{slight}");
}

#[test]
fn one_run_of_each_is_told_as_such() {
    let text = answer_to(vec![bulk("fifo", &[9.0], 48.0), bulk("red", &[4.0], 48.0)]).unwrap();
    assert!(
        text.starts_with("One run of each does not tell a difference from chance") && text.contains("red has"),
        "{text}"
    );
}

/// fifo has the shortest download queue, but its calls suffer from its upload queue.
#[test]
fn calls_are_judged_in_both_directions() {
    let rows = vec![
        home("fifo", [0.3, 6786.0], [4.3, 1.2], 15.0),
        home("fq-codel", [5.0, 8.0], [4.2, 4.1], 14.9),
        home("cake", [4.0, 9.0], [4.21, 4.09], 14.8),
    ];
    assert_eq!(
        answer_to(rows).unwrap(),
        "fq-codel and cake are best for telephone calls: MOS 4.1. fifo is worst: MOS 1.2. Their longest queues on average: \
         fq-codel 8 ms (up), cake 9 ms (up), fifo 6786 ms (up)."
    );
}

#[test]
fn what_quality_costs_is_said() {
    let rows = vec![home("fifo", [58.9, 1.0], [3.0, 3.0], 96.0), home("fq-codel", [1.2, 1.0], [4.2, 4.2], 86.1)];
    let text = answer_to(rows).unwrap();
    assert!(text.contains("fq-codel is best for telephone calls: MOS 4.2."), "{text}");
    assert!(text.ends_with("fq-codel carries 86.1 Mbit/s of all traffic, fifo 96 Mbit/s."), "{text}");
}

#[test]
fn qualities_with_different_winners_are_named_one_by_one() {
    let with_pages = |label, mos: f64, page: f64| {
        let mut own = home(label, [5.0, 5.0], [mos, mos], 15.0);
        let page = row(label, &[("apps.web.response_time_ms.page.p50", &[page, page + 1.0, page + 2.0])]);
        own.metrics.extend(page.metrics);
        own.samples.extend(page.samples);
        own
    };
    let text = answer_to(vec![with_pages("red", 4.2, 900.0), with_pages("pie", 3.9, 400.0)]).unwrap();
    assert!(
        text.starts_with("Best are telephone calls with red (MOS 4.2); web pages with pie (median 401 ms)."),
        "{text}"
    );
}

#[test]
fn nothing_is_said_of_one_discipline_or_of_no_goodput() {
    assert_eq!(answer_to(vec![bulk("fifo", &[9.0, 9.0], 1.0)]), None);
    assert_eq!(answer_to(vec![bulk("fifo", &[9.0], 0.0), bulk("red", &[1.0], 0.0)]), None);
}
