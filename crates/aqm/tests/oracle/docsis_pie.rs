//! RFC 8034, appendix A, in seconds and bytes. Corrected: times are kept as whole nanoseconds, so that 142 ms less 9 times 16 ms is nothing.

use aqmkit_aqm::Why;
use aqmkit_base::{Duration, Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::trace::{Oracle, START, assert_seen, compare, compare_bursts, seconds};

#[derive(Clone, Copy, PartialEq)]
enum AqmState {
    Inactive,
    Quiescent,
    Active,
}

struct DocsisPie {
    buffer_size: f64,
    msr: f64,
    peak_rate: f64,
    max_tokens: f64,
    latency_target: f64,
    interval: Duration,
    max_burst: Duration,
    burst_reset_timeout: Duration,
    a: f64,
    b: f64,

    queue: Vec<Pkt>,
    next_update: Instant,
    tokens: f64,
    tokens_at: Instant,
    aqm_state: AqmState,
    drop_prob: f64,
    accu_prob: f64,
    qdelay_old: f64,
    burst_allowance: Duration,
    burst_reset: Duration,
}

const MEAN_PKTSIZE: f64 = 1024.0;
const LATENCY_LOW: f64 = 0.001;
const LATENCY_HIGH: f64 = 0.008;

impl DocsisPie {
    /// With gains so large that short traces see every part of the table.
    fn new(msr: f64, peak_rate: f64) -> Self {
        DocsisPie {
            buffer_size: 60.0,
            msr,
            peak_rate,
            max_tokens: 9000.0,
            latency_target: 0.003,
            interval: Duration::from_millis(5),
            max_burst: Duration::from_millis(12),
            burst_reset_timeout: Duration::from_millis(30),
            a: 1.5,
            b: 6.0,
            queue: Vec::new(),
            next_update: START + Duration::from_millis(5),
            tokens: 9000.0,
            tokens_at: START,
            aqm_state: AqmState::Inactive,
            drop_prob: 0.0,
            accu_prob: 0.0,
            qdelay_old: 0.0,
            burst_allowance: Duration::ZERO,
            burst_reset: Duration::ZERO,
        }
    }

    fn byte_length(&self) -> f64 {
        self.queue.iter().map(|p| f64::from(p.len)).sum()
    }

    fn msrtokens(&mut self, now: Instant) -> f64 {
        self.tokens = (self.tokens + seconds(self.tokens_at, now) * self.msr).min(self.max_tokens);
        self.tokens_at = now;
        self.tokens
    }

    fn punctual(&mut self, now: Instant) {
        while self.next_update <= now {
            self.status_update(self.next_update);
            self.next_update += self.interval;
        }
    }

    fn drop_early(&mut self, packet: &Pkt, rng: &mut Rng) -> bool {
        if self.burst_allowance > Duration::ZERO {
            return false;
        }
        if self.drop_prob == 0.0 {
            self.accu_prob = 0.0;
        }
        if self.aqm_state == AqmState::Inactive {
            if (self.queue.len() as f64) < self.buffer_size / 3.0 {
                return false;
            }
            self.aqm_state = AqmState::Quiescent;
        }
        let p1 = f64::min(self.drop_prob * f64::from(packet.len) / MEAN_PKTSIZE, 0.85);
        self.accu_prob += p1;
        if self.qdelay_old < 0.5 * self.latency_target && self.drop_prob < 0.2 {
            return false;
        }
        if self.byte_length() <= 2.0 * MEAN_PKTSIZE {
            return false;
        }
        let drops = if self.accu_prob < 0.85 {
            false
        } else if self.accu_prob >= 8.5 {
            true
        } else {
            rng.uniform() < p1
        };
        if drops {
            self.accu_prob = 0.0;
            if self.aqm_state == AqmState::Quiescent {
                self.aqm_state = AqmState::Active;
                self.burst_allowance = self.max_burst;
            }
        }
        drops
    }

    fn status_update(&mut self, now: Instant) {
        let (tokens, bytes) = (self.msrtokens(now), self.byte_length());
        let qdelay = if bytes <= tokens {
            bytes / self.peak_rate
        } else {
            (bytes - tokens) / self.msr + tokens / self.peak_rate
        };
        // The clock counts nanoseconds.
        let qdelay = Duration::from_secs_f64(qdelay).as_secs_f64();
        if self.burst_allowance > Duration::ZERO {
            self.drop_prob = 0.0;
            self.burst_allowance = self.burst_allowance.saturating_sub(self.interval);
        } else {
            let mut p = self.a * (qdelay - self.latency_target) + self.b * (qdelay - self.qdelay_old);
            if self.drop_prob < 0.000001 {
                p /= 2048.0;
            } else if self.drop_prob < 0.00001 {
                p /= 512.0;
            } else if self.drop_prob < 0.0001 {
                p /= 128.0;
            } else if self.drop_prob < 0.001 {
                p /= 32.0;
            } else if self.drop_prob < 0.01 {
                p /= 8.0;
            } else if self.drop_prob < 0.1 {
                p /= 2.0;
            } else if self.drop_prob < 1.0 {
                p /= 0.5;
            } else if self.drop_prob < 10.0 {
                p /= 0.125;
            } else {
                p /= 0.03125;
            }
            if self.drop_prob >= 0.1 && p > 0.02 {
                p = 0.02;
            }
            self.drop_prob += p;
            if qdelay < LATENCY_LOW && self.qdelay_old < LATENCY_LOW {
                self.drop_prob *= 0.98;
            } else if qdelay > LATENCY_HIGH {
                self.drop_prob += 0.02;
            }
            self.drop_prob = f64::max(0.0, self.drop_prob);
            self.drop_prob = f64::min(self.drop_prob, 0.85 * MEAN_PKTSIZE / 64.0);
        }
        let half = 0.5 * self.latency_target;
        let quiet =
            qdelay < half && self.qdelay_old < half && self.drop_prob == 0.0 && self.burst_allowance == Duration::ZERO;
        if self.aqm_state == AqmState::Active && quiet {
            self.aqm_state = AqmState::Quiescent;
            self.burst_reset = Duration::ZERO;
        } else if self.aqm_state == AqmState::Quiescent {
            if quiet {
                self.burst_reset += self.interval;
                if self.burst_reset > self.burst_reset_timeout {
                    self.aqm_state = AqmState::Inactive;
                    self.burst_reset = Duration::ZERO;
                }
            } else {
                self.burst_reset = Duration::ZERO;
            }
        }
        self.qdelay_old = qdelay;
    }
}

impl Oracle for DocsisPie {
    fn arriving(&mut self, packet: Pkt, now: Instant, rng: &mut Rng) -> bool {
        self.punctual(now);
        if self.queue.len() as f64 + 1.0 > self.buffer_size {
            self.accu_prob = 0.0;
            return false;
        }
        if self.drop_early(&packet, rng) {
            return false;
        }
        self.queue.push(packet);
        true
    }

    fn departing(&mut self, now: Instant) -> Option<Pkt> {
        self.punctual(now);
        if self.queue.is_empty() {
            return None;
        }
        let packet = self.queue.remove(0);
        self.tokens = f64::max(0.0, self.msrtokens(now) - f64::from(packet.len));
        Some(packet)
    }
}

const BASE: &str = r#""limit": 60, "target": "3ms", "tupdate": "5ms", "alpha": 1.5, "beta": 6, "max_burst": "12ms",
    "burst_reset": "30ms", "latency_low": "1ms", "latency_high": "8ms", "traffic_burst": "9000b""#;

#[test]
fn docsis_pie_is_rfc_8034_appendix_a() {
    let docsis_pie = spec("docsis-pie", &format!("{{{BASE}}}"));
    let oracle = || DocsisPie::new(1_250_000.0, 1_250_000.0);
    assert_seen(&compare(&docsis_pie, &link(), 5, oracle), &[Why::Overflow, Why::Early]);
    let interval = Duration::from_millis(10);
    assert_seen(&compare_bursts(&docsis_pie, &link(), 5, false, interval, oracle), &[Why::Early]);
}

#[test]
fn with_a_peak_rate_too() {
    let docsis_pie = spec("docsis-pie", &format!(r#"{{{BASE}, "msr": "4mbit", "peak_rate": "40mbit"}}"#));
    let oracle = || DocsisPie::new(500_000.0, 5_000_000.0);
    assert_seen(&compare(&docsis_pie, &link(), 5, oracle), &[Why::Overflow, Why::Early]);
    let interval = Duration::from_millis(10);
    assert_seen(&compare_bursts(&docsis_pie, &link(), 5, false, interval, oracle), &[Why::Early]);
}
