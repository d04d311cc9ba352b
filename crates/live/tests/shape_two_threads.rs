//! The tests of queues in front of an interface again, with a thread for each direction.

#[path = "shape/main.rs"]
mod shape;
