//! The rates of the two directions of a link: `50mbit/10mbit`.

use std::fmt;
use std::str::FromStr;

use crate::BitRate;
use crate::units::{UnitError, doubtful_rate, parse_rate};

/// The rate of one direction of a link, or of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates {
    /// The rate of the first direction, or of both where no other is given.
    pub first: BitRate,
    /// The rate of the second direction.
    pub second: Option<BitRate>,
}

impl FromStr for Rates {
    type Err = UnitError;

    /// `10mbit`, or `50mbit/10mbit`.
    fn from_str(text: &str) -> Result<Rates, UnitError> {
        let mut parts = text.split('/');
        let rates = Rates {
            first: parse_rate(parts.next().unwrap_or_default())?,
            second: parts.next().map(parse_rate).transpose()?,
        };
        match parts.next() {
            None => Ok(rates),
            Some(_) => Err(UnitError {
                got: text.to_owned(),
                what: "rate",
                hint: "a link has two directions: write one rate or two, such as \"50mbit/10mbit\"".to_owned(),
            }),
        }
    }
}

impl fmt::Display for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.second {
            None => self.first.fmt(f),
            Some(second) => write!(f, "{}/{second}", self.first),
        }
    }
}

/// The [`doubtful_rate`]s of a text with one rate or two.
pub fn doubtful_rates(text: &str) -> impl Iterator<Item = String> {
    text.split('/').filter_map(doubtful_rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Rates, String> {
        text.parse().map_err(|e: UnitError| e.to_string())
    }

    #[test]
    fn one_rate_or_two() {
        let [first, second] = [50, 10].map(BitRate::from_mbps);
        assert_eq!(read("50mbit"), Ok(Rates { first, second: None }));
        for text in ["50mbit/10mbit", " 50 mbit / 10000kbit "] {
            let rates = read(text).unwrap();
            assert_eq!(rates, Rates { first, second: Some(second) });
            assert_eq!(rates.to_string(), "50mbit/10mbit");
        }
    }

    #[test]
    fn the_part_that_is_wrong_is_named() {
        for (text, named) in
            [("50mbit/10", "\"10\" is not a rate"), ("/10mbit", "\"\" is not a rate"), ("1mbit/", "\"\"")]
        {
            let error = read(text).unwrap_err();
            assert!(error.contains(named), "{text}: {error}");
        }
        let three = read("1mbit/2mbit/3mbit").unwrap_err();
        assert!(three.contains("1mbit/2mbit/3mbit") && three.contains("50mbit/10mbit"), "{three}");
    }

    #[test]
    fn each_part_may_be_doubtful() {
        let count = |text| doubtful_rates(text).count();
        assert_eq!(["10mbit/1mbit", "10mbps/1mbit", "10mbit/1mbps", "10mbps/1Mbps"].map(count), [0, 1, 1, 2]);
    }
}
