//! RFC 8033, appendix A, with the optional parts of section 5. Corrected: a queue left empty has no delay; a
//! mark resets `accu_prob_` like a drop; PIE is not switched off with the threshold's worth waiting.

use aqmkit_aqm::Why;
use aqmkit_base::{Duration, Ecn, Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::trace::{Oracle, START, assert_seen, compare, compare_bursts, compare_marks, seconds};

/// More than the RFC's 0.1: the gains here leave that behind in one update.
pub(crate) const MAX_ECNTH: f64 = 0.4;

#[derive(Clone)]
pub(crate) struct Pie {
    pub(crate) tail_drop: usize,
    pub(crate) qdelay_ref: f64,
    pub(crate) max_burst: f64,
    pub(crate) t_update: Duration,
    pub(crate) alpha: f64,
    pub(crate) beta: f64,
    pub(crate) mean_pktsize: f64,
    pub(crate) ecn: bool,
    bytemode: bool,
    derandomize: bool,
    cap: bool,
    decay_low: bool,
    active_from: usize,
    dq_threshold: Option<f64>,

    pub(crate) queue: Vec<(Pkt, Instant)>,
    next_update: Instant,
    active: bool,
    drop_prob: f64,
    accu_prob: f64,
    current_qdelay: f64,
    qdelay_old: f64,
    burst_allowance: f64,
    in_measurement: bool,
    dq_count: f64,
    avg_dq_time: f64,
    last_timestamp: Instant,
}

impl Pie {
    /// With `beta` so large that short traces see every part of the table.
    pub(crate) fn new() -> Self {
        Pie {
            tail_drop: 60,
            qdelay_ref: 0.003,
            max_burst: 0.02,
            t_update: Duration::from_millis(5),
            alpha: 1.5,
            beta: 2.0,
            mean_pktsize: 1000.0,
            ecn: false,
            bytemode: false,
            derandomize: false,
            cap: false,
            decay_low: false,
            active_from: 0,
            dq_threshold: None,
            queue: Vec::new(),
            next_update: START + Duration::from_millis(5),
            active: true,
            drop_prob: 0.0,
            accu_prob: 0.0,
            current_qdelay: 0.0,
            qdelay_old: 0.0,
            burst_allowance: 0.0,
            in_measurement: false,
            dq_count: 0.0,
            avg_dq_time: 0.0,
            last_timestamp: START,
        }
    }

    fn byte_length(&self) -> f64 {
        self.queue.iter().map(|(p, _)| f64::from(p.len)).sum()
    }

    /// The limit has removed the last packet.
    pub(crate) fn no_delay(&mut self) {
        self.current_qdelay = 0.0;
    }

    pub(crate) fn punctual(&mut self, now: Instant) {
        while self.next_update <= now {
            self.status_update();
            self.next_update += self.t_update;
        }
    }

    /// Gives whether the packet was enqueued.
    pub(crate) fn enqueue(&mut self, mut packet: Pkt, now: Instant, rng: &mut Rng) -> bool {
        if self.queue.len() + 1 > self.tail_drop {
            self.accu_prob = 0.0;
            return false;
        }
        let half = self.qdelay_ref / 2.0;
        if self.drop_prob == 0.0 && self.current_qdelay < half && self.qdelay_old < half {
            self.burst_allowance = self.max_burst;
        }
        if self.active && self.burst_allowance == 0.0 && self.drop_early(&packet, rng) {
            self.accu_prob = 0.0;
            if !(self.ecn && packet.ecn.is_capable() && self.drop_prob < MAX_ECNTH) {
                return false;
            }
            packet.ecn = Ecn::Ce;
        }
        self.queue.push((packet, now));
        if !self.active && self.queue.len() >= self.active_from {
            self.active = true;
            self.qdelay_old = 0.0;
            self.drop_prob = 0.0;
            self.current_qdelay = 0.0;
            self.avg_dq_time = 0.0;
            self.in_measurement = false;
            self.burst_allowance = self.max_burst;
            self.accu_prob = 0.0;
        }
        true
    }

    fn drop_early(&mut self, packet: &Pkt, rng: &mut Rng) -> bool {
        let calm = self.qdelay_old < self.qdelay_ref / 2.0 && self.drop_prob < 0.2;
        if calm || self.byte_length() <= 2.0 * self.mean_pktsize {
            return false;
        }
        let mut p1 = self.drop_prob;
        if self.bytemode {
            p1 = (p1 * (f64::from(packet.len) / self.mean_pktsize)).min(1.0);
        }
        if self.derandomize {
            if self.drop_prob == 0.0 {
                self.accu_prob = 0.0;
            }
            self.accu_prob += p1;
            if self.accu_prob < 0.85 {
                return false;
            }
            if self.accu_prob >= 8.5 {
                return true;
            }
        }
        let u = rng.uniform();
        u < p1
    }

    pub(crate) fn dequeue(&mut self, now: Instant) -> Option<Pkt> {
        if self.queue.is_empty() {
            return None;
        }
        let (packet, timestamp) = self.queue.remove(0);
        let Some(dq_threshold) = self.dq_threshold else {
            self.current_qdelay = if self.queue.is_empty() { 0.0 } else { seconds(timestamp, now) };
            return Some(packet);
        };
        if self.byte_length() >= dq_threshold && !self.in_measurement {
            self.in_measurement = true;
            self.dq_count = 0.0;
            self.last_timestamp = now;
        }
        if self.in_measurement {
            self.dq_count += f64::from(packet.len);
            if self.dq_count >= dq_threshold {
                let dq_time = seconds(self.last_timestamp, now);
                let weight = dq_threshold / 65536.0;
                self.avg_dq_time = if self.avg_dq_time == 0.0 {
                    dq_time
                } else {
                    dq_time * weight + self.avg_dq_time * (1.0 - weight)
                };
                self.in_measurement = self.byte_length() >= dq_threshold;
                self.dq_count = 0.0;
                self.last_timestamp = now;
            }
        }
        Some(packet)
    }

    #[allow(clippy::manual_clamp, reason = "as the RFC writes it")]
    fn status_update(&mut self) {
        if !self.active {
            return;
        }
        if let Some(dq_threshold) = self.dq_threshold {
            self.current_qdelay = self.byte_length() * self.avg_dq_time / dq_threshold;
        }
        let mut p =
            self.alpha * (self.current_qdelay - self.qdelay_ref) + self.beta * (self.current_qdelay - self.qdelay_old);
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
        }
        if self.cap && self.drop_prob >= 0.1 && p > 0.02 {
            p = 0.02;
        }
        self.drop_prob += p;
        let half = self.qdelay_ref / 2.0;
        let over = if self.decay_low {
            self.current_qdelay < half && self.qdelay_old < half
        } else {
            self.current_qdelay == 0.0 && self.qdelay_old == 0.0
        };
        if over {
            self.drop_prob *= 0.98;
        }
        if self.drop_prob < 0.0 {
            self.drop_prob = 0.0;
        }
        if self.drop_prob > 1.0 {
            self.drop_prob = 1.0;
        }
        if self.drop_prob == 0.0
            && self.qdelay_old == 0.0
            && self.current_qdelay == 0.0
            && self.queue.len() < self.active_from
        {
            self.active = false;
        }
        self.qdelay_old = self.current_qdelay;
        let left = self.burst_allowance - self.t_update.as_secs_f64();
        // Subtracting 5 ms four times from 20 ms does not give exactly zero in binary.
        self.burst_allowance = if left < 1e-9 { 0.0 } else { left };
    }
}

