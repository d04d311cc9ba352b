//! The basis of a claim, and its line in the scoreboard.
//!
//! A claim is evidence only if it could have been missed. The column *measured* of the scoreboard therefore counts only
//! claims that were measured and that fail in the null test, which removes the scheme. A claim that holds in the null
//! test does not discriminate, whether it holds with the scheme or not.

use serde::{Deserialize, Serialize};

use crate::Expectation;

/// The basis of a claim's value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Measured in runs, simulated or live.
    #[default]
    Measured,
    /// A value that was set or fitted to meet the claim: traffic, calibration, parameters.
    Input,
    /// A setting of the paper's experiment, such as buffers that never fill or the length of a run. Not a result.
    Setting,
    /// Calculated by a formula.
    Calculation,
    /// Calculated by a formula for a case that the paper does not have.
    WorkedByHand,
}

/// The outcome of the null test for a measured claim. The test removes the scheme: it replaces the discipline by
/// drop-tail, or switches off the part under study.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WithoutScheme {
    /// The test was not run.
    #[default]
    NotTried,
    /// The claim is missed without the scheme, so it tests the scheme.
    Missed,
    /// The claim is met without the scheme, too, so it does not discriminate.
    Met,
    /// There is no scheme to remove: the claim is about drop-tail, or not about queues.
    NoScheme,
}

/// The line of the scoreboard that a claim belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// Measured, and missed without the scheme.
    Discriminates,
    /// Measured, but met without the scheme: a hit or miss says nothing about the scheme.
    DoesNotDiscriminate,
    /// Measured; about drop-tail, or about hosts and traffic only.
    NoScheme,
    /// Measured; the null test was not run.
    NotTried,
    /// Set or fitted to meet the claim.
    Input,
    /// A setting of the paper's experiment.
    Setting,
    /// Calculated from a formula.
    Calculation,
    /// Calculated by a formula for a case that the paper does not have.
    WorkedByHand,
}

impl Standing {
    /// All lines, in the order of the scoreboard.
    pub const ALL: [Standing; 8] = [
        Standing::Discriminates,
        Standing::DoesNotDiscriminate,
        Standing::NoScheme,
        Standing::NotTried,
        Standing::Input,
        Standing::Setting,
        Standing::Calculation,
        Standing::WorkedByHand,
    ];

    /// The line in which this claim is counted.
    #[must_use]
    pub fn of(row: &Expectation) -> Standing {
        match (row.basis, row.without_scheme) {
            (Basis::Input, _) => Standing::Input,
            (Basis::Setting, _) => Standing::Setting,
            (Basis::Calculation, _) => Standing::Calculation,
            (Basis::WorkedByHand, _) => Standing::WorkedByHand,
            (Basis::Measured, WithoutScheme::NotTried) => Standing::NotTried,
            (Basis::Measured, WithoutScheme::NoScheme) => Standing::NoScheme,
            (Basis::Measured, WithoutScheme::Met) => Standing::DoesNotDiscriminate,
            (Basis::Measured, WithoutScheme::Missed) => Standing::Discriminates,
        }
    }

    /// The title of the line's column in tables.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Standing::Discriminates => "measured",
            Standing::DoesNotDiscriminate => "does not discriminate",
            Standing::NoScheme => "no scheme",
            Standing::NotTried => "not null-tested",
            Standing::Input => "input",
            Standing::Setting => "setting",
            Standing::Calculation => "calculation",
            Standing::WorkedByHand => "by hand",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(basis: Basis, without_scheme: WithoutScheme, pass: bool) -> Standing {
        Standing::of(&Expectation { basis, without_scheme, pass: Some(pass), ..Expectation::default() })
    }

    #[test]
    fn what_the_null_test_meets_does_not_discriminate_whether_met_or_missed() {
        let measured = |without, pass| standing(Basis::Measured, without, pass);
        assert_eq!(measured(WithoutScheme::Missed, true), Standing::Discriminates);
        assert_eq!(measured(WithoutScheme::Missed, false), Standing::Discriminates);
        assert_eq!(measured(WithoutScheme::Met, true), Standing::DoesNotDiscriminate);
        assert_eq!(measured(WithoutScheme::Met, false), Standing::DoesNotDiscriminate, "a miss says as little");
        assert_eq!(measured(WithoutScheme::NoScheme, true), Standing::NoScheme);
        assert_eq!(standing(Basis::Input, WithoutScheme::Missed, true), Standing::Input);
        assert_eq!(standing(Basis::Setting, WithoutScheme::Missed, true), Standing::Setting);
        assert_eq!(standing(Basis::Calculation, WithoutScheme::NotTried, true), Standing::Calculation);
    }
}
