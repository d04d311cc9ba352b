//! RIO: RED with in and out. Law and sources: `aqmkit_aqm::disciplines::rio`.
//!
//! Queued IN and OUT packets are tracked with [`crate::waiting`].

use crate::average::Averaging;
use crate::early::{Ramp, Scale, early_verdict};
use crate::fixed::{Factor, Fixed};
use crate::law::{Arrival, CLASSES, GAUGES, Law, Limit, Verdict, Why};
use crate::part::Part;
use crate::verifier::{masked, reread, reread_mut};
use crate::waiting::{DEPARTURES, WaitingList};
use crate::words::words;

words! {
    /// RIO's parameters.
    pub struct Config {
        /// Queue limit.
        pub limit: Limit,
        /// For each class of the link, whether it is IN.
        pub inside: [u64; CLASSES],
        /// Drop probability of OUT and of IN, as a function of their averages.
        pub ramps: [Ramp; 2],
        /// Averaging of both.
        pub averaging: Averaging,
        /// Use the average of the whole queue for OUT.
        pub coupled: u64,
        /// Flags [`ECN`](crate::early::ECN) and [`HARDDROP`](crate::early::HARDDROP).
        pub rules: u64,
    }
}

/// Indices of OUT and IN.
const OUT: usize = 0;
const IN: usize = 1;

/// State of RIO.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rio {
    /// The settings that the averages refer to: their unit, and whether OUT's is of the whole queue.
    in_bytes: u64,
    coupled: u64,
    /// OUT and IN. If coupled, OUT's average is that of the whole queue.
    parts: [Part; 2],
    waiting: WaitingList,
}

impl Rio {
    /// Removes every packet that has departed from the counts.
    #[inline(always)]
    fn departures(&mut self, arrival: &Arrival) {
        for _ in 0..DEPARTURES {
            let this = reread_mut(self);
            let Some(gone) = this.waiting.next_gone(reread(arrival)) else { return };
            this.parts[masked::<2>(gone.owner)].dequeued(&gone);
        }
    }

    /// IN arrivals update the average of IN; all arrivals, or only OUT ones, update that of OUT.
    #[inline(always)]
    fn average(&mut self, config: &Config, arrival: &Arrival, is_in: bool) {
        let in_bytes = config.limit.bytes != 0;
        if is_in {
            self.parts[IN].average(&config.averaging, arrival, in_bytes);
        }
        if config.coupled != 0 {
            self.parts[OUT].avg.on_arrival(&config.averaging, arrival, config.limit.length(arrival));
        } else if !is_in {
            self.parts[OUT].average(&config.averaging, arrival, in_bytes);
        }
    }
}

impl Law for Rio {
    type Config = Config;

    const ZERO: Rio = Rio { in_bytes: 0, coupled: 0, parts: [Part::ZERO; 2], waiting: WaitingList::ZERO };

    const GAUGES: &'static [&'static str] = &["avg.in", "avg.out", "queue.in"];

    const CLASSES: bool = true;

    #[inline(always)]
    fn limit(config: &Config) -> &Limit {
        &config.limit
    }

    #[inline(always)]
    fn start(&mut self, config: &Config, now: u64) {
        (self.in_bytes, self.coupled) = (config.limit.bytes, config.coupled);
        for part in &mut self.parts {
            part.start(now);
        }
    }

    #[inline(always)]
    fn on_arrival(&mut self, config: &Config, arrival: &Arrival, full: bool) -> Verdict {
        self.departures(arrival);
        let this = reread_mut(self);
        let side = config.inside[masked::<CLASSES>(arrival.class)];
        this.average(config, arrival, side != 0);
        let this = reread_mut(this);
        let part = &mut this.parts[masked::<2>(side)];
        if full || this.waiting.is_full() {
            part.mode.on_overflow();
            return Verdict::Drop(Why::Overflow);
        }
        let whole = side == 0 && config.coupled != 0;
        let waiting = if whole { arrival.waiting_packets } else { part.queued.packets };
        let scale = Scale::of_arrival(arrival, 0, Factor::ZERO);
        let ramp = &config.ramps[masked::<2>(side)];
        let decision = part.mode.on_class_arrival(ramp, ramp.max_p, part.avg.get(), waiting, scale, arrival);
        let verdict = early_verdict(decision, config.rules, arrival);
        if !matches!(verdict, Verdict::Drop(_)) {
            part.queued.enqueued(arrival);
            this.waiting.push(arrival, side);
        }
        verdict
    }

    /// Resets averages whose unit, or part of the queue, has changed.
    #[inline(always)]
    fn on_change(&mut self, config: &Config, now: u64) {
        let other_unit = self.in_bytes != config.limit.bytes;
        if other_unit {
            self.parts[IN].avg.start(now);
            self.parts[IN].mode.start();
        }
        if other_unit || self.coupled != config.coupled {
            self.parts[OUT].avg.start(now);
            self.parts[OUT].mode.start();
        }
        (self.in_bytes, self.coupled) = (config.limit.bytes, config.coupled);
    }

    #[inline(always)]
    fn gauges(&self, _config: &Config) -> [Fixed; GAUGES] {
        let [outside, inside] = &self.parts;
        [inside.avg.get(), outside.avg.get(), Fixed::whole(inside.queued.packets), Fixed::ZERO]
    }
}
