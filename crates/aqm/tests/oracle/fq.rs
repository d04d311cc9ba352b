//! `fq_enqueue`, `fq_classify`, `fq_dequeue` and `fq_check_throttled` of Linux's `sch_fq.c` for packets without a socket or a departure time, in plain
//! lists. Corrected: times are exact, and a flow is never freed.

use aqmkit_aqm::Why;
use aqmkit_base::flow::salt;
use aqmkit_base::{Duration, Ecn, FlowKey, Instant, Rng};

use crate::common::{Pkt, link, spec};
use crate::events::{Literal, Seen, assert_seen, compare, drop_packet, mark, out};
use crate::prio::priority;

#[derive(Clone, PartialEq)]
enum Place {
    /// With the age; a flow that has just been allocated has none that is old.
    Detached(Option<Instant>),
    Listed,
    Throttled,
}

#[derive(Clone)]
struct Flow {
    skbs: Vec<(Pkt, Instant, usize)>,
    credit: i64,
    band: usize,
    place: Place,
    /// Zero for none.
    time_next_packet: u64,
}

#[derive(Clone, Default)]
struct PerBand {
    new_flows: Vec<usize>,
    old_flows: Vec<usize>,
    credit: i64,
    quantum: i64,
    pkt_count: usize,
}

#[derive(Clone)]
struct Fq {
    limit: usize,
    flow_plimit: usize,
    quantum: i64,
    refill: Duration,
    /// In bytes per second.
    flow_max_rate: Option<u64>,
    low_rate_threshold: u64,
    ce_threshold: Duration,
    prio2band: [usize; 16],
    mask: u64,
    flows: Vec<Flow>,
    bands: Vec<PerBand>,
    band_nr: usize,
    internal: Vec<Pkt>,
    /// In the order of their times.
    delayed: Vec<usize>,
}

impl Fq {
    fn new(flow_max_rate: Option<u64>, weights: [i64; 3]) -> Self {
        let flow = Flow { skbs: Vec::new(), credit: 2500, band: 0, place: Place::Detached(None), time_next_packet: 0 };
        Fq {
            limit: 14,
            flow_plimit: 12,
            quantum: 1200,
            refill: Duration::from_millis(5),
            flow_max_rate,
            low_rate_threshold: 550_000 / 8,
            ce_threshold: Duration::from_millis(4),
            // Best effort goes to band 1, bulk to band 2, and the interactive priorities to band 0.
            prio2band: [1, 2, 2, 2, 0, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1],
            mask: 3,
            flows: vec![flow; 4],
            bands: weights.map(|quantum| PerBand { quantum, ..PerBand::default() }).to_vec(),
            band_nr: 0,
            internal: Vec::new(),
            delayed: Vec::new(),
        }
    }

    fn qlen(&self) -> usize {
        self.internal.len() + self.flows.iter().map(|flow| flow.skbs.len()).sum::<usize>()
    }

    fn fastpath_check(&self) -> bool {
        let inactive = self.flows.iter().filter(|flow| flow.skbs.is_empty()).count();
        let eligible = self.flows.len() != inactive + self.delayed.len();
        (self.qlen() == 0 || (!eligible && self.internal.len() < 8)) && self.flow_max_rate.is_none()
    }

    fn check_throttled(&mut self, now: Instant) {
        while let Some(&f) = self.delayed.first() {
            if self.flows[f].time_next_packet > now.as_nanos() {
                return;
            }
            self.delayed.remove(0);
            self.flows[f].place = Place::Listed;
            self.bands[self.flows[f].band].old_flows.push(f);
        }
    }

    fn set_throttled(&mut self, f: usize) {
        let time = self.flows[f].time_next_packet;
        let at = self.delayed.iter().position(|&other| self.flows[other].time_next_packet > time);
        self.delayed.insert(at.unwrap_or(self.delayed.len()), f);
        self.flows[f].place = Place::Throttled;
    }

    fn head(&mut self, band: usize, new: bool) -> &mut Vec<usize> {
        if new { &mut self.bands[band].new_flows } else { &mut self.bands[band].old_flows }
    }

    fn sent(&mut self, f: usize, plen: i64, now: Instant) {
        let band = self.band_nr;
        let flow = &mut self.flows[f];
        flow.credit -= plen;
        self.bands[band].credit -= plen;
        let rate = self.flow_max_rate.unwrap_or(u64::MAX);
        let mut plen = plen as u64;
        if rate <= self.low_rate_threshold {
            flow.credit = 0;
        } else {
            plen = plen.max(self.quantum as u64);
            if flow.credit > 0 {
                return;
            }
        }
        if rate != u64::MAX {
            let mut len = (plen * 1_000_000_000 / rate).min(1_000_000_000);
            if flow.time_next_packet != 0 {
                len -= (len / 2).min(now.as_nanos() - flow.time_next_packet);
            }
            flow.time_next_packet = now.as_nanos() + len;
        }
    }
}

