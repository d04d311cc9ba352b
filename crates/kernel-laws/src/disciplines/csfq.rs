//! CSFQ: core-stateless fair queueing, with edge and core router on one link. Law and sources:
//! `aqmkit_aqm::disciplines::csfq`.
//!
//! Labels pass from the edge to the core within this host; packets do not carry them to the next router. Rates are in
//! Mbit/s. The number of flows an edge remembers is fixed when the program starts.

use crate::cache::FlowCache;
use crate::fixed::{Factor, Fixed, ONE, ratio};
use crate::law::{Arrival, CLASSES, GAUGES, Law, Limit, Verdict, Why};
use crate::rate::{Averaging, RateEstimate};
use crate::verifier::{masked, reread_mut};
use crate::words::words;

words! {
    /// CSFQ's parameters.
    pub struct Config {
        /// Queue limit.
        pub limit: Limit,
        /// Below this queue length the link does not become congested, in the unit of the limit.
        pub threshold: Fixed,
        /// C, the link rate.
        pub capacity: Fixed,
        /// Averaging of a flow's rate, with constant K.
        pub of_flow: Averaging,
        /// Averaging of the link's rates A and F, with constant `K_alpha`.
        pub of_link: Averaging,
        /// `K_c`: how long the link must be (un)congested before alpha is updated, in nanoseconds.
        pub k_c: u64,
        /// Flows remembered by the edge, a power of two, at most [`FLOWS`].
        pub flows: u64,
        /// Reciprocal of the weight of each class.
        pub per_weight: [Factor; CLASSES],
        /// Mark ECN-capable packets instead of dropping.
        pub ecn: u64,
    }
}

/// Maximum number of flows remembered by the edge.
pub const FLOWS: usize = 16_384;
/// A buffer overflow reduces alpha by 1/CUT.
const CUT: u64 = 100;
/// Maximum number of such reductions per `K_c`.
const CUTS: u64 = 28;

/// A packet with its label, as the core sees it.
#[derive(Clone, Copy, Debug)]
struct Labelled {
    bits: u64,
    label: Fixed,
}

/// State of CSFQ.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Csfq {
    /// Fair share; 0 while unknown.
    alpha: Fixed,
    /// A, the rate of all arrivals.
    arriving: RateEstimate,
    /// F, the rate of accepted packets.
    accepted: RateEstimate,
    congested: u64,
    /// Since when the link has been congested or uncongested, or when alpha was last updated.
    start_time: u64,
    /// Largest label since alpha was updated.
    tmp_alpha: Fixed,
    /// Remaining reductions of alpha in this `K_c`.
    cuts: u64,
    /// Size of the flow cache.
    flows: u64,
    rates: FlowCache<RateEstimate, FLOWS>,
}

impl Csfq {
    /// The label written by the edge: flow rate over weight.
    #[inline(always)]
    fn label(&mut self, config: &Config, arrival: &Arrival, bits: u64) -> Fixed {
        let flow = self.rates.get_or(arrival.flow, self.flows, RateEstimate::UNKNOWN);
        flow.packet(&config.of_flow, bits, arrival.now);
        config.per_weight[masked::<CLASSES>(arrival.class)].times(reread_mut(flow).get())
    }

    /// Draws with probability `max(0, 1 - alpha / label)`; `short` if the queue is below the threshold.
    #[inline(always)]
    fn unlucky(&self, label: Fixed, short: bool, draw: u32) -> bool {
        if self.alpha <= Fixed::ZERO || (short && self.congested == 0) {
            return false;
        }
        // Drop with probability 1 - alpha / label: equivalent to alpha < label (1 - draw).
        self.alpha < label && self.alpha < label.part(ONE - u64::from(draw))
    }

    /// `estimate_alpha` of figure 3.
    #[inline(always)]
    fn estimate(&mut self, config: &Config, p: Labelled, dropped: bool, short: bool, now: u64) {
        self.arriving.packet(&config.of_link, p.bits, now);
        if !dropped {
            reread_mut(self).accepted.packet(&config.of_link, p.bits, now);
        }
        let this = reread_mut(self);
        let overloaded = this.arriving.get() >= config.capacity && (this.congested != 0 || !short);
        match (overloaded, this.congested != 0) {
            (true, false) => this.become_congested(p, now),
            (true, true) => this.while_congested(config, now),
            (false, true) => {
                this.congested = 0;
                this.start_time = now;
                this.tmp_alpha = Fixed::ZERO;
            }
            (false, false) => this.while_uncongested(config, p, now),
        }
    }

