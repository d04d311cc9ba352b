//! The output of `aqmkit advise`.

use aqmkit_results::advice::{Advice, Finalist, Goal, Role, Value};
use comfy_table::{Cell, CellAlignment};

use super::screen::{Screen, drawn, head};
use crate::format::significant;

/// Recommendation, comparison with the other finalists, and the commands to type.
#[must_use]
pub fn advice(advice: &Advice, screen: Screen) -> String {
    let mut text = format!("{}\n", screen.bold(&format!("Advice for {}", advice.link)));
    text.push_str(&paragraph(&format!("Wish: {}", advice.wish), screen.width, "      "));
    text.push_str(&paragraph(&format!("Traffic: {}", advice.traffic), screen.width, "         "));
    text.push('\n');
    for (i, sentence) in advice.summary.iter().enumerate() {
        if i == 1 {
            text.push_str("\nInstead of it:\n");
        }
        let words = if i == 0 { sentence.clone() } else { format!("* {sentence}") };
        text.push_str(&paragraph(&words, screen.width, if i == 0 { "" } else { "  " }));
    }
    text.push('\n');
    text.push_str(&table(advice, screen));
    text.push_str(&paragraph(&legend(advice), screen.width, ""));
    for sentence in &advice.elsewhere {
        text.push_str(&paragraph(sentence, screen.width, ""));
    }
    text.push_str(&format!("\n{}\n", screen.bold("To type")));
    text.push_str(&paragraph(&advice.install.note, screen.width, ""));
    for line in &advice.install.lines {
        text.push_str(&format!("  {line}\n"));
    }
    text
}

fn paragraph(words: &str, width: usize, indent: &str) -> String {
    let options = textwrap::Options::new(width).subsequent_indent(indent).break_words(false);
    textwrap::fill(words, options) + "\n"
}

/// One row per metric, one column per finalist: finalists have long names, and there are few.
fn table(advice: &Advice, screen: Screen) -> String {
    let mut table = screen.table();
    let column = |finalist: &Finalist| head(name(finalist), CellAlignment::Right);
    let heads = advice.finalists.iter().map(column);
    table.set_header(std::iter::once(head("", CellAlignment::Left)).chain(heads));
    for (i, goal) in advice.goals.iter().enumerate() {
        let cell = |finalist: &Finalist| {
            Cell::new(finalist.values.get(i).map_or_else(|| "–".to_owned(), value)).set_alignment(CellAlignment::Right)
        };
        table.add_row(std::iter::once(Cell::new(words(goal))).chain(advice.finalists.iter().map(cell)));
    }
    let worse = |finalist: &Finalist| {
        let text = finalist.worse.map_or_else(
            || "1".to_owned(),
            |worse| {
                format!("{}\n{}–{}", significant(worse.mean, 3), significant(worse.low, 3), significant(worse.high, 3))
            },
        );
        Cell::new(text).set_alignment(CellAlignment::Right)
    };
    table.add_row(std::iter::once(Cell::new("times worse\n95 %")).chain(advice.finalists.iter().map(worse)));
    drawn(table) + "\n"
}

/// The heading of a column.
fn name(finalist: &Finalist) -> String {
    match finalist.role {
        Role::Choice => format!("{}\nadvised", finalist.discipline),
        Role::RunnerUp => format!("{}\n2nd best", finalist.discipline),
        Role::Defaults => format!("{}\ndefaults", finalist.discipline),
        Role::Beyond => format!("{}\nnot in tc", finalist.discipline),
    }
}

fn words(goal: &Goal) -> String {
    let unit = if goal.unit.is_empty() { String::new() } else { format!(", {}", goal.unit) };
    let bound = goal.bound.as_ref().map_or_else(String::new, |bound| format!(" {bound}"));
    format!("{}{unit}{bound}", goal.words)
}

fn value(value: &Value) -> String {
    let Some(mean) = value.mean else { return "–".to_owned() };
    let sign = match (value.holds, value.certain) {
        (Some(true), true) => " ✓",
        (Some(true), false) => " ✓?",
        (Some(false), true) => " ✗",
        (Some(false), false) => " ✗?",
        (None, _) => "",
    };
    let within = value.within.map_or_else(String::new, |within| format!("\n±{}", significant(within, 2)));
    format!("{}{sign}{within}", significant(mean, 3))
}

fn legend(advice: &Advice) -> String {
    let aims: Vec<String> = advice
        .goals
        .iter()
        .filter(|goal| goal.weight > 0.0)
        .map(|goal| {
            format!(
                "{} ({}{})",
                goal.words,
                if goal.less { "less" } else { "more" },
                if (goal.weight - 1.0).abs() < 1e-9 {
                    String::new()
                } else {
                    format!(", weight {}", significant(goal.weight, 2))
                }
            )
        })
        .collect();
    let measure = if aims.is_empty() {
        String::new()
    } else {
        format!(
            " Times worse: the weighted geometric mean of {}, against the advised one on the same seeds.",
            aims.join(", ")
        )
    };
    format!(
        "Means over seeds that the search did not use, ± half of the 95 % interval; ✓? and ✗?: the interval reaches over the bound.{measure}"
    )
}

#[cfg(test)]
mod tests {
    use aqmkit_results::advice::{Factor, Install};

    use super::*;

    fn finalist(role: Role, discipline: &str, mean: f64) -> Finalist {
        let value = Value { mean: Some(mean), within: Some(1.25), holds: Some(mean < 20.0), certain: mean < 15.0 };
        let worse = (role != Role::Choice).then_some(Factor { mean: 1.5, low: 1.2, high: 1.9 });
        Finalist {
            label: discipline.to_owned(),
            role,
            discipline: discipline.to_owned(),
            parameters: Vec::new(),
            values: vec![value],
            worse,
        }
    }

    #[test]
    fn an_advice_fits_on_80_columns() {
        let of = Advice {
            link: "50mbit down and 10mbit up, round trips of 15ms to 120ms".to_owned(),
            traffic: "2 bulk, 1 upload, 1 video, 1 call, 1 voip, web pages at 30 % of the rate".to_owned(),
            wish: "video, web; p99 < 20ms".to_owned(),
            goals: vec![Goal {
                words: "video and web queue delay p99".to_owned(),
                unit: "ms".to_owned(),
                bound: Some("< 20".to_owned()),
                less: true,
                weight: 1.0,
            }],
            meets: true,
            summary: vec![
                "fq-codel with target 2ms meets the wish.".to_owned(),
                "fifo with its defaults: 50 % worse (95 %: 20 % to 90 %).".to_owned(),
            ],
            finalists: vec![
                finalist(Role::Choice, "fq-codel", 12.0),
                finalist(Role::RunnerUp, "floyd-fall", 18.0),
                finalist(Role::Defaults, "floyd-fall", 19.0),
                finalist(Role::Defaults, "fq-codel", 21.0),
                finalist(Role::Defaults, "fifo", 200.0),
            ],
            disciplines: Vec::new(),
            tried: Vec::new(),
            install: Install {
                with: "tc".to_owned(),
                note: "eth1 leads to the users.".to_owned(),
                lines: vec!["tc qdisc replace dev eth1 root".to_owned()],
            },
            rounds: Vec::new(),
            elsewhere: Vec::new(),
            facts: Vec::new(),
        };
        let text = advice(&of, Screen::from(80));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(
            text.contains("12 ✓") && text.contains("21 ✗?") && text.contains("1.2–1.9") && text.contains("2nd best"),
            "{text}"
        );
        assert!(text.contains("\n  tc qdisc replace dev eth1 root\n"), "{text}");
    }
}