impl Literal for Fq {
    fn arriving(&mut self, skb: Pkt, now: Instant, _rng: &mut Rng, seen: &mut Vec<Seen>) {
        let band = self.prio2band[priority(&skb)];
        if self.bands[band].pkt_count >= self.limit {
            return drop_packet(skb, seen);
        }
        if self.fastpath_check() {
            return self.internal.push(skb);
        }
        let f = ((FlowKey(skb.flow).hash(salt(5)) >> 32) & self.mask) as usize;
        if self.flows[f].skbs.len() >= self.flow_plimit {
            return drop_packet(skb, seen);
        }
        if let Place::Detached(age) = self.flows[f].place {
            self.bands[self.flows[f].band].new_flows.push(f);
            if age.is_some_and(|age| now > age + self.refill) {
                self.flows[f].credit = self.flows[f].credit.max(self.quantum);
            }
            self.flows[f].place = Place::Listed;
        }
        self.flows[f].band = band;
        self.bands[band].pkt_count += 1;
        self.flows[f].skbs.push((skb, now, band));
    }

    fn departing(&mut self, now: Instant, _rng: &mut Rng, seen: &mut Vec<Seen>) {
        if self.qlen() == 0 {
            return seen.push(Seen::Empty);
        }
        if !self.internal.is_empty() {
            return out(self.internal.remove(0), seen);
        }
        self.check_throttled(now);
        let mut retry = 0;
        'begin: loop {
            let band = self.band_nr;
            let PerBand { new_flows, old_flows, credit, .. } = &self.bands[band];
            if *credit <= 0 || (new_flows.is_empty() && old_flows.is_empty()) {
                loop {
                    retry += 1;
                    if retry > 3 {
                        return seen.push(Seen::Empty);
                    }
                    self.band_nr = (self.band_nr + 1) % 3;
                    let next = &mut self.bands[self.band_nr];
                    next.credit = (next.credit + next.quantum).min(next.quantum);
                    if next.credit > 0 {
                        continue 'begin;
                    }
                    retry = 0;
                }
            }
            let new = !new_flows.is_empty();
            let f = self.head(band, new)[0];
            retry = 0;
            if self.flows[f].credit <= 0 {
                self.flows[f].credit += self.quantum;
                self.head(band, new).remove(0);
                let own = self.flows[f].band;
                self.head(own, false).push(f);
                continue;
            }
            let Some(&(mut skb, time_to_send, packet_band)) = self.flows[f].skbs.first() else {
                self.head(band, new).remove(0);
                if new {
                    let own = self.flows[f].band;
                    self.head(own, false).push(f);
                } else {
                    self.flows[f].place = Place::Detached(Some(now));
                }
                continue;
            };
            let time_next_packet = time_to_send.as_nanos().max(self.flows[f].time_next_packet);
            if now.as_nanos() < time_next_packet {
                self.head(band, new).remove(0);
                self.flows[f].time_next_packet = time_next_packet;
                self.set_throttled(f);
                continue;
            }
            self.flows[f].skbs.remove(0);
            if now.as_nanos() - time_next_packet > self.ce_threshold.as_nanos() && skb.ecn != Ecn::NotEct {
                mark(&mut skb, seen);
            }
            self.bands[packet_band].pkt_count -= 1;
            self.sent(f, i64::from(skb.len), now);
            return out(skb, seen);
        }
    }
}

fn params(more: &str) -> String {
    format!(
        r#"{{"limit": 14, "flow_limit": 12, "quantum": "1200b", "initial_quantum": "2500b", "refill_delay": "5ms", "ce_threshold": "4ms",
            "orphan_mask": 3, "salt": 5, "priomap": [1, 2, 2, 2, 0], {more}}}"#
    )
}

/// Large weights let a band send all it has, small ones change bands after a dozen packets. It fails where a flow joins the band of the arriving packet,
/// where credits of bands add up, where an empty new flow goes out of turn at once, and where nine packets may pass by.
#[test]
fn fq_is_linuxs() {
    for weights in [[589_824, 196_608, 65_536], [16_384, 17_000, 16_384]] {
        let fq = spec("fq", &params(&format!(r#""weights": {weights:?}"#)));
        let stats = compare(&fq, &link(), || Fq::new(None, weights));
        assert_seen(&stats, &[Why::Overflow, Why::Unfair], &[Why::Step]);
    }
}

/// At 2 Mbit/s turns of a quantum are 4.8 ms apart, at 400 kbit/s packets are up to 30 ms apart, and at 8 kbit/s gaps would be longer than a
/// second. It fails where gaps do not make up for lateness, where flows have turns below the threshold, and where the delay that is marked counts from arrival.
#[test]
fn fq_paces_as_linux_does() {
    for rate in [2_000_000, 400_000, 8_000] {
        let fq = spec("fq", &params(&format!(r#""maxrate": "{rate}bit""#)));
        let stats = compare(&fq, &link(), || Fq::new(Some(rate / 8), [589_824, 196_608, 65_536]));
        assert_seen(&stats, &[Why::Unfair], &[Why::Step]);
    }
}
