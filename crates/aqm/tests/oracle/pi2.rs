//! The controller and the two decisions of De Schepper et al. 2016.

use aqmkit_aqm::Why;
use aqmkit_base::{Duration, Ecn, Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::trace::{Oracle, START, assert_seen, compare, compare_marks, seconds};

const T: Duration = Duration::from_millis(4);

struct Pi2 {
    ecn: bool,
    p: f64,
    tau: f64,
    tau_old: f64,
    next_update: Instant,
    queue: Vec<(Pkt, Instant)>,
}

impl Pi2 {
    fn punctual(&mut self, now: Instant) {
        let (alpha, beta, tau0, p_max) = (5.0, 20.0, 0.003, 0.5);
        while self.next_update <= now {
            self.p += alpha * (self.tau - tau0) + beta * (self.tau - self.tau_old);
            self.p = self.p.max(0.0).min(p_max);
            self.tau_old = self.tau;
            self.next_update += T;
        }
    }
}

impl Oracle for Pi2 {
    fn arriving(&mut self, mut packet: Pkt, now: Instant, rng: &mut Rng) -> bool {
        self.punctual(now);
        if self.queue.len() == 60 {
            return false;
        }
        let scalable = self.ecn && (packet.ecn == Ecn::Ect1 || packet.ecn == Ecn::Ce);
        let signal = if scalable {
            let y = rng.uniform();
            2.0 * self.p > y
        } else {
            let (y1, y2) = (rng.uniform(), rng.uniform());
            self.p > y1 && self.p > y2
        };
        if signal {
            if !self.ecn || packet.ecn == Ecn::NotEct {
                return false;
            }
            packet.ecn = Ecn::Ce;
        }
        self.queue.push((packet, now));
        true
    }

    fn departing(&mut self, now: Instant) -> Option<Pkt> {
        self.punctual(now);
        if self.queue.is_empty() {
            return None;
        }
        let (packet, since) = self.queue.remove(0);
        self.tau = if self.queue.is_empty() { 0.0 } else { seconds(since, now) };
        Some(packet)
    }
}

#[test]
fn pi2_is_the_papers() {
    for ecn in [true, false] {
        let oracle = || Pi2 { ecn, p: 0.0, tau: 0.0, tau_old: 0.0, next_update: START + T, queue: Vec::new() };
        let params = r#""limit": 60, "target": "3ms", "tupdate": "4ms", "alpha": 5, "beta": 20"#;
        let pi2 = spec("pi2", &format!(r#"{{{params}, "ecn": {ecn}}}"#));
        assert_seen(&compare_marks(&pi2, &link(), 5, oracle), &[Why::Overflow, Why::Early]);
        assert_seen(&compare(&pi2, &link(), 5, oracle), &[Why::Overflow, Why::Early]);
    }
}
