//! `cobalt_queue_full`, `cobalt_queue_empty` and `cobalt_should_drop` of Linux's `sch_cake.c` on one queue, with signed nanoseconds. Readings: an
//! idle link serves the empty queue again after every target, for BLUE; the square root is exact.

use std::collections::VecDeque;

use aqmkit_aqm::Why;
use aqmkit_base::{Duration, Ecn, Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::events::{Literal, Seen, assert_seen, compare, out};

pub(crate) struct Cobalt {
    pub(crate) limit: usize,
    pub(crate) ecn: bool,
    pub(crate) interval: i64,
    pub(crate) target: i64,
    pub(crate) mtu_time: i64,
    /// Bulk flows, on a queue of CAKE that shapes what comes in.
    pub(crate) bulk_flows: i64,
    pub(crate) p_inc: f64,
    pub(crate) p_dec: f64,
    pub(crate) count: u32,
    pub(crate) drop_next: i64,
    pub(crate) blue_timer: i64,
    pub(crate) p_drop: f64,
    pub(crate) dropping: bool,
    pub(crate) idle: bool,
    pub(crate) marked_now: bool,
    pub(crate) queue: VecDeque<(Pkt, i64)>,
}

fn ns(now: Instant) -> i64 {
    now.as_nanos() as i64
}

impl Cobalt {
    pub(crate) fn new(ecn: bool, mtu_time: i64) -> Self {
        Cobalt {
            limit: 30,
            ecn,
            interval: 10_000_000,
            target: 1_000_000,
            mtu_time,
            bulk_flows: 0,
            p_inc: 0.0625,
            p_dec: 0.007_812_5,
            count: 0,
            drop_next: 0,
            blue_timer: 0,
            p_drop: 0.0,
            dropping: false,
            idle: false,
            marked_now: false,
            queue: VecDeque::new(),
        }
    }

    fn control(&self, t: i64) -> i64 {
        let inv_sqrt = if self.count == 0 { 1.0 } else { 1.0 / f64::from(self.count).sqrt() };
        t + Duration::from_nanos(self.interval as u64).mul_f64(inv_sqrt).as_nanos() as i64
    }

    pub(crate) fn queue_full(&mut self, now: i64) {
        if now - self.blue_timer > self.target {
            self.p_drop = f64::min(1.0, self.p_drop + self.p_inc);
            self.blue_timer = now;
        }
        self.dropping = true;
        self.drop_next = now;
        if self.count == 0 {
            self.count = 1;
        }
    }

    pub(crate) fn queue_empty(&mut self, now: i64) {
        if self.p_drop > 0.0 && now - self.blue_timer > self.target {
            self.p_drop = if self.p_drop < self.p_dec { 0.0 } else { self.p_drop - self.p_dec };
            self.blue_timer = now;
        }
        self.dropping = false;
        if self.count > 0 && now - self.drop_next >= 0 {
            self.count -= 1;
            self.drop_next = self.control(self.drop_next);
        }
    }

    fn stay_idle(&mut self, now: i64) {
        while self.idle && self.p_drop > 0.0 && self.blue_timer + self.target <= now {
            self.p_drop = if self.p_drop < self.p_dec { 0.0 } else { self.p_drop - self.p_dec };
            self.blue_timer += self.target;
        }
    }

    pub(crate) fn should_drop(&mut self, skb: &mut Pkt, enqueue_time: i64, now: i64, rng: &mut Rng) -> bool {
        let mut drop = false;
        self.marked_now = false;
        let sojourn = now - enqueue_time;
        let mut schedule = now - self.drop_next;
        let over_target =
            sojourn > self.target && sojourn > self.mtu_time * self.bulk_flows * 2 && sojourn > self.mtu_time * 4;
        let mut next_due = self.count > 0 && schedule >= 0;
        if over_target {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = self.control(now);
            }
            if self.count == 0 {
                self.count = 1;
            }
        } else if self.dropping {
            self.dropping = false;
        }
        if next_due && self.dropping {
            if self.ecn && skb.ecn.is_capable() {
                skb.ecn = Ecn::Ce;
                self.marked_now = true;
            } else {
                drop = true;
            }
            self.count += 1;
            self.drop_next = self.control(self.drop_next);
            schedule = now - self.drop_next;
        } else {
            while next_due {
                self.count -= 1;
                self.drop_next = self.control(self.drop_next);
                schedule = now - self.drop_next;
                next_due = self.count > 0 && schedule >= 0;
            }
        }
        if self.p_drop > 0.0 && rng.uniform() < self.p_drop {
            drop = true;
        }
        if self.count == 0 {
            self.drop_next = now + self.interval;
        } else if schedule > 0 && !drop {
            self.drop_next = now;
        }
        drop
    }
}

impl Literal for Cobalt {
    fn arriving(&mut self, p: Pkt, now: Instant, _rng: &mut Rng, seen: &mut Vec<Seen>) {
        let now = ns(now);
        self.stay_idle(now);
        self.idle = false;
        self.queue.push_back((p, now));
        if self.queue.len() > self.limit {
            let (first, _) = self.queue.pop_front().unwrap();
            seen.push(Seen::Dropped(first.id));
            self.queue_full(now);
        }
    }

    fn departing(&mut self, now: Instant, rng: &mut Rng, seen: &mut Vec<Seen>) {
        let now = ns(now);
        while let Some((mut skb, since)) = self.queue.pop_front() {
            let before = skb.ecn;
            let drop = self.should_drop(&mut skb, since, now, rng);
            if drop && !self.queue.is_empty() {
                seen.push(Seen::Dropped(skb.id));
                continue;
            }
            // A packet that is CE already is marked again.
            if self.marked_now {
                assert!(before != Ecn::NotEct);
                seen.push(Seen::Marked(skb.id));
            }
            return out(skb, seen);
        }
        if self.idle {
            self.stay_idle(now);
        } else {
            self.idle = true;
            self.queue_empty(now);
        }
        seen.push(Seen::Empty);
    }
}

#[test]
fn cobalt_is_cakes() {
    // 1514 and 700 bytes at 10 Mbit/s: 1.2112 ms, which makes the target 1.8168 ms and the interval 10.8168 ms, and 0.56 ms, which leaves them.
    for (mtu, target, interval, mtu_time) in
        [("1514b", 1_816_800, 10_816_800, 1_211_200), ("700b", 1_000_000, 10_000_000, 560_000)]
    {
        for (ecn, marks) in [(false, &[][..]), (true, &[Why::Sojourn][..])] {
            let params = format!(
                r#"{{"limit": 30, "target": "1ms", "interval": "10ms", "mtu": "{mtu}", "p_inc": 0.0625, "p_dec": 0.0078125, "ecn": {ecn}}}"#
            );
            let literal = || Cobalt { target, interval, ..Cobalt::new(ecn, mtu_time) };
            let stats = compare(&spec("cobalt", &params), &link(), literal);
            assert_seen(&stats, &[Why::Evicted, Why::Sojourn, Why::Early], marks);
        }
    }
}
