//! The tests of a bridge again, with a thread for each direction.

#[path = "bridge/main.rs"]
mod bridge;