    #[inline(always)]
    fn become_congested(&mut self, p: Labelled, now: u64) {
        self.congested = 1;
        self.start_time = now;
        let seen = if self.tmp_alpha > p.label { self.tmp_alpha } else { p.label };
        self.alpha = if self.alpha > seen { self.alpha } else { seen };
        self.cuts = CUTS;
    }

    /// `alpha <- alpha C / F`, at most C.
    #[inline(always)]
    fn while_congested(&mut self, config: &Config, now: u64) {
        if now <= self.start_time + config.k_c {
            return;
        }
        let f = self.accepted.get();
        if f > Fixed::ZERO {
            self.alpha = if self.alpha >= f {
                config.capacity
            } else {
                config.capacity.part(ratio(self.alpha.0 as u64, f.0 as u64, 4))
            };
        }
        self.start_time = now;
        self.cuts = CUTS;
    }

    #[inline(always)]
    fn while_uncongested(&mut self, config: &Config, p: Labelled, now: u64) {
        if now < self.start_time + config.k_c {
            self.tmp_alpha = if self.tmp_alpha > p.label { self.tmp_alpha } else { p.label };
        } else {
            self.alpha = self.tmp_alpha;
            self.start_time = now;
            self.tmp_alpha = Fixed::ZERO;
            self.cuts = CUTS;
        }
    }

    /// Reduces alpha after a buffer overflow.
    #[inline(always)]
    fn cut(&mut self) {
        if self.cuts > 0 {
            self.cuts -= 1;
            self.alpha = self.alpha.minus(self.alpha.over(CUT));
        }
    }
}

impl Law for Csfq {
    type Config = Config;

    const ZERO: Csfq = Csfq {
        alpha: Fixed::ZERO,
        arriving: RateEstimate::UNKNOWN,
        accepted: RateEstimate::UNKNOWN,
        congested: 0,
        start_time: 0,
        tmp_alpha: Fixed::ZERO,
        cuts: 0,
        flows: 0,
        rates: FlowCache::empty(RateEstimate::UNKNOWN),
    };

    const GAUGES: &'static [&'static str] = &["alpha", "arriving", "accepted", "congested"];
    const RATES: usize = 3;

    const FLOWS: bool = true;
    const CLASSES: bool = true;

    #[inline(always)]
    fn limit(config: &Config) -> &Limit {
        &config.limit
    }

    #[inline(always)]
    fn start(&mut self, config: &Config, now: u64) {
        self.alpha = config.capacity;
        self.arriving.start(now);
        self.accepted.start(now);
        self.start_time = now;
        self.cuts = CUTS;
        self.flows = config.flows;
    }

    /// Figure 3.
    #[inline(always)]
    fn on_arrival(&mut self, config: &Config, arrival: &Arrival, full: bool) -> Verdict {
        let bits = 8 * arrival.bytes;
        let label = self.label(config, arrival, bits);
        let this = reread_mut(self);
        let short = config.limit.length(arrival) < config.threshold;
        let hit = this.unlucky(label, short, arrival.draws[0]);
        let marked = hit && config.ecn != 0 && arrival.ecn_capable != 0;
        this.estimate(config, Labelled { bits, label }, hit && !marked, short, arrival.now);
        let this = reread_mut(this);
        if hit && !marked {
            return Verdict::Drop(Why::Unfair);
        }
        if full {
            this.cut();
            return Verdict::Drop(Why::Overflow);
        }
        if marked { Verdict::Mark(Why::Unfair) } else { Verdict::Pass }
    }

    /// Rates and alpha are kept.
    #[inline(always)]
    fn on_change(&mut self, _config: &Config, _now: u64) {}

    #[inline(always)]
    fn gauges(&self, _config: &Config) -> [Fixed; GAUGES] {
        [self.alpha, self.arriving.get(), self.accepted.get(), Fixed::whole(self.congested)]
    }
}
