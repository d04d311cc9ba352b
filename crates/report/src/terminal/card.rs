//! A report card as terminal output.

use aqmkit_results::card::{Card, Row, Section, Verdict};

use super::Screen;
use crate::card::{answer, measured};

/// With more disciplines than this, only those under study have columns.
const MOST_COLUMNS: usize = 6;

/// Verdicts of each section, and the rules that the disciplines under study miss.
#[must_use]
pub fn card(card: &Card, screen: Screen) -> String {
    let shown =
        if card.disciplines.len() <= MOST_COLUMNS { card.disciplines.len() } else { card.subjects.min(MOST_COLUMNS) };
    let widths: Vec<usize> = card.disciplines.iter().take(shown).map(|name| name.chars().count().max(14)).collect();
    let answers: Vec<String> =
        (0..card.subjects.min(MOST_COLUMNS)).map(|i| format!("  {}\n", answer(card, i))).collect();
    let mut text = format!("{} report card: {}\n\n{}\n{:38}", card.source, card.title, answers.concat(), "");
    for (name, width) in card.disciplines.iter().zip(&widths) {
        text.push_str(&format!("  {name:width$}"));
    }
    text.push('\n');
    for section in &card.sections {
        text.push_str(&line(section, &widths));
    }
    if shown < card.disciplines.len() {
        text.push_str(&format!("\nThe card has the other {} disciplines.\n", card.disciplines.len() - shown));
    }
    for (holds, head) in [
        (Some(false), format!("Where {} is outside of a bound", card.title)),
        (None, "What the runs cannot tell".to_owned()),
    ] {
        let cells: Vec<String> = card.sections.iter().filter_map(|section| rules_with(holds, section, card)).collect();
        if !cells.is_empty() {
            text.push_str(&format!("\n{head}:\n{}\n", cells.join("\n")));
        }
    }
    let wrapped = |line: &str| {
        let options = textwrap::Options::new(screen.width).subsequent_indent("         ").break_words(false);
        textwrap::fill(line.trim_end(), options)
    };
    // Only the sentences at the end can exceed the width.
    let fit = |line: &str| if line.starts_with("  ") { wrapped(line) } else { line.trim_end().to_owned() };
    text.lines().map(fit).collect::<Vec<_>>().join("\n") + "\n"
}

fn line(section: &Section, widths: &[usize]) -> String {
    let mut text = format!("{:6} {:31}", section.number, section.title);
    for (row, width) in section.rows.iter().zip(widths) {
        let sign = match row.verdict {
            Verdict::Good => "✓",
            Verdict::Mixed => "~",
            Verdict::Poor => "✗",
            Verdict::CannotTell => "?",
            Verdict::NotApplicable => "–",
        };
        text.push_str(&format!("  {:width$}", format!("{sign} {}", row.verdict.words())));
    }
    text + "\n"
}

/// If a single discipline is under study: the section's rules that it misses (`Some(false)`) or that its runs leave
/// undecided (`None`).
fn rules_with(holds: Option<bool>, section: &Section, card: &Card) -> Option<String> {
    let row: &Row = section.rows.first().filter(|_| card.subjects == 1)?;
    let such = section.rules.iter().zip(&row.cells).filter(|(_, cell)| cell.value.is_some() && cell.holds == holds);
    let each: Vec<String> = such.map(|(rule, cell)| measured(rule, cell)).collect();
    (!each.is_empty()).then(|| format!("  {:6} {}", section.number, each.join("; ")))
}
