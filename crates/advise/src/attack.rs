//! The search turned round: which scenario brings out the worst of a queue discipline or of a congestion control.
//!
//! | module | holds |
//! |---|---|
//! | [`harm`] | what a user suffers: queueing delay, losses, a flow that gets nothing |
//! | [`target`] | what is attacked, and what it is compared with |
//! | [`scenario`] | a link with its traffic: where it is in the space that is searched, and its experiment |
//! | [`hunt`] | the search for the worst scenario, and its reduction to the smallest that is nearly as bad |
//!
//! [`hunt`] only uses [`hunt::Try`] to judge scenarios, so that tests can use functions with known maxima.

pub mod harm;
pub mod hunt;
pub mod scenario;
pub mod target;

pub use harm::Harm;
pub use scenario::{Scenario, Space};
pub use target::{Control, Target};
