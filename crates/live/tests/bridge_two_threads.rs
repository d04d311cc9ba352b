//! The bridge tests with one thread per direction.

#[path = "bridge/main.rs"]
mod bridge;
