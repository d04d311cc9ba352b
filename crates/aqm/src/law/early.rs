//! RED's early drop: a probability that rises with the average, spread evenly in time.
//!
//! Floyd and Jacobson 1993, section 4; Parris 2001, equations 3.1 and 3.2.

/// `p_b = max_p (avg - min) / (max - min)`: the base probability between the thresholds.
#[must_use]
pub fn base_probability(avg: f64, min: f64, max: f64, max_p: f64) -> f64 {
    max_p * (avg - min) / (max - min)
}

/// `p_a = p_b / (1 - count p_b)`: the probability that makes the gaps between drops uniform on
/// `1..=1/p_b` at a constant average. One where the denominator is not positive.
#[must_use]
pub fn spread(p_b: f64, count: f64) -> f64 {
    let room = 1.0 - count * p_b;
    if room > p_b { p_b / room } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drop_is_certain_after_nine_packets_at_one_tenth() {
        assert!(spread(0.1, 8.0) < 1.0);
        assert_eq!(spread(0.1, 9.0), 1.0);
        assert_eq!(spread(0.1, 50.0), 1.0);
    }

    #[test]
    fn the_base_rises_from_zero_to_max_p() {
        assert_eq!(base_probability(5.0, 5.0, 40.0, 0.1), 0.0);
        assert_eq!(base_probability(40.0, 5.0, 40.0, 0.1), 0.1);
    }
}
