//! The queue disciplines of aqmkit.
//!
//! One file per discipline under [`disciplines`], pure: time, randomness and the place where dropped
//! packets go are arguments, so the same code runs in virtual time, on live traffic and in a test.
//!
//! There are two traits:
//!
//! * an [`Aqm`] decides about one FIFO and owns no packet (RED, FRED, CBT …); [`Fifo`] turns it into a queue;
//! * a [`Qdisc`] owns packets: it schedules several queues (CBQ …), or takes packets out of the middle. Those of a [tree](child)
//!   (HTB …) have queues of any discipline inside.
//!
//! Everything above this crate holds a `Box<dyn Qdisc<P>>`, built by [`registry`] from a name and a table
//! of parameters. A program adds disciplines of its own to a [`Catalogue`].
//!
//! ```
//! use aqmkit_aqm::{Cx, Dequeued, Discard, Packet, Qdisc, registry};
//! use aqmkit_base::{ClassId, Ecn, FlowKey, Instant, Rng};
//!
//! #[derive(Clone)]
//! struct Pkt(u32);
//! impl Packet for Pkt {
//!     fn len(&self) -> u32 { self.0 }
//!     fn flow(&self) -> FlowKey { FlowKey(1) }
//!     fn class(&self) -> ClassId { ClassId(0) }
//!     fn ecn(&self) -> Ecn { Ecn::NotEct }
//!     fn set_ce(&mut self) {}
//! }
//!
//! let link = registry::Link::new(aqmkit_base::BitRate::from_mbps(10));
//! let spec = registry::Spec::named("red").unwrap();
//! let mut queue = spec.build::<Pkt>(&link, Instant::ZERO).unwrap();
//! let (mut rng, mut dropped) = (Rng::stream(1, "doc"), Discard);
//! let mut cx = Cx { now: Instant::ZERO, rng: &mut rng, sink: &mut dropped };
//! queue.enqueue(Pkt(1500), &mut cx);
//! assert!(matches!(queue.dequeue(&mut cx), Dequeued::Packet(Pkt(1500))));
//! ```

#![forbid(unsafe_code)]

mod added;
pub mod aqm;
pub mod bands;
pub mod catalogue;
pub mod child;
pub mod classes;
pub mod custom;
pub mod discipline;
pub mod disciplines;
pub mod dscp;
pub mod fifo;
pub mod filter;
pub mod flow_queuing;
pub mod law;
pub mod link;
pub mod packet;
pub mod params;
pub mod priority;
pub mod qdisc;
pub mod registry;
pub mod storage;
mod timer;
mod verdict;

pub use added::{Added, Ticket};
pub use aqm::{Aqm, DropFrom, Env, QueueView};
pub use catalogue::{Addition, Catalogue};
pub use discipline::Discipline;
pub use dscp::Dscp;
pub use fifo::Fifo;
pub use flow_queuing::Fq;
pub use link::Link;
pub use packet::{Ack, Ends, Packet, PacketView};
pub use params::{AnyParams, ParamError};
pub use qdisc::{Backlog, Cx, Dequeued, Discard, InnerQueue, Qdisc, Sink, Stats};
pub use verdict::{Verdict, Why};
