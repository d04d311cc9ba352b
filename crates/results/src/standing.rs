//! What a claim rests on, and so what its verdict is worth.
//!
//! A reproduction is worth what it could have refuted. Only a row that a discipline could have missed counts in the headline: one that was measured, and that
//! is missed where the scheme is taken away.

use serde::{Deserialize, Serialize};

use crate::Expectation;

/// Where the value of a claim comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Runs, simulated or live.
    #[default]
    Measured,
    /// What was set or fitted so that it holds: traffic, calibration, parameters.
    Input,
    /// A formula that was evaluated.
    Calculation,
    /// A formula that was evaluated for a case that its paper does not print.
    WorkedByHand,
}

/// What became of a measured claim when the scheme was taken away: replaced by drop-tail, or its own part switched off (the null test).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WithoutScheme {
    /// It was not tried.
    #[default]
    NotTried,
    /// The null test misses it, so it tests the scheme.
    Missed,
    /// It is met all the same: it does not discriminate.
    Met,
    /// Nothing could be taken away: the claim is about drop-tail, or about no queue at all.
    NoScheme,
}

/// The line of the scoreboard that a claim belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// Measured, and missed without the scheme; or missed with it, whatever becomes of it without.
    Discriminates,
    /// Measured and met, but met without the scheme as well.
    DoesNotDiscriminate,
    /// Measured, of drop-tail or of hosts and traffic alone.
    NoScheme,
    /// Measured; the null test has not been done.
    NotTried,
    /// Set or fitted so that it holds.
    Input,
    /// Calculated.
    Calculation,
    /// Calculated for a case that the paper does not print.
    WorkedByHand,
}

impl Standing {
    /// Every line, in the order of the scoreboard.
    pub const ALL: [Standing; 7] = [
        Standing::Discriminates,
        Standing::DoesNotDiscriminate,
        Standing::NoScheme,
        Standing::NotTried,
        Standing::Input,
        Standing::Calculation,
        Standing::WorkedByHand,
    ];

    /// The line of this claim.
    #[must_use]
    pub fn of(row: &Expectation) -> Standing {
        match (row.basis, row.without_scheme) {
            (Basis::Input, _) => Standing::Input,
            (Basis::Calculation, _) => Standing::Calculation,
            (Basis::WorkedByHand, _) => Standing::WorkedByHand,
            (Basis::Measured, WithoutScheme::NotTried) => Standing::NotTried,
            (Basis::Measured, WithoutScheme::NoScheme) => Standing::NoScheme,
            (Basis::Measured, WithoutScheme::Met) if row.pass == Some(true) => Standing::DoesNotDiscriminate,
            (Basis::Measured, WithoutScheme::Met | WithoutScheme::Missed) => Standing::Discriminates,
        }
    }

    /// What it is called in tables.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Standing::Discriminates => "measured",
            Standing::DoesNotDiscriminate => "does not discriminate",
            Standing::NoScheme => "no scheme",
            Standing::NotTried => "not null-tested",
            Standing::Input => "input",
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
    fn a_row_leaves_the_headline_only_by_being_met_without_the_scheme_too() {
        let measured = |without, pass| standing(Basis::Measured, without, pass);
        assert_eq!(measured(WithoutScheme::Missed, true), Standing::Discriminates);
        assert_eq!(measured(WithoutScheme::Missed, false), Standing::Discriminates);
        assert_eq!(measured(WithoutScheme::Met, true), Standing::DoesNotDiscriminate);
        assert_eq!(measured(WithoutScheme::Met, false), Standing::Discriminates, "a miss stays a miss");
        assert_eq!(measured(WithoutScheme::NoScheme, true), Standing::NoScheme);
        assert_eq!(standing(Basis::Input, WithoutScheme::Missed, true), Standing::Input);
        assert_eq!(standing(Basis::Calculation, WithoutScheme::NotTried, true), Standing::Calculation);
    }
}
