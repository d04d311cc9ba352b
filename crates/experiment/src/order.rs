//! Notations of `[[expect]]`: orderings, bounds, and statistics of one-second values.

use std::fmt;

use super::problem::Problem;

/// Relation between the values of consecutive labels in an ordering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `>`: greater.
    Greater,
    /// `>>`: at least twice.
    Twice,
    /// `>>>`: at least ten times, an order of magnitude.
    Tenfold,
    /// `>=`: not less.
    NotLess,
    /// `~`: within 20 %.
    About,
}

/// Joins labels with equal rank.
const AND: &str = "&";

const RELATIONS: &[(&str, Relation)] = &[
    (">", Relation::Greater),
    (">>", Relation::Twice),
    (">>>", Relation::Tenfold),
    (">=", Relation::NotLess),
    ("~", Relation::About),
];

impl Relation {
    /// Whether the relation holds between `left` and `right`.
    #[must_use]
    pub fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Relation::Greater => left > right,
            Relation::Twice => left >= 2.0 * right && left > right,
            Relation::Tenfold => left >= 10.0 * right && left > right,
            Relation::NotLess => left >= right,
            Relation::About => (left - right).abs() <= 0.2 * left.abs().max(right.abs()),
        }
    }
}

/// An ordering of the labels of one axis: `fred > cbq & cbt >> red`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderChain {
    /// The groups of labels joined by `&`, from left to right.
    pub groups: Vec<Vec<String>>,
    /// The relations between consecutive groups.
    pub relations: Vec<Relation>,
}

impl OrderChain {
    /// Parses an ordering. Relations are separated by spaces, so a label may contain any other text.
    ///
    /// When there are fewer than two labels, or a relation is missing between two of them.
    pub fn parse(text: &str) -> Result<OrderChain, Problem> {
        let bad = |what: &str| {
            Problem::new(format!("the ordering {what}"))
                .right("join labels by >, >>, >>>, >=, ~ or &, with spaces: \"cbt >> red & fred > fifo\"")
        };
        let mut chain = OrderChain { groups: Vec::new(), relations: Vec::new() };
        let mut group: Vec<String> = Vec::new();
        let mut label: Vec<&str> = Vec::new();
        for word in text.split_whitespace() {
            if word.starts_with('<') {
                return Err(bad("is ascending; write the greatest first"));
            }
            let relation = RELATIONS.iter().find(|(sign, _)| *sign == word).map(|(_, relation)| *relation);
            match relation {
                _ if label.is_empty() && (word == AND || relation.is_some()) => {
                    return Err(bad(&format!("has no label before {word}")));
                }
                Some(relation) => {
                    group.push(std::mem::take(&mut label).join(" "));
                    chain.groups.push(std::mem::take(&mut group));
                    chain.relations.push(relation);
                }
                None if word == AND => group.push(std::mem::take(&mut label).join(" ")),
                None => label.push(word),
            }
        }
        if label.is_empty() {
            return Err(bad("ends without a label"));
        }
        group.push(label.join(" "));
        chain.groups.push(group);
        if chain.relations.is_empty() { Err(bad("has only one label")) } else { Ok(chain) }
    }
}

impl fmt::Display for OrderChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = |r: &Relation| RELATIONS.iter().find(|(_, known)| known == r).map_or("?", |(sign, _)| *sign);
        let joined = |group: &Vec<String>| group.join(" & ");
        for (group, relation) in self.groups.iter().zip(&self.relations) {
            write!(f, "{} {} ", joined(group), sign(relation))?;
        }
        f.write_str(&self.groups.last().map(joined).unwrap_or_default())
    }
}

/// Comparison of a value with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// `>=`
    AtLeast,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `<`
    Below,
}

/// Longer operators come first, so that `>=` is not parsed as `>`.
const COMPARES: &[(&str, Compare)] =
    &[(">=", Compare::AtLeast), ("<=", Compare::AtMost), (">", Compare::Above), ("<", Compare::Below)];

/// A bound: `>= 25`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// The relation to `value`.
    pub compare: Compare,
    /// The limit: for `every` in the unit of the claim's row, in a statistic in that of the column.
    pub value: f64,
}

impl Bound {
    /// Parses a bound.
    ///
    /// # Errors
    /// When the text is not a comparison and a number.
    pub fn parse(text: &str) -> Result<Bound, Problem> {
        let found = COMPARES.iter().find_map(|(sign, c)| text.trim().strip_prefix(sign).map(|rest| (*c, rest)));
        let value = |rest: &str| rest.trim().parse::<f64>().ok().filter(|v| v.is_finite());
        match found.and_then(|(compare, rest)| Some(Bound { compare, value: value(rest)? })) {
            Some(bound) => Ok(bound),
            None => Err(Problem::new(format!("{text:?} is not a bound"))
                .right("use >=, <=, > or < and a number, for example \">= 25\"")),
        }
    }

