//! The kinds of change, under the names that the literature on mutation testing gives them.

/// A kind of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operator {
    /// AOR: `+` becomes `-`, `*` becomes `/`, and the other way round.
    Arithmetic,
    /// ROR: a comparison moves by its boundary (`<` to `<=`) or turns round (`<` to `>=`).
    Relation,
    /// LCR: `&&` becomes `||`, and the other way round.
    Connector,
    /// UOD: a `!` or a minus in front is left out.
    Unary,
    /// CRP: a number becomes one more, zero, or twice or half as large.
    Constant,
    /// BCR: what an `if` or a `while` asks is always true or always false.
    Condition,
    /// SDL: an assignment or a call whose result nobody uses is left out.
    Statement,
    /// RVR: a function that answers yes or no always gives the same answer.
    Answer,
    /// MMR: `min` becomes `max`, and the other way round.
    Extremum,
}

impl Operator {
    /// Every kind.
    pub const ALL: [Self; 9] = [
        Self::Arithmetic,
        Self::Relation,
        Self::Connector,
        Self::Unary,
        Self::Constant,
        Self::Condition,
        Self::Statement,
        Self::Answer,
        Self::Extremum,
    ];

    /// The three letters under which the literature knows it, or three like them.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Arithmetic => "AOR",
            Self::Relation => "ROR",
            Self::Connector => "LCR",
            Self::Unary => "UOD",
            Self::Constant => "CRP",
            Self::Condition => "BCR",
            Self::Statement => "SDL",
            Self::Answer => "RVR",
            Self::Extremum => "MMR",
        }
    }
}

/// What an operator between two values becomes.
pub(crate) fn exchanged(operator: &str) -> &'static [(Operator, &'static str)] {
    use Operator::{Arithmetic, Connector, Relation};
    match operator {
        "+" => &[(Arithmetic, "-")],
        "-" => &[(Arithmetic, "+")],
        "*" => &[(Arithmetic, "/")],
        "/" => &[(Arithmetic, "*")],
        "+=" => &[(Arithmetic, "-=")],
        "-=" => &[(Arithmetic, "+=")],
        "*=" => &[(Arithmetic, "/=")],
        "/=" => &[(Arithmetic, "*=")],
        "<" => &[(Relation, "<="), (Relation, ">=")],
        "<=" => &[(Relation, "<"), (Relation, ">")],
        ">" => &[(Relation, ">="), (Relation, "<=")],
        ">=" => &[(Relation, ">"), (Relation, "<")],
        "==" => &[(Relation, "!=")],
        "!=" => &[(Relation, "==")],
        "&&" => &[(Connector, "||")],
        "||" => &[(Connector, "&&")],
        _ => &[],
    }
}

/// What an integer becomes: one more, zero, twice as large. None of them twice, and none that changes nothing.
pub(crate) fn integers(digits: &str, suffix: &str) -> Vec<String> {
    let Ok(n) = digits.parse::<u128>() else { return Vec::new() };
    let mut others = Vec::new();
    for other in [n.checked_add(1), Some(0), n.checked_mul(2)].into_iter().flatten() {
        if other != n && !others.contains(&other) {
            others.push(other);
        }
    }
    others.iter().map(|other| format!("{other}{suffix}")).collect()
}

/// What a number with a fraction becomes: twice and half as large, or 1 where it was 0.
pub(crate) fn fractions(digits: &str, suffix: &str) -> Vec<String> {
    let Ok(x) = digits.parse::<f64>() else { return Vec::new() };
    let others = if x == 0.0 { vec![1.0] } else { vec![2.0 * x, 0.5 * x] };
    others.iter().map(|other| format!("{other:?}{suffix}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integer_changes_into_others_only() {
        assert_eq!(integers("0", "u8"), ["1u8"]);
        assert_eq!(integers("1", ""), ["2", "0"]);
        assert_eq!(integers("5", "_u64"), ["6_u64", "0_u64", "10_u64"]);
    }

    #[test]
    fn a_fraction_stays_a_fraction() {
        assert_eq!(fractions("0.0", ""), ["1.0"]);
        assert_eq!(fractions("3.0", ""), ["6.0", "1.5"]);
        assert_eq!(fractions("1e-9", "_f64"), ["2e-9_f64", "5e-10_f64"]);
    }

    #[test]
    fn every_exchange_is_another_operator() {
        for operator in ["+", "-", "*", "/", "<", "<=", ">", ">=", "==", "!=", "&&", "||", "+=", "-=", "*=", "/="] {
            assert!(!exchanged(operator).is_empty());
            assert!(exchanged(operator).iter().all(|(_, other)| *other != operator));
        }
        assert!(exchanged("<<").is_empty());
    }

    #[test]
    fn every_code_is_its_own() {
        for (i, one) in Operator::ALL.iter().enumerate() {
            assert!(Operator::ALL[..i].iter().all(|other| other.code() != one.code()));
        }
    }
}
