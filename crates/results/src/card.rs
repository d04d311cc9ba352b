//! A report card: disciplines judged section by section.

use serde::Serialize;

/// A report card.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Card {
    /// What it is called.
    pub title: String,
    /// What it characterises by, such as `RFC 7928`.
    pub source: String,
    /// What the reader should know of the setting, in Markdown.
    pub about: String,
    /// The disciplines by their labels, those that are characterised first.
    pub disciplines: Vec<String>,
    /// How many of them are characterised; the others are there to compare with.
    pub subjects: usize,
    /// The sections, in order.
    pub sections: Vec<Section>,
    /// Sections of the source that no experiment answers: number and title, and where the card has what they ask for or why it cannot.
    pub elsewhere: Vec<(String, String)>,
    /// How it was run, as name and value.
    pub facts: Vec<(String, String)>,
}

/// A section.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Section {
    /// Its number in the source: `5.1.1`.
    pub number: String,
    /// Its title.
    pub title: String,
    /// The question, in a sentence.
    pub asks: String,
    /// What was run, in a sentence or two.
    pub setting: String,
    /// The experiment that was run, by its id; none where it was no experiment.
    pub experiment: Option<String>,
    /// The rules that the verdict comes from.
    pub rules: Vec<Rule>,
    /// One for each discipline, in their order.
    pub rows: Vec<Row>,
    /// What it looks like.
    pub picture: Option<Picture>,
}

/// A rule: a number and its bound.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rule {
    /// The number in words: `queue delay`.
    pub words: String,
    /// Its bound in words: `at most half of fifo's`.
    pub bound: String,
    /// The unit in which it is shown.
    pub unit: String,
}

/// A discipline in a section.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// What it comes to.
    pub verdict: Verdict,
    /// Its numbers, one for each rule.
    pub cells: Vec<Cell>,
    /// Why it is not judged, or a remark.
    pub note: String,
}

/// A number of a discipline against the bound of its rule.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// The number, in the unit of the rule; nothing where it could not be measured.
    pub value: Option<f64>,
    /// Whether it is within the bound.
    pub holds: Option<bool>,
}

/// What a discipline comes to in a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// All rules hold.
    Good,
    /// Some of the rules hold.
    Mixed,
    /// No rule holds.
    Poor,
    /// The section is not applicable to it, or was not measured.
    NotApplicable,
}

impl Verdict {
    /// The verdict on these numbers.
    #[must_use]
    pub fn of(cells: &[Cell]) -> Verdict {
        let judged: Vec<bool> = cells.iter().filter_map(|cell| cell.holds).collect();
        match (judged.iter().any(|holds| *holds), judged.iter().all(|holds| *holds)) {
            _ if judged.is_empty() => Verdict::NotApplicable,
            (_, true) => Verdict::Good,
            (true, _) => Verdict::Mixed,
            _ => Verdict::Poor,
        }
    }

    /// In one word, or two.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Good => "good",
            Verdict::Mixed => "mixed",
            Verdict::Poor => "poor",
            Verdict::NotApplicable => "not applicable",
        }
    }
}

/// What a section looks like.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Picture {
    /// Goodput against queue delay: an ellipse for each cloud (RFC 7928 section 2.7).
    Plane(Vec<Cloud>),
    /// Lines over an axis.
    Lines(Lines),
    /// Bars side by side.
    Bars(Lines),
}

/// The values of one discipline, second by second.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cloud {
    /// Whose it is, by its place in [`Card::disciplines`].
    pub discipline: usize,
    /// Under what conditions; empty where there is only one.
    pub name: String,
    /// Queue delay in milliseconds and goodput in bits per second.
    pub points: Vec<(f64, f64)>,
}

/// A quantity over an axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lines {
    /// What the axis is.
    pub x: String,
    /// The quantity, with its unit.
    pub y: String,
    /// Whether the quantity has a logarithmic axis.
    pub logarithmic: bool,
    /// What stands at 0, 1, 2 … of the axis; empty where that is a number.
    pub ticks: Vec<String>,
    /// The lines.
    pub lines: Vec<Line>,
}

/// A line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// Whose it is, by its place in [`Card::disciplines`].
    pub discipline: usize,
    /// What it is called beyond that; empty where a discipline has only one.
    pub name: String,
    /// Its points.
    pub points: Vec<(f64, f64)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_says_how_many_rules_hold() {
        let of = |holds: &[Option<bool>]| {
            let cells: Vec<Cell> = holds.iter().map(|holds| Cell { value: Some(1.0), holds: *holds }).collect();
            Verdict::of(&cells)
        };
        assert_eq!(of(&[Some(true), Some(true), None]), Verdict::Good);
        assert_eq!(of(&[Some(true), Some(false)]), Verdict::Mixed);
        assert_eq!(of(&[Some(false), None]), Verdict::Poor);
        assert_eq!(of(&[None]), Verdict::NotApplicable);
        assert_eq!(of(&[]), Verdict::NotApplicable);
    }
}
