//! The names that an experiment can use: those of the library, and those that a program adds.

/// Catalogues that resolve the names of disciplines, congestion controls and traffic models in an experiment. The
/// default has those of the library. A program adds its own ones and reads experiments with
/// [`Experiment::parse_with`](crate::Experiment::parse_with).
#[derive(Clone, Debug, Default)]
pub struct Catalogues {
    /// For `aqm` and `[params]`.
    pub disciplines: aqmkit_aqm::Catalogue,
    /// For `congestion` of `[transport]`.
    pub controls: aqmkit_transport::Catalogue,
    /// For `stack` of `[transport]`: stacks from outside, of which the library has none.
    pub stacks: aqmkit_stack::Catalogue,
    /// For `kind` of `[[traffic]]`.
    pub traffic: aqmkit_traffic::Catalogue,
}
