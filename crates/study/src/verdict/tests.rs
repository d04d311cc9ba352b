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

/// A run in which class tcp has this goodput in window `blast`, and a tenth of it in `calm`.
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
        headline: None,
    }
}

fn one(expect: Expect, runs: &[(Labels, Output)], planned: &[Labels]) -> Expectation {
    let published = Published::parse(ROWS).unwrap();
    let runs: Vec<_> = runs.iter().map(|(labels, output)| RunData { labels, output }).collect();
    let evidence = Evidence::new(planned, &runs).unwrap();
    judge(&[expect], &published, &evidence).remove(0)
}

/// Judges a claim with all runs finished.
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
        (labels("red", "HTTP", 2), output(110.5)),
        (labels("fifo", "HTTP", 1), output(1.0)),
    ];
    let e = done(Expect { selector: at("red"), ..expect("GOODPUT") }, &runs);
    assert_eq!((e.measured, e.pass, e.low, e.high), (Some(110.25), Some(true), Some(80.0), Some(120.0)));
    assert!((e.spread.unwrap() - 0.125_f64.sqrt()).abs() < 1e-9);
    // The standard error is 0.25; t with one degree of freedom at 97.5 % is 12.706.
    assert!((e.half_width().unwrap() - 3.1765).abs() < 0.001, "{:?}", e.half_width());
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
    // The numerator is twice the denominator.
    for bound in [">= 1.9", "<= 2.1"] {
        let every = Bound::parse(bound).ok();
        let ratio = Expect { every, ..with(&format!("{goodput} + {goodput} / {goodput}")) };
        assert_eq!(done(Expect { id: "SHARE".to_owned(), ..ratio }, &runs).pass, Some(true), "{bound}");
    }
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
    assert_eq!(
        (e.pass, e.cells),
        (Some(false), Some(Cells { held: 2, of: 3, undecided: 0 })),
        "80 to 120 is not met by 130"
    );
    assert_eq!(e.detail, "outside: red: 130.0");
    assert!((e.measured.unwrap() - 305.0 / 3.0).abs() < 1e-9);
    let e = done(Expect { average: Some("the text has the mean".to_owned()), ..expect("GOODPUT") }, &runs);
    assert_eq!((e.pass, e.cells), (Some(true), None), "errors of both signs cancel in a mean");
}

#[test]
fn repeats_are_no_cells() {
    let runs = [(labels("red", "A", 1), output(70.0)), (labels("red", "A", 2), output(130.0))];
    let e = done(expect("GOODPUT"), &runs);
    assert_eq!((e.measured, e.verdict(), e.cells), (Some(100.0), Some(Verdict::Undecided), None));
}

/// Runs with 118 and 119 do not decide whether 120 is exceeded; runs with 105 and 106 do.
#[test]
fn cells_that_the_runs_leave_open_are_undecided() {
    let cell = |aqm: &str, repeat: u32, value: f64| (labels(aqm, "A", repeat), output(value));
    let runs = [cell("red", 1, 118.0), cell("red", 2, 119.0), cell("cbt", 1, 105.0), cell("cbt", 2, 105.5)];
    let e = done(expect("GOODPUT"), &runs);
    assert_eq!((e.pass, e.undecided, e.cells), (None, true, Some(Cells { held: 1, of: 2, undecided: 1 })));
    assert_eq!(e.detail, "undecided: red: 118.5 ±6.353");
    let missed = [&runs[..], &[cell("fifo", 1, 10.0), cell("fifo", 2, 10.0)]].concat();
    let e = done(expect("GOODPUT"), &missed);
    assert_eq!((e.pass, e.cells), (Some(false), Some(Cells { held: 1, of: 3, undecided: 1 })), "a miss is a miss");
    let planned: Vec<_> = runs.iter().map(|r| r.0.clone()).collect();
    let data: Vec<_> = runs.iter().map(|(labels, output)| RunData { labels, output }).collect();
    let evidence = Evidence::new(&planned, &data).unwrap();
    let by_means = judge_means(&[expect("GOODPUT")], &Published::parse(ROWS).unwrap(), &evidence).remove(0);
    assert_eq!((by_means.pass, by_means.undecided), (Some(true), false), "the null test takes the means");
}

