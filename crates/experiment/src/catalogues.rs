//! The names that an experiment may use: those of the library, and those that a program adds.

/// The disciplines, congestion controls and traffic models that the names of an experiment may mean. The default has
/// those of the library. A program that has others adds them and reads experiments with
/// [`Experiment::parse_with`](crate::Experiment::parse_with).
#[derive(Clone, Debug, Default)]
pub struct Catalogues {
    /// What `aqm` and `[params]` name.
    pub disciplines: aqmkit_aqm::Catalogue,
    /// What `congestion` of `[transport]` names.
    pub controls: aqmkit_transport::Catalogue,
    /// What `kind` of `[[traffic]]` names.
    pub traffic: aqmkit_traffic::Catalogue,
}
