//! The answers of a report card, in sentences.

use aqmkit_results::card::{Card, Cell, Row, Rule, Section, Verdict};

use crate::format::ranged;

/// The answer on the subject or reference with this index: how many sections it passes, and which it does not.
pub(crate) fn answer(card: &Card, index: usize) -> String {
    let Some(name) = card.disciplines.get(index) else { return String::new() };
    let judged = |wanted: &[Verdict]| -> Vec<&Section> {
        let is = |section: &&Section| section.rows.get(index).is_some_and(|row| wanted.contains(&row.verdict));
        card.sections.iter().filter(is).collect()
    };
    let list = |words: &str, wanted: Verdict| {
        let named: Vec<String> =
            judged(&[wanted]).iter().map(|section| format!("{} {}", section.number, section.title)).collect();
        (!named.is_empty()).then(|| format!("{words} {}", named.join(", ")))
    };
    let passed = judged(&[Verdict::Good]).len();
    let all = judged(&[Verdict::Good, Verdict::Mixed, Verdict::Poor, Verdict::CannotTell]).len();
    let parts = [
        Some(format!("{name} passes {passed} of {all} sections of {}", card.source)),
        list("fails", Verdict::Poor),
        list("in part", Verdict::Mixed),
        list("undecided are", Verdict::CannotTell),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ") + "."
}

/// The verdict of a row in a sentence, with the numbers that it comes from.
pub(crate) fn sentence(section: &Section, row: &Row) -> String {
    let such = |holds: Option<bool>| -> String {
        let cells =
            section.rules.iter().zip(&row.cells).filter(|(_, cell)| cell.value.is_some() && cell.holds == holds);
        cells.map(|(rule, cell)| measured(rule, cell)).collect::<Vec<_>>().join("; ")
    };
    match row.verdict {
        Verdict::Good => format!("Passes: {}.", such(Some(true))),
        Verdict::Mixed | Verdict::Poor => format!("Fails: {}.", such(Some(false))),
        Verdict::CannotTell => format!("Undecided: {}.", such(None)),
        Verdict::NotApplicable => format!("Not judged: {}.", row.note),
    }
}

/// A value beside its bound.
pub(crate) fn measured(rule: &Rule, cell: &Cell) -> String {
    let unit = if rule.unit.is_empty() { String::new() } else { format!(" {}", rule.unit) };
    format!("{} {}{unit} ({})", rule.words, ranged(cell.value, cell.half), rule.bound)
}
