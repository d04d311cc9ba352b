//! Figure 3 and the text of section 3, with a punctual timer for every flow. Corrected: the controller's
//! terms stand as in AFD. Chosen where the text is open: a packet is judged by the count that its flow would have
//! with it; a slot that is taken over starts at one, a flow that pauses at zero; a count of zero stays.

use std::collections::BTreeMap;

use aqmkit_aqm::Why;
use aqmkit_base::{Duration, FlowKey, Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::trace::{Oracle, assert_seen, compare};

#[derive(Clone, Copy)]
struct Entry {
    pktcount: f64,
    last_decrease: Instant,
}

#[derive(Clone, Copy)]
struct Score {
    flow: u64,
    pktcount: f64,
    last_update: Instant,
}

struct Dcn {
    a: f64,
    b: f64,
    q_ref: f64,
    p_ref: f64,
    p_max: f64,
    t_update: Duration,
    t_dec: Duration,
    clearing: Duration,
    as_printed: bool,
    /// Section 3.2's sentence in place of 3.1's.
    count_all_arrivals: bool,
    hb_limit: usize,
    sb_slots: u64,
    q_limit: usize,
    q_old: f64,
    next_update: Option<Instant>,
    hb: BTreeMap<u64, Entry>,
    sb: BTreeMap<u64, Score>,
    queue: Vec<Pkt>,
}

impl Dcn {
    /// Everything that timers did up to now, in order: each step is the earliest event.
    fn until(&mut self, now: Instant) {
        loop {
            let update = *self.next_update.get_or_insert(now + self.t_update);
            let decrease = self.hb.iter().map(|(f, e)| (e.last_decrease + self.t_dec, *f)).min();
            match decrease.filter(|(at, _)| *at <= update) {
                Some((at, flow)) if at <= now => self.decrease(flow, at),
                _ if update <= now => self.update(update),
                _ => return,
            }
        }
    }

    fn decrease(&mut self, flow: u64, at: Instant) {
        let entry = self.hb.get_mut(&flow).unwrap();
        entry.pktcount -= self.p_ref;
        entry.last_decrease = at;
        if entry.pktcount < 0.0 {
            self.hb.remove(&flow);
        }
    }

    fn update(&mut self, at: Instant) {
        let q = self.queue.len() as f64;
        let (new, old) = (q - self.q_ref, self.q_old - self.q_ref);
        self.p_ref = if self.as_printed {
            self.p_ref + self.a * new - self.b * old
        } else {
            self.p_ref + self.a * old - self.b * new
        };
        self.p_ref = self.p_ref.max(1.0).min(self.p_max);
        self.q_old = q;
        self.next_update = Some(at + self.t_update);
    }
}

impl Oracle for Dcn {
    fn arriving(&mut self, p: Pkt, now: Instant, rng: &mut Rng) -> bool {
        self.until(now);
        let full = self.queue.len() >= self.q_limit;
        if let Some(entry) = self.hb.get_mut(&p.flow) {
            let probability = 1.0 - self.p_ref / (entry.pktcount + 1.0);
            let dropped = probability > 0.0 && rng.uniform() < probability;
            let forwarded = !dropped && !full;
            if forwarded || self.count_all_arrivals {
                entry.pktcount += 1.0;
            }
            if dropped {
                return false;
            }
        } else if !full || self.count_all_arrivals {
            let slot = FlowKey(p.flow).hash(0x6463_6e5f_7362_0001) % self.sb_slots;
            let score = self.sb.entry(slot).or_insert(Score { flow: p.flow, pktcount: 0.0, last_update: now });
            if score.flow != p.flow {
                *score = Score { flow: p.flow, pktcount: 1.0, last_update: now };
            } else if now.since(score.last_update) < self.clearing {
                score.pktcount += 1.0;
            } else {
                score.pktcount = 0.0;
            }
            score.last_update = now;
            if score.pktcount >= 4.0 && self.hb.len() < self.hb_limit {
                self.hb.insert(p.flow, Entry { pktcount: score.pktcount, last_decrease: now });
            }
        }
        if !full {
            self.queue.push(p);
        }
        !full
    }

    fn departing(&mut self, now: Instant) -> Option<Pkt> {
        self.until(now);
        if self.queue.is_empty() { None } else { Some(self.queue.remove(0)) }
    }
}

#[test]
fn dcn_is_figure_3_and_its_text() {
    for (as_printed, pktcount, hb_limit) in [
        (false, "forwarded", 1000),
        (true, "forwarded", 1000),
        (false, "forwarded", 5),
        (false, "arrived", 1000),
        (false, "arrived", 5),
    ] {
        let params = format!(
            r#"{{"limit": 100, "q_ref": 10, "a": 0.17, "b": 0.18, "t_update": "3ms", "t_dec": "40ms", "clearing": "20ms",
                "p_init": 3.0, "p_max": 20.0, "sb_slots": 40, "hb_limit": {hb_limit}, "as_printed": {as_printed},
                "pktcount": "{pktcount}"}}"#
        );
        let stats = compare(&spec("dcn", &params), &link(), 30, || Dcn {
            a: 0.17,
            b: 0.18,
            q_ref: 10.0,
            p_ref: 3.0,
            p_max: 20.0,
            t_update: Duration::from_millis(3),
            t_dec: Duration::from_millis(40),
            clearing: Duration::from_millis(20),
            as_printed,
            count_all_arrivals: pktcount == "arrived",
            hb_limit,
            sb_slots: 40,
            q_limit: 100,
            q_old: 0.0,
            next_update: None,
            hb: BTreeMap::new(),
            sb: BTreeMap::new(),
            queue: Vec::new(),
        });
        assert_seen(&stats, &[Why::Unfair, Why::Overflow]);
    }
}
