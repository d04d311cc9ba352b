//! WRED: weighted RED. Law and sources: `aqmkit_aqm::disciplines::wred`.

use crate::average::{Averaging, QueueAverage};
use crate::early::{DropMode, Ramp, Scale, early_verdict};
use crate::fixed::{Factor, Fixed};
use crate::law::{Arrival, CLASSES, GAUGES, Law, Limit, Verdict, Why};
use crate::verifier::masked;
use crate::words::words;

words! {
    /// WRED's parameters.
    pub struct Config {
        /// Queue limit.
        pub limit: Limit,
        /// Averaging of the queue length.
        pub averaging: Averaging,
        /// Flags [`ECN`](crate::early::ECN) and [`HARDDROP`](crate::early::HARDDROP).
        pub rules: u64,
        /// Maps each class of the link to an index in `ramps`.
        pub entry: [u64; CLASSES],
        /// Drop probability of each entry, as a function of the average.
        pub ramps: [Ramp; CLASSES],
    }
}

/// State of WRED.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wred {
    avg: QueueAverage,
    /// Unit of the average: bytes (1) or packets (0).
    bytes: u64,
    /// Drop state, indexed like [`Config::ramps`].
    modes: [DropMode; CLASSES],
}

impl Law for Wred {
    type Config = Config;

    const ZERO: Wred = Wred { avg: QueueAverage::ZERO, bytes: 0, modes: [DropMode::ZERO; CLASSES] };

    const GAUGES: &'static [&'static str] = &["avg"];

    const CLASSES: bool = true;

    #[inline(always)]
    fn limit(config: &Config) -> &Limit {
        &config.limit
    }

    #[inline(always)]
    fn start(&mut self, config: &Config, now: u64) {
        self.avg.start(now);
        self.bytes = config.limit.bytes;
        for mode in &mut self.modes {
            mode.start();
        }
    }

    #[inline(always)]
    fn on_arrival(&mut self, config: &Config, arrival: &Arrival, full: bool) -> Verdict {
        self.avg.on_arrival(&config.averaging, arrival, config.limit.length(arrival));
        let entry = masked::<CLASSES>(config.entry[masked::<CLASSES>(arrival.class)]);
        let (mode, ramp) = (&mut self.modes[entry], &config.ramps[entry]);
        if full {
            mode.on_overflow();
            return Verdict::Drop(Why::Overflow);
        }
        let scale = Scale::of_arrival(arrival, 0, Factor::ZERO);
        let decision = mode.on_arrival(ramp, ramp.max_p, self.avg.get(), scale, arrival);
        early_verdict(decision, config.rules, arrival)
    }

    /// Resets the average if its unit has changed.
    #[inline(always)]
    fn on_change(&mut self, config: &Config, now: u64) {
        if self.bytes != config.limit.bytes {
            self.avg.start(now);
            self.bytes = config.limit.bytes;
        }
    }

    #[inline(always)]
    fn gauges(&self, _config: &Config) -> [Fixed; GAUGES] {
        [self.avg.get(), Fixed::ZERO, Fixed::ZERO, Fixed::ZERO]
    }
}
