//! TCP endpoints against sequences worked out by hand: two of them, a constant delay, and a list of what is
//! lost.

mod accurate_ecn;
mod added;
mod bbr;
mod close;
mod controls;
mod cwr;
mod delay;
mod ecn;
mod harness;
mod linux;
mod loss;
mod open;
mod profiles;
mod random;
mod rate;
mod recovery;
mod route;
mod script;
mod scripts;
mod throughput;
mod timers;
mod undo;
mod window;

use aqmkit_transport::Event;

/// The owner of an endpoint may free it at the event that ends the connection: no other follows in the same call.
fn ends_last(events: &[Event]) {
    let ends = |event: &Event| matches!(event, Event::Closed | Event::Failed);
    assert!(!events.iter().rev().skip(1).any(ends), "{events:?}");
}