/// Pairs of the first seeds differ by 1, those of the second by 40 and -10.
#[test]
fn comparisons_are_counted_one_by_one() {
    let cell = |aqm: &str, repeat: u32, value: f64| (labels(aqm, "A", repeat), output(value));
    let runs = [
        cell("cbt", 1, 91.0),
        cell("cbt", 2, 101.01),
        cell("red", 1, 90.0),
        cell("red", 2, 100.0),
        cell("fifo", 1, 50.0),
        cell("fifo", 2, 110.0),
    ];
    let order = |text: &str| done(Expect { order: OrderChain::parse(text).ok(), ..expect("ORDER") }, &runs);
    let e = order("cbt > red > fifo");
    assert_eq!((e.pass, e.undecided, e.cells), (None, true, None));
    assert_eq!(e.comparisons, Some(Cells { held: 1, of: 2, undecided: 1 }));
    assert_eq!(e.detail, "cbt 96.0 > red 95.0 perhaps not > fifo 80.0");
    let e = order("red > cbt & fifo");
    assert_eq!((e.pass, e.comparisons), (Some(false), Some(Cells { held: 0, of: 2, undecided: 1 })));
}

#[test]
fn an_order_says_in_how_many_cells_it_holds() {
    let runs = sweep(&[("cbt", "A", 90.0), ("red", "A", 40.0), ("cbt", "B", 20.0), ("red", "B", 30.0)]);
    let e = done(Expect { order: OrderChain::parse("cbt > red").ok(), ..expect("ORDER") }, &runs);
    assert_eq!((e.pass, e.cells), (Some(false), Some(Cells { held: 1, of: 2, undecided: 0 })));
    let more = sweep(&[("cbt", "C", 40.0), ("red", "C", 30.0)]);
    let e = done(Expect { order: OrderChain::parse("cbt > red").ok(), ..expect("ORDER") }, &[runs, more].concat());
    assert_eq!((e.pass, e.cells), (Some(false), Some(Cells { held: 2, of: 3, undecided: 0 })));
}

/// A has the opposite order, but by less than B.
#[test]
fn an_order_may_be_of_averages() {
    let runs = sweep(&[("cbt", "A", 30.0), ("red", "A", 40.0), ("cbt", "B", 90.0), ("red", "B", 60.0)]);
    let order = Expect { order: OrderChain::parse("cbt > red").ok(), ..expect("ORDER") };
    assert_eq!(done(order.clone(), &runs).pass, Some(false));
    let e = done(Expect { average: Some("the sentence names no mix".to_owned()), ..order }, &runs);
    assert_eq!((e.pass, e.cells, e.detail.as_str()), (Some(true), None, "cbt 60.0 > red 50.0"));
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
    // A formula has no metric; exchanges have quantities of their own.
    let args: toml::Table = "bandwidth = '575kibps'\npacket = '1507b'\nlatency = '100ms'".parse().unwrap();
    let computed =
        Expect { formula: Some("cbt-threshold".to_owned()), args, metric: None, class: None, ..expect("TH") };
    assert_eq!(check(&[computed], &published), Ok(()));
    let whole = Exchanges { size: (0.0, f64::INFINITY), time_ms: (0.0, f64::INFINITY) };
    let timed = Expect {
        metric: Some("time_ms.p90".to_owned()),
        exchanges: Some(whole),
        class: None,
        app: Some("bulk".to_owned()),
        ..expect("TIME")
    };
    assert_eq!(check(&[timed], &published), Ok(()));
    assert_eq!(error(expect("GODPUT")), "[[expect]] GODPUT: published.csv has no such row; did you mean GOODPUT?");
    assert!(
        error(Expect { metric: Some("latency_ms.mean".to_owned()), ..expect("GOODPUT") }).contains("a time cannot")
    );
    assert!(error(expect("ORDER")).contains("give order or every"));
    assert!(error(expect("EQ")).contains("neither low nor high"));
    let order = || OrderChain::parse("red > fifo").ok();
    let error_text = error(Expect { order: order(), ..expect("GOODPUT") });
    assert!(error_text.contains("a row of kind value cannot be checked with order"), "{error_text}");
    assert!(check(&[Expect { order: order(), ..expect("ORDER") }], &published).is_ok());
    assert!(check(&[Expect { every: Bound::parse(">= 50").ok(), ..expect("GOODPUT") }], &published).is_ok());
    assert!(error(Expect { formula: Some("cbt".to_owned()), ..expect("TH") }).contains("no formula"));
}

