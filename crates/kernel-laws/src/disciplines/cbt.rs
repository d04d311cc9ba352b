//! CBT: class-based thresholds. `aqmkit_aqm::disciplines::cbt` has the equations and their sources.
//!
//! Which packets of a class wait is known from the packets that were let in ([`crate::waiting`]).

use crate::average::Averaging;
use crate::early::{Ramp, Scale};
use crate::fixed::{Factor, Fixed};
use crate::law::{Arrival, CLASSES, GAUGES, Law, Limit, Verdict, Why};
use crate::part::Part;
use crate::verifier::{masked, reread, reread_mut};
use crate::waiting::{DEPARTURES, WaitingList};
use crate::words::words;

words! {
    /// The parameters of one class.
    pub struct ClassConfig {
        /// How the probability rises.
        pub ramp: Ramp,
        /// How its queue is averaged.
        pub averaging: Averaging,
    }
}

words! {
    /// CBT's parameters.
    pub struct Config {
        /// What the queue may hold.
        pub limit: Limit,
        /// Whether thresholds and averages are in bytes (1) or packets (0).
        pub in_bytes: u64,
        /// Whether ECN-capable packets are marked where an early drop is due.
        pub ecn: u64,
        /// For each class of the link, which of `classes` is its.
        pub entry: [u64; CLASSES],
        /// The classes that have parameters.
        pub classes: [ClassConfig; CLASSES],
    }
}

/// CBT's state.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cbt {
    /// Whether the averages are of bytes.
    in_bytes: u64,
    /// By entry.
    classes: [Part; CLASSES],
    waiting: WaitingList,
}

impl Cbt {
    /// Figure 4.4 for every packet that has left.
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

    /// An average of packets says nothing about bytes.
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
