//! Detection and release as in the authors' scripts (`do_detect`, `do_reward`), with a punctual clock for
//! both, over two queues with the dissertation's RED. Corrected: the class is halved where the scripts only
//! compute it; the second test of unresponsiveness has the constants of the first. Chosen: every restricted
//! flow is looked at after a whole interval. The scheduler is the library's, which CBQ's oracle tests.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use aqmkit_aqm::Why;
use aqmkit_aqm::law::sharing::{Next, ROOT, Sharing};
use aqmkit_base::{BitRate, Duration, Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::red::{self, Red};
use crate::trace::{Oracle, assert_seen, compare};

const INTERVAL: f64 = 0.05;
const LINK: f64 = 1_250_000.0;

#[derive(Default)]
struct Monitor {
    parrivals: u64,
    barrivals: u64,
    pdrops: u64,
    bdrops: u64,
    epdrops: u64,
    ebdrops: u64,
    /// For each flow: packets and bytes dropped, and those of them early.
    flows: BTreeMap<u64, (u64, u64, u64, u64)>,
}

struct State {
    reason: &'static str,
    bandwidth: f64,
    droprate: f64,
    barrivals: u64,
    /// Packets in the other queue that came before it was restricted.
    ahead: usize,
    age: u32,
}

struct FloydFall<'a> {
    friendly: bool,
    rtt: f64,
    red: [Red; 2],
    tree: Sharing,
    leaves: [usize; 2],
    okbox: Monitor,
    pbox: Monitor,
    history: Vec<(u64, f64, f64)>,
    unresponsive: Vec<(u64, f64, f64)>,
    penalized: BTreeMap<u64, State>,
    class_bw: f64,
    end: Option<Instant>,
    /// Reasons that came up in any trace.
    reasons: &'a RefCell<BTreeSet<&'static str>>,
}

fn ratio(num: f64, denom: f64) -> f64 {
    if denom == 0.0 { 0.0 } else { num / denom }
}

