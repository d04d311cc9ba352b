//! Errors of experiment files: what is wrong, where, and how to correct it.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

pub(super) use aqmkit_base::near::{closest, suggest};
use aqmkit_base::param::Explanation;
use aqmkit_files::bounded::Unread;
use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};

/// A source text: an experiment file, or an argument of the command line.
#[derive(Debug)]
pub(super) struct Text(NamedSource<String>);

impl Text {
    pub(super) fn new(name: &str, content: &str) -> Arc<Text> {
        Arc::new(Text(NamedSource::new(name, content.to_owned())))
    }

    pub(super) fn content(&self) -> &str {
        self.0.inner()
    }
}

/// The location in a text that a value was read from.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    pub(super) text: Arc<Text>,
    pub(super) span: Range<usize>,
}

impl Origin {
    /// A range of `text`; a span that is not on character boundaries is replaced by its start.
    pub(super) fn new(text: &Arc<Text>, span: Range<usize>) -> Self {
        let valid = text.content().get(span.clone()).is_some();
        Origin { text: Arc::clone(text), span: if valid { span } else { 0..0 } }
    }

    /// The location of values that come from no text.
    pub(super) fn nowhere() -> Self {
        Origin { text: Text::new("", ""), span: 0..0 }
    }

    fn is_nowhere(&self) -> bool {
        self.text.0.name().is_empty() && self.text.content().is_empty()
    }

    /// The part of the location on its first line.
    fn first_line(&self) -> Origin {
        let shown = self.text.content().get(self.span.clone()).unwrap_or("");
        let end = self.span.start + shown.find(['\n', '\r']).unwrap_or(shown.len());
        Origin { text: Arc::clone(&self.text), span: self.span.start..end }
    }
}

/// An error: what is wrong, where, and how to correct it.
///
/// Rendered by `miette`, it shows the affected line.
#[derive(Clone, Debug)]
pub struct Problem(Box<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    what: String,
    right: Vec<String>,
    at: Option<Origin>,
    /// Labels of the affected combinations, for the axes that matter.
    occurs: BTreeMap<String, String>,
}

/// A location in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Path of the file, or `--set` for the command line.
    pub file: String,
    /// Counted from one.
    pub line: usize,
    /// In characters, counted from one.
    pub column: usize,
}

impl Problem {
    /// An error message of one sentence.
    #[must_use]
    pub fn new(what: impl Into<String>) -> Self {
        Problem(Box::new(Inner { what: what.into(), right: Vec::new(), at: None, occurs: BTreeMap::new() }))
    }

    /// Adds a hint how to correct it.
    #[must_use]
    pub fn right(mut self, help: impl Into<String>) -> Self {
        self.0.right.push(help.into());
        self
    }

    /// Sets the location, unless a more specific one is known or `origin` is none.
    pub(super) fn at(mut self, origin: &Origin) -> Self {
        if !origin.is_nowhere() {
            self.0.at.get_or_insert_with(|| origin.first_line());
        }
        self
    }

    /// Sets the affected combinations of a sweep: label by axis.
    pub(super) fn occurring(mut self, labels: BTreeMap<String, String>) -> Self {
        self.0.occurs = labels;
        self
    }

    /// Label of the affected combinations on an axis; `None` if the problem does not depend on this axis.
    #[must_use]
    pub fn occurs_at(&self, axis: &str) -> Option<&str> {
        self.0.occurs.get(axis).map(String::as_str)
    }

    /// Rewrites the problem for a single value of an axis: it begins with the label and no longer names the axis.
    #[must_use]
    pub fn of_label(mut self, axis: &str) -> Self {
        if let Some(label) = self.0.occurs.remove(axis) {
            self.0.what.insert_str(0, &format!("{label}: "));
        }
        self
    }

    /// The hints, and the affected combinations of a sweep.
    fn hints(&self) -> Vec<String> {
        let labels: Vec<String> = self.0.occurs.iter().map(|(axis, label)| format!("{axis} = {label}")).collect();
        let occurs = (!labels.is_empty()).then(|| format!("this occurs where {}", labels.join(", ")));
        self.0.right.iter().cloned().chain(occurs).collect()
    }

    /// Message and hints in one line, without location.
    #[must_use]
    pub fn in_one_line(&self) -> String {
        std::iter::once(self.0.what.clone()).chain(self.hints()).collect::<Vec<_>>().join("; ")
    }

    /// Removes the location, for users who did not write the text; prefixes the message with `before`.
    #[must_use]
    pub fn without_place(mut self, before: &str) -> Self {
        self.0.what.insert_str(0, before);
        self.0.at = None;
        self
    }

    /// Whether `other` is the same problem at the same location.
    pub(super) fn is_same(&self, other: &Problem) -> bool {
        let span = |p: &Problem| p.0.at.as_ref().map(|o| o.span.clone());
        self.0.what == other.0.what && span(self) == span(other)
    }

