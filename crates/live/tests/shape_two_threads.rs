//! The shape tests with one thread per direction.

#[path = "shape/main.rs"]
mod shape;
