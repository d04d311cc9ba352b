//! A document that says how to characterise something: its sections, and what they are compared with.

use aqmkit_base::ParamError;

use crate::contestant::Contestant;
use crate::evidence::Evidence;
use crate::pictures::Drawing;
use crate::rule::Rule;

/// A document by whose sections a card judges.
#[derive(Debug)]
pub struct Guide {
    /// The document: `RFC 7928`.
    pub source: &'static str,
    /// The folder of its experiments, and the first part of their ids.
    pub study: &'static str,
    /// The axis of every experiment whose labels are the subjects and references.
    pub axis: &'static str,
    /// Plural noun for the subjects: disciplines or congestion controls.
    pub subjects: &'static str,
    /// The label of the reference whose values bounds refer to.
    pub reference: &'static str,
    /// Everything that each card runs as well, to compare with.
    pub references: &'static [&'static str],
    /// Describes the document and who chose the bounds, in Markdown.
    pub(crate) about: &'static str,
    /// The path of most experiments.
    pub(crate) path: &'static str,
    /// The sections, in the order of the document.
    pub sections: &'static [Section],
    /// Sections of the document without an experiment: number and title, and why or where else.
    pub(crate) elsewhere: &'static [(&'static str, &'static str)],
    /// Sections that do not apply to stacks from outside: number, and why.
    pub(crate) not_for_stacks: &'static [(&'static str, &'static str)],
}

impl Guide {
    /// Why a section does not apply to stacks from outside, if it does not.
    pub(crate) fn not_for_stacks(&self, section: &Section) -> Option<&'static str> {
        self.not_for_stacks.iter().find(|(number, _)| *number == section.number).map(|(_, why)| *why)
    }
}

impl Guide {
    /// The subjects, each once, then the references.
    ///
    /// # Errors
    /// Never: the references need no parameters.
    pub fn with_references(&self, mut subjects: Vec<Contestant>) -> Result<Vec<Contestant>, ParamError> {
        for name in self.references {
            if !subjects.iter().any(|subject| subject.label() == *name) {
                subjects.push(self.reference_named(name)?);
            }
        }
        Ok(subjects)
    }

    fn reference_named(&self, name: &str) -> Result<Contestant, ParamError> {
        match self.axis {
            "aqm" => Contestant::named(name),
            _ => Ok(Contestant::control(name)),
        }
    }
}

/// Where a section's values come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// An experiment of the study with this name.
    Experiment(&'static str),
    /// An experiment per subject, with its parameters halved and doubled.
    Parameters,
    /// The benchmark of the disciplines.
    Cost,
}

/// A section of a card.
pub struct Section {
    /// Section number in the RFC.
    pub number: &'static str,
    /// Section title.
    pub title: &'static str,
    /// The question that it answers.
    pub asks: &'static str,
    /// The source of its values.
    pub source: Source,
    pub(crate) rules: &'static [Rule],
    pub(crate) picture: Drawing,
    /// Returns the reason why it does not apply to a subject, if there is one.
    pub(crate) not_for: fn(&Evidence<'_>, &str) -> Option<&'static str>,
}

impl std::fmt::Debug for Section {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Section").field("number", &self.number).field("title", &self.title).finish_non_exhaustive()
    }
}