impl FloydFall<'_> {
    fn tcp_ref_bw(&self, droprate: f64) -> f64 {
        1500.0 * (1.5_f64.sqrt() / (self.rtt * droprate.sqrt()))
    }

    fn allot(&mut self, bw: f64) {
        let share = (bw / LINK).clamp(0.001, 0.25);
        self.class_bw = share * LINK;
        self.tree.set_share(self.leaves[1], share, Some(BitRate::from_bytes_per_sec(self.class_bw)));
        self.tree.set_share(self.leaves[0], 1.0 - share, None);
    }

    fn until(&mut self, now: Instant) {
        let interval = Duration::from_secs_f64(INTERVAL);
        while self.end.is_none_or(|end| end <= now) {
            if self.end.is_some() {
                self.do_detect();
                self.do_reward(self.end.unwrap());
                (self.okbox, self.pbox) = (Monitor::default(), Monitor::default());
            } else {
                self.allot(0.0);
            }
            self.end = Some(self.end.unwrap_or(now) + interval);
        }
    }

    fn mmetric(&self) -> Option<(u64, f64)> {
        let all = &self.okbox;
        let mut found: Option<(u64, f64)> = None;
        let unforced_frac = ratio(all.epdrops as f64, all.pdrops as f64);
        for (flow, (_, bdrops, _, ebdrops)) in &all.flows {
            let forced = ratio((bdrops - ebdrops) as f64, (all.bdrops - all.ebdrops) as f64);
            let unforced = ratio(*ebdrops as f64, all.ebdrops as f64);
            let metric = unforced_frac * unforced + (1.0 - unforced_frac) * forced;
            if found.is_none_or(|(_, most)| metric > most) {
                found = Some((*flow, metric));
            }
        }
        found
    }

    fn test_high(&self, bw: f64, droprate: f64) -> bool {
        let n = self.okbox.flows.len().max(1) as f64;
        let good_bps = self.okbox.barrivals as f64 / INTERVAL;
        bw > (3.0 * n).ln() / n * good_bps && bw * droprate.sqrt() > 12_000.0
    }

    fn do_detect(&mut self) {
        let Some((flow, metric)) = self.mmetric() else { return };
        let droprate = self.okbox.pdrops as f64 / self.okbox.parrivals as f64;
        let bw = metric * self.okbox.barrivals as f64 / INTERVAL;
        let guideline = self.tcp_ref_bw(droprate);
        if self.friendly && bw > 1.2 * guideline {
            return self.penalize(flow, "UNFRIENDLY", bw, droprate, guideline);
        }
        let lowest = |list: &[(u64, f64, f64)]| {
            let mut best: Option<(f64, f64)> = None;
            for entry in list {
                if entry.0 == flow && best.is_none_or(|b| entry.2 < b.1) {
                    best = Some((entry.1, entry.2));
                }
            }
            best
        };
        if let Some((old_bw, old_droprate)) = lowest(&self.unresponsive) {
            if bw > 0.0 && bw >= 0.98 * old_bw && droprate >= 0.98 * old_droprate {
                self.unresponsive.retain(|u| u.0 != flow);
                self.penalize(flow, "UNRESPONSIVE2", bw, droprate, bw);
            }
            return;
        }
        let past = lowest(&self.history);
        self.history.push((flow, bw, droprate));
        if self.history.len() > 10 {
            self.history.remove(0);
        }
        if past.is_some_and(|(old_bw, old_droprate)| droprate > 2.0 * old_droprate && bw > 0.8 * old_bw) {
            self.unresponsive.push((flow, bw, droprate));
            if self.unresponsive.len() > 10 {
                self.unresponsive.remove(0);
            }
        } else if self.test_high(bw, droprate) {
            self.penalize(flow, "HIGH", bw, droprate, bw);
        }
    }

    fn penalize(&mut self, flow: u64, reason: &'static str, bandwidth: f64, droprate: f64, guideline: f64) {
        let state = State { reason, bandwidth, droprate, barrivals: 0, ahead: self.red[0].queue.len(), age: 0 };
        self.reasons.borrow_mut().insert(reason);
        self.penalized.insert(flow, state);
        self.allot(0.5 * guideline * self.penalized.len() as f64);
    }

    fn do_reward(&mut self, now: Instant) {
        if self.penalized.is_empty() {
            return;
        }
        let droprate_b = ratio(self.pbox.pdrops as f64, self.pbox.parrivals as f64);
        let droprate_g = ratio(self.okbox.pdrops as f64, self.okbox.parrivals as f64);
        let (before, mut released) = (self.penalized.len(), Vec::new());
        for (flow, state) in &self.penalized {
            let bw = state.barrivals as f64 / INTERVAL;
            let bad = match state.reason {
                "UNRESPONSIVE2" => bw > 0.0 && bw >= 0.98 * state.bandwidth && droprate_b >= 0.98 * state.droprate,
                "HIGH" => self.test_high(bw, droprate_b),
                _ => false,
            };
            let friendly = droprate_b == 0.0 || bw <= 1.2 * self.tcp_ref_bw(droprate_b);
            if state.age > 0 && friendly && !bad {
                released.push(*flow);
            }
        }
        for state in self.penalized.values_mut() {
            (state.barrivals, state.age) = (0, state.age + 1);
        }
        self.penalized.retain(|flow, _| !released.contains(flow));
        self.unpenalize(&released, now);
        let mut bw = self.class_bw * ((before - released.len()) as f64 / before as f64);
        if self.pbox.parrivals > 0 && droprate_b < 2.0 * droprate_g {
            bw *= 0.5;
        }
        self.allot(bw);
    }

    /// The flows' packets go to the end of the other queue, for those that follow.
    fn unpenalize(&mut self, flows: &[u64], now: Instant) {
        let busy = [0, 1].map(|which: usize| !self.red[which].queue.is_empty());
        let (back, stay) = std::mem::take(&mut self.red[1].queue).into_iter().partition(|p| flows.contains(&p.flow));
        let back: Vec<Pkt> = back;
        self.red[0].queue.extend(back);
        self.red[1].queue = stay;
        if !busy[0] && !self.red[0].queue.is_empty() {
            self.tree.wake(self.leaves[0], now);
        }
        if busy[1] && self.red[1].queue.is_empty() {
            self.tree.sleep(self.leaves[1]);
        }
        self.red.iter_mut().for_each(|red| red.moved(now));
    }

    fn take(&mut self, which: usize, now: Instant) -> Option<Pkt> {
        let p = self.red[which].departing(now)?;
        self.tree.charge(self.leaves[which], p.len, now);
        if self.red[which].queue.is_empty() {
            self.tree.sleep(self.leaves[which]);
        }
        if which == 0 {
            self.penalized.values_mut().for_each(|state| state.ahead = state.ahead.saturating_sub(1));
        }
        Some(p)
    }
}

