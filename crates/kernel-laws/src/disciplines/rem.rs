//! REM: random exponential marking. Law and sources: `aqmkit_aqm::disciplines::rem`.

use crate::early::Scale;
use crate::fixed::{Factor, Fixed, Powers, quotient, repeated};
use crate::law::{Arrival, GAUGES, Law, Limit, Verdict, Why};
use crate::words::words;

words! {
    /// REM's parameters.
    pub struct Config {
        /// Queue limit.
        pub limit: Limit,
        /// Target queue length, in packets.
        pub target: Fixed,
        /// Reciprocal of the packet size in bytes.
        pub per_byte: Factor,
        /// Step size of the price.
        pub gamma: Factor,
        /// Weight of the queue mismatch against the rate mismatch.
        pub alpha: Factor,
        /// Packets that the link sends per interval.
        pub capacity: Fixed,
        /// Time between price updates, in nanoseconds.
        pub interval: u64,
        /// Powers of `1 - w`, where `w` is the weight of the last interval in the rate estimate.
        pub keep: Powers,
        /// `(1 - w) / w`.
        pub kept_after: Factor,
        /// Powers of `1 / phi`.
        pub per_phi: Powers,
        /// Powers of `(1 / phi)^(2^-24)`.
        pub per_root: Powers,
        /// Compute the price from the queue and its change, without the rate.
        pub backlog: u64,
        /// Count bytes rather than packets.
        pub byte_mode: u64,
        /// Mark ECN-capable packets instead of dropping.
        pub ecn: u64,
    }
}

/// Upper bound of the price; its probability is 1 for any practical `phi`.
const MOST: Fixed = Fixed::whole(1 << 24);

/// State of REM.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rem {
    price: Fixed,
    /// Marking probability, `1 - phi^-price`.
    p: Fixed,
    /// Packets arrived in this interval.
    count: Fixed,
    rate: Fixed,
    q_old: Fixed,
    next_update: u64,
}

impl Rem {
    /// Updates the price for every interval that has elapsed, with the queue that the arrival finds.
    #[inline(always)]
    fn update(&mut self, config: &Config, arrival: &Arrival) {
        if self.next_update > arrival.now {
            return;
        }
        let n = quotient(arrival.now - self.next_update, config.interval) + 1;
        self.next_update += n * config.interval;
        let length = config.limit.length(arrival);
        let q = if config.limit.bytes != 0 { config.per_byte.times(length) } else { length };
        // The first interval has all the arrivals; the later ones had none.
        self.rate = self.count.plus(config.keep.times(1, self.rate.minus(self.count)));
        self.count = Fixed::ZERO;
        let pressure = config.alpha.times(q.minus(config.target));
        let (first, later) = if config.backlog != 0 {
            let kept = self.q_old.minus(config.alpha.times(self.q_old));
            (q.minus(kept).minus(config.alpha.times(config.target)), pressure)
        } else {
            let later = pressure.minus(config.capacity);
            (later.plus(self.rate), later)
        };
        self.q_old = q;
        let mut price = self.price.plus(config.gamma.times(first)).within(Fixed::ZERO, MOST);
        if n > 1 {
            if config.backlog == 0 {
                // The rates of those intervals form a geometric series.
                let last = config.keep.times(n - 1, self.rate);
                price = price.plus(config.gamma.times(config.kept_after.times(self.rate.minus(last))));
                self.rate = last;
            }
            price = repeated(price, config.gamma.times(later), n - 1, Fixed::ZERO, MOST);
        }
        self.price = price;
        let bits = price.0 as u64;
        let power = config.per_root.of((bits >> 8) & 0xff_ffff, config.per_phi.of(bits >> 32, Fixed::ONE.0 as u64));
        self.p = Fixed::ONE.minus(Fixed(power as i64));
    }
}

impl Law for Rem {
    type Config = Config;

    const ZERO: Rem = Rem {
        price: Fixed::ZERO,
        p: Fixed::ZERO,
        count: Fixed::ZERO,
        rate: Fixed::ZERO,
        q_old: Fixed::ZERO,
        next_update: 0,
    };

    const GAUGES: &'static [&'static str] = &["price", "p"];

    #[inline(always)]
    fn limit(config: &Config) -> &Limit {
        &config.limit
    }

    #[inline(always)]
    fn start(&mut self, config: &Config, now: u64) {
        self.next_update = now + config.interval;
    }

    #[inline(always)]
    fn on_arrival(&mut self, config: &Config, arrival: &Arrival, full: bool) -> Verdict {
        self.update(config, arrival);
        let added = if config.byte_mode != 0 {
            config.per_byte.times(Fixed::whole(arrival.bytes))
        } else {
            Fixed::whole(arrival.packets)
        };
        self.count = self.count.plus(added);
        if full {
            return Verdict::Drop(Why::Overflow);
        }
        if Scale::of_arrival(arrival, config.byte_mode, config.per_byte).of(self.p).exceeds(arrival.draws[0]) {
            arrival.signal(config.ecn != 0, Why::Early)
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
        [self.price, self.p, Fixed::ZERO, Fixed::ZERO]
    }
}
