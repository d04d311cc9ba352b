//! FRED: flow random early drop. Law and sources: `aqmkit_aqm::disciplines::fred`.
//!
//! Queued packets per flow are tracked with [`crate::waiting`]. The flow table has buckets of eight slots; a flow whose
//! bucket is full is treated as having no packets queued.

use crate::average::{Averaging, QueueAverage};
use crate::early::{Ramp, Scale, drop_early};
use crate::fixed::{Factor, Fixed};
use crate::law::{Arrival, GAUGES, Law, Limit, Verdict, Why};
use crate::table::{Entry, FlowTable};
use crate::verifier::{reread, reread_mut};
use crate::waiting::{DEPARTURES, Waiting, WaitingList};
use crate::words::words;

words! {
    /// FRED's parameters.
    pub struct Config {
        /// Queue limit, at most [`PACKETS`].
        pub limit: Limit,
        /// Drop probability as a function of the average; `min` is also the most packets that a flow may have queued.
        pub ramp: Ramp,
        /// Averaging of the queue length.
        pub averaging: Averaging,
        /// Minimum per-flow buffer in packets, exempt from early drops.
        pub minq: Fixed,
        /// Allow every flow two packets above `max`.
        pub many_flows: u64,
        /// Mark ECN-capable packets instead of early drops.
        pub ecn: u64,
    }
}

/// Maximum queue length in packets.
pub const PACKETS: usize = 4096;
/// Salt of the flow table.
const SALT: u64 = 0x6672_6564_0000_0001;
/// Owner of a packet whose flow is not in the table.
const NOBODY: u64 = u64::MAX;

/// A flow with packets queued.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Flow {
    /// Packets queued.
    len: u32,
    /// Number of times it exceeded its share.
    strikes: u32,
}

/// A flow without packets queued.
const NOTHING: Flow = Flow { len: 0, strikes: 0 };

/// State of FRED.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fred {
    avg: QueueAverage,
    /// Average per-flow queue length, over active flows.
    avgcq: Fixed,
    /// Packets since the last early drop while in the band.
    count: i64,
    /// Number of flows with packets queued.
    active: u64,
    flows: FlowTable<Flow, { 2 * PACKETS }>,
    waiting: WaitingList<PACKETS>,
}

impl Fred {
    /// Second half of figure 3.13: at least one packet.
    #[inline(always)]
    fn update_share(&mut self, active: u64) {
        let share = self.avg.get().over(if active > 1 { active } else { 1 });
        self.avgcq = if share > Fixed::ONE { share } else { Fixed::ONE };
    }

    /// Figure 3.13 on arrival.
    #[inline(always)]
    fn compute_avg(&mut self, config: &Config, arrival: &Arrival) {
        self.avg.on_arrival(&config.averaging, arrival, Fixed::whole(arrival.waiting_packets));
        self.update_share(self.active);
    }

    /// Figure 3.15, for every packet that has departed. Its flow counts as active even if this was its last packet.
    #[inline(always)]
    fn departures(&mut self, config: &Config, arrival: &Arrival) {
        let mut active = 0;
        for _ in 0..DEPARTURES {
            let this = reread_mut(self);
            let Some(gone) = this.waiting.next_gone(reread(arrival)) else { break };
            // A GSO packet departs as one, so it is one sample.
            this.avg.sample(&config.averaging, 1, Fixed::whole(this.waiting.packets()));
            active = this.active;
            this.leave(&gone);
        }
        if active > 0 {
            reread_mut(self).update_share(active);
        }
    }

    /// A packet has departed; a flow without packets is removed.
    #[inline(always)]
    fn leave(&mut self, gone: &Waiting) {
        if gone.owner == NOBODY {
            return;
        }
        let entry = self.flows.at(gone.owner);
        entry.value.len = entry.value.len.saturating_sub(gone.packets);
        if entry.value.len == 0 && entry.flow != 0 {
            *entry = Entry { flow: 0, value: NOTHING };
            self.active = self.active.saturating_sub(1);
        }
    }

    /// The looked-up state of the arrival's flow.
    #[inline(always)]
    fn flow(&mut self, arrival: &Arrival) -> Flow {
        match self.flows.get(arrival.flow) {
            Some(entry) => Flow { len: reread(entry).value.len, strikes: reread(entry).value.strikes },
            None => NOTHING,
        }
    }

