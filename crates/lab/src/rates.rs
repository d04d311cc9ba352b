//! The rates of two directions.

use aqmkit_base::{BitRate, Rates};

use crate::error::{LabError, wrong};

/// The rate of the second direction, from `rate` (as in `50mbit/10mbit`) or from the separate `option`; `None` if
/// neither has one.
///
/// # Errors
/// When both have one.
pub fn second(rate: Option<Rates>, option: &str, apart: Option<BitRate>) -> Result<Option<BitRate>, LabError> {
    match (rate.and_then(|rates| rates.second), apart) {
        (Some(second), Some(apart)) => wrong(
            format!("the rate of the second direction is {second} by --rate, and {apart} by {option}"),
            "give one of them",
        ),
        (second, apart) => Ok(second.or(apart)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_direction_has_one_rate() {
        let rates = |text: &str| Some(text.parse().unwrap());
        let apart = Some(BitRate::from_mbps(5));
        assert_eq!(second(rates("9mbit/1mbit"), "--up", None).unwrap(), Some(BitRate::from_mbps(1)));
        assert_eq!(second(rates("9mbit"), "--up", apart).unwrap(), apart);
        assert_eq!(second(None, "--up", apart).unwrap(), apart);
        let both = second(rates("9mbit/1mbit"), "--up", apart).unwrap_err().to_string();
        assert!(both.contains("1mbit by --rate, and 5mbit by --up"), "{both}");
    }
}
