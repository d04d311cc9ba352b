//! PIE: proportional integral controller enhanced. Law and sources: `aqmkit_aqm::disciplines::pie`.
//!
//! A classifier does not see departures, so `qdelay` is the predicted delay of an arrival (backlog over link rate)
//! rather than the delay of the last departed packet.

use crate::early::Scale;
use crate::fixed::{FINER, Factor, Fixed, quotient};
use crate::law::{Arrival, GAUGES, Law, Limit, Verdict, Why};
use crate::verifier::{reread, reread_mut};
use crate::words::words;

words! {
    /// PIE's parameters.
    pub struct Config {
        /// Queue limit.
        pub limit: Limit,
        /// Link time per byte, in nanoseconds.
        pub byte_time: Factor,
        /// `QDELAY_REF`: target delay, in nanoseconds.
        pub target: u64,
        /// `T_UPDATE`: update period, in nanoseconds.
        pub tupdate: u64,
        /// Gain of the error, per nanosecond, times 2^[`FINER`].
        pub alpha: Factor,
        /// Gain of the change, likewise.
        pub beta: Factor,
        /// `MAX_BURST`: burst allowance after idle, during which nothing is dropped, in nanoseconds.
        pub max_burst: u64,
        /// Reciprocal of the mean packet size.
        pub per_byte: Factor,
        /// No drops while at most this many bytes are queued: two mean-sized packets.
        pub two_packets: u64,
        /// Scale the probability by packet size.
        pub bytemode: u64,
        /// De-randomise: spread drops evenly (RFC 8033, section 5.4).
        pub derandomize: u64,
        /// Cap increments of the probability (section 5.5).
        pub cap: u64,
        /// Decay the probability at low delay too, not only at zero delay.
        pub decays_low: u64,
        /// Mark ECN-capable packets instead of dropping.
        pub ecn: u64,
        /// Drop even ECN-capable packets above this probability, times 2^[`FINER`].
        pub ecn_prob: Fixed,
    }
}

/// Maximum overdue updates processed per arrival; later ones are left to the next arrival.
const UPDATES: u32 = 128;
/// After this many updates with an empty queue the probability is set to zero: `0.98^128` is 7.5 %, and each update
/// subtracts a step as well.
const MANY: u64 = 128;

/// Delays saturate here, in nanoseconds: about four minutes.
const MOST: u64 = 1 << 38;

/// `parts` / 100,000,000 with the precision of [`Config::alpha`].
const fn finer(parts: u64) -> Fixed {
    Fixed((((1_u128 << 56) * parts as u128) / 100_000_000) as i64)
}

/// Probability 1.
const ONE: Fixed = finer(100_000_000);
/// `accu_prob` below which no packet is dropped, and from which one is dropped for certain (RFC 8033, section 5.4).
const PROB_LOW: Fixed = finer(85_000_000);
const PROB_HIGH: Fixed = finer(850_000_000);
/// The probability from which increments are capped, and the cap (section 5.5).
const TENTH: Fixed = finer(10_000_000);
const CAP: Fixed = finer(2_000_000);
/// Below this probability and half the target delay, every packet passes.
const FIFTH: Fixed = finer(20_000_000);

/// Auto-tuning (section 5.2): the right shift of the step at small probabilities.
#[inline(always)]
fn auto_tune(p: Fixed) -> u64 {
    const BELOW: [(Fixed, u64); 6] = [
        (finer(100), 11),
        (finer(1000), 9),
        (finer(10_000), 7),
        (finer(100_000), 5),
        (finer(1_000_000), 3),
        (finer(10_000_000), 1),
    ];
    for (below, powers) in BELOW {
        if p < below {
            return powers;
        }
    }
    0
}

/// State of PIE.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pie {
    /// Probabilities, times 2^[`FINER`].
    drop_prob: Fixed,
    accu_prob: Fixed,
    /// Predicted delay, in nanoseconds.
    qdelay: u64,
    qdelay_old: u64,
    burst_allowance: u64,
    next_update: u64,
    /// The update in progress: its step, and the step's right shift.
    step: Fixed,
    finer: u64,
}

impl Pie {
    #[inline(always)]
    fn low(&self, config: &Config) -> bool {
        let half = config.target / 2;
        self.qdelay < half && self.qdelay_old < half
    }

    /// Whether further updates with the same delay have no effect.
    #[inline(always)]
    fn settled(&self) -> bool {
        self.drop_prob == Fixed::ZERO && self.qdelay == 0 && self.qdelay_old == 0 && self.burst_allowance == 0
    }

