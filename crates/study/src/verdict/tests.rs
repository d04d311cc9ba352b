#![allow(clippy::shadow_unrelated, reason = "one name for the result of each step")]

use std::collections::BTreeMap;

use aqmkit_experiment::{Bound, Exchanges, OrderChain, Statistic};
use aqmkit_measure::output::{ClassStats, Output, Series, Window};
use aqmkit_results::RunData;

use super::*;

const ROWS: &str = "id,source,where,what,unit,low,high,kind\n\
    TH,CBT,Table 4.3,threshold,packets,39.07,39.07,equation\n\
    EQ,CBT,eq 4.1,equation,packets,,,equation\n\
    GOODPUT,CBT,Table 5,goodput,KB/s,100,100,value\n\
    ORDER,CBT,V,goodput,KB/s,,,order\n\
    TIME,CBT,V,until then,s,2,2,value\n\
    LOST,CBT,V,nothing overflows,,,,order\n\
    SHARE,CBT,V,goodput over goodput,ratio,,,order\n\
    HAND,CBT,eq 4.1,\"threshold, worked by hand for 575 KB/s\",packets,39.07,39.07,equation\n";

type Labels = BTreeMap<String, String>;

fn labels(aqm: &str, mix: &str, repeat: u32) -> Labels {
    [("aqm", aqm.to_owned()), ("mix", mix.to_owned()), ("repeat", repeat.to_string()), ("seed", repeat.to_string())]
        .into_iter()
        .map(|(k, v)| (k.to_owned(), v))
        .collect()
}

/// A run in which class tcp has this goodput in window `blast` and a tenth of it in `calm`.
fn output(kbps: f64) -> Output {
    let window = |name: &str, kbps: f64| {
        let stats = ClassStats { goodput_bps: kbps * 8192.0, ..ClassStats::default() };
        let classes = [("tcp".to_owned(), stats)].into();
        Window { name: name.to_owned(), from_s: 0.0, to_s: 3.0, classes, ..Window::default() }
    };
    let column = vec![kbps * 8192.0 * 0.5, kbps * 8192.0, kbps * 8192.0 * 1.5];
    let series = Series { interval_s: 1.0, columns: [("classes.tcp.goodput_bps".to_owned(), column)].into() };
    Output { windows: vec![window("blast", kbps), window("calm", kbps / 10.0)], series, ..Output::default() }
}

fn expect(id: &str) -> Expect {
    Expect {
        id: id.to_owned(),
        window: Some("blast".to_owned()),
        class: Some("tcp".to_owned()),
        metric: Some("goodput_bps".to_owned()),
        along: "aqm".to_owned(),
        selector: BTreeMap::new(),
        app: None,
        link: None,
        seconds: None,
        exchanges: None,
        responses: None,
        against: BTreeMap::new(),
        order: None,
        every: None,
        formula: None,
        args: toml::Table::new(),
        note: String::new(),
        basis: Basis::Measured,
        average: None,
        ours: None,
    }
}

fn one(expect: Expect, runs: &[(Labels, Output)], planned: &[Labels]) -> Expectation {
    let published = Published::parse(ROWS).unwrap();
    let runs: Vec<_> = runs.iter().map(|(labels, output)| RunData { labels, output }).collect();
    let evidence = Evidence::new(planned, &runs).unwrap();
    judge(&[expect], &published, &evidence).remove(0)
}

/// Judges with every run done.
fn done(expect: Expect, runs: &[(Labels, Output)]) -> Expectation {
    let planned: Vec<_> = runs.iter().map(|r| r.0.clone()).collect();
    one(expect, runs, &planned)
}

fn at(aqm: &str) -> BTreeMap<String, Vec<String>> {
    [("aqm".to_owned(), vec![aqm.to_owned()])].into()
}

#[test]
fn a_number_is_the_mean_over_the_repeats() {
    let runs = [
        (labels("red", "HTTP", 1), output(110.0)),
        (labels("red", "HTTP", 2), output(120.0)),
        (labels("fifo", "HTTP", 1), output(1.0)),
    ];
    let e = done(Expect { selector: at("red"), ..expect("GOODPUT") }, &runs);
    assert_eq!((e.measured, e.pass, e.low, e.high), (Some(115.0), Some(true), Some(80.0), Some(120.0)));
    assert!((e.spread.unwrap() - 50.0_f64.sqrt()).abs() < 1e-9);
    assert_eq!((e.published.as_str(), e.kind.as_str()), ("100 KB/s", "value"));
    let e = done(Expect { selector: at("fifo"), note: "because".to_owned(), ..expect("GOODPUT") }, &runs);
    assert_eq!((e.measured, e.pass, e.spread, e.detail.as_str()), (Some(1.0), Some(false), None, "because"));
}

