//! A report card on a terminal.

use aqmkit_results::card::{Card, Row, Section, Verdict};

use super::Screen;
use crate::format::significant;

/// The largest number of disciplines that have a column each.
const MOST_COLUMNS: usize = 6;

/// The verdicts of each section, and the rules that the disciplines under study miss.
#[must_use]
pub fn card(card: &Card, screen: Screen) -> String {
    let shown =
        if card.disciplines.len() <= MOST_COLUMNS { card.disciplines.len() } else { card.subjects.min(MOST_COLUMNS) };
    let widths: Vec<usize> = card.disciplines.iter().take(shown).map(|name| name.chars().count().max(14)).collect();
    let mut text = format!("{} report card: {}\n\n{:38}", card.source, card.title, "");
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
    let failed: Vec<String> = card.sections.iter().filter_map(|section| failures(section, card)).collect();
    if card.subjects == 1 && !failed.is_empty() {
        text.push_str(&format!("\nWhere {} is outside of a bound:\n{}\n", card.title, failed.join("\n")));
    }
    let wrapped = |line: &str| {
        let options = textwrap::Options::new(screen.width).subsequent_indent("         ").break_words(false);
        textwrap::fill(line.trim_end(), options)
    };
    // Only the sentences at the end may exceed the width.
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
            Verdict::NotApplicable => "–",
        };
        text.push_str(&format!("  {:width$}", format!("{sign} {}", row.verdict.words())));
    }
    text + "\n"
}

/// The rules of a section that the first discipline misses.
fn failures(section: &Section, card: &Card) -> Option<String> {
    let row: &Row = section.rows.first().filter(|_| card.subjects == 1)?;
    let outside = section.rules.iter().zip(&row.cells).filter(|(_, cell)| cell.holds == Some(false));
    let each: Vec<String> = outside
        .map(|(rule, cell)| {
            let value = significant(cell.value.unwrap_or(f64::NAN), 3);
            let unit = if rule.unit.is_empty() { String::new() } else { format!(" {}", rule.unit) };
            format!("{} {value}{unit} ({})", rule.words, rule.bound)
        })
        .collect();
    (!each.is_empty()).then(|| format!("  {:6} {}", section.number, each.join("; ")))
}
