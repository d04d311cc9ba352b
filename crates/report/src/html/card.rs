//! The page of a report card.

use aqmkit_results::card::{Card, Cell, Section, Verdict};
use serde::Serialize;

use super::figure::{Figure, Swatch, card as figure, swatches};
use super::markdown;
use crate::card::{answer, sentence};
use crate::format::ranged;

/// Variables of the template.
#[derive(Debug, Serialize)]
pub(super) struct Page {
    title: String,
    source: String,
    /// As HTML.
    about: String,
    /// A sentence for each subject and reference.
    summary: Vec<String>,
    swatches: Vec<Swatch>,
    subjects: usize,
    sections: Vec<Tile>,
    elsewhere: Vec<(String, String)>,
    facts: Vec<(String, String)>,
}

/// One section of the card.
#[derive(Debug, Serialize)]
struct Tile {
    id: String,
    number: String,
    title: String,
    asks: String,
    setting: String,
    experiment: Option<String>,
    /// Verdict on the discipline under study; `None` if there are several disciplines.
    verdict: Option<Mark>,
    /// The same in a sentence.
    sentence: String,
    heads: Vec<Head>,
    rows: Vec<Line>,
    picture: Option<Figure>,
}

/// Heading of a rule's column.
#[derive(Debug, Serialize)]
struct Head {
    words: String,
    bound: String,
    why: String,
}

/// Row of a discipline.
#[derive(Debug, Serialize)]
struct Line {
    mark: Mark,
    cells: Vec<(String, &'static str)>,
    note: String,
}

/// Symbol and CSS class of a verdict.
#[derive(Clone, Copy, Debug, Serialize)]
struct Mark {
    class: &'static str,
    sign: &'static str,
    words: &'static str,
}

impl Mark {
    fn of(verdict: Verdict) -> Mark {
        let (class, sign) = match verdict {
            Verdict::Good => ("good", "✓"),
            Verdict::Mixed => ("mixed", "~"),
            Verdict::Poor => ("poor", "✗"),
            Verdict::CannotTell => ("unclear", "?"),
            Verdict::NotApplicable => ("none", "–"),
        };
        Mark { class, sign, words: verdict.words() }
    }
}

pub(super) fn page(card: &Card) -> Page {
    let swatches = swatches(&card.disciplines);
    Page {
        title: card.title.clone(),
        source: card.source.clone(),
        about: markdown::to_html(&card.about),
        summary: summary(card),
        sections: card.sections.iter().map(|section| tile(section, card, &swatches)).collect(),
        subjects: card.subjects,
        swatches,
        elsewhere: card.elsewhere.clone(),
        facts: card.facts.clone(),
    }
}

/// The answer for each subject and reference.
fn summary(card: &Card) -> Vec<String> {
    (0..card.disciplines.len()).map(|i| answer(card, i)).collect()
}

fn tile(section: &Section, card: &Card, swatches: &[Swatch]) -> Tile {
    let head = |rule: &aqmkit_results::card::Rule| Head {
        words: if rule.unit.is_empty() { rule.words.clone() } else { format!("{}, {}", rule.words, rule.unit) },
        bound: rule.bound.clone(),
        why: rule.why.clone(),
    };
    let lines = section.rows.iter().map(|row| Line {
        mark: Mark::of(row.verdict),
        cells: row.cells.iter().map(cell).collect(),
        note: row.note.clone(),
    });
    let alone = section.rows.first().filter(|_| card.subjects == 1);
    Tile {
        id: format!("s{}", section.number.replace('.', "-")),
        number: section.number.clone(),
        title: section.title.clone(),
        asks: section.asks.clone(),
        setting: section.setting.clone(),
        experiment: section.experiment.clone(),
        verdict: alone.map(|row| Mark::of(row.verdict)),
        sentence: alone.map(|row| sentence(section, row)).unwrap_or_default(),
        heads: section.rules.iter().map(head).collect(),
        rows: lines.collect(),
        picture: section.picture.as_ref().and_then(|picture| figure(picture, swatches, &section.title)),
    }
}

/// A value with half the width of its interval, and the CSS class: inside or outside its bound.
fn cell(cell: &Cell) -> (String, &'static str) {
    let class = match (cell.value, cell.holds) {
        (None, _) => "",
        (_, Some(true)) => "holds",
        (_, Some(false)) => "fails",
        (_, None) => "unclear",
    };
    (ranged(cell.value, cell.half), class)
}