#[test]
fn a_published_number_is_a_point_in_the_unit_of_its_metric() {
    let runs = [(labels("red", "HTTP", 1), output(50.0))];
    let point = done(Expect { selector: at("red"), ..expect("GOODPUT") }, &runs).point.unwrap();
    assert_eq!((point.metric.as_str(), point.window.as_deref()), ("classes.tcp.goodput_bps", Some("blast")));
    assert_eq!((point.selector, point.low, point.high), (at("red"), 819_200.0, 819_200.0), "100 KB of 1024 bytes");
    let sum = Expect { metric: Some("goodput_bps + goodput_bps".to_owned()), ..expect("GOODPUT") };
    let against = Expect { against: [("aqm".to_owned(), "fifo".to_owned())].into(), ..expect("GOODPUT") };
    let statistic = Expect { seconds: Statistic::parse("p90").ok(), ..expect("GOODPUT") };
    for claim in [sum, against, statistic, expect("ORDER")] {
        assert_eq!(done(claim, &runs).point, None, "it is no value of one metric in a window");
    }
}

#[test]
fn a_metric_may_be_a_sum_or_a_ratio() {
    let runs = [(labels("red", "HTTP", 1), output(50.0))];
    let with = |metric: &str| Expect { class: None, metric: Some(metric.to_owned()), ..expect("GOODPUT") };
    let goodput = "classes.tcp.goodput_bps";
    assert_eq!(done(with(&format!("{goodput} + {goodput}")), &runs).measured, Some(100.0));
    let ratio = Expect { every: Bound::parse(">= 1.9").ok(), ..with(&format!("{goodput} + {goodput} / {goodput}")) };
    assert_eq!(done(Expect { id: "SHARE".to_owned(), ..ratio }, &runs).pass, Some(true));
    let below = Expect { class: Some("tcp".to_owned()), ..with("goodput_bps + goodput_bps") };
    assert_eq!(done(below, &runs).measured, Some(100.0), "each term is of the class");
    let published = Published::parse(ROWS).unwrap();
    let error = check(&[with(&format!("{goodput} + classes.tcp.latency_ms.mean"))], &published).unwrap_err();
    assert!(error.contains("incompatible unit"), "{error}");
}

#[test]
fn a_metric_may_be_compared_with_that_of_another_run() {
    let mut runs = sweep(&[("fred", "A", 260.0), ("fifo", "A", 65.0), ("fred", "B", 130.0), ("fifo", "B", 65.0)]);
    let against: BTreeMap<_, _> = [("aqm".to_owned(), "fifo".to_owned())].into();
    let claim = || Expect {
        against: against.clone(),
        selector: at("fred"),
        every: Bound::parse("> 3").ok(),
        ..expect("SHARE")
    };
    let both = done(claim(), &runs);
    assert_eq!(both.pass, Some(false), "{}", both.detail);
    assert!(both.detail.contains("B: 2.000 is not > 3"), "{}", both.detail);
    runs.truncate(2);
    assert_eq!((done(claim(), &runs).measured, done(claim(), &runs).pass), (Some(4.0), Some(true)));
    assert!(done(claim(), &runs[..1]).detail.contains("is missing"));
}

#[test]
fn every_cell_is_judged_unless_the_paper_averages() {
    let runs = sweep(&[("cbt", "A", 90.0), ("red", "A", 130.0), ("fifo", "A", 85.0)]);
    let e = done(expect("GOODPUT"), &runs);
    assert_eq!((e.pass, e.cells), (Some(false), Some(Cells { held: 2, of: 3 })), "80 to 120 is not met by 130");
    assert_eq!(e.detail, "outside: red: 130.0");
    assert!((e.measured.unwrap() - 305.0 / 3.0).abs() < 1e-9);
    let e = done(Expect { average: Some("the text has the mean".to_owned()), ..expect("GOODPUT") }, &runs);
    assert_eq!((e.pass, e.cells), (Some(true), None), "errors of both signs cancel in a mean");
}

#[test]
fn repeats_are_no_cells() {
    let runs = [(labels("red", "A", 1), output(70.0)), (labels("red", "A", 2), output(130.0))];
    let e = done(expect("GOODPUT"), &runs);
    assert_eq!((e.measured, e.pass, e.cells), (Some(100.0), Some(true), None));
}

#[test]
fn an_order_says_in_how_many_cells_it_holds() {
    let runs = sweep(&[("cbt", "A", 90.0), ("red", "A", 40.0), ("cbt", "B", 20.0), ("red", "B", 30.0)]);
    let e = done(Expect { order: OrderChain::parse("cbt > red").ok(), ..expect("ORDER") }, &runs);
    assert_eq!((e.pass, e.cells), (Some(false), Some(Cells { held: 1, of: 2 })));
}