    /// The location of the first affected character.
    #[must_use]
    pub fn location(&self) -> Option<Location> {
        let at = self.0.at.as_ref()?;
        let before = at.text.content().get(..at.span.start)?;
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        Some(Location {
            file: at.text.0.name().to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        })
    }
}

/// Longer lines are not shown: they would hide the message.
const WIDEST: usize = 1000;

impl Origin {
    /// Whether the line and its neighbours are short enough to be shown.
    fn is_narrow(&self) -> bool {
        let text = self.text.content();
        let (before, after) = (text.get(..self.span.start).unwrap_or(""), text.get(self.span.end..).unwrap_or(""));
        let beside = before.rsplit('\n').take(2).chain(after.split('\n').take(2));
        self.span.len() + beside.map(str::len).max().unwrap_or(0) <= WIDEST
    }
}

impl Inner {
    /// The location, if its line can be shown.
    fn shown(&self) -> Option<&Origin> {
        self.at.as_ref().filter(|at| at.is_narrow())
    }
}

impl From<Unread> for Problem {
    fn from(error: Unread) -> Self {
        let problem = Problem::new(error.to_string());
        match error.right() {
            Some(right) => problem.right(right),
            None => problem,
        }
    }
}

impl From<Explanation> for Problem {
    fn from(explanation: Explanation) -> Self {
        let problem = Problem::new(explanation.what);
        if explanation.right.is_empty() { problem } else { problem.right(explanation.right) }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Location { file, line, column }) = self.location().filter(|_| self.0.shown().is_none()) {
            write!(f, "{file} line {line}, column {column}: ")?;
        }
        f.write_str(&self.0.what)
    }
}

impl std::error::Error for Problem {}

impl Diagnostic for Problem {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let hints = self.hints();
        (!hints.is_empty()).then(|| Box::new(hints.join("\n")) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.0.shown().map(|at| &at.text.0 as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let span = self.0.shown()?.span.clone();
        Some(Box::new(std::iter::once(LabeledSpan::underline(span))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_would_fill_the_screen_is_told_by_its_number() {
        let problem = |text: &str| Problem::new("no").at(&Origin::new(&Text::new("a.toml", text), 4..5));
        assert_eq!(problem("a\nb = 1\n").to_string(), "no");
        assert!(problem("a\nb = 1\n").source_code().is_some());
        let wide = problem(&format!("a\nb = {}\n", "1".repeat(WIDEST)));
        assert_eq!(wide.to_string(), "a.toml line 2, column 3: no");
        assert!(wide.source_code().is_none() && wide.labels().is_none());
    }

    /// The affected line and its neighbours must be short to be shown; other lines do not matter.
    #[test]
    fn only_lines_that_are_shown_have_to_be_short() {
        let shown = |text: &str| {
            let start = text.find("x").unwrap();
            let problem = Problem::new("no").at(&Origin::new(&Text::new("a.toml", text), start..start + 1));
            problem.source_code().is_some()
        };
        let long = |n: usize| "1".repeat(n);
        assert!(shown(&format!("{}x", long(WIDEST - 1))) && !shown(&format!("{}x", long(WIDEST))));
        assert!(shown(&format!("x{}", long(WIDEST - 1))) && !shown(&format!("x{}", long(WIDEST))));
        assert!(!shown(&format!("{}\nx", long(WIDEST))) && !shown(&format!("x\n{}", long(WIDEST))));
        assert!(shown(&format!("{}\n\nx", long(2 * WIDEST))) && shown(&format!("x\n\n{}", long(2 * WIDEST))));
    }

    /// A span inside a character is replaced by its start.
    #[test]
    fn a_place_is_between_characters() {
        let text = Text::new("a.toml", "\u{e9}t\u{e9}");
        let span = |from, to| Origin::new(&text, from..to).span;
        assert_eq!([span(0, 2), span(2, 3), span(3, 5)], [0..2, 2..3, 3..5]);
        assert_eq!([span(1, 2), span(0, 1), span(3, 9)], [0..0, 0..0, 0..0]);
        let at = |from, to| Problem::new("no").at(&Origin::new(&text, from..to)).location().unwrap();
        assert_eq!((at(3, 5).line, at(3, 5).column), (1, 3), "in characters");
    }

    #[test]
    fn a_problem_without_its_place_begins_as_it_is_told() {
        let problem = Problem::new("no").right("yes").at(&Origin::new(&Text::new("a.toml", "b = 1"), 0..1));
        let bare = problem.without_place("the link: ");
        assert_eq!((bare.in_one_line().as_str(), bare.location()), ("the link: no; yes", None));
        let explained = |right: &str| {
            let message = Problem::from(Explanation { what: "no".to_owned(), right: right.to_owned() });
            message.help().map(|help| help.to_string())
        };
        assert_eq!((explained(""), explained("yes")), (None, Some("yes".to_owned())));
    }
}
