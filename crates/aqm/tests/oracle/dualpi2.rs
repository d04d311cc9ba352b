//! RFC 9332, appendix A.1 and A.2 (which adds overload), with the weighted round robin of Linux.
//! Where the discipline departs by default: likelihoods are at most 1, the packet's size stands for MTU in the
//! limit, and below two MTU p' counts as zero.

use std::collections::VecDeque;

use aqmkit_aqm::Why;
use aqmkit_base::{Duration, Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::events::{Literal, Seen, Timer, assert_seen, compare, drop_packet, mark, out};
use crate::trace::seconds;

#[derive(Clone, Default)]
struct Queue {
    packets: VecDeque<(Pkt, Instant)>,
    count: f64,
}

impl Queue {
    fn len(&self) -> usize {
        self.packets.len()
    }

    fn byt(&self) -> u32 {
        self.packets.iter().map(|(p, _)| p.len).sum()
    }

    fn time(&self, now: Instant) -> f64 {
        self.packets.front().map_or(0.0, |(_, since)| seconds(*since, now))
    }

    /// The same in whole nanoseconds, where equal times must compare as equal.
    fn waits(&self, now: Instant) -> Duration {
        self.packets.front().map_or(Duration::ZERO, |(_, since)| now.since(*since))
    }

    fn recur(&mut self, likelihood: f64) -> bool {
        self.count += if likelihood > 1.0 { 1.0 } else { likelihood };
        if self.count > 1.0 {
            self.count -= 1.0;
            return true;
        }
        false
    }
}

struct DualPi2 {
    limit: u32,
    k: f64,
    target: f64,
    p_cmax: f64,
    alpha: f64,
    beta: f64,
    min_th: f64,
    range: f64,
    th_len: usize,
    mtu: u32,
    w_c: f64,
    tshift: Option<Duration>,
    tupdate: Timer,
    p: f64,
    p_cl: f64,
    p_c: f64,
    prevq: f64,
    credit: f64,
    lq: Queue,
    cq: Queue,
}

impl DualPi2 {
    /// `dualpi2_params_init`.
    fn params_init(target_ms: u64, rtt_max_ms: u64, w_c: f64) -> Self {
        let (k, target, rtt_max) = (2.0, target_ms as f64 / 1000.0, rtt_max_ms as f64 / 1000.0);
        let tupdate = (target_ms * 1_000_000).min(rtt_max_ms * 1_000_000 / 3);
        DualPi2 {
            limit: 40_000,
            k,
            target,
            p_cmax: if 1.0 / (k * k) < 1.0 { 1.0 / (k * k) } else { 1.0 },
            alpha: 0.1 * (tupdate as f64 / 1e9) / (rtt_max * rtt_max),
            beta: 0.3 / rtt_max,
            min_th: 0.0008,
            range: 0.0004,
            th_len: 1,
            mtu: 1500,
            w_c,
            tshift: None,
            tupdate: Timer::new(Duration::from_nanos(tupdate)),
            p: 0.0,
            p_cl: 0.0,
            p_c: 0.0,
            prevq: 0.0,
            credit: 1500.0 * (w_c - (1.0 - w_c)),
            lq: Queue::default(),
            cq: Queue::default(),
        }
    }

    /// `dualpi2_update`, with overload.
    fn update(&mut self, now: Instant) {
        let curq = self.cq.time(now).max(self.lq.time(now));
        self.p = self.p + self.alpha * (curq - self.target) + self.beta * (curq - self.prevq);
        self.p = self.p.clamp(0.0, 1.0);
        self.p_cl = self.p * self.k;
        self.p_c = self.p * self.p;
        self.prevq = curq;
    }

    fn updates(&mut self, now: Instant) {
        while let Some(at) = self.tupdate.due(now) {
            self.update(at);
        }
    }

    /// The ramp.
    fn laqm(&self, qdelay: f64) -> f64 {
        if qdelay >= self.min_th + self.range {
            1.0
        } else if qdelay > self.min_th {
            (qdelay - self.min_th) / self.range
        } else {
            0.0
        }
    }

    /// Whether the L queue is next: the time-shifted FIFO, or the weighted round robin.
    fn scheduler(&self, now: Instant) -> bool {
        if self.lq.len() == 0 || self.cq.len() == 0 {
            return self.lq.len() > 0;
        }
        match self.tshift {
            Some(tshift) => self.lq.waits(now) + tshift >= self.cq.waits(now),
            None => self.credit <= 0.0,
        }
    }

    /// Both probabilities as they act on what remains.
    fn acting(&self) -> (f64, f64) {
        if self.lq.byt() + self.cq.byt() < 2 * self.mtu { (0.0, 0.0) } else { (self.p_cl, self.p_c) }
    }

    /// The body of `dualpi2_dequeue` for the L queue: returns whether the packet is forwarded.
    fn send_l(&mut self, pkt: &mut Pkt, delay: f64, seen: &mut Vec<Seen>) -> bool {
        let (p_cl, p_c) = self.acting();
        if p_cl < 1.0 {
            let native = if self.lq.len() > self.th_len { self.laqm(delay) } else { 0.0 };
            if self.lq.recur(native.max(p_cl)) {
                mark(pkt, seen);
            }
        } else {
            if self.lq.recur(p_c) {
                drop_packet(*pkt, seen);
                return false;
            }
            if self.lq.recur(p_cl) {
                mark(pkt, seen);
            }
        }
        true
    }

    /// The same for the Classic queue.
    fn send_c(&mut self, pkt: &mut Pkt, seen: &mut Vec<Seen>) -> bool {
        let (_, p_c) = self.acting();
        if self.cq.recur(p_c) {
            if pkt.ecn as u8 == 0 || p_c >= self.p_cmax {
                drop_packet(*pkt, seen);
                return false;
            }
            mark(pkt, seen);
        }
        true
    }
}

impl Literal for DualPi2 {
    /// `dualpi2_enqueue`.
    fn arriving(&mut self, packet: Pkt, now: Instant, _rng: &mut Rng, seen: &mut Vec<Seen>) {
        self.updates(now);
        if self.lq.byt() + self.cq.byt() + packet.len > self.limit {
            return drop_packet(packet, seen);
        }
        if packet.ecn as u8 % 2 == 1 {
            self.lq.packets.push_back((packet, now));
        } else {
            self.cq.packets.push_back((packet, now));
        }
    }

    /// `dualpi2_dequeue`, with overload.
    fn departing(&mut self, now: Instant, _rng: &mut Rng, seen: &mut Vec<Seen>) {
        self.updates(now);
        while self.lq.byt() + self.cq.byt() > 0 {
            let (from_l, both) = (self.scheduler(now), self.lq.len() > 0 && self.cq.len() > 0);
            let queue = if from_l { &mut self.lq } else { &mut self.cq };
            let (mut pkt, since) = queue.packets.pop_front().unwrap();
            let stays =
                if from_l { self.send_l(&mut pkt, seconds(since, now), seen) } else { self.send_c(&mut pkt, seen) };
            if !stays {
                continue;
            }
            if both && from_l {
                self.credit += self.w_c * f64::from(pkt.len);
            } else if both {
                self.credit -= (1.0 - self.w_c) * f64::from(pkt.len);
            }
            return out(pkt, seen);
        }
        self.credit = f64::from(self.mtu) * (self.w_c - (1.0 - self.w_c));
        seen.push(Seen::Empty);
    }
}

#[test]
fn dualpi2_is_appendix_a() {
    for (target, rtt, w_c, marks) in [
        (15, 100, 0.0625, &[Why::Step, Why::Coupled, Why::Early][..]),
        (10, 60, 0.25, &[Why::Step, Why::Coupled, Why::Early][..]),
    ] {
        let params = format!(
            r#"{{"limit": "40000b", "max_rtt": "{rtt}ms", "target": "{target}ms", "classic_protection": {w_c}}}"#
        );
        let stats = compare(&spec("dualpi2", &params), &link(), || DualPi2::params_init(target, rtt, w_c));
        assert_seen(&stats, &[Why::Overflow, Why::Early, Why::Overload], marks);
    }
}

/// With strict priority in place of the shift, this fails.
#[test]
fn dualpi2_with_tshift_is_appendix_a() {
    let params = r#"{"limit": "40000b", "max_rtt": "60ms", "target": "10ms", "tshift": "5ms"}"#;
    let literal = || DualPi2 { tshift: Some(Duration::from_millis(5)), ..DualPi2::params_init(10, 60, 0.0625) };
    let stats = compare(&spec("dualpi2", params), &link(), literal);
    assert_seen(&stats, &[Why::Overflow, Why::Early, Why::Overload], &[Why::Step, Why::Coupled, Why::Early]);
}
