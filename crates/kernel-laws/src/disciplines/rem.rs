//! REM: random exponential marking. `aqmkit_aqm::disciplines::rem` has the law and its sources.

use crate::early::Scale;
use crate::fixed::{Factor, Fixed, Powers, quotient, repeated};
use crate::law::{Arrival, GAUGES, Law, Limit, Verdict, Why};
use crate::words::words;

words! {
    /// REM's parameters.
    pub struct Config {
        /// What the queue may hold.
        pub limit: Limit,
        /// Where the queue is to settle, in packets.
        pub target: Fixed,
        /// 1 over the bytes of a packet.
        pub per_byte: Factor,
        /// Step of the price.
        pub gamma: Factor,
        /// Weight of the queue against the rate.
        pub alpha: Factor,
        /// Packets that the link sends in an interval.
        pub capacity: Fixed,
        /// Time between updates of the price, in nanoseconds.
        pub interval: u64,
        /// The powers of `1 - w`, with `w` the weight of the newest interval in the rate.
        pub keep: Powers,
        /// `(1 - w) / w`.
        pub kept_after: Factor,
        /// The powers of `1 / phi`.
        pub per_phi: Powers,
        /// The powers of the 2^24th root of `1 / phi`.
        pub per_root: Powers,
        /// Whether the price is made of the queue and its change.
        pub backlog: u64,
        /// Whether bytes are counted.
        pub byte_mode: u64,
        /// Whether ECN-capable packets are marked.
        pub ecn: u64,
    }
}

/// The largest price; its probability is 1 for any `phi` of use.
const MOST: Fixed = Fixed::whole(1 << 24);

/// REM's state.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rem {
    price: Fixed,
    /// `1 - phi^-price`.
    p: Fixed,
    /// Packets that have arrived in this interval.
    count: Fixed,
    rate: Fixed,
    q_old: Fixed,
    next_update: u64,
}

impl Rem {
    /// Updates the price for every interval that has passed, with the queue that the arrival finds.
    #[inline(always)]
    fn update(&mut self, config: &Config, arrival: &Arrival) {
        if self.next_update > arrival.now {
            return;
        }
        let n = quotient(arrival.now - self.next_update, config.interval) + 1;
        self.next_update += n * config.interval;
        let length = config.limit.length(arrival);
        let q = if config.limit.bytes != 0 { config.per_byte.times(length) } else { length };
        // One interval has what has arrived; nothing came in those after it.
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
                // The rates of those intervals are a geometric series.
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
