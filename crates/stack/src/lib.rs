//! The interface through which a real transport stack runs in the simulator.
//!
//! | module | holds |
//! |---|---|
//! | [`stack`] | [`Stack`], one end of a connection, and what it exchanges with the simulator |
//! | [`factory`] | [`Factory`], which makes both ends of each connection |
//! | [`catalogue`] | [`Kind`], a stack with a name and parameters for experiment files, and the catalogue of those that a program has |
//! | [`stop_and_wait`] | a complete stack, as an example and for tests |
//!
//! A stack is a state machine that takes and makes datagrams. The simulator owns two of them for each connection and calls them:
//! when the application opens, writes or closes, when a datagram arrives, and at the stack's deadline. After each call it takes
//! the datagrams and events that the call has brought. Time is virtual and is passed to each call, so that a stack must
//! not read a clock; and random numbers must come from the seed that the [`Factory`] receives, so that the same seed gives the same run.
//!
//! ```
//! use aqmkit_base::{Duration, Instant};
//! use aqmkit_stack::stop_and_wait::Factory as StopAndWait;
//! use aqmkit_stack::{Event, Factory, NewEnd, Role};
//!
//! let made_by = StopAndWait::default();
//! let end = |role| made_by.end(&NewEnd { role, seed: 1, number: 1 });
//! let (mut client, mut server) = (end(Role::Client), end(Role::Server));
//! let mut now = Instant::ZERO;
//! client.connect(now);
//! client.write(3000, now);
//! for _ in 0..5 {
//!     // A path with a delay of 20 ms in each direction.
//!     now = now + Duration::from_millis(20);
//!     while let Some(datagram) = client.transmit(now) {
//!         server.on_datagram(datagram, now);
//!     }
//!     now = now + Duration::from_millis(20);
//!     while let Some(datagram) = server.transmit(now) {
//!         client.on_datagram(datagram, now);
//!     }
//! }
//! assert_eq!(server.delivered(), 3000);
//! assert_eq!(client.event(now), Some(Event::Connected));
//! ```

#![forbid(unsafe_code)]

pub mod catalogue;
pub mod factory;
pub mod stack;
pub mod stop_and_wait;

pub use catalogue::{Addition, Catalogue, Kind, Settings, Spec};
pub use factory::{Factory, NewEnd, Role, Trace};
pub use stack::{Datagram, Event, Stack, StackStats, StackView};
