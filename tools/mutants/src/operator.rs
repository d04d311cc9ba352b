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
    /// UOD: a leading `!` or minus is removed.
    Unary,
    /// CRP: a number becomes one larger, zero, twice as large or half as large.
    Constant,
    /// BCR: the condition of an `if` or `while` becomes always true or always false.
    Condition,
    /// SDL: an assignment, or a call whose result is not used, is removed.
    Statement,
    /// RVR: a function that returns a `bool` always returns the same value.
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

    /// Its three-letter code in the literature, or a similar one.
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

/// The replacements of a binary operator.
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

/// The replacements of an integer: one larger, zero, twice as large; each once, and only if different.
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

/// The replacements of a floating-point number: twice and half as large, or 1 for 0.
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
