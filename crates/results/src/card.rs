//! A report card: disciplines, or congestion controls, judged section by section.

use serde::Serialize;

/// A report card: disciplines, or congestion controls, judged section by section.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Card {
    /// Title of the card.
    pub title: String,
    /// The document that defines the sections, such as `RFC 7928`.
    pub source: String,
    /// A description of the setting, in Markdown.
    pub about: String,
    /// Labels of the disciplines, those under study first.
    pub disciplines: Vec<String>,
    /// Number of disciplines under study; the others are references.
    pub subjects: usize,
    /// The sections, in order.
    pub sections: Vec<Section>,
    /// Sections of the source without an experiment: number and title, and where else the card covers them or why it
    /// does not.
    pub elsewhere: Vec<(String, String)>,
    /// Facts about the runs: name and value.
    pub facts: Vec<(String, String)>,
}

/// A section of the card.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Section {
    /// Section number in the source: `5.1.1`.
    pub number: String,
    /// Section title.
    pub title: String,
    /// The question that it answers, in a sentence.
    pub asks: String,
    /// The experiment run, in a sentence or two.
    pub setting: String,
    /// Id of the experiment; `None` if there is none.
    pub experiment: Option<String>,
    /// The rules that the verdict comes from.
    pub rules: Vec<Rule>,
    /// One row per discipline, in the order of [`Card::disciplines`].
    pub rows: Vec<Row>,
    /// Figure of the section.
    pub picture: Option<Picture>,
}

/// A rule: a number and its bound.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rule {
    /// The quantity, in words: `queue delay`.
    pub words: String,
    /// The bound in words: `at most half of fifo's`.
    pub bound: String,
    /// The unit of the quantity.
    pub unit: String,
    /// Why the bound is where it is, in a sentence; empty where the words of the bound say it.
    pub why: String,
}

/// A discipline in a section.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Verdict in the section.
    pub verdict: Verdict,
    /// Measured values, one per rule.
    pub cells: Vec<Cell>,
    /// Why the discipline is not judged, or a remark.
    pub note: String,
}

/// A measured value of a discipline, and whether it is within the bound of its rule.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// The value, in the unit of the rule; `None` if it could not be measured.
    pub value: Option<f64>,
    /// Half the width of its 95 % interval over runs with different seeds; `None` for a single run.
    pub half: Option<f64>,
    /// Whether it is within the bound; `None` if it was not measured, or if the confidence interval of its distance
    /// from the bound includes zero.
    pub holds: Option<bool>,
}

/// The verdict on a discipline in a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// All rules hold.
    Good,
    /// Some of the rules hold.
    Mixed,
    /// No rule holds.
    Poor,
    /// Undecided: some value's interval contains its bound, and the other rules either all hold or all fail.
    CannotTell,
    /// The section does not apply to the discipline, or was not measured.
    NotApplicable,
}

impl Verdict {
    /// The verdict on these values.
    #[must_use]
    pub fn of(cells: &[Cell]) -> Verdict {
        let any = |holds: Option<bool>| cells.iter().any(|cell| cell.value.is_some() && cell.holds == holds);
        match (any(Some(true)), any(Some(false)), any(None)) {
            (false, false, false) => Verdict::NotApplicable,
            (true, true, _) => Verdict::Mixed,
            (_, _, true) => Verdict::CannotTell,
            (true, false, false) => Verdict::Good,
            (false, true, false) => Verdict::Poor,
        }
    }

    /// The verdict in one or two words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Good => "good",
            Verdict::Mixed => "mixed",
            Verdict::Poor => "poor",
            Verdict::CannotTell => "cannot tell",
            Verdict::NotApplicable => "not applicable",
        }
    }
}

/// The picture of a section.
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

/// One point per second for one discipline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cloud {
    /// The index of its discipline in [`Card::disciplines`].
    pub discipline: usize,
    /// The condition (a label of the section's axis); empty if there is only one.
    pub name: String,
    /// Queue delay in milliseconds and goodput in bits per second.
    pub points: Vec<(f64, f64)>,
}

/// A quantity over an axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lines {
    /// The title of the x axis.
    pub x: String,
    /// The title of the y axis, with its unit.
    pub y: String,
    /// Whether the y axis is logarithmic.
    pub logarithmic: bool,
    /// Labels at x = 0, 1, 2 …; empty for a numeric axis.
    pub ticks: Vec<String>,
    /// One line per discipline, or several.
    pub lines: Vec<Line>,
}

/// A line of a plot.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// The index of its discipline in [`Card::disciplines`].
    pub discipline: usize,
    /// Name in addition to the discipline's; empty if the discipline has only one line.
    pub name: String,
    /// Points (x, y).
    pub points: Vec<(f64, f64)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_says_how_many_rules_hold() {
        let of = |holds: &[Option<bool>]| {
            let cell = |judged: &Option<bool>| Cell { value: Some(1.0), half: Some(0.1), holds: *judged };
            Verdict::of(&holds.iter().map(cell).collect::<Vec<_>>())
        };
        assert_eq!(of(&[Some(true), Some(true)]), Verdict::Good);
        assert_eq!(of(&[Some(true), Some(false)]), Verdict::Mixed);
        assert_eq!(of(&[Some(false)]), Verdict::Poor);
        assert_eq!(of(&[Some(true), None, Some(false)]), Verdict::Mixed, "whatever the second is");
        assert_eq!([of(&[Some(true), None]), of(&[Some(false), None]), of(&[None])], [Verdict::CannotTell; 3]);
        assert_eq!(of(&[]), Verdict::NotApplicable);
        let nothing = Cell { value: None, half: None, holds: None };
        assert_eq!(Verdict::of(&[nothing]), Verdict::NotApplicable);
        assert_eq!(Verdict::of(&[nothing, Cell { value: Some(1.0), half: None, holds: Some(true) }]), Verdict::Good);
    }
}
