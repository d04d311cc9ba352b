//! Tables for a terminal.

mod advice;
mod card;
mod cases;
mod controls;
mod notes;
mod scoreboard;
mod screen;
mod summary;
mod verdicts;

pub use advice::advice;
pub use card::card;
pub use cases::cases;
pub use notes::notes;
pub use scoreboard::scoreboard;
pub use screen::{Screen, drawn, head, number};
pub(crate) use summary::fitting;
pub use summary::{first_screen, summary};
pub use verdicts::{counts, tally, verdicts};
