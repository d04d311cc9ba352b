//! The flow chart of Pan, Prabhakar and Psounis 2000. The queue is in order of arrival; what is drawn from is a
//! pool of the same packets in which the last takes the place of one that left.

use aqmkit_aqm::Why;
use aqmkit_base::{Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::red_part::RedPart;
use crate::trace::{Oracle, assert_seen, compare};

struct Choke {
    red: RedPart,
    q_limit: usize,
    m: u32,
    k: u32,
    draw: &'static str,
    queue: Vec<Pkt>,
    pool: Vec<u64>,
}

impl Choke {
    fn remove(&mut self, at: usize) -> Pkt {
        let p = self.queue.remove(at);
        let place = self.pool.iter().position(|id| *id == p.id).unwrap();
        self.pool.swap_remove(place);
        p
    }

    fn candidates(&self) -> u32 {
        if self.k == 0 {
            return self.m;
        }
        let region = (self.red.th_max - self.red.th_min) / f64::from(self.k);
        let i = (1..self.k).find(|i| self.red.avg < self.red.th_min + region * f64::from(*i));
        2 * i.unwrap_or(self.k)
    }

    fn choke(&mut self, flow: u64, rng: &mut Rng) -> bool {
        let (mut matched, mut skipped) = (false, 0);
        for _ in 0..self.candidates() {
            let waiting = self.queue.len();
            let at = match self.draw {
                "front" => skipped,
                "back" => waiting.wrapping_sub(skipped + 1),
                _ => {
                    let place = rng.below(waiting as u64) as usize;
                    let id = self.pool.get(place).copied();
                    self.queue.iter().position(|p| Some(p.id) == id).unwrap_or(waiting)
                }
            };
            if at >= waiting {
                break;
            }
            if self.queue[at].flow == flow {
                self.remove(at);
                matched = true;
            } else {
                skipped += 1;
            }
        }
        matched
    }
}

impl Oracle for Choke {
    fn arriving(&mut self, p: Pkt, now: Instant, rng: &mut Rng) -> bool {
        let q_len = self.queue.len();
        self.red.compute_avg(q_len, now);
        let full = q_len >= self.q_limit;
        if self.red.avg > self.red.th_min && self.choke(p.flow, rng) {
            if self.queue.is_empty() {
                self.red.last = now;
            }
            return false;
        }
        if self.red.drops(self.red.avg, q_len, full, rng) {
            return false;
        }
        self.queue.push(p);
        self.pool.push(p.id);
        true
    }

    fn departing(&mut self, now: Instant) -> Option<Pkt> {
        if self.queue.is_empty() {
            if self.red.last == Instant::ZERO {
                self.red.last = now;
            }
            return None;
        }
        let p = self.remove(0);
        if self.queue.is_empty() {
            self.red.last = now;
        }
        Some(p)
    }
}

#[test]
fn choke_is_the_papers_flow_chart() {
    let cases = [(1, 0, "random"), (3, 0, "random"), (1, 5, "random"), (2, 0, "front"), (2, 3, "back")];
    for (m, k, draw) in cases {
        let params = format!(
            r#"{{"limit": 60, "min": 5, "max": 40, "max_p": 0.1, "weight": 0.0625, "m": {m}, "regions": {k}, "draw": "{draw}"}}"#
        );
        let stats = compare(&spec("choke", &params), &link(), 9, || Choke {
            red: RedPart::new(1.0 / 16.0, 5.0, 40.0, 0.1),
            q_limit: 60,
            m,
            k,
            draw,
            queue: Vec::new(),
            pool: Vec::new(),
        });
        assert_seen(&stats, &[Why::Matched, Why::Early]);
    }
}