impl Oracle for Pie {
    fn arriving(&mut self, packet: Pkt, now: Instant, rng: &mut Rng) -> bool {
        self.punctual(now);
        self.enqueue(packet, now, rng)
    }

    fn departing(&mut self, now: Instant) -> Option<Pkt> {
        self.punctual(now);
        self.dequeue(now)
    }
}

const BASE: &str = r#""limit": 60, "target": "3ms", "max_burst": "20ms", "tupdate": "5ms", "alpha": 1.5, "beta": 2.0"#;

#[test]
fn pie_is_rfc_8033_appendix_a() {
    let pie = spec("pie", &format!(r#"{{{BASE}, "derandomize": false, "cap": false}}"#));
    assert_seen(&compare(&pie, &link(), 5, Pie::new), &[Why::Overflow, Why::Early]);
    let interval = Duration::from_millis(10);
    assert_seen(&compare_bursts(&pie, &link(), 5, false, interval, Pie::new), &[Why::Early]);
}

#[test]
fn with_the_optional_parts_too() {
    let pie = spec("pie", &format!(r#"{{{BASE}, "ecn": true, "ecn_prob": 0.4, "bytemode": true, "decay": "low"}}"#));
    let oracle = || Pie { ecn: true, bytemode: true, decay_low: true, derandomize: true, cap: true, ..Pie::new() };
    let stats = compare_marks(&pie, &link(), 5, oracle);
    assert_seen(&stats, &[Why::Overflow, Why::Early]);
    assert!(stats.marks() > 100);
    let interval = Duration::from_millis(10);
    assert_seen(&compare_bursts(&pie, &link(), 5, true, interval, oracle), &[Why::Early]);
}

#[test]
fn with_the_rate_of_departures_and_switching_off_too() {
    let pie =
        spec("pie", &format!(r#"{{{BASE}, "dq_rate_estimator": true, "dq_threshold": "6000b", "active_from": 20}}"#));
    let oracle = || Pie {
        derandomize: true,
        cap: true,
        dq_threshold: Some(6000.0),
        active_from: 20,
        active: false,
        ..Pie::new()
    };
    assert_seen(&compare(&pie, &link(), 5, oracle), &[Why::Overflow, Why::Early]);
    let interval = Duration::from_millis(10);
    assert_seen(&compare_bursts(&pie, &link(), 5, false, interval, oracle), &[Why::Early]);
}
