//! Operations on experiments, independent of the user interface: the command `aqmkit` and the Python module are built
//! on them.
//!
//! | module | contents |
//! |---|---|
//! | `perform` | runs the plan of an experiment, and writes its files |
//! | `rounds` | repeats runs under further seeds until the means are precise enough |
//! | `library` | published values, outcomes of the null test, and verdicts stored beside the experiments |
//! | `null_test` | which claims hold even without the scheme under study |
//! | `compare` | several disciplines on one link, as an experiment |
//! | `characterize` | report cards by RFC 7928 |
//! | `advise` | which discipline best serves a wish on a link |
//! | `attack` | which scenario brings out the worst of a discipline or a control |
//! | `explain` | what the statistics of Linux's queue disciplines mean |
//! | `measure` | rate, round trip and queue of a path, estimated from files of measurements |
//! | `import` | the queues of routers as experiments, and back as lines of `tc` |
//! | `parameters` | parses parameters of disciplines |
//! | `rates` | the rates of two directions |
//! | `estimate` | estimates how long runs will take |
//! | `bench` | the speed of the engine and of disciplines |
//! | `player` | the page of `aqmkit play`, and links to it |
//!
//! Nothing here prints, parses arguments or catches signals: callers pass in a [`Progress`] and a cancellation flag.

#![forbid(unsafe_code)]

pub mod advise;
pub mod attack;
pub mod bench;
pub mod characterize;
pub mod compare;
mod error;
pub mod estimate;
pub mod explain;
pub mod import;
pub mod library;
pub mod measure;
pub mod null_test;
pub mod parameters;
mod perform;
pub mod player;
pub mod rates;
mod rounds;

pub use error::LabError;
pub use perform::{Begun, Performed, Progress, Workspace, calibrate, html, perform};
pub use rounds::{Repeated, Until, perform_rounds};
