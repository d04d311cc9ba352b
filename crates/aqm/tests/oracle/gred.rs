//! `gred_enqueue` and `gred_dequeue` of Linux's `sch_gred.c` over `red.h`, with real numbers in place of fixed point. Corrected: the whole
//! queue keeps its limit; the decay of an idle average is exact.

use aqmkit_aqm::Why;
use aqmkit_base::{Duration, Ecn, Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::trace::{Oracle, assert_seen, compare, compare_bursts, compare_marks, seconds};

#[derive(Clone, Default)]
struct Vars {
    qcount: i64,
    q_r: f64,
    qavg: f64,
    qidlestart: Option<Instant>,
}

#[derive(Clone)]
struct Vq {
    prio: u32,
    limit: usize,
    qth_min: f64,
    qth_max: f64,
    max_p: f64,
    vars: Vars,
    backlog: usize,
}

#[derive(PartialEq)]
enum Action {
    Pass,
    Early,
    Forced,
}

struct Gred {
    tab: Vec<Option<Vq>>,
    def: usize,
    limit: usize,
    wred_mode: bool,
    rio_mode: bool,
    ecn: bool,
    harddrop: bool,
    wred_set: (f64, Option<Instant>),
    queue: Vec<Pkt>,
}

const W: f64 = 0.1;
/// Packets of 1000 bytes in a second on the link.
const DRAIN: f64 = 1250.0;

fn vq(prio: u32, limit: usize, qth_min: f64, qth_max: f64, max_p: f64) -> Option<Vq> {
    let vars = Vars { qcount: -1, ..Vars::default() };
    Some(Vq { prio, limit, qth_min, qth_max, max_p, vars, backlog: 0 })
}

impl Gred {
    fn new(tab: Vec<Option<Vq>>) -> Self {
        Gred {
            tab,
            def: 2,
            limit: 60,
            wred_mode: false,
            rio_mode: false,
            ecn: false,
            harddrop: false,
            wred_set: (0.0, None),
            queue: Vec::new(),
        }
    }

    fn gred_backlog(&self, dp: usize) -> usize {
        if self.wred_mode { self.queue.len() } else { self.tab[dp].as_ref().unwrap().backlog }
    }

    fn red_action(q: &mut Vq, qavg: f64, rng: &mut Rng) -> Action {
        if qavg < q.qth_min {
            q.vars.qcount = -1;
            Action::Pass
        } else if qavg >= q.qth_max {
            q.vars.qcount = -1;
            Action::Forced
        } else {
            q.vars.qcount += 1;
            if q.vars.qcount != 0 {
                let p_b = q.max_p * (qavg - q.qth_min) / (q.qth_max - q.qth_min);
                if p_b * q.vars.qcount as f64 >= q.vars.q_r {
                    q.vars.qcount = 0;
                    q.vars.q_r = rng.uniform();
                    return Action::Early;
                }
            } else {
                q.vars.q_r = rng.uniform();
            }
            Action::Pass
        }
    }
}

impl Oracle for Gred {
    fn arriving(&mut self, mut skb: Pkt, now: Instant, rng: &mut Rng) -> bool {
        let mut dp = usize::from(skb.class);
        if dp >= self.tab.len() || self.tab[dp].is_none() {
            dp = self.def;
            if self.tab[dp].is_none() {
                let room = self.queue.len() < self.limit;
                if room {
                    self.queue.push(skb);
                }
                return room;
            }
        }
        let mut qavg = 0.0;
        if !self.wred_mode && self.rio_mode {
            let prio = self.tab[dp].as_ref().unwrap().prio;
            for other in self.tab.iter().flatten() {
                if other.prio < prio && other.vars.qidlestart.is_none() {
                    qavg += other.vars.qavg;
                }
            }
        }
        let backlog = self.gred_backlog(dp);
        let wred_mode = self.wred_mode;
        let mut q = self.tab[dp].clone().unwrap();
        if wred_mode {
            (q.vars.qavg, q.vars.qidlestart) = self.wred_set;
        }
        q.vars.qavg = match q.vars.qidlestart {
            None => (1.0 - W) * q.vars.qavg + W * backlog as f64,
            Some(start) => {
                let m = seconds(start, now) * DRAIN;
                if m > 0.0 { q.vars.qavg * libm::pow(1.0 - W, m) } else { q.vars.qavg }
            }
        };
        q.vars.qidlestart = None;
        if wred_mode {
            self.wred_set = (q.vars.qavg, None);
        }
        let decided_by = q.vars.qavg + qavg;
        let action = Gred::red_action(&mut q, decided_by, rng);
        let marks = self.ecn && skb.ecn.is_capable();
        let dropped = match action {
            Action::Pass => false,
            Action::Early => !marks,
            Action::Forced => self.harddrop || !marks,
        };
        if !dropped && action != Action::Pass {
            skb.ecn = Ecn::Ce;
        }
        let fits = !dropped && backlog < q.limit && self.queue.len() < self.limit;
        if fits {
            q.backlog += 1;
            self.queue.push(skb);
        }
        self.tab[dp] = Some(q);
        fits
    }

    fn departing(&mut self, now: Instant) -> Option<Pkt> {
        if self.queue.is_empty() {
            return None;
        }
        let skb = self.queue.remove(0);
        let mut dp = usize::from(skb.class);
        if self.tab[dp].is_none() {
            dp = self.def;
        }
        let nothing_left = self.queue.is_empty();
        if let Some(q) = &mut self.tab[dp] {
            q.backlog -= 1;
            if self.wred_mode {
                if nothing_left {
                    self.wred_set.1 = Some(now);
                }
            } else if q.backlog == 0 {
                q.vars.qidlestart = Some(now);
            }
        }
        Some(skb)
    }
}

const CLASSES: [&str; 3] = [
    r#"{"class": "tcp", "prio": 1, "limit": 25, "min": 3, "max": 12, "max_p": 0.2, "weight": 0.1}"#,
    r#"{"class": "multimedia", "prio": 2, "min": 5, "max": 30, "max_p": 0.1, "weight": 0.1}"#,
    r#"{"class": "*", "prio": 3, "limit": 40, "min": 2, "max": 40, "max_p": 0.5, "weight": 0.1}"#,
];

fn tab() -> Vec<Option<Vq>> {
    vec![vq(1, 25, 3.0, 12.0, 0.2), vq(2, 60, 5.0, 30.0, 0.1), vq(3, 40, 2.0, 40.0, 0.5)]
}

fn params(classes: &[&str], more: &str) -> String {
    format!(r#"{{"limit": 60, "classes": [{}]{more}}}"#, classes.join(", "))
}

#[test]
fn gred_is_linuxs() {
    let gred = spec("gred", &params(&CLASSES, ""));
    let oracle = || Gred::new(tab());
    assert_seen(&compare(&gred, &link(), 5, oracle), &[Why::Overflow, Why::Early, Why::Forced]);
    let interval = Duration::from_millis(10);
    assert_seen(&compare_bursts(&gred, &link(), 5, false, interval, oracle), &[Why::Early, Why::Forced]);
}

#[test]
fn with_the_averages_of_the_more_important_too() {
    let gred = spec("gred", &params(&CLASSES, r#", "grio": true, "ecn": true"#));
    let oracle = || Gred { rio_mode: true, ecn: true, ..Gred::new(tab()) };
    let stats = compare_marks(&gred, &link(), 5, oracle);
    assert_seen(&stats, &[Why::Overflow, Why::Early, Why::Forced]);
    assert!(stats.marks() > 100);
}

#[test]
fn with_one_average_of_all_too() {
    let equal = CLASSES.map(|class| class.replace("\"prio\": 3", "\"prio\": 2"));
    let classes = [equal[0].as_str(), &equal[1], &equal[2]];
    let gred = spec("gred", &params(&classes, r#", "grio": true, "ecn": true, "harddrop": true"#));
    let oracle = || Gred { rio_mode: true, wred_mode: true, ecn: true, harddrop: true, ..Gred::new(tab()) };
    let stats = compare_marks(&gred, &link(), 5, oracle);
    assert_seen(&stats, &[Why::Overflow, Why::Early, Why::Forced]);
}

#[test]
fn with_packets_that_pass_by_too() {
    let gred = spec("gred", &params(&CLASSES[..2], ""));
    let oracle = || Gred::new(vec![tab()[0].clone(), tab()[1].clone(), None]);
    assert_seen(&compare(&gred, &link(), 5, oracle), &[Why::Overflow, Why::Early, Why::Forced]);
}