    /// Whether a value satisfies it.
    #[must_use]
    pub fn holds(self, value: f64) -> bool {
        match self.compare {
            Compare::AtLeast => value >= self.value,
            Compare::AtMost => value <= self.value,
            Compare::Above => value > self.value,
            Compare::Below => value < self.value,
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = COMPARES.iter().find(|(_, c)| *c == self.compare).map_or("?", |(sign, _)| *sign);
        write!(f, "{sign} {}", self.value)
    }
}

/// A statistic of a series within a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statistic {
    /// The smallest value.
    Min,
    /// The largest value.
    Max,
    /// The arithmetic mean.
    Mean,
    /// Standard deviation divided by the mean.
    Variation,
    /// A percentile, from 0 to 100.
    Percentile(f64),
    /// The share of the values that satisfy a bound.
    Share(Bound),
    /// The time from the window's start to the end of the first interval whose value satisfies a bound.
    Until(Bound),
}

impl Statistic {
    /// Parses a statistic.
    ///
    /// # Errors
    /// When the text is not a statistic.
    pub fn parse(text: &str) -> Result<Statistic, Problem> {
        let percentile = || text.strip_prefix('p')?.parse::<f64>().ok().filter(|p| (0.0..=100.0).contains(p));
        let share = || Bound::parse(text.strip_prefix("share")?).ok();
        let until = || Bound::parse(text.strip_prefix("until")?).ok();
        match text {
            "min" => Some(Statistic::Min),
            "max" => Some(Statistic::Max),
            "mean" => Some(Statistic::Mean),
            "variation" => Some(Statistic::Variation),
            _ => percentile()
                .map(Statistic::Percentile)
                .or_else(|| share().map(Statistic::Share))
                .or_else(|| until().map(Statistic::Until)),
        }
        .ok_or_else(|| {
            Problem::new(format!("{text:?} is not a statistic of seconds")).right(
                "use min, max, mean, variation, a percentile such as p10, a share such as share>=20, or a \
                    time such as until>=20",
            )
        })
    }
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Statistic::Min => f.write_str("min"),
            Statistic::Max => f.write_str("max"),
            Statistic::Mean => f.write_str("mean"),
            Statistic::Variation => f.write_str("variation"),
            Statistic::Percentile(p) => write!(f, "p{p}"),
            Statistic::Share(bound) => write!(f, "share {bound}"),
            Statistic::Until(bound) => write!(f, "until {bound}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orderings_read_as_they_are_written() {
        for text in
            ["fred > cbq > cbt >> red > fifo", "a >= b ~ c >>> d", "a & b > c & d", "red gentle > HTTP+Proshare"]
        {
            assert_eq!(OrderChain::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "a", "a >", "> a", "a > > b", "a < b", "a>b", "a & > b", "a > b &", "a & b"] {
            assert!(OrderChain::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn relations_hold_at_their_edges() {
        assert!(
            Relation::Twice.holds(2.0, 1.0) && !Relation::Twice.holds(1.9, 1.0) && !Relation::Twice.holds(0.0, 0.0)
        );
        assert!(Relation::Tenfold.holds(10.0, 1.0) && !Relation::Tenfold.holds(9.9, 1.0));
        assert!(Relation::NotLess.holds(1.0, 1.0) && !Relation::Greater.holds(1.0, 1.0));
        assert!(
            Relation::About.holds(1.0, 0.8) && Relation::About.holds(0.8, 1.0) && !Relation::About.holds(1.0, 0.79)
        );
        assert!(!Relation::About.holds(f64::NAN, 1.0));
    }

    #[test]
    fn bounds_and_statistics_read_as_they_are_written() {
        assert_eq!(Bound::parse(" >=25").unwrap(), Bound { compare: Compare::AtLeast, value: 25.0 });
        assert!(Bound::parse("25").is_err() && Bound::parse(">= many").is_err() && Bound::parse("> nan").is_err());
        for (sign, below, at, above) in
            [("<", true, false, false), ("<=", true, true, false), (">", false, false, true), (">=", false, true, true)]
        {
            let bound = Bound::parse(&format!("{sign} 3")).unwrap();
            assert_eq!([2.9, 3.0, 3.1].map(|value| bound.holds(value)), [below, at, above], "{sign}");
        }
        for text in ["min", "max", "mean", "p10", "p99.9", "share >= 20", "until < 3"] {
            assert_eq!(Statistic::parse(text).unwrap().to_string(), text);
        }
        assert!(Statistic::parse("share>=20").is_ok());
        assert!(Statistic::parse("p101").is_err() && Statistic::parse("median").is_err());
    }
}
