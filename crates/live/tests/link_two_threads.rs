//! The tests of a link again, with a thread for each direction.

#[path = "link/main.rs"]
mod link;