#[test]
fn a_bound_does_not_close_an_order_that_is_open() {
    let runs = sweep(&[("cbt", "A", 90.0)]);
    let open =
        Expect { order: OrderChain::parse("cbt > red").ok(), every: Bound::parse(">= 10").ok(), ..expect("ORDER") };
    assert_eq!(done(open, &runs).pass, None);
}

#[test]
fn a_row_says_what_it_rests_on() {
    let runs = [(labels("red", "A", 1), output(100.0))];
    assert_eq!(done(expect("GOODPUT"), &runs).basis, Basis::Measured);
    let args: toml::Table = "bandwidth = '575kibps'\npacket = '1507b'\nlatency = '100ms'".parse().unwrap();
    let computed = |id: &str| Expect {
        formula: Some("cbt-threshold".to_owned()),
        args: args.clone(),
        basis: Basis::Calculation,
        ..expect(id)
    };
    assert_eq!(one(computed("TH"), &[], &[]).basis, Basis::Calculation);
    assert_eq!(one(computed("HAND"), &[], &[]).basis, Basis::WorkedByHand);
}

#[test]
fn an_ordering_may_run_along_windows() {
    let runs = [(labels("red", "HTTP", 1), output(50.0))];
    let order = |text: &str| Expect {
        window: None,
        along: "window".to_owned(),
        order: OrderChain::parse(text).ok(),
        ..expect("ORDER")
    };
    assert_eq!(done(order("blast > calm"), &runs).pass, Some(true));
    assert_eq!(done(order("calm > blast"), &runs).pass, Some(false));
}

#[test]
fn a_time_that_never_comes_is_a_miss() {
    let runs = [(labels("red", "HTTP", 1), output(100.0))];
    let until = |text: &str| Expect { seconds: Statistic::parse(text).ok(), ..expect("TIME") };
    assert_eq!(done(until("until>=819200"), &runs).measured, Some(2.0));
    let e = done(until("until>=9e9"), &runs);
    assert_eq!(e.pass, Some(false));
}

#[test]
fn a_claim_without_its_runs_is_open() {
    let planned = [labels("red", "HTTP", 1), labels("red", "HTTP", 2)];
    let runs = [(planned[0].clone(), output(100.0))];
    let e = one(Expect { selector: at("red"), ..expect("GOODPUT") }, &runs, &planned);
    assert_eq!((e.measured, e.pass), (Some(100.0), None));
    assert!(e.detail.contains("not all of its runs"), "{}", e.detail);
    let e = one(Expect { selector: at("red"), ..expect("GOODPUT") }, &[], &planned);
    assert_eq!((e.measured, e.pass), (None, None));
    let e = done(Expect { metric: Some("goodness".to_owned()), ..expect("GOODPUT") }, &runs);
    assert_eq!(e.pass, None);
    assert!(e.detail.contains("there is no classes.tcp.goodness in aqm=red"), "{}", e.detail);
}

#[test]
fn a_reason_for_which_nothing_was_dropped_counts_none() {
    let runs = [(labels("red", "HTTP", 1), output(100.0))];
    let lost = |reason: &str| {
        let metric = Some(format!("drops.{reason}"));
        done(Expect { metric, every: Bound::parse("<= 0").ok(), ..expect("LOST") }, &runs)
    };
    assert_eq!((lost("overflow").measured, lost("overflow").pass), (Some(0.0), Some(true)));
    assert!(lost("overflowing").detail.contains("there is no classes.tcp.drops.overflowing"));
}

#[test]
fn seconds_take_a_statistic_of_the_series() {
    let runs = [(labels("red", "HTTP", 1), output(100.0))];
    let with = |s: &str| done(Expect { seconds: Statistic::parse(s).ok(), ..expect("GOODPUT") }, &runs).measured;
    assert_eq!(with("min"), Some(50.0));
    assert_eq!(with("max"), Some(150.0));
    let share =
        Expect { seconds: Statistic::parse("share>=1000").ok(), every: Bound::parse(">= 0.6").ok(), ..expect("EQ") };
    let share = Expect { id: "ORDER".to_owned(), ..share };
    assert!(done(share, &runs).detail.contains("cannot be given in KB/s"));
}

fn sweep(values: &[(&str, &str, f64)]) -> Vec<(Labels, Output)> {
    values.iter().map(|(aqm, mix, v)| (labels(aqm, mix, 1), output(*v))).collect()
}

