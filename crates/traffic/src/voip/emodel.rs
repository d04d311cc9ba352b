//! The E-model of ITU-T Recommendation G.107 with its default values: rates delay and loss.

use aqmkit_base::Duration;

/// Basic signal-to-noise ratio, Ro and Roe, with the default values.
const SIGNAL_TO_NOISE: f64 = 94.77;
/// Simultaneous impairment factor, Is, with the default values.
const WITH_THE_SIGNAL: f64 = 1.41;
/// Talker echo loudness rating in dB.
const TELR: f64 = 65.0;
/// Weighted echo path loss in dB.
const WEPL: f64 = 110.0;

/// Impairments of a codec (G.113, appendix I).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Impairment {
    /// Equipment impairment factor without packet loss.
    pub ie: f64,
    /// Packet-loss robustness factor; larger is more robust.
    pub bpl: f64,
}

impl Impairment {
    /// The effective equipment impairment factor. `loss` is a share from 0 to 1; `burst` is the mean length of runs of
    /// losses relative to that of random losses.
    #[must_use]
    pub fn effective(&self, loss: f64, burst: f64) -> f64 {
        let percent = 100.0 * loss;
        self.ie + (95.0 - self.ie) * percent / (percent / burst + self.bpl)
    }
}

/// The delay impairment factor, Id, at this mouth-to-ear delay.
#[must_use]
pub fn delay_impairment(mouth_to_ear: Duration) -> f64 {
    let ms = mouth_to_ear.as_millis_f64();
    talker_echo(ms) + listener_echo(ms) + pure_delay(ms)
}

/// Idte, the impairment by talker echo.
fn talker_echo(ms: f64) -> f64 {
    if ms < 1.0 {
        return 0.0;
    }
    let path = 40.0 * libm::log10((1.0 + ms / 10.0) / (1.0 + ms / 150.0));
    let terv = TELR - path + 6.0 * libm::exp(-0.3 * ms * ms);
    let above = SIGNAL_TO_NOISE - (80.0 + 2.5 * (terv - 14.0));
    (above / 2.0 + libm::sqrt(above * above / 4.0 + 100.0) - 1.0) * (1.0 - libm::exp(-ms))
}

/// Idle, the impairment by listener echo, with an echo path of twice the delay.
fn listener_echo(ms: f64) -> f64 {
    let rating = 10.5 * (WEPL + 7.0) * libm::pow(2.0 * ms + 1.0, -0.25);
    let above = SIGNAL_TO_NOISE - rating;
    above / 2.0 + libm::sqrt(above * above / 4.0 + 169.0)
}

/// Idd, the impairment by pure delay.
fn pure_delay(ms: f64) -> f64 {
    if ms <= 100.0 {
        return 0.0;
    }
    let x = libm::log2(ms / 100.0);
    let bend = |at: f64| libm::pow(1.0 + libm::pow(at, 6.0), 1.0 / 6.0);
    25.0 * (bend(x) - 3.0 * bend(x / 3.0) + 2.0)
}

/// The transmission rating factor, R.
#[must_use]
pub fn rating(codec: Impairment, mouth_to_ear: Duration, loss: f64, burst: f64) -> f64 {
    SIGNAL_TO_NOISE - WITH_THE_SIGNAL - delay_impairment(mouth_to_ear) - codec.effective(loss, burst)
}

/// The mean opinion score for a rating factor: from 1 to 4.5.
#[must_use]
pub fn mos(r: f64) -> f64 {
    if r <= 0.0 {
        return 1.0;
    }
    if r >= 100.0 {
        return 4.5;
    }
    // Below R = 6.5 the polynomial is less than 1.
    (1.0 + 0.035 * r + r * (r - 60.0) * (100.0 - r) * 7e-6).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Impairment = Impairment { ie: 0.0, bpl: 4.3 };

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn without_impairment_it_is_the_published_default() {
        let r = rating(PLAIN, Duration::ZERO, 0.0, 1.0);
        assert!((r - 93.2).abs() < 0.05, "{r}");
        assert!((mos(r) - 4.41).abs() < 0.005, "{}", mos(r));
    }

    #[test]
    fn pure_delay_costs_nothing_up_to_100_ms_and_24_at_400_ms() {
        assert_eq!([pure_delay(0.0), pure_delay(100.0)], [0.0, 0.0]);
        // X = 2: 25 (65^(1/6) - 3 (1 + 64/729)^(1/6) + 2).
        assert!((pure_delay(400.0) - 24.07).abs() < 0.02, "{}", pure_delay(400.0));
        // X = 1: 25 (2^(1/6) - 3 (730/729)^(1/6) + 2).
        assert!((pure_delay(200.0) - 3.045).abs() < 0.01, "{}", pure_delay(200.0));
    }

    #[test]
    fn echo_is_worked_by_hand() {
        // TERV = 65 - 40 log10(11 / (5/3)) = 32.22, Re = 125.5.
        assert!((talker_echo(100.0) - 1.96).abs() < 0.02, "{}", talker_echo(100.0));
        // Rle = 1228.5 / 201^(1/4) = 326.3.
        assert!((listener_echo(100.0) - 0.73).abs() < 0.01, "{}", listener_echo(100.0));
        assert_eq!(talker_echo(0.9), 0.0);
    }

    #[test]
    fn losses_and_bursts_cost_what_the_formula_says() {
        // 95 * 1 / (1 + 4.3), and with bursts of twice the length 95 / (0.5 + 4.3).
        assert!((PLAIN.effective(0.01, 1.0) - 95.0 / 5.3).abs() < 1e-9);
        assert!((PLAIN.effective(0.01, 2.0) - 95.0 / 4.8).abs() < 1e-9);
        let g729 = Impairment { ie: 11.0, bpl: 19.0 };
        assert_eq!(g729.effective(0.0, 1.0), 11.0);
        assert!((g729.effective(0.02, 1.0) - (11.0 + 84.0 * 2.0 / 21.0)).abs() < 1e-9);
    }

    #[test]
    fn scores_fall_with_delay_and_loss_and_stay_from_1_to_4_and_a_half() {
        let mut last = 5.0;
        for delay in (0..2000).step_by(10) {
            let score = mos(rating(PLAIN, ms(delay), 0.01, 1.0));
            assert!(score <= last + 1e-9 && (1.0..=4.5).contains(&score), "{delay} ms: {score}");
            last = score;
        }
        assert_eq!([mos(-3.0), mos(0.0), mos(3.0), mos(100.0), mos(200.0)], [1.0, 1.0, 1.0, 4.5, 4.5]);
        assert!((mos(50.0) - 2.575).abs() < 1e-9);
    }
}