#[test]
fn the_spread_is_that_of_the_means_of_repeats() {
    // Means of 100 and 130: a standard deviation of 15 times the square root of two.
    let repeat = |mix: &str, n: u32, value: f64| (labels("red", mix, n), output(value));
    let runs = [repeat("A", 1, 90.0), repeat("B", 1, 110.0), repeat("A", 2, 120.0), repeat("B", 2, 140.0)];
    let e = done(Expect { average: Some("as the paper".to_owned()), ..expect("GOODPUT") }, &runs);
    assert_eq!(e.measured, Some(115.0));
    assert!((e.spread.unwrap() - 15.0 * 2.0_f64.sqrt()).abs() < 1e-9, "{:?}", e.spread);
    assert_eq!(done(expect("GOODPUT"), &runs[..2]).spread, None, "one repeat");
    // Each cell is the mean of its repeats, 105 and 125; two repeats that differ by 30 leave both undecided.
    let cells = done(expect("GOODPUT"), &runs);
    assert_eq!(cells.cells, Some(Cells { held: 0, of: 2, undecided: 2 }));
    assert_eq!(cells.detail, "undecided: A: 105.0 ±190.6; B: 125.0 ±190.6");
}

/// A claim before any run.
#[test]
fn a_claim_is_shown_with_its_published_value() {
    let published = Published::parse(ROWS).unwrap();
    let e =
        unjudged(&Expect { note: "a note".to_owned(), ours: Some("ours".to_owned()), ..expect("GOODPUT") }, &published);
    assert_eq!((e.source.as_str(), e.what.as_str(), e.kind.as_str()), ("CBT, Table 5", "goodput", "value"));
    assert_eq!((e.published.as_str(), e.unit.as_str(), e.printed), ("100 KB/s", "KB/s", Some(100.0)));
    assert_eq!((e.low, e.high, e.detail.as_str(), e.ours.as_str()), (Some(80.0), Some(120.0), "a note", "ours"));
    assert_eq!((e.measured, e.pass, e.cells), (None, None, None));
    // In the unit of the metric: bits per second; a KB has 1024 bytes.
    let point = e.point.unwrap();
    assert_eq!((point.metric.as_str(), point.window.as_deref()), ("classes.tcp.goodput_bps", Some("blast")));
    assert!((point.low - 819_200.0).abs() < 1e-6 && (point.high - 819_200.0).abs() < 1e-6, "{point:?}");
    let of = |change: &dyn Fn(&mut Expect)| {
        let mut claim = expect("GOODPUT");
        change(&mut claim);
        unjudged(&claim, &published).point
    };
    assert!(of(&|_| ()).is_some());
    let changes: [&dyn Fn(&mut Expect); 6] = [
        &|e| e.formula = Some("cbt-threshold".to_owned()),
        &|e| e.order = OrderChain::parse("a > b").ok(),
        &|e| e.seconds = Statistic::parse("max").ok(),
        &|e| e.responses = aqmkit_experiment::Response::parse("p90").ok(),
        &|e| e.against = [("aqm".to_owned(), "fifo".to_owned())].into(),
        &|e| e.metric = Some("goodput_bps + goodput_bps".to_owned()),
    ];
    assert!(changes.iter().all(|change| of(change).is_none()), "they are not about one value in a window");
    let every = Expect { every: Bound::parse(">= 5").ok(), order: OrderChain::parse("a > b").ok(), ..expect("ORDER") };
    assert_eq!(unjudged(&every, &published).published, "a > b, each >= 5 KB/s");
    assert_eq!(unjudged(&expect("NONE"), &published).detail, "not in published.csv");
}

#[test]
fn orders_hold_between_groups_and_by_their_relations() {
    let values = [("a", 1000.0), ("b", 90.0), ("c", 85.0), ("d", 9.0)];
    let runs = sweep(&values.map(|(aqm, v)| (aqm, "A", v)));
    let order = |text: &str| done(Expect { order: OrderChain::parse(text).ok(), ..expect("ORDER") }, &runs);
    for (text, pass) in [
        ("a >>> b & c", Some(true)),
        ("a >>> b & c >> d", Some(true)),
        ("b ~ c", Some(true)),
        ("b >= c", Some(true)),
        ("b & c >>> d", Some(false)),
        ("a & d > b & c", Some(false)),
        ("a > e", None),
        ("d > a > e", None),
    ] {
        assert_eq!(order(text).pass, pass, "{text}");
    }
    assert_eq!(order("a >>> b & c >> d").detail, "a 1000 >>> b 90.0 & c 85.0 >> d 9.000");
    assert_eq!(order("b >= a > d").detail, "b 90.0 not >= a 1000 > d 9.000");
    assert_eq!(order("a > e").detail, "a 1000 > e not measured");
}

