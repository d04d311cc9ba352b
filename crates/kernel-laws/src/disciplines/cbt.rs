//! CBT: class-based thresholds. Law and sources: `aqmkit_aqm::disciplines::cbt`.
//!
//! Queued packets per class are tracked with [`crate::waiting`].

use crate::average::Averaging;
use crate::early::{Ramp, Scale};
use crate::fixed::{Factor, Fixed};
use crate::law::{Arrival, CLASSES, GAUGES, Law, Limit, Verdict, Why};
use crate::part::Part;
use crate::verifier::{masked, reread, reread_mut};
use crate::waiting::{DEPARTURES, WaitingList};
use crate::words::words;

words! {
    /// Parameters of one class.
    pub struct ClassConfig {
        /// Drop probability as a function of the average.
        pub ramp: Ramp,
        /// Averaging of the class's queue.
        pub averaging: Averaging,
    }
}

words! {
    /// CBT's parameters.
    pub struct Config {
        /// Queue limit.
        pub limit: Limit,
        /// Unit of thresholds and averages: bytes (1) or packets (0).
        pub in_bytes: u64,
        /// Mark ECN-capable packets instead of early drops.
        pub ecn: u64,
        /// Maps each class of the link to an index in `classes`.
        pub entry: [u64; CLASSES],
        /// Parameters of the classes.
        pub classes: [ClassConfig; CLASSES],
    }
}

/// State of CBT.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cbt {
    /// Unit of the averages, as in [`Config::in_bytes`].
    in_bytes: u64,
    /// State of the classes, indexed like [`Config::classes`].
    classes: [Part; CLASSES],
    waiting: WaitingList,
}

impl Cbt {
    /// Figure 4.4, for every packet that has departed.
    #[inline(always)]
    fn departures(&mut self, arrival: &Arrival) {
        for _ in 0..DEPARTURES {
            let this = reread_mut(self);
            let Some(gone) = this.waiting.next_gone(reread(arrival)) else { return };
            this.classes[masked::<CLASSES>(gone.owner)].dequeued(&gone);
        }
    }
}

impl Law for Cbt {
    type Config = Config;

    const ZERO: Cbt = Cbt { in_bytes: 0, classes: [Part::ZERO; CLASSES], waiting: WaitingList::ZERO };

    const GAUGES: &'static [&'static str] = &["avg.0", "avg.1", "avg.2", "avg.3"];

    const CLASSES: bool = true;

    #[inline(always)]
    fn limit(config: &Config) -> &Limit {
        &config.limit
    }

    #[inline(always)]
    fn start(&mut self, config: &Config, now: u64) {
        self.in_bytes = config.in_bytes;
        for class in &mut self.classes {
            class.start(now);
        }
    }

    /// Figure 4.3.
    #[inline(always)]
    fn on_arrival(&mut self, config: &Config, arrival: &Arrival, full: bool) -> Verdict {
        self.departures(arrival);
        let this = reread_mut(self);
        let cl = config.entry[masked::<CLASSES>(arrival.class)];
        let (class, of_class) = (&mut this.classes[masked::<CLASSES>(cl)], &config.classes[masked::<CLASSES>(cl)]);
        class.average(&of_class.averaging, arrival, config.in_bytes != 0);
        if full || this.waiting.is_full() {
            class.mode.on_overflow();
            return Verdict::Drop(Why::Overflow);
        }
        let scale = Scale::of_arrival(arrival, 0, Factor::ZERO);
        let (ramp, avg, waiting) = (&of_class.ramp, class.avg.get(), class.queued.packets);
        let why = class.mode.on_class_arrival(ramp, ramp.max_p, avg, waiting, scale, arrival);
        let verdict = match why {
            Some(Why::Early) => arrival.signal(config.ecn != 0, Why::Early),
            Some(why) => Verdict::Drop(why),
            None => Verdict::Pass,
        };
        if !matches!(verdict, Verdict::Drop(_)) {
            class.queued.enqueued(arrival);
            this.waiting.push(arrival, cl);
        }
        verdict
    }

    /// Resets the averages if their unit has changed.
    #[inline(always)]
    fn on_change(&mut self, config: &Config, now: u64) {
        if self.in_bytes != config.in_bytes {
            self.in_bytes = config.in_bytes;
            for class in &mut self.classes {
                class.avg.start(now);
            }
        }
    }

    #[inline(always)]
    fn gauges(&self, _config: &Config) -> [Fixed; GAUGES] {
        [self.classes[0].avg.get(), self.classes[1].avg.get(), self.classes[2].avg.get(), self.classes[3].avg.get()]
    }
}