impl Oracle for FloydFall<'_> {
    fn arriving(&mut self, p: Pkt, now: Instant, rng: &mut Rng) -> bool {
        self.until(now);
        let which = usize::from(self.penalized.contains_key(&p.flow));
        let full =
            self.red[0].queue.len() + self.red[1].queue.len() >= 60 || (which == 1 && self.red[1].queue.len() >= 10);
        self.red[which].q_limit = if full { 0 } else { usize::MAX };
        let was_empty = self.red[which].queue.is_empty();
        let enqueued = self.red[which].arriving(p, now, rng);
        let early = !full && self.red[which].q_avg <= self.red[which].th_max;
        let monitor = if which == 0 { &mut self.okbox } else { &mut self.pbox };
        monitor.parrivals += 1;
        monitor.barrivals += u64::from(p.len);
        if let Some(state) = self.penalized.get_mut(&p.flow) {
            state.barrivals += u64::from(p.len);
        }
        if enqueued {
            if was_empty {
                self.tree.wake(self.leaves[which], now);
            }
            return true;
        }
        let (len, e) = (u64::from(p.len), u64::from(early));
        let flow = monitor.flows.entry(p.flow).or_default();
        *flow = (flow.0 + 1, flow.1 + len, flow.2 + e, flow.3 + e * len);
        monitor.pdrops += 1;
        monitor.bdrops += len;
        monitor.epdrops += e;
        monitor.ebdrops += e * len;
        false
    }

    fn departing(&mut self, now: Instant) -> Option<Pkt> {
        self.until(now);
        let Next::Leaf(leaf) = self.tree.next(now) else {
            return None;
        };
        let behind = self.red[1].queue.first().is_some_and(|p| self.penalized[&p.flow].ahead > 0);
        self.take(usize::from(leaf == self.leaves[1] && !behind), now)
    }
}

#[test]
fn floyd_fall_is_the_scripts_detection_and_release() {
    let reasons = RefCell::new(BTreeSet::new());
    for (friendly, rtt, max) in [(true, 0.2, 12), (false, 0.01, 58)] {
        let params = format!(
            r#"{{"interval": "50ms", "rtt": "{rtt}s", "limit": 60, "restricted_limit": 10, "min": 5, "max": {max}, "weight": 0.0625, "friendly": {friendly}}}"#
        );
        let stats = compare(&spec("floyd-fall", &params), &link(), 7, || {
            let mut tree = Sharing::default();
            let leaves = [tree.add(ROOT, 0.5, None), tree.add(ROOT, 0.5, None)];
            FloydFall {
                friendly,
                rtt,
                red: [red::oracle(0.0625, 5.0, f64::from(max), 60), red::oracle(0.0625, 5.0, f64::from(max), 60)],
                tree,
                leaves,
                okbox: Monitor::default(),
                pbox: Monitor::default(),
                history: Vec::new(),
                unresponsive: Vec::new(),
                penalized: BTreeMap::new(),
                class_bw: 0.0,
                end: None,
                reasons: &reasons,
            }
        });
        assert_seen(&stats, &[Why::Early, if friendly { Why::Forced } else { Why::Overflow }, Why::Penalty]);
    }
    assert_eq!(reasons.into_inner(), BTreeSet::from(["HIGH", "UNFRIENDLY", "UNRESPONSIVE2"]));
}
