//! The rate of a conformant TCP: the deterministic model with periodic drops.
//!
//! Floyd and Fall 1999, section IV; Mahajan and Floyd 2000, equations 1 and 3.

/// The square root of 3/2, which is also Floyd and Fall's `1.5 sqrt(2/3)`.
#[must_use]
pub fn root_of_1_5() -> f64 {
    1.5_f64.sqrt()
}

/// `f(R, p) = sqrt(1.5) / (R sqrt(p))`: packets per second of a TCP with round trip `rtt` seconds that loses one in
/// `1/p` packets. Infinite without loss.
#[must_use]
pub fn rate(rtt: f64, p: f64) -> f64 {
    root_of_1_5() / (rtt * p.sqrt())
}

/// `CL(R, p) = 1 / (f(R, p) p) = R / sqrt(1.5 p)`: seconds from one loss of that TCP to the next.
#[must_use]
pub fn epoch(rtt: f64, p: f64) -> f64 {
    rtt / (1.5 * p).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of a round trip of 40 ms at 1 % loss.
    #[test]
    fn a_short_tcp_at_one_percent() {
        assert!((rate(0.04, 0.01) - 306.186).abs() < 1e-3);
        assert!((epoch(0.04, 0.01) - 0.326_599).abs() < 1e-6);
        assert!((epoch(0.04, 0.01) * rate(0.04, 0.01) - 100.0).abs() < 1e-9, "an epoch has 1/p packets");
    }
}
