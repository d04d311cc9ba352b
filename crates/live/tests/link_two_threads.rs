//! The link tests with one thread per direction.

#[path = "link/main.rs"]
mod link;
