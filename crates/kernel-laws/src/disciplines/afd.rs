//! AFD: approximate fair dropping. Law and sources: `aqmkit_aqm::disciplines::afd`.
//!
//! The length of the shadow buffer and its unit (packets or bytes) are fixed when the program starts.

use crate::fixed::{Factor, Fixed, ONE, quotient, repeated};
use crate::law::{Arrival, Draws, GAUGES, Law, Limit, Verdict, Why};
use crate::table::{Entry, FlowTable};
use crate::verifier::{masked, reread_mut};
use crate::words::words;

words! {
    /// AFD's parameters.
    pub struct Config {
        /// Queue limit.
        pub limit: Limit,
        /// Length of the shadow buffer, at most [`SAMPLES`].
        pub buffer: u64,
        /// Probability that an arrival is sampled.
        pub sampled: Fixed,
        /// Target queue length, in the unit of the limit.
        pub q_target: Fixed,
        /// Gain of the previous queue length.
        pub alpha: Factor,
        /// Gain of the current queue length.
        pub beta: Factor,
        /// Time between updates of the fair share, in nanoseconds.
        pub interval: u64,
        /// Replace the oldest sample rather than a random one.
        pub replace_oldest: u64,
        /// Upper bound of the fair share.
        pub most: Fixed,
        /// Mark ECN-capable packets instead of dropping.
        pub ecn: u64,
    }
}

/// Maximum length of the shadow buffer.
pub const SAMPLES: usize = 4096;
/// Salt of the flow table.
const SALT: u64 = 0x6166_6400_0000_0001;

/// A sampled arrival.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sample {
    flow: u64,
    amount: u64,
}

/// State of AFD.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Afd {
    m_fair: Fixed,
    last_queue: Fixed,
    next_update: u64,
    /// Length of the shadow buffer.
    buffer: u64,
    /// Whether shares are in bytes.
    bytes: u64,
    /// Number of samples in the shadow buffer.
    filled: u64,
    oldest: u64,
    /// Number of flows in the table.
    flows: u64,
    shadow: [Sample; SAMPLES],
    table: FlowTable<Fixed, { 2 * SAMPLES }>,
}

impl Afd {
    /// Updates the fair share for every interval that has elapsed.
    #[inline(always)]
    fn update(&mut self, config: &Config, arrival: &Arrival) {
        if self.next_update > arrival.now {
            return;
        }
        let n = quotient(arrival.now - self.next_update, config.interval) + 1;
        self.next_update += n * config.interval;
        let error = config.limit.length(arrival).minus(config.q_target);
        let old_error = self.last_queue.minus(config.q_target);
        let change = config.alpha.times(old_error).minus(config.beta.times(error));
        let step = config.alpha.times(error).minus(config.beta.times(error));
        let first = self.m_fair.plus(change).within(Fixed::ZERO, config.most);
        self.m_fair = repeated(first, step, n - 1, Fixed::ZERO, config.most);
        self.last_queue = config.limit.length(arrival);
    }

    /// Subtracts an evicted sample from its flow's count.
    #[inline(always)]
    fn forget(&mut self, gone: Sample) {
        self.table.find(gone.flow, SALT);
        let this = reread_mut(self);
        let Some(entry) = this.table.get(gone.flow) else { return };
        entry.value = entry.value.minus(Fixed::whole(gone.amount));
        if entry.value <= Fixed::ZERO {
            entry.flow = 0;
            this.flows -= 1;
        }
    }

    /// Adds an arrival to the shadow buffer; if the buffer is full, it replaces the sample at `place`.
    #[inline(always)]
    fn sample(&mut self, arrival: &Arrival, place: u64) {
        let sample =
            Sample { flow: arrival.flow, amount: if self.bytes != 0 { arrival.bytes } else { arrival.packets } };
        let full = self.filled >= self.buffer;
        let place = if full { place } else { self.filled };
        let slot = &mut self.shadow[masked::<SAMPLES>(place)];
        let gone = *slot;
        *slot = sample;
        if full {
            self.oldest = if self.oldest + 1 >= self.buffer { 0 } else { self.oldest + 1 };
            self.forget(gone);
        } else {
            self.filled += 1;
        }
        let this = reread_mut(self);
        this.table.find(sample.flow, SALT);
        let this = reread_mut(this);
        if let Some(entry) = this.table.get(sample.flow) {
            entry.value = entry.value.plus(Fixed::whole(sample.amount));
        } else if let Some(free) = this.table.place() {
            *this.table.at(free) = Entry { flow: sample.flow, value: Fixed::whole(sample.amount) };
            this.flows += 1;
        }
    }
}

impl Law for Afd {
    type Config = Config;

    const ZERO: Afd = Afd {
        m_fair: Fixed::ZERO,
        last_queue: Fixed::ZERO,
        next_update: 0,
        buffer: 0,
        bytes: 0,
        filled: 0,
        oldest: 0,
        flows: 0,
        shadow: [Sample { flow: 0, amount: 0 }; SAMPLES],
        table: FlowTable::empty(Fixed::ZERO),
    };

    const GAUGES: &'static [&'static str] = &["m_fair", "flows"];

    const FLOWS: bool = true;

    #[inline(always)]
    fn limit(config: &Config) -> &Limit {
        &config.limit
    }

    #[inline(always)]
    fn start(&mut self, config: &Config, now: u64) {
        self.m_fair = config.most;
        self.next_update = now + config.interval;
        self.buffer = config.buffer;
        self.bytes = config.limit.bytes;
    }

    #[inline(always)]
    fn on_arrival(&mut self, config: &Config, arrival: &Arrival, full: bool) -> Verdict {
        self.update(config, arrival);
        let mut draws = Draws::of(arrival);
        let this = reread_mut(self);
        if draws.chance(config.sampled) {
            let oldest = config.replace_oldest != 0;
            let place = if this.filled < this.buffer || oldest { this.oldest } else { draws.below(this.buffer) };
            this.sample(arrival, place);
        } else {
            this.table.find(arrival.flow, SALT);
        }
        let this = reread_mut(this);
        if full {
            return Verdict::Drop(Why::Overflow);
        }
        let m_fair = this.m_fair;
        let Some(entry) = this.table.get(arrival.flow) else { return Verdict::Pass };
        // Drop with probability 1 - m_fair / m: equivalent to m_fair < m (1 - draw).
        if m_fair < entry.value && m_fair < entry.value.part(ONE - u64::from(draws.take())) {
            arrival.signal(config.ecn != 0, Why::Unfair)
        } else {
            Verdict::Pass
        }
    }

    #[inline(always)]
    fn on_change(&mut self, config: &Config, now: u64) {
        let soonest = now + config.interval;
        if soonest < self.next_update {
            self.next_update = soonest;
        }
    }

    #[inline(always)]
    fn gauges(&self, _config: &Config) -> [Fixed; GAUGES] {
        [self.m_fair, Fixed::whole(self.flows), Fixed::ZERO, Fixed::ZERO]
    }
}