    /// Whether a flow with this state exceeds its share.
    #[inline(always)]
    fn unfair(&self, config: &Config, flow: Flow) -> bool {
        let len = Fixed::whole(u64::from(flow.len));
        len >= config.ramp.min
            || (config.many_flows == 0 && self.avg.get() >= config.ramp.max && len > self.avgcq.times(2))
            || (len >= self.avgcq && flow.strikes > 1)
    }

    /// The three cases of figure 3.14 after the fair-share test: the reason to drop, if any.
    #[inline(always)]
    fn by_mode(&mut self, config: &Config, arrival: &Arrival, flow: Flow) -> Option<Why> {
        let avg = self.avg.get();
        if avg < config.ramp.min {
            self.count = -1;
            return None;
        }
        if avg >= config.ramp.max {
            if config.many_flows != 0 && flow.len < 2 {
                return None;
            }
            self.count = 0;
            return Some(Why::Forced);
        }
        self.count = self.count.wrapping_add(arrival.packets as i64);
        let spared = if self.avgcq > config.minq { self.avgcq } else { config.minq };
        let robust = Fixed::whole(u64::from(flow.len)) >= spared;
        let scale = Scale::of_arrival(arrival, 0, Factor::ZERO);
        let p_b = scale.of(config.ramp.base_probability(config.ramp.max_p, avg));
        if robust && drop_early(p_b, self.count as u64, arrival.draws[0]) {
            self.count = 0;
            return Some(Why::Early);
        }
        None
    }

    /// Admits the arrival, whose flow has been looked up.
    #[inline(always)]
    fn enter(&mut self, arrival: &Arrival) {
        let place = self.flows.place();
        if let Some(place) = place {
            let entry = self.flows.at(place);
            if entry.flow == 0 {
                *entry = Entry { flow: arrival.flow, value: NOTHING };
                self.active += 1;
            }
            entry.value.len = entry.value.len.wrapping_add(arrival.packets as u32);
        }
        self.waiting.push(arrival, place.unwrap_or(NOBODY));
    }
}

impl Law for Fred {
    type Config = Config;

    const ZERO: Fred = Fred {
        avg: QueueAverage::ZERO,
        avgcq: Fixed::ZERO,
        count: 0,
        active: 0,
        flows: FlowTable::empty(NOTHING),
        waiting: WaitingList::ZERO,
    };

    const GAUGES: &'static [&'static str] = &["avg", "avgcq", "flows"];

    const FLOWS: bool = true;

    #[inline(always)]
    fn limit(config: &Config) -> &Limit {
        &config.limit
    }

    #[inline(always)]
    fn start(&mut self, _config: &Config, now: u64) {
        self.avg.start(now);
        self.avgcq = Fixed::ONE;
        self.count = -1;
    }

    /// Figure 3.14.
    #[inline(always)]
    fn on_arrival(&mut self, config: &Config, arrival: &Arrival, full: bool) -> Verdict {
        self.departures(config, arrival);
        let this = reread_mut(self);
        if arrival.finds_nothing() {
            this.compute_avg(config, arrival);
        }
        this.flows.find(arrival.flow, SALT);
        let this = reread_mut(this);
        let flow = this.flow(arrival);
        if this.unfair(config, flow) {
            if let Some(entry) = reread_mut(this).flows.get(arrival.flow) {
                entry.value.strikes = entry.value.strikes.saturating_add(1);
            }
            return Verdict::Drop(Why::Unfair);
        }
        let decision = this.by_mode(config, arrival, flow);
        let this = reread_mut(this);
        let marked = match decision {
            None => false,
            Some(Why::Early) if config.ecn != 0 && arrival.ecn_capable != 0 => true,
            Some(why) => return Verdict::Drop(why),
        };
        if full || this.waiting.is_full() {
            return Verdict::Drop(Why::Overflow);
        }
        this.enter(arrival);
        this.compute_avg(config, arrival);
        if marked { Verdict::Mark(Why::Early) } else { Verdict::Pass }
    }

    #[inline(always)]
    fn on_change(&mut self, _config: &Config, _now: u64) {}

    #[inline(always)]
    fn gauges(&self, _config: &Config) -> [Fixed; GAUGES] {
        [self.avg.get(), self.avgcq, Fixed::whole(self.active), Fixed::ZERO]
    }
}
