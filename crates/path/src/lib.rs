//! A network path for tests of transport stacks: a real bottleneck queue, without I/O and without a clock.
//!
//! A [`Path`] joins two ends, A and B. Each direction has a queue with one of aqmkit's disciplines (`fifo`, `red`,
//! `codel`, `pie`, `fq_codel`, `dualpi2`, `cake` and thirty more), a transmitter with a constant or a varying rate, and
//! a wire with delay, jitter, loss and reordering. A test hands in datagrams with the time, asks for the next deadline,
//! and takes out what has arrived; time is what the test says it is, so sixty seconds take milliseconds. The same seed
//! gives the same run, bit by bit, on every machine.
//!
//! Here a sender with a window of forty packets fills a queue, and CoDel marks what is ECN-capable:
//!
//! ```
//! use aqmkit_path::{Datagram, Ecn, End, Link, Path};
//! use std::time::Duration;
//!
//! let link = Link::new("10mbit", "20ms").queue("codel").set("ecn", true);
//! let mut path = Path::new(&link, 1).unwrap();                   // both directions; the seed
//! for n in 0..100 {
//!     path.send(End::A, Datagram::new(n, 1500).ecn(Ecn::Ect0), Duration::ZERO);
//! }
//! while let Some(now) = path.deadline().filter(|now| now.as_secs() < 10) {
//!     while let Some(arrival) = path.poll(now) {
//!         match arrival.to {
//!             End::B => path.send(End::B, Datagram::new(arrival.datagram.content, 40), now), // acknowledges
//!             End::A => path.send(End::A, Datagram::new(0, 1500).ecn(Ecn::Ect0), now),       // sends the next
//!         }
//!     }
//! }
//! let report = path.report(End::A);                              // what A sent
//! assert!(report.utilization > 0.9 && report.drops() == 0, "{path}");
//! assert!(report.marked > 100, "{path}");
//! ```
//!
//! A failed assertion with `{path}` prints the numbers of both directions and a picture of the queueing delay over
//! time, with the moments of drops and marks; [`Path::svg`] draws it for a file. [`Path::window`] has the numbers of a
//! part of the run, and [`Path::digest`] says whether two runs were alike.
//!
//! # Driving a stack
//!
//! Times are [`std::time::Duration`]s since the start of the test. For a stack with `std::time::Instant`s, take any
//! instant as the start and add; for one with its own type, convert. The loop of a test is
//!
//! 1. let both ends send what they have to send: [`Path::send`];
//! 2. go to the earliest of [`Path::deadline`] and the ends' own timers;
//! 3. give what [`Path::poll`] returns to the end `to`, and the ends their timers; repeat.
//!
//! [`Datagram::len`] includes IP and transport headers, because queues and links count those: [`Datagram::udp`] adds
//! them to the payload of a QUIC packet. Hand the `ecn` of an arrival to the stack, or it will think that the path
//! removes the codepoints. A stack behind a discipline with several queues (`fq_codel`, `cake`) has a queue for each
//! flow: say [`Datagram::flow`] or [`Datagram::between`].
//!
//! # What it is made of
//!
//! [`shaper::Shaper`] is one direction, for packets of any type. It is the code of aqmkit's live links, and shares
//! disciplines, transmitter and wire with the simulator: for the same arrivals, all three drop, mark and deliver the
//! same packets at the same nanoseconds, which the tests of this crate check. The numbers are computed by the code that
//! computes the results of experiments, with the same definitions.
//!
//! # Limits
//!
//! One bottleneck in each direction; for two in a row, send what arrives from one path into another. Disciplines that
//! filter TCP acknowledgements (`ack_filter` of `cake`) see none, because a path does not look into contents. All
//! events are kept for the results: some hundred bytes for each packet.

#![forbid(unsafe_code)]

mod chart;
mod clock;
mod datagram;
mod direction;
mod link;
mod log;
mod path;
mod report;
pub mod shaper;
mod svg;

pub use aqmkit_aqm::{Dscp, Why};
pub use aqmkit_base::read::Value;
pub use aqmkit_base::{Ecn, ParamError};
pub use datagram::{Arrival, Datagram, End, Flow};
pub use link::Link;
pub use path::Path;
pub use report::{Delays, Report};

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