    /// `calculate_drop_prob` of the RFC. Intermediate results are kept in memory, so that the verifier can prune paths.
    #[inline(always)]
    fn update(&mut self, config: &Config) {
        self.finer = auto_tune(self.drop_prob);
        let this = reread_mut(self);
        this.step = config.alpha.times(Fixed(this.qdelay as i64 - config.target as i64));
        let (this, config) = (reread_mut(this), reread(config));
        this.step = this.step.plus(config.beta.times(Fixed(this.qdelay as i64 - this.qdelay_old as i64)));
        let this = reread_mut(this);
        this.step = if this.step.0 < 0 {
            Fixed(-(this.step.0.wrapping_neg() >> (this.finer & 63)))
        } else {
            Fixed(this.step.0 >> (this.finer & 63))
        };
        let (this, config) = (reread_mut(this), reread(config));
        if config.cap != 0 && this.drop_prob >= TENTH && this.step > CAP {
            this.step = CAP;
        }
        let (this, config) = (reread_mut(this), reread(config));
        this.drop_prob = this.drop_prob.plus(this.step);
        let none = this.qdelay == 0 && this.qdelay_old == 0;
        if (none || (config.decays_low != 0 && this.low(config))) && this.drop_prob > Fixed::ZERO {
            this.drop_prob = this.drop_prob.minus(this.drop_prob.over(50));
        }
        let this = reread_mut(this);
        this.drop_prob = this.drop_prob.within(Fixed::ZERO, ONE);
        let (this, config) = (reread_mut(this), reread(config));
        this.qdelay_old = this.qdelay;
        this.burst_allowance = this.burst_allowance.saturating_sub(config.tupdate);
    }

    /// Runs all due updates, each with the delay that the arrival finds.
    #[inline(always)]
    fn updates(&mut self, config: &Config, arrival: &Arrival) {
        for _ in 0..UPDATES {
            let this = reread_mut(self);
            if this.next_update > reread(arrival).now {
                return;
            }
            if this.settled() {
                let skipped = quotient(arrival.now - this.next_update, config.tupdate) + 1;
                this.next_update += skipped * config.tupdate;
                return;
            }
            this.update(reread(config));
            reread_mut(self).next_update += config.tupdate;
        }
        let this = reread_mut(self);
        let left = quotient(arrival.now.saturating_sub(this.next_update), config.tupdate);
        if this.qdelay == 0 && left >= MANY {
            this.drop_prob = Fixed::ZERO;
            this.burst_allowance = this.burst_allowance.saturating_sub(left * config.tupdate);
            this.next_update += left * config.tupdate;
        }
    }

    /// `drop_early` of the RFC.
    #[inline(always)]
    fn drop_early(&mut self, config: &Config, arrival: &Arrival) -> bool {
        let calm = self.qdelay_old < config.target / 2 && self.drop_prob < FIFTH;
        if calm || arrival.waiting_bytes <= config.two_packets {
            return false;
        }
        let scale = Scale::of_arrival(arrival, config.bytemode, config.per_byte);
        let p = scale.of(Fixed(self.drop_prob.0 >> FINER));
        if config.derandomize == 0 {
            return p.exceeds(arrival.draws[0]);
        }
        if self.drop_prob == Fixed::ZERO {
            self.accu_prob = Fixed::ZERO;
        }
        let added = if config.bytemode == 0 { self.drop_prob.times(arrival.packets) } else { Fixed(p.0 << FINER) };
        self.accu_prob = self.accu_prob.plus(if added < ONE { added } else { ONE });
        self.accu_prob >= PROB_LOW && (self.accu_prob >= PROB_HIGH || p.exceeds(arrival.draws[0]))
    }
}

impl Law for Pie {
    type Config = Config;

    const ZERO: Pie = Pie {
        drop_prob: Fixed::ZERO,
        accu_prob: Fixed::ZERO,
        qdelay: 0,
        qdelay_old: 0,
        burst_allowance: 0,
        next_update: 0,
        step: Fixed::ZERO,
        finer: 0,
    };

    const GAUGES: &'static [&'static str] = &["p", "qdelay", "burst_allowance"];

    #[inline(always)]
    fn limit(config: &Config) -> &Limit {
        &config.limit
    }

    #[inline(always)]
    fn start(&mut self, config: &Config, now: u64) {
        self.burst_allowance = config.max_burst;
        self.next_update = now + config.tupdate;
    }

    #[inline(always)]
    fn on_arrival(&mut self, config: &Config, arrival: &Arrival, full: bool) -> Verdict {
        // A packet that finds the queue full is dropped and has no delay.
        if !full {
            let qdelay = config.byte_time.of(arrival.waiting_bytes);
            self.qdelay = if qdelay < MOST { qdelay } else { MOST };
        }
        self.updates(config, arrival);
        let this = reread_mut(self);
        if full {
            this.accu_prob = Fixed::ZERO;
            return Verdict::Drop(Why::Overflow);
        }
        if this.drop_prob == Fixed::ZERO && this.low(config) {
            this.burst_allowance = config.max_burst;
        }
        if this.burst_allowance == 0 && this.drop_early(config, arrival) {
            this.accu_prob = Fixed::ZERO;
            return arrival.signal(config.ecn != 0 && this.drop_prob < config.ecn_prob, Why::Early);
        }
        Verdict::Pass
    }

    #[inline(always)]
    fn on_change(&mut self, config: &Config, now: u64) {
        let soonest = now + config.tupdate;
        if soonest < self.next_update {
            self.next_update = soonest;
        }
    }

    /// Times in seconds.
    #[inline(always)]
    fn gauges(&self, _config: &Config) -> [Fixed; GAUGES] {
        let seconds = |nanos: u64| Fixed((quotient(nanos << 20, 1_000_000_000) << 12) as i64);
        [Fixed(self.drop_prob.0 >> FINER), seconds(self.qdelay), seconds(self.burst_allowance), Fixed::ZERO]
    }
}
