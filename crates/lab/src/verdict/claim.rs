//! The small languages of an `[[expect]]`: orderings, bounds and statistics of seconds.

use std::fmt;

/// How one value relates to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Greater.
    Above,
    /// At least twice.
    FarAbove,
    /// Not less.
    AtLeast,
    /// Within 20 % of the larger.
    Like,
}

impl Relation {
    fn parse(text: &str) -> Option<Relation> {
        Some(match text {
            ">" => Relation::Above,
            ">>" => Relation::FarAbove,
            ">=" => Relation::AtLeast,
            "~" => Relation::Like,
            _ => return None,
        })
    }

    /// Whether `a` stands so to `b`.
    #[must_use]
    pub fn holds(self, a: f64, b: f64) -> bool {
        match self {
            Relation::Above => a > b,
            Relation::FarAbove => a >= 2.0 * b && a > b,
            Relation::AtLeast => a >= b,
            Relation::Like => (a - b).abs() <= 0.2 * a.abs().max(b.abs()),
        }
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Relation::Above => ">",
            Relation::FarAbove => ">>",
            Relation::AtLeast => ">=",
            Relation::Like => "~",
        })
    }
}

/// `fred > cbq >> red`: labels and what stands between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// The first label.
    pub first: String,
    /// The others, each with its relation to the one before.
    pub rest: Vec<(Relation, String)>,
}

impl Order {
    /// Reads an ordering.
    ///
    /// # Errors
    /// When it is not labels with relations between them.
    pub fn parse(text: &str) -> Result<Order, String> {
        let wrong =
            || format!("{text:?} is no ordering; write labels with > >> >= or ~ between them, such as \"fred > red\"");
        let (mut labels, mut relations) = (vec![String::new()], Vec::new());
        for word in text.split_whitespace() {
            if let Some(relation) = Relation::parse(word) {
                relations.push(relation);
                labels.push(String::new());
            } else if let Some(label) = labels.last_mut() {
                let gap = if label.is_empty() { "" } else { " " };
                label.push_str(&format!("{gap}{word}"));
            }
        }
        if relations.is_empty() || labels.iter().any(String::is_empty) {
            return Err(wrong());
        }
        let first = labels.remove(0);
        Ok(Order { first, rest: relations.into_iter().zip(labels).collect() })
    }

    /// Every label.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.first.as_str()).chain(self.rest.iter().map(|(_, l)| l.as_str()))
    }

    /// Each neighbouring pair.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, Relation, &str)> {
        self.labels().zip(&self.rest).map(|(left, (relation, right))| (left, *relation, right.as_str()))
    }
}

/// `>= 25`: what each value must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    compare: Compare,
    limit: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compare {
    AtLeast,
    AtMost,
    Above,
    Below,
    /// Within 0.5 %.
    Equal,
}

const COMPARISONS: &[(&str, Compare)] = &[
    (">=", Compare::AtLeast),
    ("<=", Compare::AtMost),
    (">", Compare::Above),
    ("<", Compare::Below),
    ("=", Compare::Equal),
];

impl Bound {
    /// Reads a bound.
    ///
    /// # Errors
    /// When it is not a comparison and a number.
    pub fn parse(text: &str) -> Result<Bound, String> {
        let found = COMPARISONS.iter().find_map(|(sign, c)| text.trim().strip_prefix(sign).map(|rest| (*c, rest)));
        let parsed = found.and_then(|(compare, rest)| Some(Bound { compare, limit: rest.trim().parse().ok()? }));
        parsed.ok_or_else(|| format!("{text:?} is no bound; write a comparison and a number, such as \">= 25\""))
    }

    /// Whether `x` meets it.
    #[must_use]
    pub fn holds(self, x: f64) -> bool {
        match self.compare {
            Compare::AtLeast => x >= self.limit,
            Compare::AtMost => x <= self.limit,
            Compare::Above => x > self.limit,
            Compare::Below => x < self.limit,
            Compare::Equal => (x - self.limit).abs() <= 0.005 * self.limit.abs(),
        }
    }
}

/// A statistic of the one-second values in a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Seconds {
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// The mean.
    Mean,
    /// The value that this share of them does not exceed.
    Percentile(f64),
    /// The share of them that meets a bound.
    Share(Bound),
}

