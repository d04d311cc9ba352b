//! RFC 8289, sections 5.2 to 5.6: the loop pulls packets out itself. Added: marking, the rule of re-entry of
//! 2012, and the bound on drops for one request.

use aqmkit_aqm::Why;
use aqmkit_base::{Duration, Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::trace::{Oracle, assert_seen, compare, compare_bursts, compare_marks};

pub(crate) struct Codel {
    pub(crate) limit: usize,
    pub(crate) target: Duration,
    pub(crate) interval: Duration,
    pub(crate) maxpacket: u64,
    pub(crate) ecn: bool,
    pub(crate) ce_threshold: Option<Duration>,
    /// `ce_threshold_selector` and `ce_threshold_mask`.
    pub(crate) selector: (u8, u8),
    pub(crate) of_2012: bool,
    pub(crate) max_drops: usize,
    pub(crate) queue: Vec<(Pkt, Instant)>,
    first_above_time: Option<Instant>,
    drop_next: Instant,
    count: u32,
    lastcount: u32,
    dropping: bool,
}

struct Dodequeue {
    p: Option<Pkt>,
    ok_to_drop: bool,
}

impl Codel {
    pub(crate) fn new(target: Duration, interval: Duration) -> Self {
        Codel {
            limit: 60,
            target,
            interval,
            maxpacket: 1500,
            ecn: false,
            ce_threshold: None,
            selector: (0, 0),
            of_2012: false,
            max_drops: usize::MAX,
            queue: Vec::new(),
            first_above_time: None,
            drop_next: Instant::ZERO,
            count: 0,
            lastcount: 0,
            dropping: false,
        }
    }

    fn bytes(&self) -> u64 {
        self.queue.iter().map(|(p, _)| u64::from(p.len)).sum()
    }

    fn control_law(&self, t: Instant, count: u32) -> Instant {
        t + Duration::from_secs_f64(self.interval.as_secs_f64() / f64::from(count).sqrt())
    }

    fn dodequeue(&mut self, now: Instant) -> Dodequeue {
        if self.queue.is_empty() {
            self.first_above_time = None;
            return Dodequeue { p: None, ok_to_drop: false };
        }
        let (mut p, tstamp) = self.queue.remove(0);
        let mut ok_to_drop = false;
        let sojourn_time = now.since(tstamp);
        if sojourn_time < self.target || self.bytes() <= self.maxpacket {
            self.first_above_time = None;
        } else {
            match self.first_above_time {
                None => self.first_above_time = Some(now + self.interval),
                Some(first_above_time) => ok_to_drop = now >= first_above_time,
            }
        }
        let (selector, mask) = self.selector;
        let set_ce = p.ecn as u8 & mask == selector;
        if self.ce_threshold.is_some_and(|t| sojourn_time > t) && set_ce && p.ecn.is_capable() {
            // Whoever is dropped after all does not care.
            p.ecn = aqmkit_base::Ecn::Ce;
        }
        Dodequeue { p: Some(p), ok_to_drop }
    }

    /// Whether the packet was marked instead of dropped.
    fn mark(&self, r: &mut Dodequeue) -> bool {
        let p = r.p.as_mut().unwrap();
        let marks = self.ecn && p.ecn.is_capable();
        if marks {
            p.ecn = aqmkit_base::Ecn::Ce;
        }
        marks
    }

    pub(crate) fn dequeue(&mut self, now: Instant) -> Option<Pkt> {
        let mut r = self.dodequeue(now);
        let mut drops = 0;
        if self.dropping {
            if !r.ok_to_drop {
                self.dropping = false;
            }
            while self.dropping && now >= self.drop_next && drops < self.max_drops {
                self.count += 1;
                if self.mark(&mut r) {
                    self.drop_next = self.control_law(self.drop_next, self.count);
                    break;
                }
                drops += 1;
                r = self.dodequeue(now);
                if r.ok_to_drop {
                    self.drop_next = self.control_law(self.drop_next, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if r.ok_to_drop {
            if !self.mark(&mut r) {
                r = self.dodequeue(now);
            }
            self.dropping = true;
            let recent = |intervals| now.since(self.drop_next) < self.interval * intervals;
            if self.of_2012 {
                self.count = if recent(1) && self.count > 2 { self.count - 2 } else { 1 };
            } else {
                let delta = self.count - self.lastcount;
                self.count = if delta > 1 && recent(16) { delta } else { 1 };
            }
            self.drop_next = self.control_law(now, self.count);
            self.lastcount = self.count;
        }
        r.p
    }
}

impl Oracle for Codel {
    fn arriving(&mut self, p: Pkt, now: Instant, _rng: &mut Rng) -> bool {
        let fits = self.queue.len() < self.limit;
        if fits {
            self.queue.push((p, now));
        }
        fits
    }

    fn departing(&mut self, now: Instant) -> Option<Pkt> {
        self.dequeue(now)
    }
}

const TARGET: Duration = Duration::from_micros(500);
const INTERVAL: Duration = Duration::from_millis(10);

fn params(more: &str) -> String {
    format!(r#"{{"limit": 60, "target": "500us", "interval": "10ms", "max_drops": 4000000000{more}}}"#)
}

#[test]
fn codel_is_rfc_8289() {
    let codel = spec("codel", &params(""));
    let oracle = || Codel::new(TARGET, INTERVAL);
    assert_seen(&compare(&codel, &link(), 5, oracle), &[Why::Overflow, Why::Sojourn]);
    assert_seen(&compare_bursts(&codel, &link(), 5, false, INTERVAL, oracle), &[Why::Overflow, Why::Sojourn]);
}

#[test]
fn with_the_reentry_of_2012_too() {
    let codel = spec("codel", &params(r#", "reentry": "2012""#));
    let oracle = || Codel { of_2012: true, ..Codel::new(TARGET, INTERVAL) };
    assert_seen(&compare(&codel, &link(), 5, oracle), &[Why::Sojourn]);
    assert_seen(&compare_bursts(&codel, &link(), 5, false, INTERVAL, oracle), &[Why::Sojourn]);
}

#[test]
fn with_marks_too() {
    let codel = spec("codel", &params(r#", "ecn": true, "ce_threshold": "700us", "mtu": "9000b""#));
    let ce_threshold = Some(Duration::from_micros(700));
    let oracle = || Codel { ecn: true, ce_threshold, maxpacket: 9000, ..Codel::new(TARGET, INTERVAL) };
    assert_seen(&compare_marks(&codel, &link(), 5, oracle), &[Why::Sojourn, Why::Step]);
    assert_seen(&compare_bursts(&codel, &link(), 5, true, INTERVAL, oracle), &[Why::Sojourn, Why::Step]);
}

/// Fails where the mask or the value is not looked at.
#[test]
fn with_marks_for_some_codepoints_too() {
    for (selector, text) in [((1, 3), "0x1/0x3"), ((2, 2), "2/2")] {
        let selects = format!(r#", "ce_threshold": "700us", "ce_threshold_selector": "{text}""#);
        let codel = spec("codel", &params(&selects));
        let ce_threshold = Some(Duration::from_micros(700));
        let oracle = || Codel { ce_threshold, selector, ..Codel::new(TARGET, INTERVAL) };
        assert_seen(&compare_marks(&codel, &link(), 5, oracle), &[Why::Sojourn, Why::Step]);
    }
}

#[test]
fn with_the_bound_on_drops_too() {
    let codel = spec("codel", r#"{"limit": 60, "target": "500us", "interval": "10ms", "max_drops": 2}"#);
    let oracle = || Codel { max_drops: 2, ..Codel::new(TARGET, INTERVAL) };
    assert_seen(&compare(&codel, &link(), 5, oracle), &[Why::Sojourn]);
    assert_seen(&compare_bursts(&codel, &link(), 5, false, INTERVAL, oracle), &[Why::Sojourn]);
}
