//! The page and the terminal output of a report card.

use aqmkit_report::html::card_skeleton;
use aqmkit_report::terminal;
use aqmkit_results::card::{Card, Cell, Cloud, Line, Lines, Picture, Row, Rule, Section, Verdict};

fn cell(value: f64, holds: bool) -> Cell {
    Cell { value: Some(value), half: None, holds: Some(holds) }
}

fn card() -> Card {
    let rule = |words: &str, bound: &str| Rule {
        words: words.into(),
        bound: bound.into(),
        unit: "ms".into(),
        why: "Chosen.".into(),
    };
    let section = |number: &str, rows: Vec<Row>, picture: Picture| Section {
        number: number.into(),
        title: format!("Section {number}"),
        asks: "Is it short?".into(),
        setting: "One transfer.".into(),
        experiment: Some("rfc7928/tcp-friendly".into()),
        rules: vec![rule("queue delay", "at most 10 ms"), rule("jitter", "at most 5 ms")],
        rows,
        picture: Some(picture),
    };
    let row = |a: Cell, b: Cell| Row { verdict: Verdict::of(&[a, b]), cells: vec![a, b], note: String::new() };
    let nothing = Row { verdict: Verdict::NotApplicable, cells: Vec::new(), note: "it <never> marks".into() };
    let cloud = |discipline| Cloud { discipline, name: String::new(), points: vec![(5.0, 1e6), (7.0, 2e6)] };
    let line = Line { discipline: 0, name: String::new(), points: vec![(0.0, 3.0)] };
    let lines =
        Lines { x: "case".into(), y: "time".into(), logarithmic: true, ticks: vec!["I".into()], lines: vec![line] };
    Card {
        title: "</script>mine".into(),
        source: "RFC 7928".into(),
        about: "About.".into(),
        disciplines: vec!["</script>mine".into(), "fifo".into()],
        subjects: 1,
        sections: vec![
            section(
                "5.1.1",
                vec![row(cell(4.0, true), cell(9.0, false)), row(cell(80.0, false), cell(60.0, false))],
                Picture::Plane(vec![cloud(0), cloud(1)]),
            ),
            section("4.5", vec![row(cell(4.0, true), cell(3.0, true)), nothing], Picture::Bars(lines)),
        ],
        elsewhere: vec![("3.1 Topology".into(), "a dumbbell".into())],
        facts: vec![("runs".into(), "2".into())],
    }
}

#[test]
fn every_section_has_its_verdict_rule_and_picture() {
    let page = card_skeleton(&card()).unwrap();
    for wanted in [
        "Section 5.1.1",
        "~ mixed",
        "at most 10 ms",
        "<td class=\"holds\">4</td>",
        "<td class=\"fails\">9</td>",
        "3.1 Topology",
    ] {
        assert!(page.contains(wanted), "{wanted}");
    }
    assert!(
        page.contains("mine passes 1 of 2 sections of RFC 7928; in part 5.1.1 Section 5.1.1."),
        "the answer on the first"
    );
    assert!(
        page.contains("fifo passes 0 of 1 sections of RFC 7928; fails 5.1.1"),
        "what is not applicable is not counted"
    );
    assert!(page.contains("Fails: jitter 9 ms (at most 5 ms)."), "the verdict in a sentence");
    assert!(page.contains("jitter, ms, at most 5 ms: Chosen."), "the reason of a bound");
    assert_eq!(page.matches("<figure").count(), 2);
    assert!(page.contains("it &lt;never&gt; marks"), "reasons are text");
    assert!(!page.contains("</script>mine"), "a name ends no script");
}

#[test]
fn the_terminal_says_where_a_discipline_is_outside_of_a_bound() {
    let text = terminal::card(&card(), 80.into());
    assert!(text.contains("~ mixed") && text.contains("✗ poor") && text.contains("– not applicable"), "{text}");
    assert!(text.contains("5.1.1  jitter 9 ms (at most 5 ms)"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}