#[test]
fn an_order_and_a_bound_hold_where_both_do() {
    let runs = sweep(&[("cbt", "A", 90.0), ("red", "A", 40.0), ("cbt", "B", 20.0), ("red", "B", 10.0)]);
    let both = |bound: &str| {
        let claim =
            Expect { every: Bound::parse(bound).ok(), order: OrderChain::parse("cbt > red").ok(), ..expect("ORDER") };
        let e = done(claim, &runs);
        (e.pass, e.cells)
    };
    // The ordering is judged in two combinations, the bound in four cells.
    assert_eq!(both(">= 10"), (Some(true), Some(Cells { held: 6, of: 6, undecided: 0 })));
    assert_eq!(both(">= 15"), (Some(false), Some(Cells { held: 5, of: 6, undecided: 0 })));
    let value = |bound: &str| done(Expect { every: Bound::parse(bound).ok(), ..expect("GOODPUT") }, &runs);
    // Only 90 is within 80 to 120; the bound holds in three cells.
    assert_eq!(
        (value(">= 15").pass, value(">= 15").cells),
        (Some(false), Some(Cells { held: 1, of: 4, undecided: 0 }))
    );
    let one = done(Expect { every: Bound::parse(">= 30").ok(), selector: at("cbt"), ..expect("ORDER") }, &runs[..2]);
    assert_eq!((one.measured, one.pass, one.cells), (Some(90.0), Some(true), None), "a single cell is the value");
}

#[test]
fn texts_are_short() {
    let shown = [1234.56, -1000.0, 999.94, 12.345, 9.999_96, 0.1, 0.0, 0.099, -0.000_123].map(short);
    assert_eq!(shown, ["1235", "-1000", "999.9", "12.3", "10.000", "0.100", "0.000", "9.90e-2", "-1.23e-4"]);
    let texts: Vec<String> = (1..=6).map(|n| n.to_string()).collect();
    assert_eq!([brief(&texts[..1]), brief(&texts[..4])], ["1", "1; 2; 3; 4"]);
    assert_eq!([brief(&texts[..5]), brief(&texts)], ["1; 2; 3; 4; and 1 more", "1; 2; 3; 4; and 2 more"]);
    assert_eq!([join("a", "b"), join("", "b"), join("a", ""), join("", "")], ["a; b", "b", "a", ""]);
}

/// The ends of a range are accepted, and values that exceed them by rounding errors.
#[test]
fn a_value_at_the_end_of_its_range_meets_it() {
    let published = Published::parse(ROWS).unwrap();
    let row = published.get("GOODPUT").unwrap();
    for (value, met) in
        [(80.0, true), (120.0, true), (80.0 - 1e-9, true), (120.0 + 1e-9, true), (79.999, false), (120.001, false)]
    {
        assert_eq!(row.meets(value), met, "{value}");
    }
    assert!(![f64::NAN, f64::INFINITY].iter().any(|value| row.meets(*value)));
}

#[test]
fn claims_need_the_runs_that_they_select_name_or_compare_with() {
    let needed = |claim: &Expect| {
        let of = |aqm: &str| evidence::needs(claim, &labels(aqm, "A", 1));
        ["red", "fred", "fifo"].map(of)
    };
    assert_eq!(needed(&expect("GOODPUT")), [true; 3]);
    let red = Expect { selector: at("red"), ..expect("GOODPUT") };
    assert_eq!(needed(&red), [true, false, false]);
    let order = Expect { order: OrderChain::parse("red > fred").ok(), ..expect("ORDER") };
    assert_eq!(needed(&order), [true, true, false]);
    let against = Expect { against: [("aqm".to_owned(), "fifo".to_owned())].into(), ..red };
    assert_eq!(needed(&against), [true, false, true]);
}

/// A claim is complete when all planned runs that it selects are finished, with every repeat; one that selects none
/// never is.
#[test]
fn a_claim_is_complete_with_all_its_runs() {
    let planned = [labels("red", "A", 1), labels("red", "A", 2), labels("fifo", "A", 1)];
    let runs: Vec<_> = planned.iter().map(|labels| (labels.clone(), output(100.0))).collect();
    let complete = |claim: &Expect, done: &[usize]| {
        let runs: Vec<_> = done.iter().map(|&i| RunData { labels: &runs[i].0, output: &runs[i].1 }).collect();
        Evidence::new(&planned, &runs).unwrap().complete(claim)
    };
    let red = Expect { selector: at("red"), ..expect("GOODPUT") };
    assert!(complete(&red, &[0, 1]) && !complete(&red, &[0, 2]) && !complete(&red, &[]));
    assert!(complete(&expect("GOODPUT"), &[2, 1, 0]) && !complete(&expect("GOODPUT"), &[0, 1]));
    assert!(!complete(&Expect { selector: at("cbt"), ..expect("GOODPUT") }, &[0, 1, 2]));
}