impl Seconds {
    /// Reads `min`, `max`, `mean`, `p10` or `share>=20`.
    ///
    /// # Errors
    /// When it is none of them.
    pub fn parse(text: &str) -> Result<Seconds, String> {
        let wrong =
            || format!("{text:?} is no statistic; known are min, max, mean, p10 (any percentile) and share>=20");
        Ok(match text.trim() {
            "min" => Seconds::Min,
            "max" => Seconds::Max,
            "mean" => Seconds::Mean,
            t => match (t.strip_prefix("share"), t.strip_prefix('p')) {
                (Some(bound), _) => Seconds::Share(Bound::parse(bound)?),
                (_, Some(n)) => {
                    let percent: f64 = n.parse().map_err(|_| wrong())?;
                    if !(0.0..=100.0).contains(&percent) {
                        return Err(wrong());
                    }
                    Seconds::Percentile(percent / 100.0)
                }
                _ => return Err(wrong()),
            },
        })
    }

    /// Its value; none of no seconds.
    #[must_use]
    pub fn of(self, mut seconds: Vec<f64>) -> Option<f64> {
        seconds.retain(|x| x.is_finite());
        seconds.sort_by(f64::total_cmp);
        let n = seconds.len();
        let last = n.checked_sub(1)?;
        Some(match self {
            Seconds::Min => seconds[0],
            Seconds::Max => seconds[last],
            Seconds::Mean => seconds.iter().sum::<f64>() / n as f64,
            Seconds::Percentile(p) => seconds[((p * n as f64).ceil() as usize).saturating_sub(1).min(last)],
            Seconds::Share(bound) => seconds.iter().filter(|x| bound.holds(**x)).count() as f64 / n as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relations() {
        assert!(Relation::Above.holds(2.0, 1.0) && !Relation::Above.holds(1.0, 1.0));
        assert!(Relation::FarAbove.holds(2.0, 1.0) && !Relation::FarAbove.holds(1.9, 1.0));
        assert!(!Relation::FarAbove.holds(0.0, 0.0));
        assert!(Relation::AtLeast.holds(1.0, 1.0) && !Relation::AtLeast.holds(0.9, 1.0));
        assert!(Relation::Like.holds(80.0, 100.0) && !Relation::Like.holds(79.0, 100.0));
    }

    #[test]
    fn orders_and_their_pairs() {
        let order = Order::parse("fred > cbq >> red gentle ~ fifo").unwrap();
        let pairs: Vec<_> = order.pairs().map(|(a, r, b)| format!("{a}{r}{b}")).collect();
        assert_eq!(pairs, ["fred>cbq", "cbq>>red gentle", "red gentle~fifo"]);
        for wrong in ["", "fred", "fred >", "> fred", "fred > > red", "fred < red"] {
            assert!(Order::parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn bounds() {
        let holds = |text, x| Bound::parse(text).unwrap().holds(x);
        assert!(holds(">= 25", 25.0) && !holds("> 25", 25.0) && holds("<= 25", 25.0) && !holds("<25", 25.0));
        assert!(holds("= 306.2", 306.186) && !holds("= 306.2", 300.0));
        assert!(Bound::parse("25").is_err() && Bound::parse(">= many").is_err());
    }

    #[test]
    fn seconds() {
        let of = |text: &str, v: &[f64]| Seconds::parse(text).unwrap().of(v.to_vec());
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        assert_eq!(of("min", &ten), Some(1.0));
        assert_eq!(of("max", &ten), Some(10.0));
        assert_eq!(of("mean", &ten), Some(5.5));
        assert_eq!(of("p10", &ten), Some(1.0));
        assert_eq!(of("p90", &ten), Some(9.0));
        assert_eq!(of("p0", &ten), Some(1.0));
        assert_eq!(of("share>=8", &ten), Some(0.3));
        assert_eq!(of("mean", &[f64::NAN, 2.0]), Some(2.0));
        assert_eq!(of("mean", &[f64::NAN]), None);
        for wrong in ["median", "p101", "px", "share", "share 3"] {
            assert!(Seconds::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
