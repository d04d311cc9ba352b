//! The verdicts of a list of test cases on one subject.

use serde::Serialize;

/// A list of test cases, judged.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cases {
    /// What was tested.
    pub subject: String,
    /// The document that has the cases.
    pub source: String,
    /// In its order.
    pub cases: Vec<Case>,
}

/// A test case, judged.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Case {
    /// Its number in the document.
    pub number: u32,
    /// Its title.
    pub title: String,
    /// The requirement of the document.
    pub wants: String,
    /// The verdict.
    pub verdict: Verdict,
    /// What was found, in a sentence.
    pub found: String,
}

/// The verdict of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// All that must hold does.
    Passes,
    /// Something does not.
    Fails,
    /// The subject does not show what the case is about.
    NotJudged,
}

impl Cases {
    /// How many cases have this verdict.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.cases.iter().filter(|case| case.verdict == verdict).count()
    }
}
