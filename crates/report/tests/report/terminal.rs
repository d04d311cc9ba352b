//! Terminal output.

use std::collections::BTreeMap;

use aqmkit_measure::output::ClassStats;
use aqmkit_report::terminal::{Screen, first_screen, scoreboard, summary, tally, verdicts};
use aqmkit_results::{Results, Table, TableCell};

use crate::synthetic::study;

#[test]
fn summary_fits_80_columns() {
    let study = study(2, 2);
    let text = summary(&study.results, 80);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn summary_fits_160_columns() {
    let study = study(2, 2);
    let text = summary(&study.results, 160);
    assert!(text.lines().all(|line| line.chars().count() <= 160), "{text}");
    insta::assert_snapshot!(text);
}

/// An experiment with several tables shows its question and one table; an experiment with one table shows all of it.
#[test]
fn the_first_screen_has_one_table() {
    let study = study(2, 2);
    let (screen, everything) = (first_screen(&study.results, 100), summary(&study.results, 100));
    let tables = |text: &str| text.lines().filter(|line| line.starts_with('═')).count();
    assert_eq!((tables(&screen), tables(&everything)), (1, 4), "{screen}");
    assert!(
        screen.starts_with(&study.results.title) && screen.contains("\n3 more tables for another mix or window"),
        "{screen}"
    );
    assert!(screen.contains("10 Mbit/s bottleneck meet an unresponsive UDP blast"), "without emphasis: {screen}");
    let mut one = study.results.clone();
    let kept = |labels: &BTreeMap<String, String>| labels["window"] == "blast" && labels["mix"] == "HTTP+MPEG";
    one.means.retain(|entry| kept(&entry.labels));
    one.runs.retain(|entry| kept(&entry.labels));
    assert_eq!(first_screen(&one, 100), summary(&one, 100));
}

#[test]
fn published_values_are_counted_in_a_line() {
    let results = study(1, 1).results;
    let met = results.expectations.iter().filter(|row| row.pass == Some(true)).count();
    let line = tally(&results, 200);
    assert!(met > 0 && line.starts_with(&format!("{met} of ")) && line.lines().count() == 1, "{line}");
    assert!(line.contains("1 not measured (1 of them also without the scheme under study)"), "{line}");
}

#[test]
fn verdicts_fit_80_columns() {
    let text = verdicts(&study(1, 1).results, 80);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn verdicts_fit_160_columns() {
    insta::assert_snapshot!(verdicts(&study(1, 1).results, 160));
}

#[test]
fn scoreboard_counts_by_source_and_kind() {
    let first = study(1, 1).results;
    let mut second = study(1, 1).results;
    second.source = "Parris 2001, appendix B".into();
    let third = Results {
        experiment: "dualq/long".into(),
        source: "RFC 9332".into(),
        expectations: first.expectations.clone(),
        ..Results::default()
    };
    insta::assert_snapshot!(scoreboard(&[&first, &second, &third], true, 100));
}

#[test]
fn plain_unless_colour_is_asked_for() {
    let study = study(1, 1);
    let coloured = Screen { width: 100, color: true };
    assert!(!verdicts(&study.results, 100).contains('\u{1b}'));
    assert!(!summary(&study.results, 100).contains('\u{1b}'));
    assert!(verdicts(&study.results, coloured).contains('\u{1b}'));
    assert!(summary(&study.results, coloured).contains('\u{1b}'));
}

#[test]
fn nothing_is_no_table() {
    let nothing = Results::default();
    assert_eq!(summary(&nothing, 80), "Nothing was measured.\n");
    assert_eq!(verdicts(&Results::default(), 80), "No published value is claimed.\n");
    assert_eq!(scoreboard(&[&nothing], true, 80), "No published value is claimed.\n");
}

#[test]
fn what_was_not_measured_is_a_dash() {
    let mut results = study(1, 1).results;
    for entry in &mut results.runs {
        entry.links.values_mut().for_each(|link| link.utilization = f64::NAN);
        if entry.labels["aqm"] == "red" {
            entry.classes.clear();
        }
    }
    let text = summary(&results, 160);
    assert!(!text.contains("NaN"), "{text}");
    assert!(!text.contains("used"), "a column without numbers is left out:\n{text}");
    let red = text.lines().find(|line| line.trim_start().starts_with("red")).unwrap();
    assert!(red.contains('–'), "{text}");
}

#[test]
fn a_class_whose_data_crosses_another_link_has_its_goodput() {
    let mut results = study(1, 1).results;
    for entry in &mut results.runs {
        let upload = ClassStats { throughput_bps: 160e3, goodput_bps: 8e6, ..ClassStats::default() };
        entry.classes.insert("upload".to_owned(), upload);
    }
    let text = summary(&results, 200);
    let heads: Vec<Vec<&str>> =
        text.lines().take_while(|line| !line.contains('═')).map(|line| line.split_whitespace().collect()).collect();
    let rows: String = heads.iter().map(|words| words.join(" ") + "\n").collect();
    let shown = |what: &str| {
        let at = |line: &Vec<&str>, word: &str| line.iter().filter(|w| **w == word).count();
        heads.windows(2).any(|two| at(&two[0], "upload") > 0 && at(&two[1], what) > 0)
    };
    assert!(shown("good"), "{rows}");
    assert!(!text.contains("0.16"), "the rate of its acknowledgements: {text}");
    assert!(text.contains(" 8.00") || text.contains(" 8.0"), "{text}");
}

#[test]
fn a_comparison_says_what_each_queue_may_hold() {
    let mut results = study(1, 1).results;
    assert!(!summary(&results, 160).contains("limit"));
    results.queues = [("red".to_owned(), "1000p".to_owned())].into();
    let text = summary(&results, 160);
    let line = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    assert_eq!(line("red").split_whitespace().nth(1), Some("1000p"), "{text}");
    assert_eq!(line("fifo").split_whitespace().nth(1), Some("–"), "{text}");
    assert!(text.contains("the limit of the queue"));
}

#[test]
fn a_table_is_one_line() {
    let mut results = study(1, 1).results;
    let cell = |place: usize| TableCell { id: results.expectations[place].id.clone(), ..TableCell::default() };
    results.tables = vec![Table { title: "Figure B.14".into(), cells: vec![cell(0), cell(2)], ..Table::default() }];
    let text = verdicts(&results, 80);
    let line = text.lines().find(|line| line.contains("Figure B.14")).unwrap();
    assert_eq!(line.split_whitespace().collect::<Vec<_>>(), ["Figure", "B.14", "2", "1", "1", "0", "0"]);
    assert!(!text.contains("CBT-T5.5-HTTP+MPEG-FIFO"));
}