#[test]
fn an_ordering_must_hold_everywhere() {
    let runs = sweep(&[("cbt", "A", 90.0), ("red", "A", 40.0), ("cbt", "B", 80.0), ("red", "B", 30.0)]);
    let order = |text: &str| done(Expect { order: OrderChain::parse(text).ok(), ..expect("ORDER") }, &runs);
    let e = order("cbt >> red");
    assert_eq!((e.pass, e.measured, e.published.as_str()), (Some(true), None, "cbt >> red"));
    assert_eq!(e.detail, "A: cbt 90.0 >> red 40.0; B: cbt 80.0 >> red 30.0");
    assert_eq!(order("red > cbt").pass, Some(false));
    assert_eq!(order("cbt ~ red").detail, "A: cbt 90.0 not ~ red 40.0; B: cbt 80.0 not ~ red 30.0");
    assert_eq!(order("cbt > fred").pass, None);
    let mixed = sweep(&[("cbt", "A", 90.0), ("red", "A", 40.0), ("cbt", "B", 20.0), ("red", "B", 30.0)]);
    let e = done(Expect { order: OrderChain::parse("cbt > red").ok(), ..expect("ORDER") }, &mixed);
    assert_eq!((e.pass, e.detail.as_str()), (Some(false), "B: cbt 20.0 not > red 30.0"));
}

#[test]
fn every_bounds_each_combination() {
    let runs = sweep(&[("cbt", "A", 90.0), ("red", "A", 40.0)]);
    let every = |text: &str| done(Expect { every: Bound::parse(text).ok(), ..expect("ORDER") }, &runs);
    assert_eq!(every(">= 25").pass, Some(true));
    let e = every(">= 50");
    assert_eq!((e.pass, e.detail.as_str()), (Some(false), "red: 40.0 is not >= 50"));
    assert_eq!(e.published, "each >= 50 KB/s");
}

#[test]
fn a_formula_needs_no_run() {
    let args: toml::Table = "bandwidth = '575kibps'\npacket = '1507b'\nlatency = '100ms'".parse().unwrap();
    let with = |id: &str, every: Option<&str>| Expect {
        formula: Some("cbt-threshold".to_owned()),
        args: args.clone(),
        every: every.map(|t| Bound::parse(t).unwrap()),
        ..expect(id)
    };
    assert_eq!(one(with("TH", None), &[], &[]).pass, Some(true));
    assert_eq!(one(with("EQ", Some("> 39")), &[], &[]).pass, Some(true));
    assert_eq!(one(with("EQ", Some("> 40")), &[], &[]).pass, Some(false));
    let other: toml::Table = "bandwidth = '575kbps'\npacket = '1507b'\nlatency = '100ms'".parse().unwrap();
    assert_eq!(one(Expect { args: other, ..with("TH", None) }, &[], &[]).pass, Some(false));
}

#[test]
fn runs_without_such_an_exchange_were_done_all_the_same() {
    let claim = || Expect {
        metric: Some("time_ms.mean".to_owned()),
        class: None,
        app: Some("bulk".to_owned()),
        exchanges: Some(Exchanges { size: (0.0, f64::INFINITY), time_ms: (0.0, 1e3) }),
        ..expect("TIME")
    };
    let runs = [(labels("red", "HTTP", 1), output(50.0))];
    assert_eq!(done(claim(), &runs).detail, "no run has such an exchange");
    assert_eq!(one(claim(), &[], &[labels("red", "HTTP", 1)]).detail, "none of its runs is finished");
}

#[test]
fn wrong_claims_are_found_before_running() {
    let published = Published::parse(ROWS).unwrap();
    let error = |e: Expect| check(&[e], &published).unwrap_err();
    assert!(check(&[expect("GOODPUT")], &published).is_ok());
    assert_eq!(error(expect("GODPUT")), "[[expect]] GODPUT: published.csv has no such row; did you mean GOODPUT?");
    assert!(
        error(Expect { metric: Some("latency_ms.mean".to_owned()), ..expect("GOODPUT") }).contains("a time cannot")
    );
    assert!(error(expect("ORDER")).contains("give order or every"));
    assert!(error(expect("EQ")).contains("neither low nor high"));
    let order = || OrderChain::parse("red > fifo").ok();
    let told = error(Expect { order: order(), ..expect("GOODPUT") });
    assert!(told.contains("a row of kind value cannot be checked with order"), "{told}");
    assert!(check(&[Expect { order: order(), ..expect("ORDER") }], &published).is_ok());
    assert!(check(&[Expect { every: Bound::parse(">= 50").ok(), ..expect("GOODPUT") }], &published).is_ok());
    assert!(error(Expect { formula: Some("cbt".to_owned()), ..expect("TH") }).contains("no formula"));
}
