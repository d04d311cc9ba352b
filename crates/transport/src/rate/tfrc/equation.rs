//! The TCP throughput equation and its inverse.

/// [rfc5348 3.1] with b = 1 and a timeout of four round trips: bytes per second of a TCP with segments of `s` bytes, a
/// round trip of `r` seconds and a loss event rate of `p`.
#[must_use]
pub fn throughput(s: f64, r: f64, p: f64) -> f64 {
    throughput_with_timeout(s, r, 4.0 * r, p)
}

/// [rfc5348 3.1] The same for a TCP whose retransmission timeout is `t_rto` seconds.
#[must_use]
pub fn throughput_with_timeout(s: f64, r: f64, t_rto: f64, p: f64) -> f64 {
    let timeouts = 3.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p);
    s / (r * ((2.0 * p / 3.0).sqrt() + t_rto / r * timeouts))
}

/// The loss event rate at which [`throughput`] is `x`. The function decreases from infinity to its minimum at 1.
#[must_use]
pub(super) fn loss_rate(s: f64, r: f64, x: f64) -> f64 {
    let (mut low, mut high) = (1e-10, 1.0);
    // Bisection of the logarithm: 60 steps give more digits than a float has.
    for _ in 0..60 {
        let middle = f64::sqrt(low * high);
        if throughput(s, r, middle) > x { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: p = 0.01 and R = 0.1 s: sqrt(2p/3) = 0.0816497; 12 sqrt(3p/8) p (1 + 32 p^2) = 12 * 0.0612372 * 0.01 *
    /// 1.0032 = 0.00737198; 1460 / (0.1 * 0.0890217) = 164,005 bytes/s. And p = 0.1: 0.2581989 + 12 * 0.1936492 * 0.1 *
    /// 1.32 = 0.5649392; 1460 / 0.05649392 = 25,843.
    #[test]
    fn the_equation_gives_what_a_hand_gives() {
        assert!((throughput(1460.0, 0.1, 0.01) - 164_005.0).abs() < 2.0);
        assert!((throughput(1460.0, 0.1, 0.1) - 25_843.5).abs() < 1.0);
    }

    /// The same at p = 0.1 with a timeout of 0.3 s in place of 0.4: 0.2581989 + 9 * 0.1936492 * 0.1 * 1.32 = 0.4882540.
    #[test]
    fn a_shorter_timeout_costs_less() {
        assert!((throughput_with_timeout(1460.0, 0.1, 0.3, 0.1) - 29_902.5).abs() < 1.0);
    }

    #[test]
    fn the_inverse_undoes_it() {
        for p in [1e-6, 1e-3, 0.01, 0.2, 1.0] {
            let back = loss_rate(1000.0, 0.05, throughput(1000.0, 0.05, p));
            assert!((back / p - 1.0).abs() < 1e-6, "{p}: {back}");
        }
        let least = throughput(1000.0, 0.05, 1.0);
        assert_eq!(loss_rate(1000.0, 0.05, 0.5 * least), 1.0, "no more than every packet is lost");
    }
}
