//! The transmission of a packet: the part that is transmitted at a given time.

use crate::Instant;
use crate::trace::Carriage;

/// The transmission of one packet.
#[derive(Clone, Debug)]
pub enum Transmission {
    /// At a constant rate.
    Even {
        /// The transmission time of its first bit.
        from: Instant,
        /// The end of its last bit.
        until: Instant,
        /// The share of the packet that is transmitted in this period.
        share: f64,
    },
    /// In the opportunities of a trace. Boxed, because a transmission is copied more often than links follow traces.
    Trace(Box<Carriage>),
}

impl Default for Transmission {
    /// The empty transmission, which ends when it starts.
    fn default() -> Self {
        Transmission::even(Instant::ZERO, Instant::ZERO)
    }
}

impl Transmission {
    /// A whole packet, transmitted at a constant rate.
    #[must_use]
    pub fn even(from: Instant, until: Instant) -> Self {
        Transmission::Even { from, until, share: 1.0 }
    }

    /// The end of the last bit.
    #[must_use]
    pub fn until(&self) -> Instant {
        match self {
            Transmission::Even { until, .. } => *until,
            Transmission::Trace(carriage) => carriage.until,
        }
    }

    /// The share of the packet that is not yet transmitted at `now`.
    #[must_use]
    pub fn unsent(&self, now: Instant) -> f64 {
        match self {
            Transmission::Even { until, .. } if *until <= now => 0.0,
            Transmission::Even { from, until, share } => {
                let (rest, whole) = (until.since(now.max(*from)).as_nanos(), until.since(*from).as_nanos());
                share * (rest as f64 / whole as f64)
            }
            Transmission::Trace(carriage) => carriage.unsent(now),
        }
    }

    /// The transmission after a change of the link's rate: the rest of the packet takes from `now` to `until`.
    #[must_use]
    pub fn continued(&self, now: Instant, until: Instant) -> Self {
        Transmission::Even { from: now, until, share: self.unsent(now) }
    }
}

#[cfg(test)]
mod tests {
    use crate::Duration;

    use super::*;

    #[test]
    fn what_is_unsent_falls_evenly_and_follows_a_new_rate() {
        let at = |us| Instant::ZERO + Duration::from_micros(us);
        let packet = Transmission::even(at(100), at(200));
        assert_eq!([100, 125, 150, 200, 300].map(|us| packet.unsent(at(us))), [1.0, 0.75, 0.5, 0.0, 0.0]);
        let slower = packet.continued(at(150), at(350));
        assert_eq!([150, 250, 350].map(|us| slower.unsent(at(us))), [0.5, 0.25, 0.0]);
        assert_eq!(Transmission::even(at(7), at(7)).unsent(at(7)), 0.0, "one that takes no time has gone");
    }
}
