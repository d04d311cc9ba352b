//! The observer of a shaper.

use aqmkit_aqm::{Backlog, Why};
use aqmkit_base::{Duration, Instant, Transmission};

/// An observer of a queue's packet events.
pub trait Watch<P> {
    /// A packet arrived.
    fn offered(&mut self, packet: &P, now: Instant);
    /// A packet began transmission, after a sojourn time of `waited`.
    fn departed(&mut self, packet: &P, waited: Duration, transmission: Transmission, now: Instant);
    /// The rate changed: the packet in transmission now takes until `until`.
    fn continued(&mut self, until: Instant, now: Instant);
    /// A packet that arrived at `arrived` was dropped.
    fn dropped(&mut self, packet: P, why: Why, arrived: Instant, now: Instant);
    /// A packet that arrived at `arrived` was marked and stays in the queue.
    fn marked(&mut self, packet: &P, why: Why, arrived: Instant, now: Instant);
    /// The length of the queue changed.
    fn queue(&mut self, backlog: Backlog, now: Instant);
    /// The wire loses the packet that began transmission at `now`.
    fn lost(&mut self, _packet: P, _now: Instant) {}
}
